// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderRules

/// Decides where a request goes (product: three ways in), as a function of the request and of who sent it.
package struct Router: Sendable {
    package let table: ServiceTable
    /// CONNECT is allowed to these ports.
    package let connectPorts: [PortRange]
    /// Names besides the loopback ones and the addresses listened on that gateway requests may be addressed to.
    package let hosts: Set<String>
    package let allowsAnyHost: Bool

    package init(table: ServiceTable, connectPorts: [PortRange], hosts: Set<String>, allowsAnyHost: Bool) {
        self.table = table
        self.connectPorts = connectPorts
        self.hosts = hosts
        self.allowsAnyHost = allowsAnyHost
    }

    /// What the router knows about the connection.
    package struct Client: Sendable {
        /// Whether the client is on this machine.
        package var isLoopback: Bool
        /// Whether the client came over the Unix socket, which is the admin surface's alone.
        package var isOverSocket = false
        /// The address the client connected to, as a normalised host.
        package var localHost: String

        package init(isLoopback: Bool, isOverSocket: Bool = false, localHost: String) {
            self.isOverSocket = isOverSocket
            self.isLoopback = isLoopback
            self.localHost = localHost
        }
    }

    /// Routes `head` and, for a Resource, writes its URI into `uri`.
    package func route(_ head: RequestHead, from client: Client, uri: inout TargetURI) -> Route {
        uri.clear()
        if client.isOverSocket { return .larder }
        do {
            return try head.target.withUnsafeBytes { target in
                switch try RequestTarget.classify(target, method: head.method) {
                case .absolute: try forward(target, uri: &uri)
                case .origin: try gateway(target, head, client, uri: &uri)
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

    private func forward(_ target: UnsafeRawBufferPointer, uri: inout TargetURI) throws -> Route {
        try uri.set(absolute: target)
        return .resource(table.claiming(uri) ?? table.unclaimed, .forward)
    }

    private func tunnel(_ authority: Authority, _ client: Client) -> Route {
        let isLocal = client.isLoopback && Router.isLoopbackName(authority.host)
        guard isLocal || connectPorts.contains(where: { $0.contains(authority.port) }) else {
            return .refused(
                Problem(
                    status: 403, title: "Tunnel refused", proxyError: .httpRequestDenied,
                    detail: "CONNECT to port \(authority.port) is not allowed.",
                    advice: "Add the port to `tunnels.ports` in Larder's configuration if it should be."))
        }
        return .tunnel(authority)
    }

    private func gateway(
        _ target: UnsafeRawBufferPointer, _ head: RequestHead, _ client: Client, uri: inout TargetURI
    ) throws -> Route {
        let host = try hostOfRequest(head)
        if let host, let service = serviceNamed(by: host) {
            try uri.set(base: service.base!, pathAndQuery: target)
            return .resource(service, .name)
        }
        guard isOurs(host, client) else { return .refused(.misdirected(host: host ?? "")) }
        let path = UnsafeRawBufferPointer(rebasing: target.prefix { $0 != UInt8(ascii: "?") })
        if path.starts(with: "/-/".utf8) || path.elementsEqual("/-".utf8) { return .larder }
        if let (service, prefix) = table.mounted(at: path) {
            // The slash the mount ends with begins the rest.
            let rest = UnsafeRawBufferPointer(rebasing: target[(prefix - 1)...])
            try uri.set(base: service.base!, pathAndQuery: rest)
            return .resource(service, .mount)
        }
        if let service = table.mountedWithoutSlash(at: path) {
            let rest = [UInt8](arrayLiteral: UInt8(ascii: "/")) + target.dropFirst(path.count)
            try rest.withUnsafeBytes { try uri.set(base: service.base!, pathAndQuery: $0) }
            return .resource(service, .mount)
        }
        if let route = try anyHost(target, client, uri: &uri) { return route }
        if path.elementsEqual("/".utf8) || path.elementsEqual("/favicon.ico".utf8) { return .larder }
        return .refused(.unknownPath(String(decoding: path, as: UTF8.self), services: table.services.map(\.name)))
    }

    /// `/https/<host>/…` and `/http/<host>/…`: any host, without configuration, for clients on this machine.
    private func anyHost(
        _ target: UnsafeRawBufferPointer, _ client: Client, uri: inout TargetURI
    ) throws -> Route? {
        let scheme: TargetURI.Scheme
        if target.starts(with: "/https/".utf8) {
            scheme = .https
        } else if target.starts(with: "/http/".utf8) {
            scheme = .http
        } else {
            return nil
        }
        guard allowsAnyHost else { return nil }
        guard client.isLoopback else {
            return .refused(
                Problem(
                    status: 403, title: "Forbidden", proxyError: .httpRequestDenied,
                    detail: "The gateway to any host serves clients on this machine only.",
                    advice: "Describe the host as a service in Larder's configuration."))
        }
        let rest = target[(scheme.text.utf8.count + 2)...]
        let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        let pathAndQuery = UnsafeRawBufferPointer(rebasing: rest[authority.endIndex...])
        try uri.set(scheme: scheme, authority: UnsafeRawBufferPointer(rebasing: authority), pathAndQuery: pathAndQuery)
        return .resource(table.claiming(uri) ?? table.unclaimed, .anyHost)
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
        guard let service = table.named(String(host.dropLast(suffix.utf8.count))), service.base != nil else { return nil }
        return service
    }

    /// Whether a request addressed to `host` means Larder. Any other name is refused, so that a page whose name
    /// was rebound to this machine's address reads nothing.
    private func isOurs(_ host: String?, _ client: Client) -> Bool {
        guard let host else { return true }
        return Router.isLoopbackName(host) || host == client.localHost || hosts.contains(host)
    }

    /// Whether a normalised host names this machine whoever resolves it.
    package static func isLoopbackName(_ host: String) -> Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
            || (host.hasPrefix("127.") && host.utf8.allSatisfy { ASCII.isDigit($0) || $0 == UInt8(ascii: ".") })
    }
}
