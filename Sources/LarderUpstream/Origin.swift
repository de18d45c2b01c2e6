// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Scheme, host and port: what connections are pooled by and statistics are kept for.
package struct Origin: Hashable, Sendable {
    package let scheme: TargetURI.Scheme
    /// In normal form; an IPv6 address in brackets.
    package let host: String
    package let port: UInt16

    package init(scheme: TargetURI.Scheme, host: String, port: UInt16) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    package init(_ uri: TargetURI) { self.init(scheme: uri.scheme, host: uri.host, port: uri.port) }

    /// `host:port`, as CONNECT names it.
    package var authority: String { "\(host):\(port)" }

    /// What the certificate must be for: the host, an IPv6 address without its brackets.
    var serverName: String { host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host }
}

extension Origin: CustomStringConvertible {
    package var description: String {
        port == scheme.defaultPort ? "\(scheme.text)://\(host)" : "\(scheme.text)://\(host):\(port)"
    }
}

/// A proxy between us and the origins.
package struct ParentAddress: Hashable, Sendable {
    package let host: String
    package let port: UInt16
    /// The value of `Proxy-Authorization`, if it asks for one.
    package let authorization: String?

    package init(host: String, port: UInt16, authorization: String? = nil) {
        self.host = host
        self.port = port
        self.authorization = authorization
    }
}

extension ParentAddress: CustomStringConvertible {
    /// Without the credentials, so it may be logged.
    package var description: String { "the parent proxy \(host):\(port)" }
}
