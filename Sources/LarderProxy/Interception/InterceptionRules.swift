// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderIO

/// Whose https is opened, as the configuration says.
package struct InterceptionRules: Sendable {
    /// What is to become of a connection.
    package enum Verdict: Equatable, Sendable {
        case open
        case tunnel(TunnelReason)
    }

    private let hosts, exceptions: [HostPattern]
    /// The places of https services, where they count.
    private let services: Set<Authority>

    package init(_ settings: Settings) {
        hosts = settings.intercept.hosts
        exceptions = settings.intercept.except
        let bases = settings.intercept.services ? settings.services.map(\.baseURL.target) : []
        services = Set(bases.lazy.filter { $0.scheme == .https }.compactMap(Authority.init))
    }

    /// Whether anything is opened for clients without a lane.
    var isEmpty: Bool { hosts.isEmpty && services.isEmpty }

    /// What CONNECT to `authority` leads to, as far as that is known before the client has said more.
    ///
    /// - Parameter opensAll: whether the client is in a lane that opens all hosts.
    package func verdict(on authority: Authority, opensAll: Bool = false) -> Verdict {
        if covers(authority, exceptions) { return .tunnel(.excluded) }
        return opensAll || covers(authority, hosts) || services.contains(authority) ? .open : .tunnel(.notListed)
    }

    /// Whether a reason to pass a host unseen still holds, as far as the configuration has it.
    package func holds(_ reason: TunnelReason, for authority: Authority) -> Bool {
        switch reason {
        case .notListed, .excluded: verdict(on: authority) != .open
        case .refused, .otherProtocol, .clientCertificate, .noCertificate, .overTLS: true
        }
    }

    /// What the first octets inside of the tunnel lead to: only TLS for the very host is opened, that offers a protocol
    /// which Larder speaks.
    package static func verdict(on first: ClientHello.Reader.Outcome, for authority: Authority) -> Verdict {
        guard case .hello(let hello) = first, isFor(authority, hello.serverName),
            hello.applicationProtocols?.contains("http/1.1") ?? true
        else { return .tunnel(.otherProtocol) }
        return .open
    }

    /// Names are compared as they are normalised. An address has no place in SNI (RFC 6066 §3), but some clients put it
    /// there.
    private static func isFor(_ authority: Authority, _ name: String?) -> Bool {
        guard let name else { return true }
        return (try? Authority(name, defaultPort: authority.port)) == authority
    }

    private func covers(_ authority: Authority, _ patterns: [HostPattern]) -> Bool {
        patterns.contains { $0.matches(host: authority.host, port: authority.port) }
    }
}

extension Authority {
    /// Reads `host[:port]`; without a port `defaultPort` counts.
    package init(_ text: String, defaultPort: UInt16) throws(URIError) {
        let octets = Array(text.utf8)
        self = try octets.withUnsafeBytes { bytes in
            Result { () throws(URIError) in try Authority(bytes, defaultPort: defaultPort) }
        }.get()
    }

    /// Where `uri` lies.
    init?(_ uri: TargetURI) {
        guard let authority = try? Authority(uri.authority, defaultPort: uri.scheme == .https ? 443 : 80) else {
            return nil
        }
        self = authority
    }

    /// The host as certificates and resolvers have it: an IPv6 address without brackets.
    var bareHost: String { host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host }
}
