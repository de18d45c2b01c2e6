// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP

/// The resources that may be validated ahead, each with the time at which that is to be decided.
///
/// It decides alone when which is taken; `AheadRefresher` does the rest. Times are in monotonic nanoseconds.
struct AheadQueue: Sendable {
    struct Entry: Sendable {
        let target: AheadTarget
        /// The response that is known to have come without a client's credentials, by its time.
        let vouched: Timestamp?
        /// How many uses the resource had had when its response came.
        let uses: UInt64
        /// From 0 to 1.
        let jitter: Double
        let due: Int64
    }

    private struct Place: Sendable {
        let due: Int64
        let key: ResourceKey
    }

    private var entries: [ResourceKey: Entry] = [:]
    /// By `due`, the latest first. Those of entries that have been replaced or removed are skipped.
    private var places: [Place] = []
    private var running = 0
    /// When the last ones were taken.
    private var taken: [Int64] = []

    /// The most resources in it.
    static let limit = 10_000
    /// How many are looked at at once, and how many in a second.
    static let concurrency = 4
    static let perSecond = 10
    private static let second: Int64 = 1_000_000_000

    var count: Int { entries.count }

    func due(_ key: ResourceKey) -> Int64? { entries[key]?.due }

    /// Adds a resource, or changes its time. Nothing happens when there are too many.
    mutating func add(_ entry: Entry) {
        let key = entry.target.key
        guard entries[key] != nil || entries.count < AheadQueue.limit else { return }
        entries[key] = entry
        var (low, high) = (0, places.count)
        while low < high {
            let middle = (low + high) / 2
            if places[middle].due >= entry.due { low = middle + 1 } else { high = middle }
        }
        places.insert(Place(due: entry.due, key: key), at: low)
        if places.count > 2 * AheadQueue.limit { places.removeAll { entries[$0.key]?.due != $0.due } }
    }

    mutating func remove(_ key: ResourceKey) { entries[key] = nil }

    /// Takes one that is due; `finished` must follow.
    mutating func take(now: Int64) -> Entry? {
        guard running < AheadQueue.concurrency, mayTake(now) else { return nil }
        dropReplaced()
        guard let place = places.last, place.due <= now, let entry = entries.removeValue(forKey: place.key) else {
            return nil
        }
        places.removeLast()
        running += 1
        taken.append(now)
        return entry
    }

    mutating func finished() { running -= 1 }

    /// When `take` has something; nil while there is nothing, or all places are taken.
    mutating func nextDue(now: Int64) -> Int64? {
        guard running < AheadQueue.concurrency else { return nil }
        dropReplaced()
        guard let due = places.last?.due else { return nil }
        return mayTake(now) ? due : max(due, (taken.first ?? now) + AheadQueue.second)
    }

    private mutating func mayTake(_ now: Int64) -> Bool {
        taken.removeAll { $0 <= now - AheadQueue.second }
        return taken.count < AheadQueue.perSecond
    }

    private mutating func dropReplaced() {
        while let place = places.last, entries[place.key]?.due != place.due { places.removeLast() }
    }
}
