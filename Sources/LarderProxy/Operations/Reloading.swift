// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO

/// How the configuration came to be in force: what became of the last reload, and how one is asked for.
package final class Reloading: Sendable {
    /// One reading of the configuration while the daemon ran.
    package struct Attempt: Sendable {
        package let at: Timestamp
        /// The file that was read; nil when there was none.
        package let file: String?
        /// Why it was refused, a sentence each; none when it is in force.
        package let problems: [String]
        /// What is not as it should be, but was taken.
        package let warnings: [String]
        /// The settings that were changed and take a restart.
        package let waiting: [String]

        package var isAccepted: Bool { problems.isEmpty }

        package init(
            at now: Timestamp, file: String?, problems: [String] = [], warnings: [String] = [], waiting: [String] = []
        ) {
            at = now
            self.file = file
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
        /// The one that is under way or was the last.
        var running: Task<Attempt, Never>?
    }

    private let state = Lock(State())

    init() {}

    /// What became of the last one; nil when there was none since the start.
    package var latest: Attempt? { state.withLock { $0.latest } }
    package var accepted: Int { state.withLock { $0.accepted } }
    package var refused: Int { state.withLock { $0.refused } }

    /// Says how the configuration is read again.
    package func attach(_ read: @escaping @Sendable () async -> Attempt) { state.withLock { $0.read = read } }

    /// Has the configuration read again, after whatever reload is under way; nil where nobody can.
    package func reload() async -> Attempt? {
        let task = state.withLock { state -> Task<Attempt, Never>? in
            guard let read = state.read else { return nil }
            let before = state.running
            let task = Task {
                _ = await before?.value
                return await read()
            }
            state.running = task
            return task
        }
        guard let attempt = await task?.value else { return nil }
        state.withLock { state in
            state.latest = attempt
            if attempt.isAccepted { state.accepted += 1 } else { state.refused += 1 }
        }
        return attempt
    }
}
