// SPDX-License-Identifier: Apache-2.0

import Larder
package import LarderHTTP
import LarderIO

/// Runs one refresh of credentials that go together at a time: others that need one meanwhile wait for it and share its
/// outcome (B-26).
package final class RefreshGate: Sendable {
    /// The next step for a request whose credential was refused.
    package enum Turn: Sendable, Equatable {
        /// Perform the refresh, and call `finish`.
        case refresh
        /// Another caller refreshed it meanwhile; whether there is a new credential.
        case done(Bool)
        /// Another caller's refresh brought nothing that says how this one would end: enter again.
        case again
        /// The same refresh failed a moment ago.
        case failedLately
    }

    package enum Outcome: Sendable {
        case renewed
        /// Nothing was set: there is another credential, or another user, by now.
        case dropped
        case failed
    }

    private struct Waiting {
        let refresh: String
        let continuation: UnsafeContinuation<Turn, Never>
    }

    private struct State {
        /// The refresh that runs.
        var running: String?
        var waiting: [Waiting] = []
        /// When each refresh failed lately.
        var failures: [String: Timestamp] = [:]
    }

    private let state = Lock(State())

    package init() {}

    /// True if it can be forgotten.
    func isIdle(at now: Timestamp) -> Bool {
        state.withLock { state in
            state.running == nil && !state.failures.values.contains { RefreshPause.covers($0, at: now) }
        }
    }

    /// The number of waiting callers.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// - Parameters:
    ///   - refresh: identifies the refresh among the refreshes that go through this gate.
    ///   - isOutdated: whether a newer credential is in force by now. Called under the lock.
    package func enter(_ refresh: String, now: Timestamp, isOutdated: () -> Bool) async -> Turn {
        let turn = state.withLock { state -> Turn? in
            if isOutdated() { return .done(true) }
            if state.running != nil { return nil }
            if RefreshPause.covers(state.failures[refresh], at: now) { return .failedLately }
            state.running = refresh
            return .refresh
        }
        if let turn { return turn }
        return await withUnsafeContinuation { (continuation: UnsafeContinuation<Turn, Never>) in
            let isRunning = state.withLock { state in
                guard state.running != nil else { return false }
                state.waiting.append(Waiting(refresh: refresh, continuation: continuation))
                return true
            }
            if !isRunning { continuation.resume(returning: .again) }
        }
    }

    /// The refresh has ended.
    package func finish(_ outcome: Outcome, now: Timestamp) {
        let (refresh, waiting) = state.withLock { state in
            let refresh = state.running
            state.failures = state.failures.filter { RefreshPause.covers($0.value, at: now) }
            if let refresh { state.failures[refresh] = outcome == .failed ? now : nil }
            state.running = nil
            defer { state.waiting = [] }
            return (refresh, state.waiting)
        }
        for other in waiting {
            // A new credential may belong together with the credential that this caller needs.
            let isSame = other.refresh == refresh
            switch outcome {
            case .renewed where isSame: other.continuation.resume(returning: .done(true))
            case .failed where isSame: other.continuation.resume(returning: .done(false))
            default: other.continuation.resume(returning: .again)
            }
        }
    }
}
