// SPDX-License-Identifier: Apache-2.0
import LarderIO
import Synchronization

/// The clients that wait for a load.
extension SharedLoad {
    /// How many clients read or are about to.
    package var interest: Int { state.withLock { $0.readers.count + $0.expected } }

    /// Whether the response is known and shared, for those who decide whether to join.
    package var isAnswered: Bool { state.withLock { $0.answer != nil } }

    /// Whether the producer waits for slow readers.
    package var isHoldingBack: Bool { state.withLock { $0.producer != nil } }

    /// Whether nobody reads or is about to, and nobody has been interested since that departure. Then nobody will read:
    /// those who come now need a load of their own, and this one can be cancelled without their noticing.
    package func closeIfAbandoned(since departure: Int) -> Bool {
        let isClosing = state.withLock { state in
            if state.isAbandoned, state.departures == departure { state.isClosing = true }
            return state.isClosing
        }
        if isClosing { outdated.store(true, ordering: .releasing) }
        return isClosing
    }

    /// Looks again whether anybody reads: something else that was interested is no more.
    func reconsider() {
        if let departed = state.withLock({ $0.depart() }) { departed.onCancel(self, .abandon(departed.departure)) }
    }
}
