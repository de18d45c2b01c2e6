// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderIO

/// A program or a URL that is notified of changes.
enum ChangeListener: Sendable, Hashable {
    /// A program and its arguments.
    case program([String])
    /// A URL, which may contain secrets.
    case webhook(String)

    static func all(of rule: ChangeRule) -> [ChangeListener] {
        (rule.program.isEmpty ? [] : [.program(rule.program)]) + (rule.webhook.map { [.webhook($0)] } ?? [])
    }
}

/// The changes that await delivery, one for each URL and listener. Further changes within `debounce`, and changes that
/// arrive during a delivery, are delivered together. Listeners alternate, and a failing listener gets no deliveries
/// for a while, so that no listener waits for another.
///
/// The queue only decides; `ChangeNotifier` delivers. Times are in monotonic nanoseconds.
struct ChangeQueue: Sendable {
    struct Job: Sendable, Hashable {
        let service: String
        let url: String
        let listener: ChangeListener
    }

    struct Delivery: Sendable, Hashable {
        let job: Job
        let change: ContentChange
    }

    enum Ending: Sendable, Hashable { case told, willBeRepeated, givenUp }

    private struct Entry: Sendable {
        /// The change that is told next; nil while it is being told and nothing has come since.
        var change: ContentChange?
        var due: Int64
        var failures = 0
        var isRunning = false
    }

    /// The changes for one listener.
    private struct Line: Sendable {
        var entries: [Job: Entry] = [:]
        var running = 0
        /// How often it has failed since it was last told something.
        var failures = 0
        /// It is told nothing before.
        var heldUntil = Int64.min
        /// When it had its last turn.
        var turn: UInt64 = 0

        /// While it fails one attempt at a time is enough.
        var hasRoom: Bool { running < (failures == 0 ? ChangeQueue.concurrencyOfListener : 1) }

        /// The job that is due first, and when.
        var next: (job: Job, due: Int64)? {
            let waiting = entries.lazy.filter { !$1.isRunning && $1.change != nil }
            let first = waiting.min { ($0.value.due, $0.key.url) < ($1.value.due, $1.key.url) }
            return first.map { ($0.key, max($0.value.due, heldUntil)) }
        }
    }

    private var lines: [ChangeListener: Line] = [:]
    private(set) var count = 0
    private var running = 0
    private var turns: UInt64 = 0

    /// The most changes that wait.
    static let limit = 1_000
    /// How many are told at a time.
    static let concurrency = 8
    /// How many one listener is told at a time.
    static let concurrencyOfListener = 2
    /// How long after each failure it is tried again.
    static let pauses: [Duration] = [.seconds(2), .seconds(15), .seconds(60)]

    /// Returns how many changes will not be told because too many wait.
    mutating func note(_ change: ContentChange, _ rule: ChangeRule, now: Int64) -> Int {
        ChangeListener.all(of: rule).count { listener in
            !note(change, to: listener, due: now.advanced(by: rule.debounce))
        }
    }

    private mutating func note(_ change: ContentChange, to listener: ChangeListener, due: Int64) -> Bool {
        let job = Job(service: change.service, url: change.url, listener: listener)
        guard var entry = lines[listener]?.entries[job] else {
            let isLossless = count < ChangeQueue.limit
            guard isLossless || makeRoom(for: listener) else { return false }
            lines[listener, default: Line()].entries[job] = Entry(change: change, due: due)
            count += 1
            return isLossless
        }
        if let waiting = entry.change {
            entry.change = waiting.followed(by: change)
        } else {
            entry.change = change
            entry.due = due
        }
        set(entry, for: job)
        return true
    }

    /// Drops a change for the listener for which most wait; false when that is this one.
    private mutating func makeRoom(for listener: ChangeListener) -> Bool {
        let most = lines.max { $0.value.entries.count < $1.value.entries.count }
        guard let most, most.value.entries.count > (lines[listener]?.entries.count ?? 0) + 1 else { return false }
        let waiting = most.value.entries.lazy.filter { !$1.isRunning }
        guard let last = waiting.max(by: { ($0.value.due, $0.key.url) < ($1.value.due, $1.key.url) })?.key else {
            return false
        }
        remove(last)
        return true
    }

    /// The changes to tell now; `finished` must follow for each.
    mutating func take(now: Int64) -> [Delivery] {
        var deliveries: [Delivery] = []
        while running < ChangeQueue.concurrency, let job = next(now),
            let change = lines[job.listener]?.entries[job]?.change
        {
            turns += 1
            running += 1
            lines[job.listener]?.turn = turns
            lines[job.listener]?.running += 1
            lines[job.listener]?.entries[job]?.isRunning = true
            lines[job.listener]?.entries[job]?.change = nil
            deliveries.append(Delivery(job: job, change: change))
        }
        return deliveries
    }

    /// The next due job, of the listener whose last turn was longest ago.
    private func next(_ now: Int64) -> Job? {
        var found: (job: Job, turn: UInt64, due: Int64)?
        for line in lines.values where line.hasRoom {
            guard let (job, due) = line.next, due <= now else { continue }
            if let found, (found.turn, found.due) < (line.turn, due) { continue }
            found = (job, line.turn, due)
        }
        return found?.job
    }

    mutating func finished(_ delivery: Delivery, isTold: Bool, now: Int64) -> Ending {
        let job = delivery.job
        running -= 1
        lines[job.listener]?.running -= 1
        defer { tidy(now) }
        if isTold {
            lines[job.listener]?.failures = 0
            lines[job.listener]?.heldUntil = .min
        } else {
            hold(job.listener, now)
        }
        guard var entry = lines[job.listener]?.entries[job] else { return isTold ? .told : .givenUp }
        entry.isRunning = false
        if isTold || entry.failures == ChangeQueue.pauses.count {
            entry.failures = 0
            set(entry, for: job)
            return isTold ? .told : .givenUp
        }
        entry.due = now + ChangeQueue.pauses[entry.failures].wholeNanoseconds
        entry.failures += 1
        entry.change = entry.change.map { delivery.change.followed(by: $0) } ?? delivery.change
        set(entry, for: job)
        return .willBeRepeated
    }

    /// The listener has failed. Attempts that ran at the same time count as the same failure.
    private mutating func hold(_ listener: ChangeListener, _ now: Int64) {
        guard var line = lines[listener], line.heldUntil <= now else { return }
        line.heldUntil = now + ChangeQueue.pauses[min(line.failures, ChangeQueue.pauses.count - 1)].wholeNanoseconds
        line.failures += 1
        lines[listener] = line
    }

    /// When `take` has something; nil while nothing waits or all places are taken.
    var nextDue: Int64? {
        guard running < ChangeQueue.concurrency else { return nil }
        return lines.values.lazy.filter(\.hasRoom).compactMap { $0.next?.due }.min()
    }

    private mutating func set(_ entry: Entry, for job: Job) {
        guard entry.change == nil, !entry.isRunning else {
            lines[job.listener]?.entries[job] = entry
            return
        }
        remove(job)
    }

    private mutating func remove(_ job: Job) {
        if lines[job.listener]?.entries.removeValue(forKey: job) != nil { count -= 1 }
    }

    /// Forgets listeners for which nothing waits, unless they are to be left alone.
    private mutating func tidy(_ now: Int64) {
        lines = lines.filter { !$1.entries.isEmpty || $1.running > 0 || $1.heldUntil > now }
    }
}
