// SPDX-License-Identifier: Apache-2.0
import LarderIO

/// Why there is no reply to a command.
package enum EngineFailure: Error, Sendable, Equatable {
    /// The deadline passed first.
    case timedOut
    /// The node could not be reached, or the connection broke.
    case unreachable(String)
    /// The node has failed too often, and is not asked for the moment.
    case resting
    /// So much is waiting to be sent that no more is taken.
    case overloaded
    /// The engine replied with an error.
    case refused(Refusal)
    /// The connection was closed on our side.
    case closed
}

package typealias EngineOutcome = Result<Reply, EngineFailure>

/// A reply that one task waits for. It comes once; later ones are dropped. Confined to its loop.
package final class PendingReply {
    private let promise = Promise<EngineOutcome>()
    package private(set) var isSettled = false
    /// Whether the engine replied, whatever it said.
    package private(set) var isAnswered = false

    package init() {}

    package convenience init(_ failure: EngineFailure) {
        self.init()
        settle(.failure(failure))
    }

    /// False when there is an outcome already, which stays.
    @discardableResult
    package func settle(_ outcome: EngineOutcome) -> Bool {
        if isSettled { return false }
        isSettled = true
        if case .success = outcome { isAnswered = true }
        return promise.fulfil(outcome)
    }

    /// Waits for the outcome. One task may call this, once.
    package func outcome() async -> EngineOutcome { await promise.value() }
}
