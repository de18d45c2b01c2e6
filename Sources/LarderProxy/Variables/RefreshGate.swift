// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO

/// Runs one refresh of a credential at a time: others that need one meanwhile wait for it and share its outcome (B-26).
package final class RefreshGate: Sendable {
    /// The next step for a request whose credential was refused.
    package enum Turn: Sendable, Equatable {
        /// Perform the refresh, and call `finish`.
        case refresh
        /// Another caller refreshed it meanwhile; whether there is a new credential.
        case done(Bool)
        /// The last refresh failed a moment ago.
        case failedLately
    }

    private struct State {
        var isRunning = false
        var waiting: [UnsafeContinuation<Bool, Never>] = []
        var failedAt: Timestamp?
    }

    private let state = Lock(State())
    /// How long a failure prevents another attempt.
    package static let pause = Duration.seconds(1)

    package init() {}

    /// The number of waiting callers.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// - Parameter isOutdated: whether a newer credential than the refused one exists by now. Called under the lock, so
    ///   that nothing can happen between a refresh and its outcome.
    package func enter(now: Timestamp, isOutdated: () -> Bool) async -> Turn {
        let turn = state.withLock { state -> Turn? in
            if isOutdated() { return state.isRunning ? nil : .done(true) }
            if state.isRunning { return nil }
            if let failedAt = state.failedAt, now >= failedAt, now < failedAt + RefreshGate.pause {
                return .failedLately
            }
            state.isRunning = true
            return .refresh
        }
        if let turn { return turn }
        let isRenewed = await withUnsafeContinuation { (continuation: UnsafeContinuation<Bool, Never>) in
            let outcome = state.withLock { state -> Bool? in
                guard state.isRunning else { return state.failedAt == nil }
                state.waiting.append(continuation)
                return nil
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
        return .done(isRenewed)
    }

    /// The refresh has ended.
    package func finish(isRenewed: Bool, now: Timestamp) {
        let waiting = state.withLock { state in
            state.isRunning = false
            state.failedAt = isRenewed ? nil : now
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: isRenewed) }
    }
}
