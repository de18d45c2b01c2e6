// SPDX-License-Identifier: Apache-2.0

package import LarderIO
package import LarderSettings
import Logging

/// The Unix socket of the admin surface; its permissions are the authorisation.
package struct AdminSocket: Sendable {
    package let path: String
    package let mode: FileMode
    /// The group that the socket gets; nil leaves the daemon's own.
    package let group: UInt32?

    package init(path: String, mode: FileMode = FileMode(0o600), group: UInt32? = nil) {
        self.path = path
        self.mode = mode
        self.group = group
    }
}

/// The addresses that a proxy listens on.
struct ListeningAddresses {
    /// Addresses of the service manager, then of the configuration in its order, but not of the admin surface alone.
    var clients: [SocketAddress] = []
    var overTLS: [SocketAddress] = []
    /// The addresses of the admin surface alone.
    var admin: [SocketAddress] = []
}

extension Proxy {
    /// Opens all listeners, before the proxy is reported as ready.
    func listen(inherited: [Int32], admin: AdminSocket?) async throws -> ListeningAddresses {
        let settings = configuration.settings
        var addresses = ListeningAddresses()
        for descriptor in inherited {
            addresses.clients.append(try await share(try ListeningSocket.inherited(descriptor)))
        }
        if addresses.clients.allSatisfy(\.isUnix) {
            for address in settings.listen {
                do {
                    addresses.clients.append(try await listen(on: address))
                } catch let error as IOError where error.code == .unreachable && isSpare(address, in: settings.listen) {
                    logger.notice("this machine has no IPv6; not listening there", metadata: ["address": "\(address)"])
                }
            }
        }
        if !inherited.isEmpty { tellUnheard(settings.listen, addresses.clients) }
        for address in settings.tls.listen { addresses.overTLS.append(try await listen(on: address, overTLS: true)) }
        for address in settings.admin.listen {
            addresses.admin.append(try await listen(on: address, isAdminOnly: true))
        }
        if let admin, !addresses.clients.contains(where: { $0.unixPath == admin.path }) {
            let socket = try ListeningSocket.unix(path: admin.path, mode: admin.mode.bits, group: admin.group)
            addresses.admin.append(try await share(socket))
        }
        return addresses
    }

    /// Says which of the configured addresses do not count beside the service manager's sockets.
    private func tellUnheard(_ configured: [SocketAddress], _ addresses: [SocketAddress]) {
        let unheard = configured.filter { !addresses.contains($0) }
        guard !unheard.isEmpty else { return }
        logger.notice(
            "the service manager's sockets count, not `listen`; change them in larder.socket",
            metadata: [
                "addresses": "\(addresses.map(String.init(describing:)).joined(separator: " "))",
                "listen": "\(unheard.map(String.init(describing:)).joined(separator: " "))",
            ])
    }

    /// True if `address` is the IPv6 half of `localhost`, whose IPv4 half has a listener as well.
    private func isSpare(_ address: SocketAddress, in all: [SocketAddress]) -> Bool {
        address == .loopbackIPv6(port: address.port) && all.contains(.loopback(port: address.port))
    }

    /// Opens one socket for each loop on the address; the kernel distributes connections among the sockets.
    private func listen(
        on address: SocketAddress, isAdminOnly: Bool = false, overTLS: Bool = false
    ) async throws -> SocketAddress {
        let contexts = contexts
        let sockets = try ListeningSocket.tcp(
            address, count: contexts.count, isIPv6Only: configuration.settings.listensOnIPv4(port: address.port))
        for (context, socket) in zip(contexts, sockets) {
            try await context.perform {
                try $0.liveClients().listen(on: socket, isAdminOnly: isAdminOnly, overTLS: overTLS, isForLanes: false)
            }
        }
        return sockets[0].address
    }

    /// Lets every user of this machine open lanes, and read, on a Unix socket at `path`.
    package func listenForLanes(onSocketAt path: String) async throws {
        _ = try await share(try ListeningSocket.unix(path: path, mode: 0o666), isForLanes: true)
    }

    /// All loops accept from one socket.
    private func share(_ socket: ListeningSocket, isForLanes: Bool = false) async throws -> SocketAddress {
        for (index, context) in contexts.enumerated() {
            let own = index == 0 ? socket : try socket.duplicate()
            try await context.perform {
                try $0.liveClients().listen(on: own, isAdminOnly: false, overTLS: false, isForLanes: isForLanes)
            }
        }
        return socket.address
    }

    /// Serves a connection that was accepted elsewhere, of a client at `peer`, so that tests can have clients in other
    /// networks.
    package func serve(_ descriptor: Int32, from peer: SocketAddress) async throws {
        try await anyContext().perform { try $0.liveClients().adopt(descriptor, from: peer) }
    }
}
