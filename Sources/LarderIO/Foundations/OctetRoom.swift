// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Limits the total bytes of content from clients or origins. Each piece of content also has its own limit.
package final class OctetRoom: Sendable {
    private let limit: Int
    private let taken = Atomic<Int>(0)

    package init(limit: Int) { self.limit = limit }

    /// Takes bytes, which are given back later. False if there are not that many.
    package func take(_ octets: Int) -> Bool {
        let after = taken.add(octets, ordering: .relaxed).newValue
        if after <= limit { return true }
        giveBack(octets)
        return false
    }

    package func giveBack(_ octets: Int) { taken.subtract(octets, ordering: .relaxed) }

    /// Takes bytes for as long as the result exists; nil if there are not that many.
    package func share(of octets: Int) -> Share? { take(octets) ? Share(self, octets) : nil }

    package final class Share: Sendable {
        private let room: OctetRoom
        private let octets: Int

        fileprivate init(_ room: OctetRoom, _ octets: Int) { (self.room, self.octets) = (room, octets) }

        deinit { room.giveBack(octets) }
    }
}
