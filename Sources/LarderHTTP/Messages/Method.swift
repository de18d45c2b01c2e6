// SPDX-License-Identifier: Apache-2.0

/// A request method: a case-sensitive token (RFC 9110 §9.1). Any token is a method; the constants are those whose
/// semantics Larder knows.
public struct Method: Hashable, Sendable {
    /// The token as it stands on the wire.
    public let token: String
    /// True if it is safe (RFC 9110 §9.2.1): the client asks for no change of state.
    public let isSafe: Bool
    /// True if repeating the request has the effect of sending it once (RFC 9110 §9.2.2); false for unknown methods.
    public let isIdempotent: Bool
    /// Tells the known methods apart by one byte; 0 for every other.
    @usableFromInline let code: UInt8

    @usableFromInline
    init(known token: String, code: UInt8 = 0, safe: Bool = false, idempotent: Bool = false) {
        self.token = token
        self.code = code
        isSafe = safe
        isIdempotent = idempotent
    }

    /// Makes a method of a token; nil when `token` is not one.
    public init?(_ token: some StringProtocol) {
        let copy = Array(token.utf8)
        guard copy.withUnsafeBytes({ Token.isToken($0) }) else { return nil }
        self.init(token: copy.span.bytes)
    }

    /// Makes a method of bytes already known to be a token.
    package init(token bytes: RawSpan) {
        if bytes.byteCount == 3, bytes[0] == 0x47, bytes[1] == 0x45, bytes[2] == 0x54 {
            self = .get
            return
        }
        for method in Method.known where bytes.equals(method.token.utf8) {
            self = method
            return
        }
        self.init(known: bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
    }

    /// `GET` (RFC 9110 §9.3.1).
    @inlinable public static var get: Method { Method(known: "GET", code: 1, safe: true, idempotent: true) }
    /// `HEAD` (RFC 9110 §9.3.2).
    @inlinable public static var head: Method { Method(known: "HEAD", code: 2, safe: true, idempotent: true) }
    /// `OPTIONS` (RFC 9110 §9.3.7).
    @inlinable public static var options: Method { Method(known: "OPTIONS", code: 3, safe: true, idempotent: true) }
    /// `TRACE` (RFC 9110 §9.3.8).
    @inlinable public static var trace: Method { Method(known: "TRACE", code: 4, safe: true, idempotent: true) }
    /// `PUT` (RFC 9110 §9.3.4).
    @inlinable public static var put: Method { Method(known: "PUT", code: 5, idempotent: true) }
    /// `DELETE` (RFC 9110 §9.3.5).
    @inlinable public static var delete: Method { Method(known: "DELETE", code: 6, idempotent: true) }
    /// `POST` (RFC 9110 §9.3.3).
    @inlinable public static var post: Method { Method(known: "POST", code: 7) }
    /// `PATCH` (RFC 5789).
    @inlinable public static var patch: Method { Method(known: "PATCH", code: 8) }
    /// `CONNECT` (RFC 9110 §9.3.6).
    @inlinable public static var connect: Method { Method(known: "CONNECT", code: 9) }
    /// Safe and idempotent, with content that is part of the query.
    /// `QUERY` (RFC 9110 §9).
    @inlinable public static var query: Method { Method(known: "QUERY", code: 10, safe: true, idempotent: true) }

    private static let known: [Method] = [
        head, post, put, options, delete, patch, connect, query, trace,
        Method(known: "PROPFIND", code: 11, safe: true, idempotent: true),
        Method(known: "REPORT", code: 12, safe: true, idempotent: true),
        Method(known: "SEARCH", code: 13, safe: true, idempotent: true),
    ]

    @inlinable
    public static func == (a: Method, b: Method) -> Bool { a.code == b.code && (a.code != 0 || a.token == b.token) }
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        if code == 0 { hasher.combine(token) }
    }
}

extension Method: CustomStringConvertible {
    public var description: String { token }
}
