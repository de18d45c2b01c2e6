// SPDX-License-Identifier: Apache-2.0
import LarderStores

/// The variants of a URL as they lie under one key: a revision, by which a change is compared and set, and sealed
/// entities, the newest first.
package struct SharedIndex: Sendable, Equatable {
    /// Random bytes, new in each version of the index; empty where there is none.
    package let revision: [UInt8]
    package let entries: [[UInt8]]

    /// More variants than that are not kept, the oldest go first.
    package static let variantLimit = 16
    static let revisionLength = 16
    private static let version: UInt8 = 1

    package static let none = SharedIndex(revision: [], entries: [])

    private init(revision: [UInt8], entries: [[UInt8]]) {
        self.revision = revision
        self.entries = entries
    }

    /// Reads the stored bytes. An index that does not decode has no entries, and its revision lets it be replaced.
    package init(_ octets: [UInt8]) {
        revision = Array(octets.prefix(SharedIndex.revisionLength))
        var reader = OctetReader(Array(octets.dropFirst(SharedIndex.revisionLength)))
        var entries: [[UInt8]] = []
        guard reader.byte() == SharedIndex.version, let count = reader.count(), count <= SharedIndex.variantLimit else {
            self.entries = []
            return
        }
        for _ in 0..<count {
            guard let entry = reader.run() else {
                self.entries = []
                return
            }
            entries.append(entry)
        }
        self.entries = reader.isAtEnd ? entries : []
    }

    /// The index with `entry` in front, without the entries for which `isReplaced` is true, under a new revision.
    package func adding(_ entry: [UInt8], replacing isReplaced: ([UInt8]) -> Bool) -> SharedIndex {
        let kept = entries.filter { !isReplaced($0) }.prefix(SharedIndex.variantLimit - 1)
        return SharedIndex(revision: .random16(), entries: [entry] + kept)
    }

    package var octets: [UInt8] {
        var out = OctetWriter(room: entries.reduce(32) { $0 + $1.count + 4 })
        out.append(SharedIndex.version)
        out.append(count: entries.count)
        for entry in entries { out.append(run: entry) }
        return revision + out.octets
    }
}
