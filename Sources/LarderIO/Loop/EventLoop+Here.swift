// SPDX-License-Identifier: Apache-2.0

/// The loop's methods for code that runs on the loop without the compiler seeing it. They trap when called elsewhere.
extension EventLoop {
    /// `timer(after:)`.
    @discardableResult
    package nonisolated func timerHere(after delay: Duration, _ action: @escaping () -> Void) -> Timer {
        let action = Confined(action)
        // Holds, here and in all comments that refer to this one: the callers were made on this loop and never leave it
        // (`LoopContext` and its properties). Clients and origins cannot change that.
        return assumeIsolated { Confined($0.timer(after: delay, action.value)) }.value
    }

    /// Sets the handler for internal errors that cost one connection of this loop, for the log.
    package nonisolated func onFaultHere(_ body: @escaping (IOError) -> Void) {
        let body = Confined(body)
        // Holds: see `timerHere`.
        assumeIsolated { $0.executor.onFault = body.value }
    }

    /// The wall clock in nanoseconds, as of the beginning of this turn.
    package nonisolated func wallClockHere() -> Int64 { executor.wallClock() }

    /// The monotonic clock in nanoseconds, as of the beginning of this turn: it is read once per turn. From the loop.
    package nonisolated func monotonicHere() -> Int64 { executor.monotonicNow() }

    /// `spawnHere`: starts a task that runs up to its first suspension before this returns.
    package nonisolated func startHere(_ body: @escaping () async -> Void) {
        let body = Confined(body)
        // Holds: see `timerHere`.
        assumeIsolated { loop in loop.spawnHere { _ in await body.value() } }
    }
}

extension EventLoop {
    /// Runs `body` on the loop and returns what it returns.
    package func perform<Result: Sendable>(
        _ body: @Sendable (isolated EventLoop) throws -> Result
    ) rethrows -> Result {
        try body(self)
    }
}
