// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// How to answer a request, given the responses stored for its URI (RFC 9111 §4). Indexes are positions in the list of
/// candidates.
package enum ReuseDecision: Sendable, Hashable {
    /// A stored response that may answer, with its age and its remaining lifetime (negative once it is stale).
    package struct Selection: Sendable, Hashable {
        package var index: Int
        package var age: Duration
        package var ttl: Duration

        @inlinable
        package init(index: Int, age: Duration, ttl: Duration) {
            self.index = index
            self.age = age
            self.ttl = ttl
        }
    }

    /// Answer with a fresh response.
    case answer(Selection)
    /// Answer with a stale response. For `staleWhileRevalidate`, also validate it in the background.
    case answerStale(Selection, StaleReason)
    /// Ask the upstream whether the stored response is still good (`Validation.conditional` has the fields).
    case validate(Selection, ForwardReason)
    /// Forward the request unchanged. `fallback` may answer if the upstream fails, as far as `StaleUse` allows.
    case forward(ForwardReason, fallback: Selection?)
    /// Answer 504 without asking the upstream.
    case refuse(RefusalReason)
}

/// Chooses among stored responses and decides whether one may answer.
package enum Reuse {
    /// Decides for `request`, given the responses stored for its URI.
    ///
    /// A plain request for a fresh response costs a pass over the field names and a few comparisons, and allocates
    /// nothing.
    package static func decide(
        request: RequestHead, candidates: [StoredResponse], policy: CachePolicy, now: Timestamp
    ) -> ReuseDecision {
        if isPlain(request), !policy.offline,
            let index = select(request, candidates, policy: policy)
        {
            let stored = candidates[index]
            if isUpToDate(stored, at: now) { return .answer(selection(index, stored, now)) }
        }
        return decideInFull(request, candidates, policy, now)
    }

    /// Whether a request without further requirements is answered with this stored response.
    @inline(__always)
    package static func isUpToDate(_ stored: StoredResponse, at now: Timestamp) -> Bool {
        !stored.isPartial && !stored.facts.validatesAlways && Freshness.isFresh(stored, at: now)
    }

    /// True if a request has no requirements beyond a fresh response, so that whichever of the stored responses is
    /// selected answers it as long as that is fresh.
    package static func isPlain(_ request: RequestHead) -> Bool {
        request.method == .get && FieldSet(of: request.fields).isDisjoint(with: demanding)
    }

    /// The most recent of the responses that match the request's fields (RFC 9111 §4, §4.1). Those with a `Vary` come
    /// before those without; those that cover the request before the rest.
    package static func select(_ request: RequestHead, _ candidates: [StoredResponse], policy: CachePolicy) -> Int? {
        var best: Int?
        for (index, stored) in candidates.enumerated() where mayServe(stored, request, policy) {
            guard stored.variance.isEmpty || stored.variance.matches(request.fields) else { continue }
            guard let previous = best else {
                best = index
                continue
            }
            if isPreferred(stored, to: candidates[previous], for: request) { best = index }
        }
        return best
    }

    /// True if the response to one request answers another that waited for it (RFC 9111 §4).
    ///
    /// A fresh response may answer both. One that must be validated before each use, or is stale on arrival, says
    /// nothing about another user; it is shared only among anonymous requests, and only if it makes nobody a user.
    package static func mayShare(
        _ stored: StoredResponse, askedFor leader: Fields, with follower: Fields, policy: CachePolicy, now: Timestamp
    ) -> Bool {
        if isForOne(stored, policy) { return false }
        if answersEveryone(stored, policy, at: now) { return true }
        return !stored.traces.contains(.cookie) && !Credentials.areIn(leader) && !Credentials.areIn(follower)
    }

    /// True if the response to one request answers others whatever their credentials are, at the time it is received.
    package static func answersEveryone(_ stored: StoredResponse, _ policy: CachePolicy, at now: Timestamp) -> Bool {
        if isForOne(stored, policy) { return false }
        return policy.role == .private || policy.ignoredResponse.isForEveryone
            || Freshness.isFresh(stored, at: now) && !stored.facts.validatesAlways
    }

    private static func isForOne(_ stored: StoredResponse, _ policy: CachePolicy) -> Bool {
        let flags = stored.facts.directives.flags
        // A 304 may have added it to the stored response.
        if flags.contains(.noStore), !flags.contains(.mustUnderstand) { return true }
        return policy.role != .private && flags.contains(.isPrivate)
    }

    /// The registered request fields that need more than a comparison of times.
    private static let demanding = FieldSet([
        .cacheControl, .pragma, .range, .ifMatch, .ifUnmodifiedSince, .contentLength, .transferEncoding,
    ])

    @inline(__always)
    static func selection(_ index: Int, _ stored: StoredResponse, _ now: Timestamp) -> ReuseDecision.Selection {
        let age = Age.currentAge(stored.facts, at: now)
        return ReuseDecision.Selection(index: index, age: age, ttl: stored.facts.lifetime.duration - age)
    }

    /// True if the stored response may answer a request with that method, of another user than the original one.
    private static func mayServe(_ stored: StoredResponse, _ request: RequestHead, _ policy: CachePolicy) -> Bool {
        if policy.keyedByContent, request.method != .head, stored.requestMethod != request.method { return false }
        return !stored.requestWasAuthorized || stored.facts.allowsAuthorized || policy.role == .private
            || policy.storesAuthorized || policy.ignoredResponse.isForEveryone
    }

    private static func isPreferred(
        _ stored: StoredResponse, to other: StoredResponse, for request: RequestHead
    ) -> Bool {
        let answers = !stored.isPartial || Ranges.covers(stored, request)
        let otherAnswers = !other.isPartial || Ranges.covers(other, request)
        if answers != otherAnswers { return answers }
        if stored.variance.isEmpty != other.variance.isEmpty { return other.variance.isEmpty }
        if stored.facts.date != other.facts.date { return stored.facts.date > other.facts.date }
        return stored.responseTime >= other.responseTime
    }
}

extension Reuse {
    private static func decideInFull(
        _ request: RequestHead, _ candidates: [StoredResponse], _ policy: CachePolicy, _ now: Timestamp
    ) -> ReuseDecision {
        guard isAnswerable(request.method, policy) else {
            return policy.offline ? .refuse(.offline) : .forward(.method, fallback: nil)
        }
        let wishes = CacheControl.Request(request.fields)
        func forward(_ reason: ForwardReason, _ fallback: ReuseDecision.Selection?) -> ReuseDecision {
            if policy.offline { return .refuse(.offline) }
            return wishes.onlyIfCached ? .refuse(.onlyIfCached) : .forward(reason, fallback: fallback)
        }
        guard let index = select(request, candidates, policy: policy) else {
            return forward(candidates.isEmpty ? .uriMiss : missReason(request, candidates), nil)
        }
        let stored = candidates[index]
        let selection = selection(index, stored, now)
        guard !stored.isPartial || Ranges.covers(stored, request) else { return forward(.partial, nil) }
        let isFresh = Freshness.isFresh(stored, at: now) && !stored.facts.validatesAlways
        if policy.offline {
            if isFresh { return .answer(selection) }
            return stored.facts.staleProhibition == nil ? .answerStale(selection, .offline) : .refuse(.offline)
        }
        let reason: ForwardReason = isFresh ? .request : .stale
        if wishes.noStore || asksTheOrigin(request, policy) { return forward(reason, selection) }
        if !wishes.noCache, wishes.maxAge.map({ selection.age <= $0 }) ?? true {
            if isFresh, wishes.minFresh.map({ selection.ttl >= $0 }) ?? true { return .answer(selection) }
            if !isFresh, let permitted = permittedStale(stored, selection, wishes) {
                return .answerStale(selection, permitted)
            }
        }
        // Preconditions mean something else to methods but GET (RFC 9110 §13.1.2): forward these requests unchanged.
        if request.method != .get || !stored.facts.hasValidator || wishes.onlyIfCached {
            return forward(reason, selection)
        }
        return .validate(selection, reason)
    }

    /// Methods that a stored response may answer.
    private static func isAnswerable(_ method: Method, _ policy: CachePolicy) -> Bool {
        method == .get || method == .head || (policy.keyedByContent && (method == .query || method == .post))
    }

    /// Requests that a cache could answer but should not: those with preconditions only an origin evaluates
    /// (RFC 9111 §4.3.2), and those with content that is not part of the key.
    private static func asksTheOrigin(_ request: RequestHead, _ policy: CachePolicy) -> Bool {
        request.fields.contains(.ifMatch) || request.fields.contains(.ifUnmodifiedSince)
            || (!policy.keyedByContent && Storability.hasContent(request))
    }

    private static func missReason(_ request: RequestHead, _ candidates: [StoredResponse]) -> ForwardReason {
        candidates.contains { $0.variance.matches(request.fields) } ? .miss : .varyMiss
    }

    /// Whether a stale response may be used without asking (RFC 9111 §4.2.4, RFC 5861 §3). A client that limits the
    /// age or asks for some freshness does not want a stale one.
    private static func permittedStale(
        _ stored: StoredResponse, _ selection: ReuseDecision.Selection, _ wishes: CacheControl.Request
    ) -> StaleReason? {
        guard stored.standing == .asReceived, stored.facts.staleProhibition == nil, wishes.minFresh == nil else {
            return nil
        }
        let staleness = .zero - selection.ttl
        if let accepted = wishes.maxStale, staleness <= accepted { return .maxStale }
        let window = stored.facts.staleWhileRevalidate
        return window > .zero && staleness <= window && wishes.maxAge == nil ? .staleWhileRevalidate : nil
    }
}
