// SPDX-License-Identifier: Apache-2.0
import LarderIO

/// The clients that wait for a load.
extension SharedLoad {
    /// How many clients read or are about to.
    var interest: Int { state.withLock { $0.readers.count + $0.expected } }

    /// True if the response is known.
    var isAnswered: Bool { state.withLock { $0.answer != nil } }

    /// True if a reader is so slow that it reads from the spool, or will.
    package var needsSpool: Bool {
        state.withLock { state in state.readers.slowest.map { $0 < state.content.start } ?? false }
    }

    /// True if the producer waits for slow readers.
    package var isHoldingBack: Bool { state.withLock { $0.producer != nil } }

    /// True if nobody reads or is about to, and nobody has been interested since that departure; then nobody will.
    func closeIfAbandoned(since departure: Int) -> Bool {
        state.withLock { state in
            if state.isAbandoned, state.departures == departure { state.isClosing = true }
            return state.isClosing
        }
    }

    /// Ends the load for all who come now, unless anybody else than the reader reads or is about to: then false.
    func closeIfLast(_ reader: Int) -> Bool {
        state.withLock { state in
            let isLast = state.expected + state.readers.count == (state.readers[reader] == nil ? 0 : 1)
            if isLast { state.isClosing = true }
            return isLast
        }
    }

    /// The number of another departure, if nobody reads: something else that was interested is no more.
    func reconsider() -> Int? { state.withLock { $0.depart() } }
}
