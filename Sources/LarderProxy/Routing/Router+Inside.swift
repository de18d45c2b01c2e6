// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules

/// Requests inside an intercepted connection: all requests are for one https origin, regardless of their target.
extension Router {
    /// Routes a request received over TLS that Larder terminates in the name of `authority`.
    ///
    /// - Throws: `URIError`, or `RequestTargetError`.
    func inside(
        _ authority: Authority, _ head: RequestHead, _ uri: inout TargetURI, _ spelling: inout [UInt8]
    ) throws -> Route {
        let refused: Problem? = try head.target.withUnsafeBytes { target in
            switch try RequestTarget.classify(target, method: head.method) {
            case .origin:
                guard try names(authority, head) else { return .elsewhere(than: authority) }
                try set(&uri, authority, target)
                Router.note(target, of: uri, in: &spelling)
            case .asterisk:
                guard try names(authority, head) else { return .elsewhere(than: authority) }
                try "/".withOctets { try set(&uri, authority, $0) }
                // RFC 9112 §3.2.4: about the server as a whole.
                spelling.append(UInt8(ascii: "*"))
            case .absolute:
                try uri.set(absolute: target)
                guard uri.scheme == .https, Authority(uri) == authority else {
                    uri.clear()
                    return .elsewhere(than: authority)
                }
                if head.method == .options, !target.dropFirst(uri.scheme.prefixLength).contains(UInt8(ascii: "/")),
                    !target.contains(UInt8(ascii: "?"))
                {
                    // RFC 9112 §3.2.4, as outside.
                    spelling.append(UInt8(ascii: "*"))
                }
            case .authority: return .nestedTunnel
            }
            return nil
        }
        if let refused { return .refused(refused) }
        guard let service = table.claiming(uri) ?? (forwardsToAnyHost ? table.unclaimed : nil) else {
            return .refused(.notForwarded(to: uri.authority))
        }
        return .resource(service, .forward)
    }

    private func set(
        _ uri: inout TargetURI, _ authority: Authority, _ pathAndQuery: UnsafeRawBufferPointer
    ) throws(URIError) {
        let text = authority.description
        let outcome = text.withOctets { octets in
            Result { () throws(URIError) in
                try uri.set(scheme: .https, authority: octets, pathAndQuery: pathAndQuery)
            }
        }
        try outcome.get()
    }

    /// True if the request's `Host` is the authority, or missing in HTTP/1.0.
    private func names(_ authority: Authority, _ head: RequestHead) throws -> Bool {
        try head.fields.withFirst(.host) { value -> Result<Bool, URIError> in
            Result { () throws(URIError) in try Authority(value, defaultPort: 443) == authority }
        }?.get() ?? true
    }
}

extension String {
    fileprivate func withOctets<Value>(_ body: (UnsafeRawBufferPointer) throws -> Value) rethrows -> Value {
        var copy = self
        return try copy.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
    }
}

extension Problem {
    fileprivate static func elsewhere(than authority: Authority) -> Problem {
        Problem(
            status: 421, title: "Misdirected request", proxyError: .httpRequestDenied,
            detail: "The connection is one with https://\(authority), and the request is addressed to somewhere else.",
            advice: "Send it over a connection of its own.")
    }

    fileprivate static let nestedTunnel = Problem(
        status: 400, title: "Tunnel refused", proxyError: .httpRequestDenied,
        detail: "CONNECT has no meaning inside of a tunnel.", advice: "Ask for a tunnel over a connection of its own.",
        closes: true)
}
