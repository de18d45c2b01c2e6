// SPDX-License-Identifier: Apache-2.0
import Glibc

/// State behind a mutex, with a way to wait for a condition.
///
/// Waiting blocks a thread, so only threads that are there for that do; everyone else uses `withLock`, which is short.
// @unchecked: `state` is reached only with `mutex` held.
package final class Monitor<State>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let state = UnsafeMutablePointer<State>.allocate(capacity: 1)

    package init(_ initial: sending State) {
        state.initialize(to: initial)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        condition.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        state.deinitialize(count: 1)
        condition.deallocate()
        mutex.deallocate()
        state.deallocate()
    }

    /// Calls `body` with the state while no other thread can.
    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state.pointee)
    }

    /// Like `withLock`, and wakes all waiters, which check again.
    package func change<Result>(_ body: (inout State) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        defer { pthread_cond_broadcast(condition) }
        return body(&state.pointee)
    }

    /// Like `withLock`, and wakes one waiter: for when any of them will do.
    package func changeForOne<Result>(_ body: (inout State) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_cond_signal(condition) }
        defer { pthread_mutex_unlock(mutex) }
        return body(&state.pointee)
    }

    /// Wakes all waiters.
    package func notify() { pthread_cond_broadcast(condition) }

    /// Calls `body` now and after each change of the state, until `body` returns a result. Each call accesses the state
    /// separately, so that the compiler knows of the changes in between.
    package func wait<Result>(for body: (inout State) -> Wait<Result>) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            switch body(&state.pointee) {
            case .done(let result): return result
            case .wait(until: nil): pthread_cond_wait(condition, mutex)
            case .wait(until: let instant?):
                var time = timespec(tv_sec: Int(instant / 1_000_000_000), tv_nsec: Int(instant % 1_000_000_000))
                pthread_cond_timedwait(condition, mutex, &time)
            }
        }
    }
}

/// A waiter's decision after a check of the state.
package enum Wait<Result> {
    case done(Result)
    /// Check again when the state changes, or at the latest at this reading of the monotonic clock.
    case wait(until: Int64?)
}
