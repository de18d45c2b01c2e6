// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderIO

/// The progress of a transfer, as its transport reports it. Any thread may write and read.
public final class TransferProgress: Sendable {
    /// Bytes done and to be done; nil when the total is unknown.
    public struct Counters: Sendable, Equatable {
        /// Bytes of the request that were sent.
        public var sent = 0
        /// Bytes of the request in total.
        public var toSend: Int?
        /// Bytes of the response that were received.
        public var received = 0
        /// Bytes of the response in total.
        public var toReceive: Int?

        /// Makes counters.
        public init(sent: Int = 0, toSend: Int? = nil, received: Int = 0, toReceive: Int? = nil) {
            self.sent = sent
            self.toSend = toSend
            self.received = received
            self.toReceive = toReceive
        }
    }

    private let state = Lock(Counters())

    /// Makes a report with zero progress.
    public init() {}

    /// The latest counters.
    public var counters: Counters { state.withLock { $0 } }

    /// Updates the counters.
    public func update(_ change: (inout Counters) -> Void) { state.withLock { change(&$0) } }
}

/// Turns counters and elapsed time into one fraction that only grows (0…1), with estimates for unknown totals.
///
/// Waiting for the connection and for the response count too, so that progress is visible throughout. When a total
/// replaces an estimate, the fraction stays unchanged and the rest is rescaled.
package struct ProgressEstimate: Sendable {
    private let uploadWeight: Double
    private let downloadWeight: Double
    private var connectWait = 0.0
    private var responseWait = 0.0
    private var lastTick: Double?
    private var reported = 0.0
    /// The inputs of the estimate's shape, whose changes must not be visible.
    private var known = Known()
    /// The estimate and the reported counters when its shape last changed.
    private var pivot: (estimate: Double, reported: Double) = (0, 0)

    private struct Known: Equatable {
        var hasConnected = false
        var hasResponse = false
        var toSend: Int?
        var toReceive: Int?
    }

    /// Weights for a method: a GET is mostly its response, other requests mostly themselves.
    package init(isGet: Bool) {
        uploadWeight = isGet ? 0 : 1
        downloadWeight = isGet ? 1 : 0.1
    }

    /// The fraction now; `seconds` is time on any clock that does not run backwards.
    package mutating func update(_ counters: TransferProgress.Counters, at seconds: Double) -> Double {
        let step = max(0, seconds - (lastTick ?? seconds))
        lastTick = seconds
        let hasMoved = counters.sent > 0 || counters.received > 0
        let isSent = counters.toSend.map { counters.sent >= $0 } ?? (uploadWeight == 0)
        if !hasMoved {
            connectWait += step
        } else if isSent, counters.received == 0 {
            responseWait += step
        }
        let before = known
        known = Known(
            hasConnected: hasMoved, hasResponse: counters.received > 0, toSend: counters.toSend,
            toReceive: counters.toReceive)
        let current = fraction(counters)
        if before != known {
            // The same moment with new inputs: keep the value, and continue from here.
            pivot = (current, reported)
        }
        let remaining = 1 - pivot.estimate
        let stretched =
            remaining <= 0 ? 1 : pivot.reported + (current - pivot.estimate) * (1 - pivot.reported) / remaining
        reported = min(1, max(reported, stretched))
        return reported
    }

    private func fraction(_ counters: TransferProgress.Counters) -> Double {
        let waitWeight = 0.3
        let parts: [(weight: Double, value: Double)] = [
            (waitWeight, counters.sent > 0 || counters.received > 0 ? 1 : ProgressEstimate.curve(connectWait, 2.5)),
            (uploadWeight, ProgressEstimate.share(counters.sent, of: counters.toSend, guess: 8_192)),
            (waitWeight, counters.received > 0 ? 1 : ProgressEstimate.curve(responseWait, 1.2)),
            (downloadWeight, ProgressEstimate.share(counters.received, of: counters.toReceive, guess: 65_536)),
        ]
        return parts.reduce(0) { $0 + $1.weight * $1.value } / parts.reduce(0) { $0 + $1.weight }
    }

    private static func share(_ done: Int, of total: Int?, guess: Double) -> Double {
        guard let total, total > 0 else { return curve(Double(done), guess) }
        return min(1, Double(done) / Double(total))
    }

    /// 0 at 0, three quarters at the guess, never quite 1.
    private static func curve(_ value: Double, _ guess: Double) -> Double { min(1 - exp2(-2 * value / guess), 0.999) }
}
