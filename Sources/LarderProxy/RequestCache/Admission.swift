// SPDX-License-Identifier: Apache-2.0

import LarderIO
import LarderSettings
import Synchronization

/// Limits the number of clients: of all, and of connections from one address, with a reserve for operators.
///
/// Operators and supervisors are admitted when `limits.connections` is used up: over the Unix socket and on
/// `admin.listen`, and from this machine, where a connection beyond the limit is served Larder's own pages alone.
final class Admission: Sendable {
    /// The class of a connection's place; to be released when it closes.
    enum Place {
        case ordinary(ClientAddress)
        /// One of those reserved for operators.
        case operators
        /// One of those reserved for supervisors on this machine: for Larder's own pages alone.
        case ownPages
    }

    enum Verdict {
        case admitted(Place)
        /// All places are taken.
        case full
        /// Its address has reached the limit for one client.
        case tooMany
    }

    private let open = Atomic<Int>(0)
    private let ownPages = Tally()
    private let clients = ClientCounts()
    /// Requests of network clients that wait for origins, and tunnels.
    let originRequests = ClientCounts()

    /// The connections that are in memory.
    let existing = Tally()

    /// Connections of all kinds.
    var count: Int { open.load(ordering: .relaxed) }

    /// - Parameter isOperator: whether the connection came over the Unix socket or to a listener of the admin surface.
    func admit(_ peer: SocketAddress, isOperator: Bool, limits: Settings.Limits) -> Verdict {
        let total = open.add(1, ordering: .relaxed).newValue
        if isOperator {
            if total <= limits.connections + limits.reservedConnections { return .admitted(.operators) }
            open.subtract(1, ordering: .relaxed)
            return .full
        }
        let isFull = total > limits.connections
        let client = ClientAddress(peer)
        if !isFull, clients.take(client, limit: limits.connectionsOfClient) { return .admitted(.ordinary(client)) }
        // Half of the reserve, so that clients on this machine leave the other half to operators.
        let kept = limits.reservedConnections / 2
        if peer.isLoopback, total <= limits.connections + limits.reservedConnections, ownPages.take(limit: kept) {
            return .admitted(.ownPages)
        }
        open.subtract(1, ordering: .relaxed)
        return isFull ? .full : .tooMany
    }

    /// Releases a place. Returns how many connections are left.
    func release(_ place: Place) -> Int {
        switch place {
        case .ordinary(let client): clients.release(client)
        case .operators: break
        case .ownPages: ownPages.add(-1)
        }
        return open.subtract(1, ordering: .relaxed).newValue
    }
}

/// One client, for limits: an IPv4 address, the 64-bit network prefix of an IPv6 address (its owner has all addresses
/// in it), or this machine.
struct ClientAddress: Hashable {
    private let bits: UInt64
    private let isIPv6: Bool
    let isThisMachine: Bool

    init(_ address: SocketAddress) {
        isThisMachine = address.isLoopback
        (bits, isIPv6) = address.isLoopback ? (0, false) : address.network
    }
}

/// The number of connections, requests, or bytes, of each client. This machine, the source of most in most deployments,
/// is counted without a lock.
final class ClientCounts: Sendable {
    private let ofThisMachine = Tally()
    private let others = (0..<16).map { _ in Lock<[ClientAddress: Int]>([:]) }

    /// False if the client would exceed the limit.
    func take(_ client: ClientAddress, _ number: Int = 1, limit: Int) -> Bool {
        if client.isThisMachine { return ofThisMachine.take(number, limit: limit) }
        return shard(client).withLock { counts in
            let count = counts[client, default: 0]
            guard count + number <= limit else { return false }
            counts[client] = count + number
            return true
        }
    }

    func release(_ client: ClientAddress, _ number: Int = 1) {
        if client.isThisMachine { return ofThisMachine.add(-number) }
        shard(client).withLock { counts in
            let count = counts[client, default: number]
            counts[client] = count > number ? count - number : nil
        }
    }

    private func shard(_ client: ClientAddress) -> Lock<[ClientAddress: Int]> {
        others[Int(truncatingIfNeeded: UInt(bitPattern: client.hashValue) % UInt(others.count))]
    }
}

/// A count of objects, which may outlive what they belonged to.
final class Tally: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .relaxed) }

    func add(_ difference: Int) { count.add(difference, ordering: .relaxed) }

    /// Adds to it, unless that would be more than the limit.
    func take(_ number: Int = 1, limit: Int) -> Bool {
        if count.add(number, ordering: .relaxed).newValue <= limit { return true }
        add(-number)
        return false
    }
}
