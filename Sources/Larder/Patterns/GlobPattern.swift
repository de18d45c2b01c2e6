// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP

/// A pattern for URLs written as one would in a shell: `/users/*`, `**`, `https://*.example.com/**`.
///
/// - `*` stands for any number of characters other than `/`; in a host, for any within one label, and a host
///   that is just `*` for every host; as a port, for any that is written out.
/// - `**` stands for any number of characters, `**/` for any number of whole segments, `?` for one character
///   other than `/`. An encoded character counts as the three it is written with.
/// - Without `http://` or `https://` in front the pattern is relative to the service's base URL, with or without
///   a leading slash. `**` is thus everything below the base URL and nothing else: the scope for credentials.
///
/// Pattern and URL are compared part by part, both in normal form and without dot segments; queries and fragments
/// do not count. Time is bounded by the length of the URL times that of the pattern.
public struct GlobPattern: Sendable, Hashable {
    /// How many wildcards one pattern may have, and how many bytes.
    public static let wildcardLimit = 32
    /// How many bytes one pattern may have.
    public static let lengthLimit = 2_048

    /// The pattern as written.
    public let text: String
    /// nil for a pattern relative to the base URL.
    private let origin: OriginPattern?
    private let path: WildcardText

    /// Compiles a pattern.
    public init(_ text: String) throws(PatternError) {
        guard !text.isEmpty else { throw .empty }
        guard text.utf8.count <= GlobPattern.lengthLimit else { throw .tooLong(limit: GlobPattern.lengthLimit) }
        let octets = Array(text.utf8.prefix { $0 != UInt8(ascii: "#") })
        var pathStart = 0
        if let colon = octets.firstIndex(of: UInt8(ascii: ":")), colon > 0, octets[..<colon].allSatisfy(ASCII.isAlpha) {
            guard let scheme = TargetURI.Scheme(name: octets[..<colon]), octets[colon...].starts(with: "://".utf8)
            else { throw .unsupportedScheme }
            let rest = octets[(colon + 3)...]
            pathStart = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            origin = try OriginPattern(scheme, rest[..<pathStart])
        } else {
            origin = nil
        }
        path = try WildcardText(path: octets[pathStart...], isAbsolute: origin != nil)
        guard path.wildcardCount + (origin?.wildcardCount ?? 0) <= GlobPattern.wildcardLimit else {
            throw .tooManyWildcards(limit: GlobPattern.wildcardLimit)
        }
        self.text = text
    }

    /// The same pattern with its path as `PlainPath` writes it.
    package var plainlyWritten: GlobPattern {
        let octets = Array(text.utf8.prefix { $0 != UInt8(ascii: "#") })
        var start = 0
        if isAbsolute {
            var slashes = 0
            start =
                octets.firstIndex { octet in
                    slashes += octet == UInt8(ascii: "/") ? 1 : 0
                    return slashes == 3
                } ?? octets.endIndex
        }
        let plain = octets[..<start] + PlainPath.octets(of: octets[start...], isPattern: true)
        return (try? GlobPattern(String(decoding: plain, as: UTF8.self))) ?? self
    }

    /// True if the pattern names its own scheme and host.
    public var isAbsolute: Bool { origin != nil }
}

extension GlobPattern: ConfigurationPattern {
    public var patternDescription: String { text }

    public func predicate(relativeTo baseURL: TargetURI?) -> @Sendable (ResourceURL) -> Bool {
        if let origin {
            return { [path] url in
                guard let target = url.target?.withoutDotSegments() else { return false }
                return origin.matches(target) && target.withBytes(of: target.pathRange) { path.matches($0, from: 0) }
            }
        }
        guard let baseURL else { return matchesBareText }
        return { [path] url in
            guard let target = url.target?.withoutDotSegments(), target.hasSameOrigin(as: baseURL) else { return false }
            return target.withBytes(of: target.pathRange) { own in
                baseURL.withBytes(of: baseURL.pathRange) { base in
                    own.starts(with: base) && path.matches(own, from: base.count)
                }
            }
        }
    }

    /// With no base URL a relative pattern is compared with the text as it stands, which no valid URL equals.
    private var matchesBareText: @Sendable (ResourceURL) -> Bool {
        { [path, text] url in
            guard url.target == nil else { return false }
            let own = Array(url.string.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })
            guard (own.first == UInt8(ascii: "/")) == text.hasPrefix("/") else { return false }
            return own.withUnsafeBytes { path.matches($0, from: text.hasPrefix("/") ? 1 : 0) }
        }
    }
}

extension GlobPattern: ExpressibleByStringLiteral {
    /// For patterns written in source; one that cannot be compiled is a programmer's mistake and traps.
    public init(stringLiteral value: String) {
        do {
            try self.init(value)
        } catch {
            // Unreachable: only literals of a program come here; patterns of a configuration throw.
            preconditionFailure("'\(value)' is not a pattern: \(error)")
        }
    }
}

/// Scheme, host and port of an absolute pattern.
private struct OriginPattern: Sendable, Hashable {
    enum Port: Sendable, Hashable {
        case number(UInt16)
        case anyWritten
    }

    let scheme: TargetURI.Scheme
    /// nil for any host.
    let labels: [WildcardText]?
    /// The whole host when it is an address.
    let address: [UInt8]?
    let port: Port

    var wildcardCount: Int {
        (labels ?? []).reduce(labels == nil ? 1 : 0) { $0 + $1.wildcardCount } + (port == .anyWritten ? 1 : 0)
    }

    init(_ scheme: TargetURI.Scheme, _ authority: ArraySlice<UInt8>) throws(PatternError) {
        self.scheme = scheme
        if authority.contains(UInt8(ascii: "@")) { throw .userInformation }
        let bracket = authority.lastIndex(of: UInt8(ascii: "]"))
        let colon = authority[(bracket ?? authority.startIndex)...].firstIndex(of: UInt8(ascii: ":"))
        let host = authority[..<(colon ?? authority.endIndex)]
        let digits = colon.map { authority[($0 + 1)...] } ?? []
        if digits.elementsEqual("*".utf8) {
            port = .anyWritten
        } else {
            do throws(URIError) {
                port = .number(
                    try URIHost.port(Array(digits).span.bytes) ?? scheme.defaultPort)
            } catch {
                throw .invalidPort
            }
        }
        if host.elementsEqual("*".utf8) {
            labels = nil
            address = nil
        } else if let wildcards = try OriginPattern.labels(host) {
            labels = wildcards
            address = nil
        } else {
            labels = []
            address = try OriginPattern.literal(host)
        }
    }

    /// The labels of a host with wildcards, or nil for a host without.
    private static func labels(_ host: ArraySlice<UInt8>) throws(PatternError) -> [WildcardText]? {
        guard host.contains(UInt8(ascii: "*")) || host.contains(UInt8(ascii: "?")) else { return nil }
        var labels: [WildcardText] = []
        for label in host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) {
            labels.append(try WildcardText(label: label))
        }
        return labels
    }

    private static func literal(_ host: ArraySlice<UInt8>) throws(PatternError) -> [UInt8] {
        var octets = Array(host)
        if octets.contains(where: { $0 >= 0x80 }) {
            guard let encoded = DomainName.encoded(String(decoding: octets, as: UTF8.self)) else { throw .invalidHost }
            octets = Array(encoded.utf8)
        }
        var output: [UInt8] = []
        do throws(URIError) {
            try octets.withUnsafeBufferPointer { bytes throws(URIError) in
                try URIHost.append(UnsafeRawBufferPointer(bytes), to: &output)
            }
        } catch {
            throw .invalidHost
        }
        return output
    }

    func matches(_ target: TargetURI) -> Bool {
        guard target.scheme == scheme else { return false }
        switch port {
        case .number(let number): guard target.port == number else { return false }
        case .anyWritten: guard !target.hasDefaultPort else { return false }
        }
        guard let labels else { return true }
        return target.withBytes(of: target.hostRange) { host in
            if let address { return host.elementsEqual(address) }
            let parts = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            guard parts.count == labels.count else { return false }
            return zip(labels, parts).allSatisfy { $0.matches(UnsafeRawBufferPointer(rebasing: $1), from: 0) }
        }
    }
}

extension TargetURI {
    /// The URI as its receiver may read it: `.` and `..` segments resolved.
    package func withoutDotSegments() -> TargetURI {
        guard hasDotSegments else { return self }
        // A URI in normal form is one still without its dot segments.
        return (try? TargetURI(string)) ?? self
    }

    private var hasDotSegments: Bool {
        withBytes(of: pathRange) { path in
            // Each time the bytes behind the next slash.
            var rest = path[...]
            while let slash = rest.firstIndex(of: 0x2F) {
                rest = rest[(slash + 1)...]
                let segment = rest.prefix { $0 != 0x2F }
                if segment.elementsEqual(".".utf8) || segment.elementsEqual("..".utf8) { return true }
            }
            return false
        }
    }
}

extension TargetURI.Scheme {
    fileprivate init?(name: ArraySlice<UInt8>) {
        let folded = name.map(ASCII.lowercased)
        if folded.elementsEqual("http".utf8) {
            self = .http
        } else if folded.elementsEqual("https".utf8) {
            self = .https
        } else {
            return nil
        }
    }
}
