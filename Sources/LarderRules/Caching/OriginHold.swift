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
        /// The rest of a quota is reserved for writes and operators (`quota.reserve`).
        case quota
    }

    package var reason: Reason
    package var remaining: Duration
    /// The status with which the origin requested backoff: 429, 503, or 403.
    package var status: Status?

    package init(reason: Reason, remaining: Duration, status: Status? = nil) {
        self.reason = reason
        self.remaining = remaining
        self.status = status
    }

    /// Whole seconds, rounded up: a request after that time is sent.
    package var seconds: Int64 { remaining.secondsRoundedUp }

    /// Its effect on stored responses. A failing origin counts as unreachable. One that requested backoff is reachable:
    /// there the limits of `stale-if-error` apply (RFC 9111 §4.2.4, RFC 5861 §4).
    package var failure: UpstreamFailure { reason == .circuitOpen ? .disconnected : .status(503) }
}
