// SPDX-License-Identifier: Apache-2.0

/// A request method: a case-sensitive token (RFC 9110 §9.1). Any token is a method; these are the ones whose
/// semantics Larder knows.
public struct Method: Hashable, Sendable {
    /// The token as it stands on the wire.
    public let token: String
    /// Whether the semantics are those of RFC 9110 §9.2.1: nothing is asked to change.
    public let isSafe: Bool
    /// Whether asking twice means the same as asking once (RFC 9110 §9.2.2); unknown methods are not.
    public let isIdempotent: Bool

    @usableFromInline
    init(known token: String, safe: Bool, idempotent: Bool) {
        self.token = token
        isSafe = safe
        isIdempotent = idempotent
    }

    /// Makes a method of a token; nil when `token` is not one.
    public init?(_ token: some StringProtocol) {
        var copy = Array(token.utf8)
        let method = copy.withUnsafeMutableBytes { bytes in
            Token.isToken(UnsafeRawBufferPointer(bytes)) ? Method(token: UnsafeRawBufferPointer(bytes)) : nil
        }
        guard let method else { return nil }
        self = method
    }

    /// Makes a method of octets already known to be a token.
    package init(token bytes: UnsafeRawBufferPointer) {
        if bytes.count == 3, bytes[0] == 0x47, bytes[1] == 0x45, bytes[2] == 0x54 {
            self = .get
            return
        }
        let text = String(decoding: bytes, as: UTF8.self)
        self = Method.known[text] ?? Method(known: text, safe: false, idempotent: false)
    }

    public static let get = Method(known: "GET", safe: true, idempotent: true)
    public static let head = Method(known: "HEAD", safe: true, idempotent: true)
    public static let options = Method(known: "OPTIONS", safe: true, idempotent: true)
    public static let trace = Method(known: "TRACE", safe: true, idempotent: true)
    public static let put = Method(known: "PUT", safe: false, idempotent: true)
    public static let delete = Method(known: "DELETE", safe: false, idempotent: true)
    public static let post = Method(known: "POST", safe: false, idempotent: false)
    public static let patch = Method(known: "PATCH", safe: false, idempotent: false)
    public static let connect = Method(known: "CONNECT", safe: false, idempotent: false)
    /// Safe and idempotent, with content that is part of what is asked for.
    public static let query = Method(known: "QUERY", safe: true, idempotent: true)

    private static let known: [String: Method] = Dictionary(
        uniqueKeysWithValues: [
            get, head, options, trace, put, delete, post, patch, connect, query,
            Method(known: "PROPFIND", safe: true, idempotent: true),
            Method(known: "REPORT", safe: true, idempotent: true),
            Method(known: "SEARCH", safe: true, idempotent: true),
        ].map { ($0.token, $0) })

    public static func == (a: Method, b: Method) -> Bool { a.token == b.token }
    public func hash(into hasher: inout Hasher) { hasher.combine(token) }
}

extension Method: CustomStringConvertible {
    public var description: String { token }
}
