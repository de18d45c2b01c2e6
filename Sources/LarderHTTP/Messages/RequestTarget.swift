// SPDX-License-Identifier: Apache-2.0

/// The form of a request target (RFC 9112 §3.2). Telling the forms apart looks at the method and the first
/// bytes; the parts are validated when a `TargetURI` is set from them.
package enum RequestTarget: Sendable, Equatable {
    /// §3.2.1: path and query; the rest of the target URI comes from the connection and the `Host` field.
    case origin
    /// §3.2.2: a whole `http` or `https` URI.
    case absolute(TargetURI.Scheme)
    /// §3.2.3: host and port of a tunnel.
    case authority(Authority)
    /// §3.2.4: the server itself, in an OPTIONS request.
    case asterisk

    /// Tells the form of `target` in a request with `method`.
    package static func classify(
        _ target: UnsafeRawBufferPointer, method: Method
    ) throws(RequestTargetError) -> RequestTarget {
        guard let first = target.first else { throw .empty }
        if method == .connect {
            do throws(URIError) {
                return .authority(try Authority(target, defaultPort: nil))
            } catch {
                throw .invalidAuthority(error)
            }
        }
        if first == 0x2F { return .origin }
        if first == UInt8(ascii: "*"), target.count == 1 {
            guard method == .options else { throw .asteriskNeedsOptions }
            return .asterisk
        }
        if let scheme = TargetURI.Scheme(prefixOf: target) { return .absolute(scheme) }
        throw hasScheme(target) ? .unsupportedScheme : .malformed
    }

    /// Path and query of a target in origin-form or absolute-form.
    package static func originForm(of target: [UInt8]) -> [UInt8] {
        guard target.first != UInt8(ascii: "/"), let colon = target.firstIndex(of: UInt8(ascii: ":")) else {
            return target
        }
        let path = target[colon...].dropFirst(3).drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        return path.first == UInt8(ascii: "/") ? Array(path) : [UInt8(ascii: "/")] + path
    }

    private static func hasScheme(_ target: UnsafeRawBufferPointer) -> Bool {
        guard let first = target.first, ASCII.isAlpha(first), let colon = target.firstIndex(of: UInt8(ascii: ":"))
        else { return false }
        return target.prefix(colon).allSatisfy {
            ASCII.isAlpha($0) || ASCII.isDigit($0) || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E
        }
    }
}

/// The reason why a request target does not have one of the four forms.
package enum RequestTargetError: Error, Hashable, Sendable {
    case empty
    case malformed
    /// A URI, but neither `http` nor `https`.
    case unsupportedScheme
    /// `*` with another method than OPTIONS.
    case asteriskNeedsOptions
    /// The target of CONNECT is not `host:port`.
    case invalidAuthority(URIError)
}

extension RequestTargetError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .empty: "the request target is empty"
        case .malformed: "the request target is neither a path, nor a URI, nor an asterisk"
        case .unsupportedScheme: "the request target is a URI that is neither http nor https"
        case .asteriskNeedsOptions: "the request target * goes with OPTIONS only"
        case .invalidAuthority(let error): "the target of CONNECT is not host:port: \(error)"
        }
    }
}

/// A host and a port, as in the target of CONNECT and in a `Host` field.
public struct Authority: Sendable, Hashable {
    /// The host in normal form: a lower-case name, an IPv4 address, or an IPv6 address in brackets.
    public let host: String
    /// The port, the default where none was named.
    public let port: UInt16

    /// Reads `host[:port]` strictly. Without a port `defaultPort` counts; when that is nil, a port is required.
    package init(_ bytes: UnsafeRawBufferPointer, defaultPort: UInt16?) throws(URIError) {
        guard bytes.count <= 300 else { throw .invalidHost }
        let (name, digits) = try URIHost.split(bytes)
        var octets: [UInt8] = []
        try URIHost.append(name, to: &octets)
        let explicit = try digits.flatMap { digits throws(URIError) in try URIHost.port(digits.bytes) }
        guard let port = explicit ?? defaultPort else { throw .missingPort }
        host = String(decoding: octets, as: UTF8.self)
        self.port = port
    }
}

extension Authority: CustomStringConvertible {
    public var description: String { "\(host):\(port)" }
}
