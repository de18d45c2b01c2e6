// SPDX-License-Identifier: Apache-2.0

import LarderIO
import LarderShared

/// The file beside the store with the place up to which the log of invalidations was applied to the stored responses,
/// and with the messages that were applied beyond it. Its methods block.
package struct PositionFile: Sendable {
    struct Place: Equatable {
        var log: LogPlace
        /// Shared responses that were stored before are not used, in nanoseconds since the epoch.
        var floor: Int64
    }

    static let name = "shared.position"
    /// Bytes: more than of all senders that are remembered.
    private static let limit = 1 << 20
    private let path: String

    /// - Parameter directory: the store's.
    package init(directory: String) { path = "\(directory)/\(PositionFile.name)" }

    /// Nil when there is none that can be read.
    func read() -> Place? {
        guard let octets = try? BoundedFile.read(path, limit: PositionFile.limit, .own) else { return nil }
        return PositionFile.parse(String(decoding: octets, as: UTF8.self))
    }

    /// The first line has the place and the number of senders. Each sender has a line: its identity, the largest number
    /// that was applied, and those below it.
    static func parse(_ text: String) -> Place? {
        guard text.hasSuffix("\n") else { return nil }
        var lines = text.dropLast().split(separator: "\n", omittingEmptySubsequences: false).makeIterator()
        guard let words = lines.next()?.split(separator: " ", omittingEmptySubsequences: false), words.count == 4,
            words[0] == "2", words[1].utf8.count <= 41, let floor = Int64(words[2]), let count = Int(words[3])
        else { return nil }
        var senders: [(UInt128, KnownSenders.Window)] = []
        while let line = lines.next() {
            let words = line.split(separator: " ", omittingEmptySubsequences: false)
            guard words.count == 3, let sender = UInt128(words[0], radix: 16), let largest = Int64(words[1]),
                largest >= 0, let obeyed = UInt128(words[2], radix: 16)
            else { return nil }
            senders.append((sender, KnownSenders.Window(largest: largest, obeyed: obeyed)))
        }
        guard senders.count == count else { return nil }
        return Place(log: LogPlace(String(words[1]), KnownSenders(senders)), floor: floor)
    }

    static func text(_ place: Place) -> String {
        let senders = place.log.senders.list
        let lines = senders.map { sender, window in
            "\(String(sender, radix: 16)) \(window.largest) \(String(window.obeyed, radix: 16))\n"
        }
        return "2 \(place.log.position) \(place.floor) \(senders.count)\n" + lines.joined()
    }

    /// Replaces the file, or leaves the old one: then more than necessary is obeyed again.
    func write(_ place: Place) {
        try? FileDraft.write(Array(PositionFile.text(place).utf8), to: path, draft: path + ".new", isSynced: false)
    }
}
