// SPDX-License-Identifier: Apache-2.0

import Larder
package import LarderHTTP
import LarderIO
package import LarderSettings

/// The decision to repeat a request to the origin, as a function of its outcome.
package enum RetryDecision: Sendable, Equatable {
    case giveUp(Reason)
    case repeatAfter(Duration)

    package enum Reason: String, Sendable {
        case notConfigured, notACause, attemptsUsed, notIdempotent, contentNotKept, timeUsed, budgetUsed
    }

    /// - Parameters:
    ///   - attempt: how many times the request has been sent.
    ///   - isRepeatable: whether its content can be sent again.
    ///   - retryAfter: the origin's `Retry-After`.
    ///   - chance: from 0 to 1; scales half of the wait.
    ///   - left: the time that waits and further attempts may take.
    package static func decide(
        _ rule: RetryRule?, cause: RetryCause?, attempt: Int, method: Method, isRepeatable: Bool,
        retryAfter: Duration?, chance: Double, left: Duration, budget: () -> Bool
    ) -> RetryDecision {
        guard let rule else { return .giveUp(.notConfigured) }
        guard let cause, rule.on.contains(cause) else { return .giveUp(.notACause) }
        guard attempt < rule.attempts else { return .giveUp(.attemptsUsed) }
        guard method.isIdempotent else { return .giveUp(.notIdempotent) }
        guard isRepeatable else { return .giveUp(.contentNotKept) }
        let policy = RetryPolicy(limit: rule.attempts, delay: rule.backoff, maximumDelay: rule.maxBackoff)
        let wait = policy.wait(before: attempt, retryAfter: retryAfter, chance: chance)
        guard wait < left else { return .giveUp(.timeUsed) }
        guard budget() else { return .giveUp(.budgetUsed) }
        return .repeatAfter(wait)
    }
}
