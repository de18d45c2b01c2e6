// SPDX-License-Identifier: Apache-2.0

import Larder

/// Who is told of a change.
enum ChangeListener: Sendable, Hashable {
    /// A program and its arguments.
    case program([String])
    /// A URL, which may contain secrets.
    case webhook(String)

    static func all(of rule: ChangeRule) -> [ChangeListener] {
        (rule.program.isEmpty ? [] : [.program(rule.program)]) + (rule.webhook.map { [.webhook($0)] } ?? [])
    }
}

/// The changes that wait to be told, for each URL and listener one: further ones within `debounce`, and those that come
/// while it is being told, are told together.
///
/// It decides alone; `ChangeNotifier` tells. Times are in monotonic nanoseconds.
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
        /// What is told next; nil while it is being told and nothing has come since.
        var change: ContentChange?
        var due: Int64
        var debounce: Duration
        var failures = 0
        var isRunning = false
    }

    private var entries: [Job: Entry] = [:]
    private var running = 0

    /// The most changes that wait.
    static let limit = 1_000
    /// How many are told at a time.
    static let concurrency = 4
    /// How long after each failure it is tried again.
    static let pauses: [Duration] = [.seconds(2), .seconds(15), .seconds(60)]

    var count: Int { entries.count }

    /// Returns how many listeners will not be told because too many changes wait.
    mutating func note(_ change: ContentChange, _ rule: ChangeRule, now: Int64) -> Int {
        var lost = 0
        for listener in ChangeListener.all(of: rule) {
            let job = Job(service: change.service, url: change.url, listener: listener)
            let due = now + rule.debounce.wholeNanoseconds
            guard var entry = entries[job] else {
                if entries.count < ChangeQueue.limit {
                    entries[job] = Entry(change: change, due: due, debounce: rule.debounce)
                } else {
                    lost += 1
                }
                continue
            }
            if let waiting = entry.change {
                entry.change = waiting.followed(by: change)
            } else {
                entry.change = change
                entry.due = due
            }
            entries[job] = entry.change == nil && !entry.isRunning ? nil : entry
        }
        return lost
    }

    /// The changes to tell now; `finished` must follow for each.
    mutating func take(now: Int64) -> [Delivery] {
        let due = entries.filter { !$1.isRunning && $1.change != nil && $1.due <= now }
            .sorted { ($0.value.due, $0.key.url) < ($1.value.due, $1.key.url) }
            .prefix(ChangeQueue.concurrency - running)
        return due.compactMap { job, entry in
            guard let change = entry.change else { return nil }
            entries[job]?.isRunning = true
            entries[job]?.change = nil
            running += 1
            return Delivery(job: job, change: change)
        }
    }

    mutating func finished(_ delivery: Delivery, isTold: Bool, now: Int64) -> Ending {
        running -= 1
        guard var entry = entries[delivery.job] else { return isTold ? .told : .givenUp }
        entry.isRunning = false
        if isTold || entry.failures == ChangeQueue.pauses.count {
            entry.failures = 0
            entries[delivery.job] = entry.change == nil ? nil : entry
            return isTold ? .told : .givenUp
        }
        entry.due = now + ChangeQueue.pauses[entry.failures].wholeNanoseconds
        entry.failures += 1
        entry.change = entry.change.map { delivery.change.followed(by: $0) } ?? delivery.change
        entries[delivery.job] = entry.change == nil ? nil : entry
        return .willBeRepeated
    }

    /// When `take` has something; nil while nothing waits or all places are taken.
    var nextDue: Int64? {
        guard running < ChangeQueue.concurrency else { return nil }
        return entries.values.filter { !$0.isRunning && $0.change != nil }.map(\.due).min()
    }
}
