// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// The room in memory for content of requests that is kept until their end, of which no client has more than its share.
final class ContentRoom: Sendable {
    private let all = OctetRoom(limit: ContentRoom.limit)
    private let clients = ClientCounts()

    static let limit = 64 << 20
    /// The limit for one client of the network; programs of this machine share the whole of `limit`.
    static let share = limit / 4

    /// Takes bytes, which are given back later. False if there are not that many for the client.
    func take(_ octets: Int, for client: ClientAddress) -> Bool {
        let share = client.isThisMachine ? ContentRoom.limit : ContentRoom.share
        guard clients.take(client, octets, limit: share) else { return false }
        if all.take(octets) { return true }
        clients.release(client, octets)
        return false
    }

    func giveBack(_ octets: Int, of client: ClientAddress) {
        clients.release(client, octets)
        all.giveBack(octets)
    }
}
