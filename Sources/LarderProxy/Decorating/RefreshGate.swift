// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO

/// Lets one refresh of a credential run at a time: whoever needs one meanwhile waits for it and shares its outcome
/// (B-26).
package final class RefreshGate: Sendable {
    /// What somebody whose credential was refused has to do.
    package enum Turn: Sendable, Equatable {
        /// Make the refresh, and call `finish`.
        case refresh
        /// Somebody did while the caller waited; whether there is a new credential.
        case done(Bool)
        /// The last one failed a moment ago.
        case failedLately
    }

    private struct State {
        var isRunning = false
        var waiting: [UnsafeContinuation<Bool, Never>] = []
        var failedAt: Timestamp?
    }

    private let state = Lock(State())
    /// How long a failure stands for another try.
    package static let pause = Duration.seconds(1)

    package init() {}

    /// How many wait.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// - Parameter isCurrent: whether there is a newer credential than the refused one by now. Asked under the lock,
    ///   so that nobody comes between a refresh and its outcome.
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
