// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderIO

/// The network of a request's client, which determines the addresses it may be connected to, and the stored responses
/// it may get.
package enum ClientNetwork: Sendable, Hashable {
    /// On this machine: the client could connect to every address that Larder can connect to.
    case machine
    /// Elsewhere, allowed by `access.allow`. Larder must not give it access to this machine or its network.
    case network

    package init(isLoopback: Bool) { self = isLoopback ? .machine : .network }

    /// True if an address may be dialled, tested for each resolved address.
    ///
    /// - Parameter isNamed: whether the operator named the host, rather than the client.
    package func allows(_ address: SocketAddress, isNamed: Bool = false) -> Bool {
        if address.isUnspecified || address.isMulticast || address.isBroadcast || address.isLinkLocal
            || address.isMetadata
        {
            return false
        }
        return self == .machine || isNamed || !(address.isPrivate || address.isReserved || address.isOwn)
    }
}

extension SocketAddress {
    /// True if an origin here may have clients led to `target`: no further inside than it stands itself. A page of it could
    /// not read the answer there, and who else is inside need not expect requests of its making.
    func mayLead(to target: SocketAddress) -> Bool {
        if isOwn || target.isPublic && !target.isOwn { return true }
        return !target.isOwn && !isPublic
    }
}

extension Larder.Partition {
    /// The shared partition of network clients. Responses fetched for clients on this machine may come from addresses
    /// the others must not reach, and are invisible to them: in memory, in the store, and while they load.
    package static let network = Larder.Partition("network")

    /// The same identity's partition among the clients elsewhere.
    var acrossNetwork: Larder.Partition { self == .shared ? .network : Larder.Partition("network " + name) }

    /// True if it is of clients elsewhere.
    var isAcrossNetwork: Bool { self == .network || name.hasPrefix("network ") }

    /// The partition of anonymous clients, under credentials that the service has for all.
    var ofNobody: Larder.Partition { Larder.Partition("everyone " + name) }

    /// True if it belongs to one user: the rules of a private cache apply there.
    package var isOfUser: Bool {
        self != .shared && self != .network && !name.hasPrefix("everyone ") && !name.hasPrefix("network everyone ")
    }
}
