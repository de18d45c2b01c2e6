// SPDX-License-Identifier: Apache-2.0

/// The open connections of a loop, unordered. Each knows its index, so that removal needs no search.
struct ConnectionList {
    private(set) var all: [DownstreamConnection] = []

    mutating func insert(_ connection: DownstreamConnection) {
        connection.place = all.count
        all.append(connection)
    }

    mutating func remove(_ connection: DownstreamConnection) {
        let hole = connection.place
        guard hole >= 0 else { return }
        connection.place = -1
        let last = all.removeLast()
        guard last !== connection else { return }
        last.place = hole
        all[hole] = last
    }
}
