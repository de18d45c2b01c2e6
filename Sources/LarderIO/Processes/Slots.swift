// SPDX-License-Identifier: Apache-2.0
import Glibc

/// A number of places that threads take for a while, and wait for when all are taken.
// @unchecked: `free` is reached only with `mutex` held.
package final class Slots: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var free: Int

    package init(_ count: Int) {
        // Holds: a number of the sources.
        precondition(count > 0, "without a place nobody ever gets one")
        free = count
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Takes a place, and waits up to `limit` for one; false when there was none.
    package func take(within limit: Duration) -> Bool {
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        let nanoseconds = Int64(deadline.tv_nsec) + limit.components.attoseconds / 1_000_000_000
        deadline.tv_sec += Int(limit.components.seconds + nanoseconds / 1_000_000_000)
        deadline.tv_nsec = Int(nanoseconds % 1_000_000_000)
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while free == 0 {
            guard pthread_cond_timedwait(condition, mutex, &deadline) == 0 || free > 0 else { return false }
        }
        free -= 1
        return true
    }

    /// Gives a place back.
    package func giveBack() {
        pthread_mutex_lock(mutex)
        free += 1
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }
}
