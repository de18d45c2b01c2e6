// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP

/// Selects resources by their URLs: those that a part of the configuration applies to, or those to wipe.
///
/// Larder includes `GlobPattern`, `RegexPattern`, `PredicatePattern` and exact URLs; a type of your own conforms by
/// making a predicate. The predicate may be called at any time, from any thread, any number of times.
public protocol ConfigurationPattern: Sendable {
    /// Makes the predicate for the resources of a service with this base URL.
    func predicate(relativeTo baseURL: TargetURI?) -> @Sendable (ResourceURL) -> Bool

    /// The pattern in words, for logs and listings.
    var patternDescription: String { get }
}

/// A pattern that is a function.
public struct PredicatePattern: ConfigurationPattern {
    public let patternDescription: String
    private let matches: @Sendable (ResourceURL) -> Bool

    /// Makes a pattern of a function; the description names it in logs.
    public init(_ description: String, _ matches: @escaping @Sendable (ResourceURL) -> Bool) {
        patternDescription = description
        self.matches = matches
    }

    public func predicate(relativeTo baseURL: TargetURI?) -> @Sendable (ResourceURL) -> Bool { matches }
}

extension ConfigurationPattern where Self == PredicatePattern {
    /// Every resource of the service, on whatever host: not a scope for credentials, use `**` for those.
    public static var all: PredicatePattern { PredicatePattern("all") { _ in true } }
}

/// A URL is the pattern that only it matches, its query included.
extension ResourceURL: ConfigurationPattern {
    public func predicate(relativeTo baseURL: TargetURI?) -> @Sendable (ResourceURL) -> Bool { { $0 == self } }

    public var patternDescription: String { string }
}

/// Resources that match one pattern and not another.
public struct ExceptPattern<Included: ConfigurationPattern, Excluded: ConfigurationPattern>: ConfigurationPattern {
    private let included: Included
    private let excluded: Excluded

    /// Makes a pattern of the URLs that one pattern matches and the other does not.
    public init(_ included: Included, except excluded: Excluded) {
        self.included = included
        self.excluded = excluded
    }

    public var patternDescription: String { "\(included.patternDescription) except \(excluded.patternDescription)" }

    public func predicate(relativeTo baseURL: TargetURI?) -> @Sendable (ResourceURL) -> Bool {
        let isIncluded = included.predicate(relativeTo: baseURL)
        let isExcluded = excluded.predicate(relativeTo: baseURL)
        return { isIncluded($0) && !isExcluded($0) }
    }
}

extension ConfigurationPattern {
    /// This pattern without the URLs that `pattern` matches.
    public func except<Excluded: ConfigurationPattern>(_ pattern: Excluded) -> ExceptPattern<Self, Excluded> {
        ExceptPattern(self, except: pattern)
    }
}

/// Why a pattern cannot be used.
public enum PatternError: Error, Hashable, Sendable {
    /// The pattern is empty.
    case empty
    /// Longer than this many bytes.
    case tooLong(limit: Int)
    /// More wildcards than this.
    case tooManyWildcards(limit: Int)
    /// A scheme other than `http` and `https`, or one without `//` behind it.
    case unsupportedScheme
    /// A user name or password before the host.
    case userInformation
    /// No name, no address, and no labels with wildcards.
    case invalidHost
    /// Neither a port nor a star.
    case invalidPort
    /// `.` and `..` mean nothing in a pattern, since URLs are compared without them.
    case dotSegment
    /// A percent sign that begins no triplet.
    case invalidPercentEncoding
    /// A byte that is not allowed in URLs.
    case refusedCharacter(UInt8)
    /// A regular expression that is malformed or too large: the part that contains it, and the problem.
    case malformedExpression(part: String, String)
}

extension PatternError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .empty: "the pattern is empty"
        case .tooLong(let limit): "the pattern is longer than \(limit) octets"
        case .tooManyWildcards(let limit): "the pattern has more than \(limit) wildcards"
        case .unsupportedScheme: "an absolute pattern begins with http:// or https://"
        case .userInformation: "a pattern cannot hold a user name or password"
        case .invalidHost:
            "the host of the pattern is neither a name, nor an address, nor made of labels with * in them"
        case .invalidPort: "the port of the pattern is neither * nor a number from 1 to 65535"
        case .dotSegment: "a pattern cannot hold the segments . and .."
        case .invalidPercentEncoding: "a percent sign in the pattern needs two hexadecimal digits behind it"
        case .refusedCharacter(let octet): "no URL holds the octet 0x\(String(octet, radix: 16)) of the pattern"
        case .malformedExpression(let part, let problem):
            "the regular expression is wrong: \(problem)" + (part.isEmpty ? "" : ", at ‘\(part)’")
        }
    }
}
