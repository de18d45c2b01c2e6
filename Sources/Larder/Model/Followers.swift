// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// Counts the Resources that programs look at: observers of owners that are gone keep a Resource until somebody notices,
/// and for each new one all would be too many to look at.
final class Followers: Sendable {
    private let state = Lock((count: 0, threshold: Followers.leastThreshold))

    private static let leastThreshold = 2_048

    /// Counts one. True if all are to be looked at, which is followed by `looked`.
    func note() -> Bool {
        state.withLock { state in
            state.count += 1
            guard state.count >= state.threshold else { return false }
            // No other caller gets true until `looked` is called.
            state.threshold = .max
            return true
        }
    }

    /// All were looked at, of which there were `count`.
    func looked(at count: Int) {
        state.withLock { $0 = (count, max(Followers.leastThreshold, 2 * count)) }
    }
}
