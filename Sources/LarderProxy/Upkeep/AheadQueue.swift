// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP

/// The resources that may be validated ahead, each with the time at which that is to be decided.
///
/// The queue decides only which resource is next, and when; `AheadRefresher` does the rest. Services alternate, so that
/// no service waits for the resources or the slow origin of another. Times are in monotonic nanoseconds.
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

        fileprivate var service: UInt32 { target.key.serviceNumber }
        /// About how many bytes of memory it takes: the URL is in its key and in its target.
        fileprivate var cost: Int { 256 + 2 * target.key.bytes.count + target.subject.spelling.count }
    }

    private struct Place: Sendable {
        let due: Int64
        let key: ResourceKey
    }

    /// The resources of one service.
    private struct Line: Sendable {
        private(set) var entries: [ResourceKey: Entry] = [:]
        /// By `due`, the latest first.
        private(set) var places: [Place] = []
        private(set) var cost = 0
        var running = 0
        /// The number of loads that took too long, and continue without a place.
        var late = 0
        /// When it had its last turn.
        var turn: UInt64 = 0

        var isIdle: Bool { entries.isEmpty && running == 0 && late == 0 }
        var hasRoom: Bool { running < AheadQueue.concurrencyOfService && late < AheadQueue.lateLimit }
        var next: Int64? { places.last?.due }

        mutating func insert(_ entry: Entry) {
            entries[entry.target.key] = entry
            cost += entry.cost
            places.insert(Place(due: entry.due, key: entry.target.key), at: end(of: entry.due))
        }

        @discardableResult mutating func remove(_ key: ResourceKey) -> Entry? {
            guard let entry = entries.removeValue(forKey: key) else { return nil }
            cost -= entry.cost
            if let place = places[..<end(of: entry.due)].lastIndex(where: { $0.key == key }) {
                places.remove(at: place)
            }
            return entry
        }

        /// The entry to drop: among the latest entries the first that is not wanted, or else the latest.
        func spare(_ isWanted: (Entry) -> Bool) -> Entry? {
            let last = places.prefix(AheadQueue.choice).lazy.compactMap { entries[$0.key] }
            return last.first { !isWanted($0) } ?? last.first
        }

        /// The index after the places with that time.
        private func end(of due: Int64) -> Int {
            var (low, high) = (0, places.count)
            while low < high {
                let middle = (low + high) / 2
                if places[middle].due >= due { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }

    private var lines: [UInt32: Line] = [:]
    private(set) var count = 0
    private var cost = 0
    private var running = 0
    private var turns: UInt64 = 0
    /// When the last ones were taken.
    private var taken: [Int64] = []

    /// The most resources in it, and the most bytes of memory.
    static let limit = 10_000
    static let octetLimit = 8 << 20
    /// The number of latest entries among which `spare` chooses.
    private static let choice = 32
    /// How many are looked at at once, and how many in a second.
    static let concurrency = 4
    static let perSecond = 10
    /// How many of one service are looked at at once.
    static let concurrencyOfService = 2
    /// With so many loads of one service that take too long, nothing more of it is looked at.
    static let lateLimit = 4
    private static let second: Int64 = 1_000_000_000

    func due(_ key: ResourceKey) -> Int64? { lines[key.serviceNumber]?.entries[key]?.due }

    /// Adds a resource, or changes its time. When there are too many, one of the service with the most gives way; within
    /// a service, to what is due earlier.
    ///
    /// - Parameter isWanted: whether it has been asked for often enough.
    mutating func add(_ entry: Entry, isWanted: (Entry) -> Bool = { _ in false }) {
        remove(entry.target.key)
        guard entry.cost <= AheadQueue.octetLimit else { return }
        while count >= AheadQueue.limit || cost + entry.cost > AheadQueue.octetLimit {
            guard makeRoom(for: entry, isWanted) else { return }
        }
        lines[entry.service, default: Line()].insert(entry)
        count += 1
        cost += entry.cost
    }

    private mutating func makeRoom(for entry: Entry, _ isWanted: (Entry) -> Bool) -> Bool {
        let most = lines.max { ($0.value.cost, $0.key) < ($1.value.cost, $1.key) }
        guard let (service, line) = most, let spare = line.spare(isWanted),
            service != entry.service || entry.due < spare.due
        else { return false }
        remove(spare.target.key)
        return true
    }

    @discardableResult mutating func remove(_ key: ResourceKey) -> Entry? {
        guard let entry = lines[key.serviceNumber]?.remove(key) else { return nil }
        count -= 1
        cost -= entry.cost
        tidy(key.serviceNumber)
        return entry
    }

    /// Removes and returns a due entry of the service whose last turn was longest ago; `finished` must follow.
    mutating func take(now: Int64) -> Entry? {
        guard running < AheadQueue.concurrency, mayTake(now), let service = nextService(now),
            let place = lines[service]?.places.last, let entry = lines[service]?.remove(place.key)
        else { return nil }
        count -= 1
        cost -= entry.cost
        running += 1
        taken.append(now)
        turns += 1
        lines[service]?.turn = turns
        lines[service]?.running += 1
        return entry
    }

    private func nextService(_ now: Int64) -> UInt32? {
        var found: (service: UInt32, turn: UInt64, due: Int64)?
        for (service, line) in lines where line.hasRoom {
            guard let due = line.next, due <= now else { continue }
            if let found, (found.turn, found.due) < (line.turn, due) { continue }
            found = (service, line.turn, due)
        }
        return found?.service
    }

    /// A load takes longer than it may: it goes on, and its place is free for another.
    mutating func noteLate(_ entry: Entry) {
        running -= 1
        lines[entry.service]?.running -= 1
        lines[entry.service]?.late += 1
    }

    mutating func finished(_ entry: Entry, wasLate: Bool = false) {
        if wasLate {
            lines[entry.service]?.late -= 1
        } else {
            running -= 1
            lines[entry.service]?.running -= 1
        }
        tidy(entry.service)
    }

    /// There was nothing to look at: neither place nor turn was used.
    mutating func skipped(_ entry: Entry) {
        if !taken.isEmpty { taken.removeLast() }
        finished(entry)
    }

    /// When `take` has something; nil while there is nothing, or all places are taken.
    mutating func nextDue(now: Int64) -> Int64? {
        guard running < AheadQueue.concurrency else { return nil }
        guard let due = lines.values.lazy.filter(\.hasRoom).compactMap(\.next).min() else { return nil }
        return mayTake(now) ? due : max(due, (taken.first ?? now) + AheadQueue.second)
    }

    private mutating func mayTake(_ now: Int64) -> Bool {
        taken.removeAll { $0 <= now - AheadQueue.second }
        return taken.count < AheadQueue.perSecond
    }

    private mutating func tidy(_ service: UInt32) {
        if lines[service]?.isIdle == true { lines[service] = nil }
    }
}
