// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// The limit on a service's repetitions: a fifth of its requests, and ten at once. An origin in trouble must not get
/// several times the usual load.
package final class RetryBudget: Sendable {
    private let tokens = Lock<Double>(RetryBudget.limit)
    static let limit = 10.0
    static let share = 0.2

    package init() {}

    /// A request was sent for the first time.
    package func earn() { tokens.withLock { $0 = min($0 + RetryBudget.share, RetryBudget.limit) } }

    /// Takes a repetition from the budget; false when it is used up.
    package func spend() -> Bool {
        tokens.withLock { tokens in
            guard tokens >= 1 else { return false }
            tokens -= 1
            return true
        }
    }
}
