// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// How the upstream failed.
package enum UpstreamFailure: Sendable, Hashable {
    /// No response: no connection, no name, no time left, or not HTTP.
    case disconnected
    /// A response with this status.
    case status(Status)
}

/// Whether a stored response answers after the upstream failed (RFC 9111 §4.2.4, §4.3.3; RFC 5861 §4).
package enum StaleUseDecision: Sendable, Hashable {
    case serve(age: Duration, ttl: Duration, StaleReason)
    case doNotServe(Refusal)

    package enum Refusal: Sendable, Hashable {
        /// The status is not one that RFC 5861 §4 counts as an error.
        case notAnError(Status)
        /// The origin forbids it.
        case forbidden(StaleProhibition)
        /// The client asked for validation, or for something younger.
        case request
        /// It is more stale than allowed.
        case tooStale(allowed: Duration)
    }
}

package enum StaleUse {
    /// Decides whether `stored`, which was to be validated for `request`, answers despite `failure`.
    ///
    /// A bound of the origin applies to every failure. Where there is none, the configuration's applies.
    package static func onError(
        _ stored: StoredResponse, failure: UpstreamFailure, request: RequestHead, policy: CachePolicy, now: Timestamp
    ) -> StaleUseDecision {
        if case .status(let status) = failure, !isError(status) { return .doNotServe(.notAnError(status)) }
        if let prohibition = stored.facts.staleProhibition {
            let isFresh = Freshness.isFresh(stored, at: now) && !stored.facts.validatesAlways
            if !isFresh { return .doNotServe(.forbidden(prohibition)) }
        }
        let wishes = CacheControl.Request(request.fields)
        let age = Age.currentAge(of: stored, at: now)
        let ttl = stored.facts.lifetime.duration - age
        if wishes.noCache || wishes.noStore { return .doNotServe(.request) }
        if let maxAge = wishes.maxAge, age > maxAge, wishes.maxStale == nil, wishes.staleIfError == nil {
            return .doNotServe(.request)
        }
        let allowed = max(bound(stored, failure, policy), wishes.staleIfError ?? .zero)
        guard .zero - ttl <= allowed else { return .doNotServe(.tooStale(allowed: allowed)) }
        return .serve(age: age, ttl: ttl, failure == .disconnected ? .disconnected : .staleIfError)
    }

    /// The kind of failure that a response in place of a stored one is; nil where the stored one is no better.
    ///
    /// A rate limit (429 with `Retry-After`, RFC 6585 §4) is treated like an overload: the stored response answers, as
    /// it does for the requests that are held back after it. A stored error does not answer for a newer one.
    package static func failure(
        _ response: ResponseHead, inPlaceOf stored: StoredResponse, policy: CachePolicy
    ) -> UpstreamFailure? {
        let isOverridden = policy.expirationMode == .override
        if stored.status.isServerError || stored.status == 429 || isOverridden && stored.status.isError { return nil }
        if response.status == 429, response.fields.contains(.retryAfter) { return .status(503) }
        return .status(response.status)
    }

    /// True if `stored` stays where `response` could take its place: it answers instead, for whoever asks without conditions
    /// of their own, and would be lost.
    package static func outlasts(
        _ response: ResponseHead, _ stored: StoredResponse, policy: CachePolicy, now: Timestamp
    ) -> Bool {
        guard let failure = failure(response, inPlaceOf: stored, policy: policy) else { return false }
        let decision = onError(stored, failure: failure, request: RequestHead(), policy: policy, now: now)
        if case .serve = decision { return true }
        return false
    }

    /// Until when `stored` may answer despite `failure`, if nothing else is against it.
    package static func end(of stored: StoredResponse, after failure: UpstreamFailure, policy: CachePolicy) -> Timestamp
    {
        stored.facts.freshUntil + bound(stored, failure, policy)
    }

    /// RFC 5861 §4.
    package static func isError(_ status: Status) -> Bool {
        switch status.rawValue {
        case 500, 502, 503, 504: true
        default: false
        }
    }

    private static func bound(_ stored: StoredResponse, _ failure: UpstreamFailure, _ policy: CachePolicy) -> Duration {
        if let named = stored.facts.staleIfError { return named }
        switch failure {
        // RFC 9111 §4.2.4 sets no bound.
        case .disconnected: return .foreverInRFC9111
        case .status: return policy.staleIfError
        }
    }
}
