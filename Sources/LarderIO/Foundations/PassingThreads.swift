// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// Threads for jobs that wait for others, which are not there while there is nothing to do: a job that finds none idle
/// starts one, up to a limit, and a thread without a job ends after a while.
package final class PassingThreads: Sendable {
    package typealias Job = @Sendable () -> Void

    private struct State {
        var jobs: Deque<Job> = []
        var count = 0
        /// Threads that wait for a job.
        var idle = 0
    }

    private let name: String
    private let limit: Int
    private let queueLimit: Int
    private let patience: Duration
    private let monitor = Monitor(State())

    /// - Parameters:
    ///   - limit: the most threads at one time.
    ///   - queueLimit: the most jobs that wait for one.
    ///   - patience: how long a thread waits for the next job.
    package init(name: String, limit: Int, queueLimit: Int = 1024, patience: Duration = .seconds(1)) {
        // Holds: constants in the source and checked settings.
        precondition(limit > 0 && queueLimit > 0, "without a thread nobody does the jobs")
        self.name = name
        self.limit = limit
        self.queueLimit = queueLimit
        self.patience = patience
    }

    /// The number of threads that there are.
    package var count: Int { monitor.withLock { $0.count } }

    /// Has a job run. False if it will not be: too many wait, or there is no thread and the system has none to give.
    package func submit(_ job: @escaping Job) -> Bool {
        enum Step { case queued, start, refused }
        let step: Step = monitor.changeForOne { state in
            if state.jobs.count < state.idle {
                state.jobs.append(job)
                return .queued
            }
            if state.count < limit {
                state.count += 1
                return .start
            }
            guard state.jobs.count < queueLimit + state.idle else { return .refused }
            state.jobs.append(job)
            return .queued
        }
        guard step == .start else { return step == .queued }
        do throws(IOError) {
            try Thread.start(name: name) { [self] in work(job) }.detach()
            return true
        } catch {
            return monitor.changeForOne { state in
                state.count -= 1
                // The existing threads look for jobs before they end.
                guard state.count > 0 else { return false }
                state.jobs.append(job)
                return true
            }
        }
    }

    private func work(_ first: Job) {
        first()
        while let job = next() { job() }
    }

    /// Nil when there was none for a while; then the thread does not count any more.
    private func next() -> Job? {
        let end = SystemTime().monotonic().advanced(by: patience)
        monitor.withLock { $0.idle += 1 }
        return monitor.wait { state in
            if let job = state.jobs.popFirst() {
                state.idle -= 1
                return .done(job)
            }
            guard SystemTime().monotonic() >= end else { return .wait(until: end) }
            state.idle -= 1
            state.count -= 1
            return .done(nil)
        }
    }
}
