// SPDX-License-Identifier: Apache-2.0

import LarderIO
import LarderRules
import Synchronization

/// The last exchanges, and two rankings: the slowest, and the most frequent that were not stored.
///
/// Hits in memory are recorded only while somebody watches, and then some in each second: recording one costs more than
/// answering it.
package final class RequestLog: Sendable {
    /// Durations or reasons by URL, without its query.
    package struct Line: Sendable {
        package let method: String
        package let url: String
        package let service: String
        package var requests = 0
        /// In nanoseconds.
        package var longest: Int64 = 0
        package var total: Int64 = 0
        /// Why it was last not stored, in one word.
        package var reason = ""

        package var mean: Int64 { total / Int64(max(1, requests)) }

        fileprivate mutating func add(_ note: RequestNote, because reason: String) {
            requests += 1
            total += note.nanoseconds
            longest = max(longest, note.nanoseconds)
            self.reason = reason
        }
    }

    private struct Key: Hashable {
        let method, url: String
    }

    private struct State {
        var notes: [RequestNote] = []
        var last: UInt64 = 0
        var loads: [Key: Line] = [:]
        var unkept: [Key: Line] = [:]
    }

    private let state = Lock(State())
    private let streams = Atomic<Int>(0)
    /// Until when, in monotonic nanoseconds, an observer has asked for all exchanges.
    private let watchedUntil = Atomic<Int64>(.min)

    /// The most notes kept.
    package static let limit = 500
    /// The most URLs ranked, beyond which the lowest are dropped.
    static let lineLimit = 1_024
    /// How long after a look the observer counts as watching.
    static let patience: Int64 = 15_000_000_000

    init() {}

    // MARK: Watching

    /// True if hits in memory are recorded.
    @inline(__always)
    func isWatched(at now: Int64) -> Bool { isHeard || now < watchedUntil.load(ordering: .relaxed) }

    /// An observer looks, and will again soon.
    package func look(at now: Int64) {
        let until = watchedUntil.load(ordering: .relaxed)
        if until < now + RequestLog.patience { watchedUntil.store(now + RequestLog.patience, ordering: .relaxed) }
    }

    /// True if there are listeners.
    var isHeard: Bool { streams.load(ordering: .relaxed) > 0 }

    /// Adds a listener; `ignore` must follow.
    func listen() { streams.add(1, ordering: .relaxed) }

    func ignore() { streams.subtract(1, ordering: .relaxed) }

    // MARK: Noting

    /// Adds a note, and assigns its number.
    func add(_ note: RequestNote) -> RequestNote {
        state.withLock { state in
            state.last += 1
            var note = note
            note.number = state.last
            if state.notes.count < RequestLog.limit {
                state.notes.append(note)
            } else {
                state.notes[Int((state.last - 1) % UInt64(RequestLog.limit))] = note
            }
            RequestLog.rank(note, in: &state)
            return note
        }
    }

    private static func rank(_ note: RequestNote, in state: inout State) {
        guard note.status > 0, !note.service.isEmpty else { return }
        let key = Key(method: note.method, url: note.plainURL)
        switch note.kind {
        case .miss, .validated, .pass, .error:
            guard note.hasLatency else { break }
            add(note, under: key, to: &state.loads) { $0.longest }
        default: break
        }
        if note.isKept {
            state.unkept[key] = nil
        } else if note.kind == .miss || note.kind == .pass {
            let reason = note.cacheStatus?.detail ?? note.reason
            add(note, because: reason, under: key, to: &state.unkept) { Int64($0.requests) }
        }
    }

    private static func add(
        _ note: RequestNote, because reason: String = "", under key: Key, to lines: inout [Key: Line],
        isWorth worth: (Line) -> Int64
    ) {
        if lines.count >= lineLimit, lines[key] == nil { dropHalf(of: &lines, isWorth: worth) }
        lines[key, default: Line(method: key.method, url: key.url, service: note.service)].add(note, because: reason)
    }

    /// Keeps the `lineLimit / 2` lines that are worth most.
    private static func dropHalf(of lines: inout [Key: Line], isWorth worth: (Line) -> Int64) {
        // Numbers are sorted, not lines: if every request has another URL, lines are dropped every 512 requests.
        let least = lines.values.map(worth).sorted()[lines.count / 2]
        var room = lineLimit / 2 - lines.values.count { worth($0) > least }
        lines = lines.filter { _, line in
            guard worth(line) == least, room > 0 else { return worth(line) > least }
            room -= 1
            return true
        }
    }

    // MARK: Reading

    /// The notes after number `last`, newest first.
    package func notes(after last: UInt64 = 0, limit: Int = RequestLog.limit) -> [RequestNote] {
        let notes = state.withLock { $0.notes }
        return Array(notes.filter { $0.number > last }.sorted { $0.number > $1.number }.prefix(limit))
    }

    /// The URLs that took longest to load.
    package func slowest(_ count: Int) -> [Line] {
        let lines = state.withLock { Array($0.loads.values) }
        return Array(lines.sorted { ($1.longest, $0.url) < ($0.longest, $1.url) }.prefix(count))
    }

    /// The most requested URLs that are not stored.
    package func unkept(_ count: Int) -> [Line] {
        let lines = state.withLock { Array($0.unkept.values) }
        return Array(lines.sorted { ($1.requests, $0.url) < ($0.requests, $1.url) }.prefix(count))
    }
}

/// The limit on hits in memory that a loop records in a second. Confined to its loop.
struct NoteBudget {
    private let perSecond: Int
    private var second = Int64.min
    private var left = 0

    init(perSecond: Int) { self.perSecond = perSecond }

    /// - Parameter now: in monotonic nanoseconds.
    mutating func hasRoom(at now: Int64) -> Bool {
        if now / 1_000_000_000 != second {
            second = now / 1_000_000_000
            left = perSecond
        }
        return left > 0
    }

    mutating func take(at now: Int64) -> Bool {
        guard hasRoom(at: now) else { return false }
        left -= 1
        return true
    }
}
