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
        /// Another caller's refresh brought what nobody needs any more: enter again.
        case again
        /// The last refresh failed a moment ago.
        case failedLately
    }

    package enum Outcome: Sendable {
        case renewed
        /// The credential that it brought was dropped, as it is another user's by now.
        case dropped
        case failed
    }

    private struct State {
        var isRunning = false
        var waiting: [UnsafeContinuation<Turn, Never>] = []
        var failedAt: Timestamp?

        /// Whether it is too early for another refresh.
        func isPausing(at now: Timestamp) -> Bool { failedAt.map { RefreshGate.isRecent($0, at: now) } ?? false }
    }

    private let state = Lock(State())
    /// How long a failure prevents another attempt. So does a credential that is refused as soon as it is there: an
    /// origin that refuses every one must not be asked for one after the other.
    package static let pause = Duration.seconds(1)

    static func isRecent(_ moment: Timestamp, at now: Timestamp) -> Bool { now >= moment && now < moment + pause }

    package init() {}

    /// The number of waiting callers.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// - Parameter isOutdated: whether a newer credential exists by now. Called under the lock, so that nothing can happen
    ///   between a refresh and its outcome.
    package func enter(now: Timestamp, isOutdated: () -> Bool) async -> Turn {
        let turn = state.withLock { state -> Turn? in
            if isOutdated() { return state.isRunning ? nil : .done(true) }
            if state.isRunning { return nil }
            if state.isPausing(at: now) { return .failedLately }
            state.isRunning = true
            return .refresh
        }
        if let turn { return turn }
        return await withUnsafeContinuation { (continuation: UnsafeContinuation<Turn, Never>) in
            let isRunning = state.withLock { state in
                if state.isRunning { state.waiting.append(continuation) }
                return state.isRunning
            }
            if !isRunning { continuation.resume(returning: .again) }
        }
    }

    /// The refresh has ended.
    package func finish(_ outcome: Outcome, now: Timestamp) {
        let turn: Turn =
            switch outcome {
            case .renewed: .done(true)
            case .dropped: .again
            case .failed: .done(false)
            }
        let waiting = state.withLock { state in
            state.isRunning = false
            state.failedAt = outcome == .failed ? now : nil
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: turn) }
    }
}
