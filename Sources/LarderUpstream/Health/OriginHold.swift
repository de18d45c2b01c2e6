// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
package import LarderRules

extension UpstreamError {
    /// The error of requests during backoff. It is the error that led to it, where there is one, so that clients see
    /// one failure and not two.
    package static func held(_ hold: OriginHold, from origin: Origin, last: UpstreamError?) -> UpstreamError {
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
        case .quota:
            error = UpstreamError(
                .requestDenied, "The rest of the quota at \(origin) is kept for writes. \(again)",
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
