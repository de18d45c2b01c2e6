// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderIO
package import LarderSettings

/// Which https hosts are intercepted, according to the configuration.
package struct InterceptionRules: Sendable {
    /// How a connection is handled.
    package enum Verdict: Equatable, Sendable {
        case open
        case tunnel(TunnelReason)
    }

    private let hosts, exceptions: [HostPattern]
    /// The authorities of https services, where they are intercepted.
    private let services: Set<Authority>

    package init(_ settings: Settings) {
        hosts = settings.intercept.hosts
        exceptions = settings.intercept.except
        let bases = settings.intercept.services ? settings.services.map(\.baseURL.target) : []
        services = Set(bases.lazy.filter { $0.scheme == .https }.compactMap(Authority.init))
    }

    /// The verdict on CONNECT to `authority`, before the client has sent its first bytes.
    ///
    /// - Parameter opensAll: whether the client is in a lane that intercepts all hosts.
    package func verdict(on authority: Authority, opensAll: Bool = false) -> Verdict {
        if covers(authority, exceptions) { return .tunnel(.excluded) }
        return opensAll || covers(authority, hosts) || services.contains(authority) ? .open : .tunnel(.notListed)
    }

    /// True if a reason to tunnel still applies under this configuration.
    package func holds(_ reason: TunnelReason, for authority: Authority) -> Bool {
        switch reason {
        case .notListed, .excluded: verdict(on: authority) != .open
        case .refused, .otherProtocol, .clientHTTP2, .originHTTP2, .clientCertificate, .noCertificate, .overTLS: true
        }
    }

    /// The verdict on the first bytes inside the tunnel: only TLS for the same host is intercepted, if it offers a
    /// protocol that Larder speaks.
    package static func verdict(on first: ClientHello.Reader.Outcome, for authority: Authority) -> Verdict {
        guard case .hello(let hello) = first, isFor(authority, hello.serverName) else {
            return .tunnel(.otherProtocol)
        }
        guard let offered = hello.applicationProtocols, !offered.contains("http/1.1") else { return .open }
        return .tunnel(offered.contains("h2") ? .clientHTTP2 : .otherProtocol)
    }

    /// Names are compared in normal form. SNI must not contain addresses (RFC 6066 §3), but some clients send them.
    private static func isFor(_ authority: Authority, _ name: String?) -> Bool {
        guard let name else { return true }
        return (try? Authority(name, defaultPort: authority.port)) == authority
    }

    private func covers(_ authority: Authority, _ patterns: [HostPattern]) -> Bool {
        patterns.contains { $0.matches(host: authority.host, port: authority.port) }
    }
}

extension Authority {
    /// Parses `host[:port]`; the port defaults to `defaultPort`.
    package init(_ text: String, defaultPort: UInt16) throws(URIError) {
        let octets = Array(text.utf8)
        self = try octets.withUnsafeBytes { bytes in
            Result { () throws(URIError) in try Authority(bytes, defaultPort: defaultPort) }
        }.get()
    }

    /// The authority of `uri`.
    init?(_ uri: TargetURI) {
        guard let authority = try? Authority(uri.authority, defaultPort: uri.scheme == .https ? 443 : 80) else {
            return nil
        }
        self = authority
    }
}
