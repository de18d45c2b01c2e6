// SPDX-License-Identifier: Apache-2.0

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
    private enum State {
        case nothing
        case waiting(UnsafeContinuation<Void, Never>)
        case settled(EngineOutcome)
        /// The waiting task has the reply: nothing of it is kept here until the deadline.
        case taken(isAnswered: Bool)
    }

    private var state = State.nothing

    package init() {}

    package convenience init(_ failure: EngineFailure) {
        self.init()
        settle(.failure(failure))
    }

    package var isSettled: Bool {
        switch state {
        case .nothing, .waiting: false
        case .settled, .taken: true
        }
    }
    /// Whether the engine replied, whatever it said.
    package var isAnswered: Bool {
        switch state {
        case .nothing, .waiting, .settled(.failure): false
        case .settled(.success): true
        case .taken(let isAnswered): isAnswered
        }
    }

    /// False when there is an outcome already, which stays.
    @discardableResult
    package func settle(_ outcome: EngineOutcome) -> Bool {
        switch state {
        case .settled, .taken: return false
        case .nothing: state = .settled(outcome)
        case .waiting(let continuation):
            state = .settled(outcome)
            continuation.resume()
        }
        return true
    }

    /// Waits for the outcome. One task may call this, once.
    package func outcome() async -> EngineOutcome {
        if case .nothing = state {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
                if case .nothing = state { state = .waiting(continuation) } else { continuation.resume() }
            }
        }
        // Unreachable: the continuation is resumed when there is an outcome.
        guard case .settled(let outcome) = state else { preconditionFailure("a reply is awaited by one task") }
        state = .taken(isAnswered: isAnswered)
        return outcome
    }
}
