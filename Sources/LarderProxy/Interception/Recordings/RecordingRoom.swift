// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The octets that the recordings of all lanes may take together. Lanes end by themselves only when there are too many.
package final class RecordingRoom: Sendable {
    /// That of two recordings.
    package static let limit = 2 * Recording.limit

    private let limit: Int
    private let taken = Atomic<Int>(0)

    package init(limit: Int = RecordingRoom.limit) { self.limit = limit }

    /// Takes octets, which are given back later. False if there are not that many.
    func take(_ octets: Int) -> Bool {
        let after = taken.add(octets, ordering: .relaxed).newValue
        if after <= limit { return true }
        giveBack(octets)
        return false
    }

    /// The room of a recording that was read, for as long as the result exists; nil if there is not that much.
    package func share(for recording: Recording) -> Share? {
        let octets = recording.octets
        return take(octets) ? Share(self, octets) : nil
    }

    package final class Share: Sendable {
        private let room: RecordingRoom
        private let octets: Int

        fileprivate init(_ room: RecordingRoom, _ octets: Int) { (self.room, self.octets) = (room, octets) }

        deinit { room.giveBack(octets) }
    }

    func giveBack(_ octets: Int) { taken.subtract(octets, ordering: .relaxed) }
}
