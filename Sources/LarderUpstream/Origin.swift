// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO

/// Scheme, host and port: the key of connection pools and statistics.
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

    /// `host:port`, as in CONNECT.
    package var authority: String { "\(host):\(port)" }

    /// True if the rules allow the origin's address, if it is named by one: behind a parent, which resolves names,
    /// there is nothing else to check.
    func allowsLiteral(_ allows: (SocketAddress) -> Bool) -> Bool { SocketAddress.allowsLiteral(host, port, allows) }

    /// The name for the certificate.
    var serverName: String { host.withoutBrackets }
}

extension String {
    /// A URL's host as in certificates and for resolvers: an IPv6 address without its brackets.
    package var withoutBrackets: String { hasPrefix("[") ? String(dropFirst().dropLast()) : self }
}

extension Origin: CustomStringConvertible {
    package var description: String {
        port == scheme.defaultPort ? "\(scheme.text)://\(host)" : "\(scheme.text)://\(host):\(port)"
    }
}

extension SocketAddress {
    /// True if `host` is a name, or an address that the rules allow.
    static func allowsLiteral(_ host: String, _ port: UInt16, _ allows: (SocketAddress) -> Bool) -> Bool {
        SocketAddress(host: host, port: port).map(allows) ?? true
    }
}
