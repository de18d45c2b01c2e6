// SPDX-License-Identifier: Apache-2.0

/// A status code: any three digits (RFC 9110 §15). Unknown ones are treated as the x00 of their class.
public struct Status: Hashable, Sendable, RawRepresentable, ExpressibleByIntegerLiteral {
    public let rawValue: UInt16

    @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }
    @inlinable public init(integerLiteral value: UInt16) { rawValue = value }
    /// Makes a status from a number, which is clamped to the range of `UInt16`.
    @inlinable public init(_ value: Int) { rawValue = UInt16(clamping: value) }

    /// The three digits as a number.
    @inlinable public var code: Int { Int(rawValue) }
    /// 1xx: another response follows (RFC 9110 §15.2).
    @inlinable public var isInterim: Bool { rawValue < 200 }
    /// 2xx (RFC 9110 §15.3).
    @inlinable public var isSuccess: Bool { rawValue / 100 == 2 }
    /// 3xx, 304 among them (RFC 9110 §15.4).
    @inlinable public var isRedirection: Bool { rawValue / 100 == 3 }
    /// 4xx and above: an error to the model.
    @inlinable public var isError: Bool { rawValue >= 400 }
    /// 5xx (RFC 9110 §15.6).
    @inlinable public var isServerError: Bool { rawValue / 100 == 5 }

    /// True if a response with this status never has content, regardless of its fields (RFC 9112 §6.3).
    @inlinable public var hasNoContent: Bool { isInterim || rawValue == 204 || rawValue == 304 }

    /// True if a response with this status is sent without content: `hasNoContent`, or 205, whose length of 0 is still
    /// announced (RFC 9110 §15.3.6).
    @inlinable public var isSentEmpty: Bool { hasNoContent || rawValue == 205 }

    /// The registered phrase, or the phrase of the class for others.
    public var phrase: String {
        (100..<600).contains(rawValue) ? Status.all[Int(rawValue) - 100] : Status.classPhrase(rawValue)
    }

    /// The phrases of all codes from 100 to 599.
    private static let all = (100..<600).map { phrases[$0] ?? classPhrase($0) }

    private static func classPhrase(_ code: UInt16) -> String {
        ["", "Informational", "Success", "Redirection", "Client Error", "Server Error"][min(Int(code / 100), 5)]
    }

    private static let phrases: [UInt16: String] = [
        100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints",
        200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content",
        205: "Reset Content", 206: "Partial Content", 207: "Multi-Status", 208: "Already Reported", 226: "IM Used",
        300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        305: "Use Proxy", 307: "Temporary Redirect", 308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
        405: "Method Not Allowed", 406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout",
        409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large",
        414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable", 417: "Expectation Failed",
        421: "Misdirected Request", 422: "Unprocessable Content", 423: "Locked", 424: "Failed Dependency",
        425: "Too Early", 426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
        431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout", 505: "HTTP Version Not Supported", 506: "Variant Also Negotiates",
        507: "Insufficient Storage", 508: "Loop Detected", 511: "Network Authentication Required",
    ]
}

extension Status: CustomStringConvertible {
    public var description: String { String(rawValue) }
}
