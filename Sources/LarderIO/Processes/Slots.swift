// SPDX-License-Identifier: Apache-2.0

/// A number of places that threads take for a while, and wait for when all are taken.
package final class Slots: Sendable {
    private let free: Monitor<Int>

    package init(_ count: Int) {
        // Holds: a number of the sources.
        precondition(count > 0, "without a place nobody ever gets one")
        free = Monitor(count)
    }

    /// Takes a place, and waits up to `limit` for one; false when there was none.
    package func take(within limit: Duration) -> Bool {
        let deadline = SystemTime().monotonic().advanced(by: limit)
        return free.wait { free in
            guard free == 0 else {
                free -= 1
                return .done(true)
            }
            return SystemTime().monotonic() < deadline ? .wait(until: deadline) : .done(false)
        }
    }

    /// Gives a place back.
    package func giveBack() { free.changeForOne { $0 += 1 } }
}
