// SPDX-License-Identifier: Apache-2.0
import CLibevent
import Glibc

/// The name servers and the table of hosts as the system's files had them at some moment.
///
/// A lookup keeps the object it began with, so that changed files are a matter of making a new one.
final class NameServers {
    let base: OpaquePointer
    private let executor: LoopExecutor
    /// True if the file named a server; without one there is the system's default, this machine.
    let areConfigured: Bool
    let hosts: HostsFile

    /// - Parameter files: the paths of resolv.conf and hosts.
    init(on executor: LoopExecutor, files: Resolver.Files) throws(IOError) {
        guard let base = evdns_base_new(executor.base, 0) else {
            throw IOError(.nameServerFailure, errno: ENOMEM, operation: "set up name resolution")
        }
        self.base = base
        self.executor = executor
        // Before the file is read, so that its `options` prevail: a server that has not answered in two seconds is
        // asked again, and a silent one is tried anew after ten.
        evdns_base_set_option(base, "timeout:", "2")
        // Names whose servers are silent must not hold up all others: each lookup is a question for each family, and
        // `Resolver` bounds them.
        evdns_base_set_option(base, "max-inflight:", "1024")
        evdns_base_set_option(base, "attempts:", "3")
        evdns_base_set_option(base, "max-probe-timeout:", "10")
        let kinds = DNS_OPTION_NAMESERVERS | DNS_OPTION_SEARCH | DNS_OPTION_MISC
        areConfigured = evdns_base_resolv_conf_parse(base, kinds, files.resolverConfiguration) == 0
        hosts = HostsFile(path: files.hosts)
    }

    deinit {
        let base = base
        if executor.isOnThread {
            evdns_base_free(base, 0)
        } else {
            Leftovers(last: { evdns_base_free(base, 0) }).dispose(on: executor)
        }
    }

    /// The addresses of the servers.
    var addresses: [SocketAddress] {
        (0..<max(0, evdns_base_count_nameservers(base))).compactMap { index in
            SocketAddress.received { address, length in
                length.pointee = socklen_t(max(0, evdns_base_get_nameserver_addr(base, index, address, length.pointee)))
                return length.pointee > 0
            }
        }
    }

    /// The reason why no server can be asked at all, or nil if a server may be reachable.
    ///
    /// evdns would wait for its time-outs, but the kernel knows at once: no route, or no local listener.
    func whyUnreachable() -> String? {
        let addresses = addresses
        guard addresses.allSatisfy({ !Self.mayAnswer($0) }) else { return nil }
        let list = addresses.map(\.description).joined(separator: ", ")
        return areConfigured
            ? "no name server of resolv.conf can be reached (\(list))"
            : "resolv.conf names no server and none answers on this machine; add a nameserver line"
    }

    private static func mayAnswer(_ address: SocketAddress) -> Bool {
        let kind = SocketKind.datagram | SocketKind.ownAndNonBlocking
        let probe = socket(address.family, kind, 0)
        guard probe >= 0 else { return true }
        defer { close(probe) }
        guard address.connect(probe) == 0 else { return false }
        guard address.isLoopback else { return true }
        // On this machine, an empty datagram to a port without a receiver is answered before `send` returns.
        send(probe, nil, 0, SocketKind.noSignal)
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(probe, SOL_SOCKET, SO_ERROR, &error, &length)
        return error == 0
    }
}
