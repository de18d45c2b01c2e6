// SPDX-License-Identifier: Apache-2.0
import DequeModule
import LarderIO

/// Runs calls to hooks and observers one after the other, in order, without a thread of its own: the posting thread
/// runs the queue until it is empty, unless another thread already does.
///
/// Jobs that a running job posts run right after it, before those that were waiting; so a chain of consequences is
/// delivered completely before the next one.
package final class TurnQueue: Sendable {
    package typealias Job = @Sendable () -> Void

    private struct State {
        var jobs: Deque<Job> = []
        /// The position of the next job that the running one posts.
        var insertion = 0
        var runner: UInt?

        mutating func next() -> Job? {
            insertion = 0
            if let job = jobs.popFirst() { return job }
            // Each resource has a queue, and few have anything in it.
            jobs = []
            runner = nil
            return nil
        }
    }

    private let state = Lock(State())
    private let lazyDelivery = OnceReference<IsolatedDelivery>()

    /// For calls on actors.
    var delivery: IsolatedDelivery { lazyDelivery.load() ?? lazyDelivery.storeIfNil(IsolatedDelivery()) }

    package init() {}

    /// Runs `job` after the jobs before it. When the queue is idle, that is before this returns.
    package func post(_ job: @escaping Job) {
        let isMine = state.withLock { state in
            guard let runner = state.runner else {
                state.jobs.append(job)
                state.runner = Thread.current
                return true
            }
            if runner == Thread.current {
                state.jobs.insert(job, at: state.insertion)
                state.insertion += 1
            } else {
                state.jobs.append(job)
            }
            return false
        }
        if isMine { run() }
    }

    /// Runs `job` after all waiting jobs, never before this returns.
    package func postLater(_ job: @escaping Job) {
        let isIdle = state.withLock { state in
            state.jobs.append(job)
            return state.runner == nil
        }
        if isIdle { Task { self.runIfIdle() } }
    }

    /// Calls `body`, then runs all waiting jobs, including the jobs that `body` posted, before this returns. If another
    /// thread runs the queue already, that thread runs these jobs.
    func draining<Result>(_ body: () -> Result) -> Result {
        let isMine = state.withLock { state in
            guard state.runner == nil else { return false }
            state.runner = Thread.current
            state.insertion = state.jobs.count
            return true
        }
        defer { if isMine { run() } }
        return body()
    }

    /// Returns once actors have had the calls that were posted to them so far.
    func delivered() async { await lazyDelivery.load()?.delivered() }

    private func runIfIdle() {
        let isMine = state.withLock { state in
            guard state.runner == nil else { return false }
            state.runner = Thread.current
            return true
        }
        if isMine { run() }
    }

    private func run() {
        RefreshUnderWay.apart {
            while let job = state.withLock({ $0.next() }) { decorating.apart(job) }
        }
    }
}
