// SPDX-License-Identifier: Apache-2.0
import LarderIO
import Synchronization

/// The hashes of all keys that may be stored, and which of them were used since eviction last came by.
///
/// Answers without the disk and from any thread. A hash may be here without an entity, never the other way round.
final class KeyIndex: Sendable {
    private let shards: [Monitor<HashTable>]
    private let loaded = Atomic<Bool>(false)
    /// Keys that became recently used and are not yet written down.
    private let marks = Monitor<[UInt64]>([])
    private static let marksLimit = 1 << 16

    init() {
        // A hash is a public function of the URL; the seed keeps anyone from choosing URLs that cluster.
        let seed = UInt64.random(in: 0 ... .max) | 1
        shards = (0..<64).map { _ in Monitor(HashTable(seed: seed)) }
    }

    /// True if every stored key is here; before that `mayContain` answers true to everything.
    var isLoaded: Bool {
        get { loaded.load(ordering: .acquiring) }
        set { loaded.store(newValue, ordering: .releasing) }
    }

    func mayContain(_ hash: UInt64) -> Bool {
        guard isLoaded else { return true }
        return shard(hash).withLock { $0.contains(hash) }
    }

    var count: Int { shards.reduce(0) { $0 + $1.withLock { $0.count } } }

    func insert(_ hash: UInt64) {
        shard(hash).withLock { $0.insert(hash) }
    }

    func remove(_ hash: UInt64) {
        shard(hash).withLock { $0.remove(hash) }
    }

    func removeAll() {
        for shard in shards { shard.withLock { $0.removeAll() } }
        marks.withLock { $0.removeAll() }
    }

    /// Marks a stored key as recently used.
    func touch(_ hash: UInt64) {
        guard shard(hash).withLock({ $0.mark(hash) }) else { return }
        // Only a hint for the next run: when too many wait, the oldest fact is lost, not memory.
        marks.withLock { if $0.count < Self.marksLimit { $0.append(hash) } }
    }

    /// Marks a key as recently used that was so in an earlier run.
    func restoreMark(_ hash: UInt64) {
        _ = shard(hash).withLock { $0.mark(hash) }
    }

    func isMarked(_ hash: UInt64) -> Bool {
        shard(hash).withLock { $0.isMarked(hash) }
    }

    /// Takes the mark away; false if there was none.
    func clearMark(_ hash: UInt64) -> Bool {
        shard(hash).withLock { $0.clearMark(hash) }
    }

    var waitingMarks: Int { marks.withLock { $0.count } }

    func takeMarks() -> [UInt64] {
        marks.withLock { marks in
            defer { marks = [] }
            return marks
        }
    }

    private func shard(_ hash: UInt64) -> Monitor<HashTable> { shards[Int(hash >> 58)] }
}

/// A set of 64-bit hashes, each with a mark of one bit, in eight bytes per place.
///
/// The mark replaces the lowest bit of a hash, so hashes that differ only in that bit count as one.
struct HashTable {
    /// Open addressing with linear probing; 0 is an empty place.
    private var places: [UInt64] = []
    private(set) var count = 0
    private let seed: UInt64
    /// The number of places is two to the power of 64 less this.
    private var shift: UInt64 = 64

    init(seed: UInt64) { self.seed = seed }

    func contains(_ hash: UInt64) -> Bool { find(Self.name(hash)) != nil }

    mutating func insert(_ hash: UInt64) {
        let name = Self.name(hash)
        guard find(name) == nil else { return }
        if (count + 1) * 4 > places.count * 3 { grow() }
        place(name)
        count += 1
    }

    mutating func remove(_ hash: UInt64) {
        guard var hole = find(Self.name(hash)) else { return }
        count -= 1
        // Close the gap: move each hash into it that would no longer be found from its home.
        let mask = places.count - 1
        var next = (hole + 1) & mask
        while places[next] != 0 {
            let distanceFromHome = (next - home(places[next] & ~1)) & mask
            if distanceFromHome >= (next - hole) & mask {
                places[hole] = places[next]
                hole = next
            }
            next = (next + 1) & mask
        }
        places[hole] = 0
    }

    mutating func removeAll() {
        places = []
        count = 0
    }

    /// Marks a hash that is here; false if it is not, or was marked.
    mutating func mark(_ hash: UInt64) -> Bool {
        guard let index = find(Self.name(hash)), places[index] & 1 == 0 else { return false }
        places[index] |= 1
        return true
    }

    func isMarked(_ hash: UInt64) -> Bool {
        find(Self.name(hash)).map { places[$0] & 1 == 1 } ?? false
    }

    /// Takes the mark of a hash away; false if it has none.
    mutating func clearMark(_ hash: UInt64) -> Bool {
        guard let index = find(Self.name(hash)), places[index] & 1 == 1 else { return false }
        places[index] &= ~1
        return true
    }

    /// The hash without its lowest bit, and never 0.
    private static func name(_ hash: UInt64) -> UInt64 { max(hash & ~1, 2) }

    private func home(_ name: UInt64) -> Int {
        // The high bits of a product depend on all bits of its factors.
        Int(truncatingIfNeeded: (name &* seed) >> shift)
    }

    private func find(_ name: UInt64) -> Int? {
        guard !places.isEmpty else { return nil }
        let mask = places.count - 1
        var index = home(name)
        while places[index] != 0 {
            if places[index] & ~1 == name { return index }
            index = (index + 1) & mask
        }
        return nil
    }

    private mutating func place(_ named: UInt64) {
        let mask = places.count - 1
        var index = home(named & ~1)
        while places[index] != 0 { index = (index + 1) & mask }
        places[index] = named
    }

    private mutating func grow() {
        let old = places
        places = [UInt64](repeating: 0, count: max(16, old.count * 2))
        shift = UInt64(64 - places.count.trailingZeroBitCount)
        for named in old where named != 0 { place(named) }
    }
}
