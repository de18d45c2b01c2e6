// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO

/// The state of the configuration: the outcome of the last reload, and a way to request one.
package final class Reloading: Sendable {
    /// One reading of the configuration while the daemon ran.
    package struct Attempt: Sendable {
        package let at: Timestamp
        /// The file that was read; nil when there was none.
        package let file: String?
        /// The places searched for a file, if no file was named at the start.
        package let searched: [String]
        /// Why it was refused, a sentence each; none when it is in force.
        package let problems: [String]
        /// Deviations that did not prevent its use.
        package let warnings: [String]
        /// Changed settings that take effect after a restart.
        package let waiting: [String]

        package var isAccepted: Bool { problems.isEmpty }

        package init(
            at now: Timestamp, file: String?, searched: [String] = [], problems: [String] = [],
            warnings: [String] = [], waiting: [String] = []
        ) {
            at = now
            self.file = file
            self.searched = searched
            self.problems = problems
            self.warnings = warnings
            self.waiting = waiting
        }
    }

    private struct State {
        var latest: Attempt?
        var accepted = 0
        var refused = 0
        var read: (@Sendable () async -> Attempt)?
        /// The current or last one.
        var running: Task<Attempt, Never>?
    }

    private let state = Lock(State())

    init() {}

    /// The outcome of the last one; nil when there was none since the start.
    package var latest: Attempt? { state.withLock { $0.latest } }
    package var accepted: Int { state.withLock { $0.accepted } }
    package var refused: Int { state.withLock { $0.refused } }

    /// Sets the function that reads the configuration again.
    package func attach(_ read: @escaping @Sendable () async -> Attempt) { state.withLock { $0.read = read } }

    /// Reloads the configuration, after any reload under way; nil where that is not possible.
    package func reload() async -> Attempt? {
        let task = state.withLock { state -> Task<Attempt, Never>? in
            guard let read = state.read else { return nil }
            let before = state.running
            let task = Task {
                _ = await before?.value
                let attempt = await read()
                // Here, as those who asked may go on in another order.
                self.note(attempt)
                return attempt
            }
            state.running = task
            return task
        }
        return await task?.value
    }

    private func note(_ attempt: Attempt) {
        state.withLock { state in
            state.latest = attempt
            if attempt.isAccepted { state.accepted += 1 } else { state.refused += 1 }
        }
    }
}
