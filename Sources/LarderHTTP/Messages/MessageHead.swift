// SPDX-License-Identifier: Apache-2.0

/// The protocol version on a start line. Larder speaks HTTP/1.1 and understands 1.0 (RFC 9112 §2.3).
public enum HTTPVersion: UInt8, Sendable, Comparable {
    /// HTTP/1.0.
    case http10
    /// HTTP/1.1.
    case http11

    @inlinable public static func < (a: HTTPVersion, b: HTTPVersion) -> Bool { a.rawValue < b.rawValue }
}

/// Method, request target and header section of a request (RFC 9110 §6.2).
public struct RequestHead: Sendable, Equatable {
    /// The method.
    public var method: Method
    /// The request target as bytes, as it stood on the line (RFC 9112 §3.2).
    public var target: [UInt8]
    /// The version on the start line.
    public var version: HTTPVersion
    /// The header section.
    public var fields: Fields

    /// Makes a request head.
    public init(method: Method = .get, target: String = "/", version: HTTPVersion = .http11, fields: Fields = Fields())
    {
        self.init(method: method, target: Array(target.utf8), version: version, fields: fields)
    }

    /// Makes a request head with a target of bytes.
    package init(method: Method, target: [UInt8], version: HTTPVersion = .http11, fields: Fields = Fields()) {
        self.method = method
        self.target = target
        self.version = version
        self.fields = fields
    }
}

/// Status and header section of a response (RFC 9110 §6.2). The reason phrase is not kept: RFC 9112 §4 tells
/// clients to ignore it, and Larder writes the registered one.
public struct ResponseHead: Sendable, Equatable {
    /// The status code.
    public var status: Status
    /// The version on the start line.
    public var version: HTTPVersion
    /// The header section.
    public var fields: Fields

    /// Makes a response head.
    public init(status: Status = 200, version: HTTPVersion = .http11, fields: Fields = Fields()) {
        self.status = status
        self.version = version
        self.fields = fields
    }
}
