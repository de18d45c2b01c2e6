// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderRules
package import LarderSettings

/// The bytes of a `Host` field that was found to address Larder and no service, and by which router.
package struct KnownHost {
    private var octets: [UInt8] = []
    /// Retained, so that no later one can get the same identity.
    private var router: Router?

    package init() {}

    fileprivate init(_ fields: Fields, by router: Router) {
        octets = fields.withFirst(.host) { Array($0) } ?? []
        self.router = router
    }

    fileprivate func isPlainlyOurs(_ fields: Fields, by router: Router) -> Bool {
        guard self.router === router else { return false }
        return fields.withFirst(.host) { host in octets.withUnsafeBytes { ASCII.equal(host, $0) } } ?? false
    }
}

/// Determines the route of a request, as a function of the request and of its client.
package final class Router: Sendable {
    package let table: ServiceTable
    /// The ports allowed for CONNECT.
    package let connectPorts: [PortRange]
    /// Names accepted in gateway requests, besides the loopback ones and the listeners' addresses.
    package let hosts: [HostPattern]
    /// True if `/https/<host>/…` is supported.
    package let gatewayToAnyHost: Bool
    /// True if absolute-form requests may name hosts without a service.
    package let forwardsToAnyHost: Bool
    /// True if CONNECT may name this machine.
    package let tunnelsToLoopback: Bool

    package init(
        table: ServiceTable, connectPorts: [PortRange], hosts: [HostPattern] = [], gatewayToAnyHost: Bool = true,
        forwardsToAnyHost: Bool = true, tunnelsToLoopback: Bool = true
    ) {
        self.table = table
        self.connectPorts = connectPorts
        self.hosts = hosts
        self.gatewayToAnyHost = gatewayToAnyHost
        self.forwardsToAnyHost = forwardsToAnyHost
        self.tunnelsToLoopback = tunnelsToLoopback
    }

    /// The router's knowledge of the connection.
    package struct Client: Sendable, Hashable {
        /// True if the client is on this machine.
        package var isLoopback: Bool
        /// True if the client connected to a listener of the admin surface alone.
        package var isAdminOnly = false
        /// True if it proved by a certificate who it is.
        package var isProven = false
        /// True if URLs in absolute form are those after rewriting: an operator's are.
        package var namesForwarded = false
        /// The address the client connected to, as a normalised host, and its port.
        package var localHost: String
        package var localPort: UInt16
        /// The https origin of all requests of the connection, once Larder intercepts it.
        package var inside: Authority?

        package init(isLoopback: Bool, isAdminOnly: Bool = false, localHost: String, localPort: UInt16) {
            self.isAdminOnly = isAdminOnly
            self.isLoopback = isLoopback
            self.localHost = localHost
            self.localPort = localPort
        }
    }

    /// Routes `head` and, for a Resource, writes its URI into `uri`, and path and query as the client wrote them into
    /// `spelling` where they differ.
    ///
    /// - Parameter host: the last `Host` seen on the connection, which rarely changes.
    package func route(
        _ head: RequestHead, from client: Client, uri: inout TargetURI, spelling: inout [UInt8], host: inout KnownHost
    ) -> Route {
        let route = destination(head, from: client, uri: &uri, spelling: &spelling, host: &host)
        guard case .resource(let service, let form) = route else { return route }
        if !service.settings.ignoreQuery.isEmpty, let shorter = uri.without(service.settings.ignoreQuery) {
            uri = shorter
            spelling.removeAll(keepingCapacity: true)
        }
        guard service.base != nil else { return route }
        if let routes = service.routes, !(client.namesForwarded && form == .forward) {
            do throws(URIError) {
                // A rewritten URL is forwarded in normal form.
                if let rewritten = try routes.rewritten(uri) {
                    uri = rewritten
                    spelling.removeAll(keepingCapacity: true)
                }
            } catch {
                return .refused(.badRequest("The URL that a route makes of the request's cannot be used: \(error)."))
            }
        }
        // Credentials for one part of a service must not be sent with a URL that the origin may interpret as another
        // part.
        if form.isGateway || service.hasBlocks, uri.hidesDotSegments { return .refused(.hiddenDotSegments) }
        return route
    }

    /// The rewriting of a request's URL by a route; nil without any.
    func rewriting(_ head: RequestHead, from client: Client) -> RouteRewriting? {
        var (uri, spelling, host) = (TargetURI(), [UInt8](), KnownHost())
        guard
            case .resource(let service, let form) = destination(
                head, from: client, uri: &uri, spelling: &spelling, host: &host), let routes = service.routes,
            !(client.namesForwarded && form == .forward), let found = routes.rule(for: uri),
            let rewritten = try? routes.rewritten(uri)
        else { return nil }
        return RouteRewriting(place: found.place, rule: found.rule, original: uri.string, result: rewritten.string)
    }

    /// The destination of a request before rewriting.
    private func destination(
        _ head: RequestHead, from client: Client, uri: inout TargetURI, spelling: inout [UInt8], host: inout KnownHost
    ) -> Route {
        uri.clear()
        spelling.removeAll(keepingCapacity: true)
        if let authority = client.inside {
            do {
                return try inside(authority, head, &uri, &spelling)
            } catch {
                return .refused(.badRequest("The request's target cannot be used: \(error)."))
            }
        }
        if client.isAdminOnly {
            return head.target.first == UInt8(ascii: "/") ? .larder : .refused(.adminOnly)
        }
        do {
            return try head.target.withUnsafeBytes { target in
                switch try RequestTarget.classify(target, method: head.method) {
                case .absolute: try forward(target, head, client, &uri, &spelling)
                case .origin: try gateway(target, head, client, &uri, &spelling, &host)
                case .asterisk: .capabilities
                case .authority(let authority): tunnel(authority, client)
                }
            }
        } catch let error as RequestTargetError {
            return .refused(.badRequest("The request target cannot be used: \(error)."))
        } catch {
            return .refused(.badRequest("The URL in the request cannot be used: \(error)."))
        }
    }

    private func forward(
        _ target: UnsafeRawBufferPointer, _ head: RequestHead, _ client: Client, _ uri: inout TargetURI,
        _ spelling: inout [UInt8]
    ) throws -> Route {
        try uri.set(absolute: target)
        let authority = target.dropFirst(uri.scheme.prefixLength).prefix { !Router.endsAuthority($0) }
        if uri.scheme == .http, uri.port == client.localPort,
            isOurs(uri.host, client) || serviceNamed(by: uri.host) != nil
        {
            // Larder itself, in absolute form: a gateway request (RFC 9112 §3.2.2).
            let rest = authority.endIndex < target.endIndex ? Array(target[authority.endIndex...]) : [UInt8(ascii: "/")]
            let host = uri.host
            return try rest.withUnsafeBytes { try gateway($0, host: host, client, &uri, &spelling) }
        }
        if authority.endIndex == target.endIndex, head.method == .options {
            // RFC 9112 §3.2.4: a URI without a path is about the server as a whole.
            spelling.append(UInt8(ascii: "*"))
        }
        Router.note(UnsafeRawBufferPointer(rebasing: target[authority.endIndex...]), of: uri, in: &spelling)
        guard let service = table.claiming(uri) ?? (forwardsToAnyHost ? table.unclaimed : nil) else {
            return .refused(.notForwarded(to: uri.authority))
        }
        return .resource(service, .forward)
    }

    private func tunnel(_ authority: Authority, _ client: Client) -> Route {
        let namesMachine = Router.isLoopbackName(authority.host)
        if namesMachine, !tunnelsToLoopback { return .refused(.noTunnelToMachine) }
        // Development servers on this machine; not the ports of mail and the like.
        let isDevelopment = client.isLoopback && namesMachine && authority.port >= 1024
        guard isDevelopment || connectPorts.contains(where: { $0.contains(authority.port) }) else {
            return .refused(.noTunnel(toPort: authority.port))
        }
        guard gatewayToAnyHost && forwardsToAnyHost || table.names(authority) else {
            return .refused(.noTunnel(to: authority))
        }
        return .tunnel(authority)
    }

    private func gateway(
        _ target: UnsafeRawBufferPointer, host: String?, _ client: Client, _ uri: inout TargetURI,
        _ spelling: inout [UInt8]
    ) throws -> Route {
        if let host, let service = serviceNamed(by: host) {
            // Holds: `serviceNamed` finds only services with a base URL.
            try uri.set(base: service.base!, pathAndQuery: target)
            Router.note(target, below: service.base!, of: uri, in: &spelling)
            return .resource(service, .name)
        }
        if let host, let label = HostLabel.label(of: host) {
            return try anyHost(named: label, target, client, &uri, &spelling)
        }
        guard isOurs(host, client) else { return .refused(.misdirected(host: host ?? "")) }
        return try gatewayPath(target, client, &uri, &spelling)
    }

    /// A path of Larder's own: one of its pages, a service's mount, or any host.
    private func gatewayPath(
        _ target: UnsafeRawBufferPointer, _ client: Client, _ uri: inout TargetURI, _ spelling: inout [UInt8]
    ) throws -> Route {
        let path = UnsafeRawBufferPointer(rebasing: target.prefix { $0 != UInt8(ascii: "?") })
        if path.starts(with: "/-/".utf8) || path.elementsEqual("/-".utf8) { return .larder }
        if let (service, prefix) = table.mounted(at: path) {
            // The last slash of the mount begins the rest.
            let rest = UnsafeRawBufferPointer(rebasing: target[(prefix - 1)...])
            // Holds: a mounted service has a base URL.
            try uri.set(base: service.base!, pathAndQuery: rest)
            Router.note(rest, below: service.base!, of: uri, in: &spelling)
            return .resource(service, .mount)
        }
        if let service = table.mountedWithoutSlash(at: path) {
            let rest = [UInt8](arrayLiteral: UInt8(ascii: "/")) + target.dropFirst(path.count)
            // Holds: a mounted service has a base URL.
            try rest.withUnsafeBytes { try uri.set(base: service.base!, pathAndQuery: $0) }
            return .resource(service, .mount)
        }
        if let route = try anyHost(target, client, &uri, &spelling) { return route }
        if path.elementsEqual("/".utf8) || path.elementsEqual("/favicon.ico".utf8) { return .larder }
        return .refused(
            .unknownPath(
                String(decoding: path, as: UTF8.self),
                services: table.services.map { ($0.name, $0.settings.effectiveMount) },
                leadsToAnyHost: gatewayToAnyHost && client.isLoopback))
    }

    /// A gateway request; its `Host` is parsed only if it is not the connection's usual one.
    private func gateway(
        _ target: UnsafeRawBufferPointer, _ head: RequestHead, _ client: Client, _ uri: inout TargetURI,
        _ spelling: inout [UInt8], _ known: inout KnownHost
    ) throws -> Route {
        if known.isPlainlyOurs(head.fields, by: self) {
            return try gatewayPath(target, client, &uri, &spelling)
        }
        let host = try hostOfRequest(head)
        if let host, serviceNamed(by: host) == nil, HostLabel.label(of: host) == nil, isOurs(host, client) {
            known = KnownHost(head.fields, by: self)
        }
        return try gateway(target, host: host, client, &uri, &spelling)
    }

    /// `/https/<host>/…` and `/http/<host>/…`: any host, without configuration, for clients on this machine.
    private func anyHost(
        _ target: UnsafeRawBufferPointer, _ client: Client, _ uri: inout TargetURI, _ spelling: inout [UInt8]
    ) throws -> Route? {
        let scheme: TargetURI.Scheme
        if target.starts(with: "/https/".utf8) {
            scheme = .https
        } else if target.starts(with: "/http/".utf8) {
            scheme = .http
        } else {
            return nil
        }
        guard gatewayToAnyHost else { return .refused(.noGatewayToAnyHost) }
        guard client.isLoopback else { return .refused(.anyHostFromAfar) }
        let rest = target[(scheme.text.utf8.count + 2)...]
        // A whole URL stands where a host should.
        let start = String(decoding: rest.prefix(7), as: UTF8.self).lowercased()
        if start.hasPrefix("https:/") || start.hasPrefix("http:/") { return nil }
        let authority = rest.prefix { !Router.endsAuthority($0) }
        let pathAndQuery = UnsafeRawBufferPointer(rebasing: rest[authority.endIndex...])
        if let plain = Router.withPlainColon(authority) {
            try plain.withUnsafeBytes { try uri.set(scheme: scheme, authority: $0, pathAndQuery: pathAndQuery) }
        } else {
            try uri.set(
                scheme: scheme, authority: UnsafeRawBufferPointer(rebasing: authority), pathAndQuery: pathAndQuery)
        }
        Router.note(pathAndQuery, of: uri, in: &spelling)
        return .resource(table.claiming(uri) ?? table.unclaimed, .anyHost)
    }

    /// The same through an encoded host name, which is another origin than Larder's own to a browser.
    private func anyHost(
        named label: Substring, _ target: UnsafeRawBufferPointer, _ client: Client, _ uri: inout TargetURI,
        _ spelling: inout [UInt8]
    ) throws -> Route {
        guard gatewayToAnyHost else { return .refused(.noGatewayToAnyHost) }
        guard client.isLoopback else { return .refused(.anyHostFromAfar) }
        guard let name = HostLabel(label) else { return .refused(.noHostLabel(label)) }
        try Array(name.authority.utf8).withUnsafeBytes { authority in
            try uri.set(scheme: name.scheme, authority: authority, pathAndQuery: target)
        }
        Router.note(target, of: uri, in: &spelling)
        return .resource(table.claiming(uri) ?? table.unclaimed, .hostName)
    }

    /// The normalised host of the `Host` field, nil when there is none (HTTP/1.0).
    private func hostOfRequest(_ head: RequestHead) throws -> String? {
        try head.fields.withFirst(.host) { value -> Result<String?, URIError> in
            Result { () throws(URIError) in value.isEmpty ? nil : try Authority(value, defaultPort: 80).host }
        }?.get()
    }

    private func serviceNamed(by host: String) -> RoutedService? {
        let suffix = ".localhost"
        guard host.hasSuffix(suffix) else { return nil }
        guard let service = table.named(String(host.dropLast(suffix.utf8.count))), service.base != nil else {
            return nil
        }
        return service
    }

    /// True if `host` addresses Larder. Any other name is refused, so that a page cannot read anything by DNS
    /// rebinding; and so are names under `localhost` that are no service's, as a page may still be open that came from
    /// a service of that name.
    private func isOurs(_ host: String?, _ client: Client) -> Bool {
        guard let host else { return true }
        return !host.hasSuffix(HostLabel.suffix) && Router.isLoopbackName(host) || host == client.localHost
            || hosts.contains { $0.matches(host: host, port: client.localPort) }
    }

    /// An authority whose colon before the port is percent-encoded, as clients (pip) do where they resolve links in a
    /// path, with the colon itself; nil for all others.
    private static func withPlainColon(_ authority: Slice<UnsafeRawBufferPointer>) -> [UInt8]? {
        guard let percent = authority.lastIndex(of: UInt8(ascii: "%")), authority.endIndex - percent > 3,
            authority[percent + 1] == UInt8(ascii: "3"), authority[percent + 2] | 0x20 == UInt8(ascii: "a")
        else { return nil }
        return authority[..<percent] + [UInt8(ascii: ":")] + authority[(percent + 3)...]
    }

    private static func endsAuthority(_ octet: UInt8) -> Bool {
        octet == UInt8(ascii: "/") || octet == UInt8(ascii: "?") || octet == UInt8(ascii: "#")
    }

    /// Records how the client wrote path and query, `rest`, if that differs from the normal form in percent-encoding
    /// only: then it is forwarded unchanged (RFC 9110 §7.7). All others are forwarded in normal form.
    static func note(
        _ rest: UnsafeRawBufferPointer, below base: TargetURI? = nil, of uri: TargetURI, in spelling: inout [UInt8]
    ) {
        guard rest.first == UInt8(ascii: "/"), rest.contains(UInt8(ascii: "%")),
            uri.differsOnlyInEscapes(from: rest, below: base)
        else { return }
        if let base {
            base.withBytes(of: base.pathRange) { spelling.append(contentsOf: $0.dropLast()) }
        }
        spelling.append(contentsOf: rest)
    }

    /// True if a normalised host names this machine for every resolver.
    package static func isLoopbackName(_ host: String) -> Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
            || (host.hasPrefix("127.") && host.utf8.allSatisfy { ASCII.isDigit($0) || $0 == UInt8(ascii: ".") })
    }
}
