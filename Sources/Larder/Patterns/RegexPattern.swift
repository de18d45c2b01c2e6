// SPDX-License-Identifier: Apache-2.0
import CRE2
public import LarderHTTP

/// A regular expression searched for anywhere in the whole URL, its query included.
///
/// It is not relative to the base URL: unless anchored with `^https://host/`, it selects resources on every host,
/// so it is no scope for credentials. The syntax is RE2's (https://github.com/google/re2/wiki/Syntax), over bytes:
/// searching takes time that grows with the length of the URL whatever the expression, and there are no
/// back-references and no look-around.
public struct RegexPattern: ConfigurationPattern {
    /// The expression as written.
    public let text: String
    /// True if letters match in either case.
    public let ignoresCase: Bool
    private let compiled: CompiledRegex

    /// In bytes.
    static let lengthLimit = 1_024

    /// Compiles an expression.
    public init(_ text: String, ignoresCase: Bool = false) throws(PatternError) {
        guard !text.isEmpty else { throw .empty }
        guard text.utf8.count <= Self.lengthLimit else { throw .tooLong(limit: Self.lengthLimit) }
        self.text = text
        self.ignoresCase = ignoresCase
        compiled = try CompiledRegex(text, ignoresCase: ignoresCase)
    }

    public var patternDescription: String { "/\(text)/" + (ignoresCase ? "i" : "") }

    public func predicate(relativeTo baseURL: TargetURI?) -> @Sendable (ResourceURL) -> Bool {
        { [compiled] url in compiled.isFound(in: url.string) }
    }
}

/// Owns an expression that RE2 has compiled.
// Holds: the pointer never changes, and RE2's searches may be called by several threads at once (re2.h).
private final class CompiledRegex: @unchecked Sendable {
    /// Bytes that an expression, and what RE2 remembers of its searches, may take.
    private static let memory = 256 << 10
    private let regex: OpaquePointer

    init(_ text: String, ignoresCase: Bool) throws(PatternError) {
        var text = text
        var error = larder_regex_error()
        let regex = text.withUTF8 { octets in
            octets.withMemoryRebound(to: CChar.self) {
                larder_regex_compile($0.baseAddress, $0.count, ignoresCase, Self.memory, &error)
            }
        }
        guard let regex else {
            throw .malformedExpression(part: Self.string(&error.part), Self.string(&error.message))
        }
        self.regex = regex
    }

    deinit { larder_regex_free(regex) }

    func isFound(in text: String) -> Bool {
        var text = text
        return text.withUTF8 { octets in
            octets.withMemoryRebound(to: CChar.self) { larder_regex_search(regex, $0.baseAddress, $0.count) }
        }
    }

    /// The characters of a C array up to its terminating zero.
    private static func string<Characters>(_ characters: inout Characters) -> String {
        withUnsafeBytes(of: &characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
