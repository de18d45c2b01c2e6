// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Why an origin is not asked at the moment, and for how long.
package struct OriginHold: Sendable, Hashable {
    /// The raw values are the words of `Cache-Status`, the log and explanations.
    package enum Reason: String, Sendable {
        /// It failed too often in a row.
        case circuitOpen = "circuit-open"
        /// It said when to come back (RFC 9110 §10.2.3), or that a quota is used up.
        case retryAfter = "retry-after"
        /// What is left of a quota is kept for writes and operators (`quota.reserve`).
        case quota
    }

    package var reason: Reason
    package var remaining: Duration
    /// What the origin answered when it asked to be left alone: 429, 503, or 403.
    package var status: Status?

    package init(reason: Reason, remaining: Duration, status: Status? = nil) {
        self.reason = reason
        self.remaining = remaining
        self.status = status
    }

    /// Whole seconds, rounded up: who comes back then is let through.
    package var seconds: Int64 {
        let (seconds, attoseconds) = remaining.components
        return max(1, attoseconds > 0 ? seconds + 1 : seconds)
    }

    /// What it means for stored responses. An origin that fails counts as one that cannot be reached. One that asked to
    /// be left alone could be: there the bounds of `stale-if-error` count (RFC 9111 §4.2.4, RFC 5861 §4).
    package var failure: UpstreamFailure { reason == .circuitOpen ? .disconnected : .status(503) }
}
