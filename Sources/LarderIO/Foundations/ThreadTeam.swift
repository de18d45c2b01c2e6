// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// A few threads that run jobs from one bounded queue. Each thread has a tool (a connection, say) that its jobs use and
/// that never leaves the thread.
package final class ThreadTeam<Tool>: Sendable {
    package typealias Job = @Sendable (inout Tool?) -> Void

    private struct State {
        var jobs: Deque<Job> = []
        var isPaused = false
        /// Threads that have put their tool away, because of a pause.
        var parked = 0
        var isClosed = false
        var threads: [Thread] = []
        /// Threads beyond those it began with, in place of some that do not return from their jobs.
        var substitutes = 0
        /// How many of these jobs have returned: so many threads are to end.
        var surplus = 0
    }

    private enum Step {
        case run(Job)
        case putAway
        case end
        /// It was one too many.
        case leave(Thread?)
    }

    private let monitor = Monitor(State())
    private let name: String
    private let takesSignals: Bool
    private let queueLimit: Int

    /// Starts `threads` threads named `name-0`, `name-1` …; at most `queueLimit` jobs wait for one of them.
    ///
    /// If the system provides fewer threads, the team works with those; with none it refuses all jobs.
    package init(name: String, threads: Int, queueLimit: Int, takesSignals: Bool) {
        self.name = name
        self.takesSignals = takesSignals
        self.queueLimit = queueLimit
        let started = (0..<threads).compactMap { number in
            try? Thread.start(name: "\(name)-\(number)", takesSignals: takesSignals) { [self] in work() }
        }
        monitor.withLock { state in
            state.threads = started
            // Without a thread, no job would ever run.
            if started.isEmpty { state.isClosed = true }
        }
    }

    /// The number of jobs that wait for a thread.
    package var waitingCount: Int { monitor.withLock { $0.jobs.count } }

    /// Queues a job. False if it will not be done: too many wait, or the team has been dismissed.
    package func submit(_ job: @escaping Job) -> Bool {
        // Threads that wait without a pause are all alike. One that is woken during a pause waits on, and looks at
        // the queue when all are woken at its end.
        monitor.changeForOne { state in
            guard !state.isClosed, state.jobs.count < queueLimit else { return false }
            state.jobs.append(job)
            return true
        }
    }

    /// Starts another thread, as one is busy with a job that may never return. False if there are `limit` of them, or the
    /// system has none. If the job does return, `returned` must be called.
    package func substitute(limit: Int) -> Bool {
        let number = monitor.change { state -> Int? in
            guard !state.isClosed, state.substitutes < limit else { return nil }
            state.substitutes += 1
            return state.threads.count
        }
        guard let number else { return false }
        guard
            let thread = try? Thread.start(name: "\(name)-\(number)", takesSignals: takesSignals, { [self] in work() })
        else {
            monitor.change { $0.substitutes -= 1 }
            return false
        }
        let isWanted = monitor.change { state in
            if !state.isClosed { state.threads.append(thread) }
            return !state.isClosed
        }
        if !isWanted { thread.detach() }
        return true
    }

    /// A job has returned for which there is a substitute: one thread ends.
    package func returned() { monitor.change { $0.surplus += 1 } }

    /// Lets the jobs in progress end, makes every thread put its tool away, and runs `body` while none has one.
    package func withoutTools<Result>(_ body: () -> Result) -> Result {
        monitor.change { $0.isPaused = true }
        monitor.wait { state in state.parked == state.threads.count ? .done(()) : .wait(until: nil) }
        defer { monitor.change { $0.isPaused = false } }
        return body()
    }

    /// Takes no more jobs, does those it has, and ends the threads. Not from one of the threads.
    package func dismiss() {
        for thread in close() { thread.join() }
    }

    /// The same without waiting for the threads.
    package func abandon() {
        for thread in close() { thread.detach() }
    }

    /// Takes no more jobs. Returns the threads once, to be joined or detached.
    private func close() -> [Thread] {
        monitor.change { state in
            state.isClosed = true
            defer { state.threads = [] }
            return state.threads
        }
    }

    private func work() {
        var tool: Tool?
        var isParked = false
        while true {
            let step: Step = monitor.wait { state in
                if state.isPaused {
                    return isParked ? .wait(until: nil) : .done(.putAway)
                }
                if isParked {
                    isParked = false
                    state.parked -= 1
                }
                if state.surplus > 0 {
                    state.surplus -= 1
                    state.substitutes -= 1
                    let own = state.threads.firstIndex { $0.isCurrent }
                    return .done(.leave(own.map { state.threads.remove(at: $0) }))
                }
                if let job = state.jobs.popFirst() { return .done(.run(job)) }
                return state.isClosed ? .done(.end) : .wait(until: nil)
            }
            switch step {
            case .run(let job): job(&tool)
            case .putAway:
                tool = nil
                isParked = true
                monitor.change { $0.parked += 1 }
            case .end: return
            case .leave(let own):
                own?.detach()
                return
            }
        }
    }
}
