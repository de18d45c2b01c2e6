// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// What becomes of a request, and why: the one decision that exchanges and operators' loads carry out, and that
/// explanations put into words.
///
/// `Reuse` has the say about what is stored; what is known of the origin says whether it is asked.
package struct Plan: Sendable, Hashable {
    /// The origin is left alone for now although the request needs it.
    package struct Wait: Sendable, Hashable {
        package enum Cause: Sendable, Hashable {
            /// The Resource's last load failed, and `retryTime` has not passed.
            case retryTime
            /// Nothing is sent to the origin.
            case held(OriginHold)
        }

        package var cause: Cause
        /// The stored response that answers meanwhile, and why it may; nil when the error is answered.
        package var stale: ReuseDecision.Selection?
        package var reason: StaleReason?
    }

    /// What is done. Where `wait` is not nil: what would be done otherwise.
    package var action: ReuseDecision
    /// The stored response whose missing parts are asked for.
    package var parts: Int?
    /// Whether a validation in the background follows the answer.
    package var refreshes = false
    package var wait: Wait?

    /// Whether something is sent to the origin before the client is answered.
    package var asksOrigin: Bool { wait == nil && action.needsOrigin }

    private init(_ action: ReuseDecision) { self.action = action }
}

/// What is known about the origin of a request; asked only where the decision depends on it.
package protocol OriginOutlook {
    var standing: OriginStanding { get }
    /// Whether the next request to an origin out of reach is to find out whether it is back. Whoever is told so by a
    /// running proxy sends one.
    var isProbeDue: Bool { get }
    /// How the Resource's last load failed, if that is remembered.
    var failure: RecentFailure? { get }
    /// Why a request would be held back; nil when it would be sent, or join a load under way.
    var hold: OriginHold? { get }
}

/// Whether origins are asked.
package enum OriginStanding: Sendable, Hashable {
    case asked
    /// Never, as somebody chose.
    case offline
    /// Not for as long as this one, or the network, is out of reach.
    case outOfReach
}

/// A failed load, for as long as it is remembered.
package struct RecentFailure: Sendable, Hashable {
    package var retryAt: Timestamp
    package var failure: UpstreamFailure

    package init(retryAt: Timestamp, failure: UpstreamFailure) {
        self.retryAt = retryAt
        self.failure = failure
    }
}

extension Plan {
    /// Decides for `request`, given the responses stored for its URI.
    ///
    /// What is fresh answers whatever is known of the origin; nothing but the stored responses is looked at then.
    package static func decide(
        _ request: RequestHead, _ candidates: [StoredResponse], policy: CachePolicy, now: Timestamp,
        outlook: () -> some OriginOutlook
    ) -> Plan {
        if !policy.offline {
            let online = Reuse.decide(request: request, candidates: candidates, policy: policy, now: now)
            if case .answer = online { return Plan(online) }
            return complete(online, request, candidates, policy, now, outlook())
        }
        // The outlook knows whether that is so still.
        var policy = policy
        policy.offline = false
        let online = Reuse.decide(request: request, candidates: candidates, policy: policy, now: now)
        return complete(online, request, candidates, policy, now, outlook())
    }

    /// The plan for a request that goes by what is stored, for this reason.
    package static func passing(_ reason: ForwardReason, outlook: some OriginOutlook) -> Plan {
        guard outlook.standing != .offline else { return Plan(.refuse(.offline)) }
        var plan = Plan(.forward(reason, fallback: nil))
        plan.wait = outlook.hold.map { Wait(cause: .held($0)) }
        return plan
    }

    private static func complete(
        _ online: ReuseDecision, _ request: RequestHead, _ candidates: [StoredResponse], _ policy: CachePolicy,
        _ now: Timestamp, _ outlook: some OriginOutlook
    ) -> Plan {
        var plan = Plan(online)
        if case .answer = online { return plan }
        let standing = outlook.standing
        let isOffline =
            standing == .offline
            || standing == .outOfReach && !CacheControl.Request(request.fields).bypassesBackoff
        if isOffline {
            var policy = policy
            policy.offline = true
            plan.action = Reuse.decide(request: request, candidates: candidates, policy: policy, now: now)
            switch plan.action {
            // The client gets what is stored at once, and a load in the background finds out about the origin.
            case .answerStale where standing == .outOfReach: plan.refreshes = outlook.isProbeDue
            // There is nothing to lose: this request finds out.
            case .refuse where standing == .outOfReach && outlook.isProbeDue: plan = Plan(online)
            default: break
            }
        }
        if case .answerStale(_, .staleWhileRevalidate) = plan.action {
            plan.refreshes = wait(plan.action, request, candidates, policy, now, outlook) == nil
        }
        guard plan.action.needsOrigin else { return plan }
        if case .forward(.partial, _) = plan.action {
            plan.parts = Reuse.select(request, candidates, policy: policy)
        }
        plan.wait = wait(plan.action, request, candidates, policy, now, outlook)
        return plan
    }

    /// Why the origin is left alone. A request that says something about caching is not put off with an old failure.
    private static func wait(
        _ action: ReuseDecision, _ request: RequestHead, _ candidates: [StoredResponse], _ policy: CachePolicy,
        _ now: Timestamp, _ outlook: some OriginOutlook
    ) -> Wait? {
        var wait: Wait
        let failure: UpstreamFailure
        let isPlain = !request.fields.contains(.cacheControl) && !request.fields.contains(.pragma)
        if isPlain, let recent = outlook.failure, now < recent.retryAt {
            wait = Wait(cause: .retryTime)
            failure = recent.failure
        } else if let hold = outlook.hold {
            wait = Wait(cause: .held(hold))
            failure = hold.failure
        } else {
            return nil
        }
        if let index = action.fallback?.index {
            let decision = StaleUse.onError(
                candidates[index], failure: failure, request: request, policy: policy, now: now)
            if case .serve(let age, let ttl, let reason) = decision {
                wait.stale = ReuseDecision.Selection(index: index, age: age, ttl: ttl)
                wait.reason = reason
            }
        }
        return wait
    }
}

extension ReuseDecision {
    /// Whether it can be carried out only by asking the origin.
    package var needsOrigin: Bool {
        switch self {
        case .validate, .forward: true
        case .answer, .answerStale, .refuse: false
        }
    }

    /// What may answer if the origin, which this asks, fails.
    package var fallback: Selection? {
        switch self {
        case .validate(let selection, _): selection
        case .forward(_, let fallback): fallback
        case .answer, .answerStale, .refuse: nil
        }
    }
}

extension CacheStatus {
    /// What a plan leads to, as far as it is known beforehand; nil for a refusal, which is no use of the cache
    /// (RFC 9211 §2).
    package init?(_ plan: Plan) {
        self.init(plan.action)
        guard let wait = plan.wait else { return }
        switch wait.cause {
        case .held(let hold):
            outcome = wait.stale == nil ? .held : .hit
            detail = hold.reason.rawValue
        case .retryTime: detail = wait.reason?.rawValue
        }
        ttl = wait.stale?.ttl
    }
}
