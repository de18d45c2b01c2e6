// SPDX-License-Identifier: Apache-2.0

import Larder
package import LarderHTTP
import LarderIO

/// Whether a request to the origin is repeated, as a function of what became of it.
package enum RetryDecision: Sendable, Equatable {
    case giveUp(Reason)
    case repeatAfter(Duration)

    package enum Reason: String, Sendable {
        case notConfigured, notACause, attemptsUsed, notIdempotent, contentNotKept, budgetUsed
    }

    /// - Parameters:
    ///   - attempt: how often the request has been made.
    ///   - isRepeatable: whether its content is there to be sent again.
    ///   - retryAfter: how long the origin asked to be left alone.
    ///   - chance: from 0 to 1; half of a wait is left to it.
    package static func decide(
        _ rule: RetryRule?, cause: RetryCause?, attempt: Int, method: Method, isRepeatable: Bool,
        retryAfter: Duration?, chance: Double, budget: () -> Bool
    ) -> RetryDecision {
        guard let rule else { return .giveUp(.notConfigured) }
        guard let cause, rule.on.contains(cause) else { return .giveUp(.notACause) }
        guard attempt < rule.attempts else { return .giveUp(.attemptsUsed) }
        guard method.isIdempotent else { return .giveUp(.notIdempotent) }
        guard isRepeatable else { return .giveUp(.contentNotKept) }
        guard budget() else { return .giveUp(.budgetUsed) }
        let policy = RetryPolicy(limit: rule.attempts, delay: rule.backoff, maximumDelay: rule.maxBackoff)
        return .repeatAfter(policy.wait(before: attempt, retryAfter: retryAfter, chance: chance))
    }
}

/// How many repetitions a service may make: a fifth of its requests, and ten at once. An origin in trouble is not
/// asked several times as much as a healthy one.
package final class RetryBudget: Sendable {
    private let tokens = Lock<Double>(RetryBudget.limit)
    static let limit = 10.0
    static let share = 0.2

    package init() {}

    /// A request was made for the first time.
    package func earn() { tokens.withLock { $0 = min($0 + RetryBudget.share, RetryBudget.limit) } }

    /// Takes a repetition out of the budget; false when there is none left.
    package func spend() -> Bool {
        tokens.withLock { tokens in
            guard tokens >= 1 else { return false }
            tokens -= 1
            return true
        }
    }
}
