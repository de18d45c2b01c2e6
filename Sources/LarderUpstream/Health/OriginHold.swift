// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Why an origin is not asked at the moment, and for how long.
package struct OriginHold: Sendable, Equatable {
    /// The raw values are the words of `Cache-Status`, the log and explanations.
    package enum Reason: String, Sendable {
        /// It failed too often in a row.
        case circuitOpen = "circuit-open"
        /// It said when to come back (RFC 9110 §10.2.3), or that a quota is used up.
        case retryAfter = "retry-after"
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
}

extension UpstreamError {
    /// The error of those who are held back. It is the error that led to it, where there is one, so that clients see
    /// one failure and not two.
    static func held(_ hold: OriginHold, from origin: Origin, last: UpstreamError?) -> UpstreamError {
        let again = "It is asked again in \(hold.seconds) s."
        var error: UpstreamError
        switch hold.reason {
        case .retryAfter:
            let quota = hold.status != 503
            error = UpstreamError(
                quota ? .requestDenied : .destinationUnavailable,
                quota
                    ? "\(origin) has asked for fewer requests. \(again)"
                    : "\(origin) has said that it is unavailable. \(again)",
                advice: "Wait that long, or send `Cache-Control: no-cache` to have it asked at once.")
        case .circuitOpen:
            let code = last?.code ?? .destinationUnavailable
            error = UpstreamError(
                code, "\(last?.detail ?? "\(origin) answers with errors only.") It has failed too often. \(again)",
                advice: "Check the origin, then send `Cache-Control: no-cache` to have it asked at once.")
        }
        error.hold = hold
        return error
    }

    /// A gateway's error as what the circuit remembers of it.
    static func answered(_ status: Status, by origin: Origin) -> UpstreamError {
        UpstreamError(.destinationUnavailable, "\(origin) answered \(status.rawValue).")
    }
}
