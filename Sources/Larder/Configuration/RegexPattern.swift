// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP

/// A regular expression searched for anywhere in the whole URL, its query included.
///
/// It is not relative to the base URL: unless anchored with `^https://host/`, it selects resources on every host,
/// so it is no scope for credentials. Understood are literals, `.`, classes, `\d \w \s` and their opposites,
/// `\b`, `^`, `$`, groups, alternatives and quantifiers; matching takes time bounded by the length of the URL
/// times that of the expression. Back-references and look-around are refused.
public struct RegexPattern: ConfigurationPattern {
    /// The expression as written.
    public let text: String
    /// Whether letters match in either case.
    public let ignoresCase: Bool
    private let program: RegexProgram

    /// Compiles an expression.
    public init(_ text: String, ignoresCase: Bool = false) throws(PatternError) {
        self.text = text
        self.ignoresCase = ignoresCase
        program = try RegexProgram(text, ignoresCase: ignoresCase)
    }

    public var patternDescription: String { "/\(text)/" + (ignoresCase ? "i" : "") }

    public func predicate(relativeTo baseURL: TargetURI?) -> @Sendable (ResourceURL) -> Bool {
        { [program] url in program.isFound(in: Array(url.string.utf8)) }
    }
}
