// SPDX-License-Identifier: Apache-2.0
public import Glibc

/// State behind a mutex, for what several threads share and hold only for a moment.
///
/// Over `pthread_mutex_t` rather than the standard library's `Mutex`, whose futex the thread sanitizer does
/// not see on Linux. Not recursive. The result of `body` must not be a reference into the state. Copies share both:
/// mutex and state are one allocation.
///
/// Public like everything here that is to be compiled into other modules: what is only `package` is called across
/// them, and a generic function that is called finds out at run time what its types are.
// @unchecked: the state is reached only in `withLock`, with the mutex beside it held.
public struct Lock<State>: @unchecked Sendable {
    @usableFromInline
    final class Storage: ManagedBuffer<pthread_mutex_t, State> {
        @inlinable
        deinit {
            withUnsafeMutablePointers { mutex, state in
                pthread_mutex_destroy(mutex)
                state.deinitialize(count: 1)
            }
        }
    }

    @usableFromInline
    let storage: ManagedBuffer<pthread_mutex_t, State>

    /// Makes a lock over a state.
    @inlinable
    public init(_ state: sending State) {
        storage = Storage.create(minimumCapacity: 1) { _ in pthread_mutex_t() }
        let status = storage.withUnsafeMutablePointerToHeader { pthread_mutex_init($0, nil) }
        // Holds: a mutex with default attributes takes nothing that could be missing (pthread_mutex_init(3)).
        precondition(status == 0, "a default mutex cannot fail to initialise")
        // Out here, so that the state is moved there; a closure would have a copy of it.
        let place = storage.withUnsafeMutablePointerToElements { $0 }
        place.initialize(to: state)
    }

    /// Calls `body` with the state, excluding other threads. Keep it short; never suspend or call out in it.
    ///
    /// Rethrows instead of naming the error: the compiler does not specialise generic functions with typed errors.
    @inlinable
    public func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        try storage.withUnsafeMutablePointers { mutex, state in
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return try body(&state.pointee)
        }
    }
}
