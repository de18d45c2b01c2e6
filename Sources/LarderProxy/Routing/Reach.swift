// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderIO

/// Where the client of a request stands, which says what it may be connected to, and what it may be answered with
/// that others had fetched.
package enum Reach: Sendable, Hashable {
    /// On this machine: it could connect to whatever Larder can.
    case machine
    /// Elsewhere, served because of `access.allow`. Larder must not be its way into this machine or its network.
    case network

    package init(isLoopback: Bool) { self = isLoopback ? .machine : .network }

    /// Which addresses may be dialled, judged on the very address that is then dialled.
    ///
    /// - Parameter isNamed: whether the operator named the place, rather than the client.
    package func allows(_ address: SocketAddress, isNamed: Bool = false) -> Bool {
        if address.isUnspecified || address.isMulticast || address.isBroadcast || address.isLinkLocal
            || address.isMetadata
        {
            return false
        }
        return self == .machine || isNamed || !(address.isPrivate || address.isReserved || address.isOwn)
    }
}

extension Larder.Partition {
    /// What clients elsewhere had fetched under their own rules. What clients on this machine had fetched may come from
    /// places the others must not reach, and is out of their sight: in memory, in the store, and while it loads.
    package static let network = Larder.Partition("network")

    /// The same identity's partition among the clients elsewhere.
    var acrossNetwork: Larder.Partition { self == .shared ? .network : Larder.Partition("network " + name) }

    /// What those have who are nobody in particular, under credentials that the service has for all.
    var ofNobody: Larder.Partition { Larder.Partition("everyone " + name) }

    /// Whether it is one user's: the rules of a private cache hold there.
    package var isOfUser: Bool {
        self != .shared && self != .network && !name.hasPrefix("everyone ") && !name.hasPrefix("network everyone ")
    }
}
