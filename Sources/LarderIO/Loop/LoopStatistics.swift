// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// The counters of a loop at some moment.
package struct LoopStatistics: Sendable, Equatable {
    /// How often the loop woke up and ran its ready jobs.
    package var turns: Int
    /// The longest time between two polls; meanwhile, no other connection on the loop is served.
    package var longestTurn: Duration
    /// How long the current turn has been running; zero while the loop waits.
    ///
    /// A watchdog reads this from another thread: a value that keeps growing is a loop that is stuck.
    package var currentTurn: Duration

    package init(turns: Int, longestTurn: Duration, currentTurn: Duration) {
        self.turns = turns
        self.longestTurn = longestTurn
        self.currentTurn = currentTurn
    }
}

/// The counters behind `LoopStatistics`: written by the loop's thread, read by any.
struct LoopCounters: ~Copyable {
    private let turns = Atomic<Int>(0)
    private let longest = Atomic<Int64>(0)
    /// When the running turn began, in the system's monotonic nanoseconds, or 0.
    private let began = Atomic<Int64>(0)

    var isInTurn: Bool { began.load(ordering: .relaxed) != 0 }

    func turnBegan(at now: Int64) { began.store(now, ordering: .relaxed) }

    func turnEnded(at now: Int64) {
        // One writer, so that load and store need not be one operation.
        turns.store(turns.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        let length = now &- began.load(ordering: .relaxed)
        if length > longest.load(ordering: .relaxed) { longest.store(length, ordering: .relaxed) }
        began.store(0, ordering: .relaxed)
    }

    func read() -> LoopStatistics {
        let start = began.load(ordering: .relaxed)
        return LoopStatistics(
            turns: turns.load(ordering: .relaxed),
            longestTurn: .nanoseconds(longest.load(ordering: .relaxed)),
            currentTurn: start == 0 ? .zero : .nanoseconds(max(0, SystemTime().monotonic() - start)))
    }
}
