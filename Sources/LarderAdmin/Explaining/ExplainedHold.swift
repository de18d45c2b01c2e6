// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import LarderUpstream

/// What becomes of a request whose origin is left alone for now.
enum ExplainedHold {
    static func explain(
        _ hold: OriginHold, _ situation: Situation, selected: Int?
    ) -> (reason: String, outcome: String, cacheStatus: String, advice: [String]) {
        let failure: UpstreamFailure = hold.reason == .circuitOpen ? .disconnected : .status(503)
        let stale = selected.map {
            StaleUse.onError(
                situation.variants[$0].stored, failure: failure, request: situation.request, policy: situation.policy,
                now: situation.now)
        }
        let why =
            switch hold.reason {
            case .circuitOpen: "The origin has failed too often in a row and is left alone for now"
            case .retryAfter: "The origin has asked to be left alone (\(hold.status.map { "\($0)" } ?? "429"))"
            }
        let again = "It is asked again from \(TimeText.iso(situation.now + hold.remaining)) on."
        var advice = [again, "To have it asked at once: send `Cache-Control: no-cache`, or `larder load URL`."]
        if hold.reason == .retryAfter { advice.append("`upstream.retryAfterLimit` bounds how long its word counts.") }
        if case .serve(_, let ttl, _)? = stale {
            let status = CacheStatus(.hit, ttl: ttl, detail: hold.reason.rawValue)
            return (
                hold.reason.rawValue, "\(why); the stored response would be served, stale.", status.member(), advice
            )
        }
        let status = CacheStatus(.held, detail: hold.reason.rawValue)
        return (
            hold.reason.rawValue, "\(why); an error with `Retry-After` would be answered.", status.member(), advice
        )
    }
}
