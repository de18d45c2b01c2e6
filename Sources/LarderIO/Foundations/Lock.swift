// SPDX-License-Identifier: Apache-2.0
package import Glibc

/// State behind a mutex, for what several threads share and hold only for a moment.
///
/// Over `pthread_mutex_t` rather than the standard library's `Mutex`, whose futex the thread sanitizer does
/// not see on Linux. Not recursive. What `body` returns must not be a reference into the state.
// @unchecked: `storage.pointee.state` is reached only in `withLock`, with the mutex in the same storage held.
package final class Lock<State>: @unchecked Sendable {
    @usableFromInline
    struct Storage {
        @usableFromInline var mutex: pthread_mutex_t
        @usableFromInline var state: State

        @usableFromInline
        init(mutex: pthread_mutex_t, state: State) {
            self.mutex = mutex
            self.state = state
        }
    }

    /// Mutex and state in one allocation; the mutex is the first field, so their address is the same.
    @usableFromInline
    let storage: UnsafeMutablePointer<Storage>

    package init(_ state: sending State) {
        storage = .allocate(capacity: 1)
        storage.initialize(to: Storage(mutex: pthread_mutex_t(), state: state))
        let status = pthread_mutex_init(mutex, nil)
        precondition(status == 0, "a default mutex cannot fail to initialise")
    }

    deinit {
        pthread_mutex_destroy(mutex)
        storage.deinitialize(count: 1)
        storage.deallocate()
    }

    @inlinable
    var mutex: UnsafeMutablePointer<pthread_mutex_t> {
        UnsafeMutableRawPointer(storage).assumingMemoryBound(to: pthread_mutex_t.self)
    }

    /// Calls `body` with the state while no other thread can. Keep it short; never suspend or call out in it.
    @inlinable
    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&storage.pointee.state)
    }
}
