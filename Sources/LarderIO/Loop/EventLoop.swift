// SPDX-License-Identifier: Apache-2.0

/// One thread that serves many streams: a connection lives on it from its first byte to its last.
///
/// Code isolated to the loop runs there, one piece at a time, and must not block. A task of the loop must be started by
/// `spawn` or `spawnHere`: those make the loop its preferred executor, without which each of its suspensions would take
/// a detour over other threads.
package actor EventLoop {
    nonisolated let executor: LoopExecutor

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Makes a loop that runs once started. `name` becomes its thread's name (15 bytes).
    package init(name: String, time: any TimeSource = SystemTime()) throws(IOError) {
        let executor = try LoopExecutor(name: name, time: time)
        self.executor = executor
        time.onJump { [weak executor] in
            guard let executor else { return }
            executor.enqueue(closure: { [weak executor] in executor?.fireTimers() })
        }
    }

    deinit { executor.abandon() }

    /// The loop's name, for logs.
    package nonisolated var name: String { executor.name }

    /// The clocks of this loop's timers and deadlines.
    package nonisolated var time: any TimeSource { executor.time }

    /// The loop's counters. Cheap; from any thread.
    package nonisolated var statistics: LoopStatistics { executor.counters.read() }

    /// Starts the loop's thread. Fails only if the system cannot create a thread; further calls do nothing.
    package nonisolated func start() throws(IOError) { try executor.start() }

    /// Lets ready tasks run to their next suspension, then ends the loop and waits for its thread.
    ///
    /// Tasks that are still suspended never resume; so end them first. On the loop itself this does not wait. Work
    /// submitted to a stopped loop is dropped.
    package nonisolated func stop() { executor.stop() }

    /// True if the caller is running on this loop.
    package nonisolated var inLoop: Bool { executor.isOnThread }

    /// Starts a task on the loop, from any thread. It begins in one of the loop's next turns.
    package nonisolated func spawn(_ body: @Sendable @escaping (isolated EventLoop) async -> Void) {
        Task(executorPreference: executor) { await body(self) }
    }

    /// Starts a task from the loop itself, without a detour over the queue that other threads use.
    ///
    /// It begins before this returns, or else before the loop's next poll: a body that is isolated to the loop is
    /// queued there first. Count on neither.
    ///
    /// `body` may capture values that belong to the loop. Where it uses the `isolated` parameter of the enclosing
    /// function, it is isolated to the loop like that function.
    package func spawnHere(_ body: @escaping () async -> Void) {
        Task.immediate(executorPreference: executor) {
            // Naming the actor makes this closure isolated to it.
            _ = self
            await body()
        }
    }

    /// The same for a body with the loop as its parameter. It cannot capture values that others on the loop still use:
    /// for the compiler its loop might be another one.
    package func spawnHere(_ body: @escaping (isolated EventLoop) async -> Void) {
        Task.immediate(executorPreference: executor) { await body(self) }
    }

    /// Runs `job` on the loop, from any thread, after earlier submissions. Never before this returns.
    package nonisolated func execute(_ job: @Sendable @escaping (isolated EventLoop) -> Void) {
        // Holds: the executor runs its jobs on its own thread.
        executor.enqueue(closure: { self.assumeIsolated { job($0) } })
    }

    /// Calls `action` on the loop after `delay`, unless the timer is cancelled before.
    ///
    /// Keep the timer if it may have to be cancelled; the loop keeps it until it has fired.
    @discardableResult
    package func timer(after delay: Duration, _ action: @escaping () -> Void) -> Timer {
        let timer = Timer(on: executor, action: action)
        timer.arm(after: delay)
        return timer
    }

    /// Makes a timer that is armed later, as often as needed.
    package func makeTimer(_ action: @escaping () -> Void) -> Timer { Timer(on: executor, action: action) }

    /// Suspends the calling task for `duration`.
    package func sleep(for duration: Duration) async {
        await withUnsafeContinuation { continuation in
            timer(after: duration) { continuation.resume() }
        }
    }

    /// Lets everything else that is ready run first: tasks, connections on which bytes have arrived, timers that are due,
    /// and jobs that other threads have submitted. The caller resumes after the loop's next poll, not in this turn.
    package func yield() async {
        await withUnsafeContinuation { continuation in
            executor.afterPoll { continuation.resume() }
        }
    }
}
