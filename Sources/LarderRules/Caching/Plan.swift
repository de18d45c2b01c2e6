// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// How a request is answered, and why: the one decision that exchanges and operators' loads carry out, and that
/// explanations put into words.
///
/// `Reuse` decides about stored responses; the state of the origin decides whether it is asked.
package struct Plan: Sendable, Hashable {
    /// The origin is not asked for now although the request needs it.
    package struct Wait: Sendable, Hashable {
        package enum Cause: Sendable, Hashable {
            /// The Resource's last load failed, and `retryTime` has not passed.
            case retryTime
            /// No requests are sent to the origin.
            case held(OriginHold)

            /// Its name in `Cache-Status` and explanations.
            package var word: String {
                switch self {
                case .retryTime: "retry-time"
                case .held(let hold): hold.reason.rawValue
                }
            }
        }

        package var cause: Cause
        /// The stored response that answers meanwhile, and why it may; nil when the error is the answer.
        package var stale: ReuseDecision.Selection?
        package var reason: StaleReason?
    }

    /// The action; where `wait` is not nil, the one that would be carried out otherwise.
    package var action: ReuseDecision
    /// The stored response whose missing parts are requested.
    package var parts: Int?
    /// True if a validation in the background follows the answer.
    package var refreshes = false
    package var wait: Wait?

    /// True if something is sent to the origin before the client is answered.
    package var asksOrigin: Bool { wait == nil && action.needsOrigin }

    /// True if a load that is made only if needed is not made: a fresh response answers, or the last load failed too
    /// recently.
    package var isUpToDate: Bool {
        if let wait { return wait.cause == .retryTime }
        if case .answer = action { return true }
        return false
    }

    /// The stored response that answers without the origin; nil where none does.
    package var answering: ReuseDecision.Selection? {
        if let wait { return wait.stale }
        return switch action {
        case .answer(let selection), .answerStale(let selection, _): selection
        case .validate, .forward, .refuse: nil
        }
    }

    private init(_ action: ReuseDecision) { self.action = action }
}

/// The state of a request's origin; queried only where the decision depends on it.
package protocol OriginOutlook {
    var standing: OriginStanding { get }
    /// True if the next request to an unreachable origin serves as the probe. After a true from a running proxy, the
    /// caller must send it.
    var isProbeDue: Bool { get }
    /// How the Resource's last load failed, if that is remembered.
    var failure: RecentFailure? { get }
    /// Why a request would be held back; nil when it would be sent, or join a load under way.
    var hold: OriginHold? { get }
}

/// Whether requests are sent to origins.
package enum OriginStanding: Sendable, Hashable {
    case asked
    /// Never: offline mode is switched on.
    case offline
    /// Not while this origin, or the network, is unreachable.
    case outOfReach
}

/// A failed load, for as long as it is remembered.
package struct RecentFailure: Sendable, Hashable {
    package var at: Timestamp
    package var retryAt: Timestamp
    package var failure: UpstreamFailure

    package init(at: Timestamp, retryAt: Timestamp, failure: UpstreamFailure) {
        self.at = at
        self.retryAt = retryAt
        self.failure = failure
    }

    /// True if it is too soon to try again. `retryAt` itself is not; and if the clock was set back to before the failure,
    /// nothing says how long ago it was, so that it does not count.
    package func isRecent(at now: Timestamp) -> Bool { now < retryAt && now >= at - Age.clockTolerance }
}

extension Plan {
    /// Decides for `request`, given the responses stored for its URI.
    ///
    /// A fresh response answers whatever the origin's state; only the stored responses are examined then.
    package static func decide(
        _ request: RequestHead, _ candidates: [StoredResponse], policy: CachePolicy, now: Timestamp,
        outlook: () -> some OriginOutlook
    ) -> Plan {
        if !policy.offline {
            let online = Reuse.decide(request: request, candidates: candidates, policy: policy, now: now)
            if case .answer = online { return Plan(online) }
            return complete(online, request, candidates, policy, now, outlook())
        }
        // The outlook knows whether that is still so.
        var policy = policy
        policy.offline = false
        let online = Reuse.decide(request: request, candidates: candidates, policy: policy, now: now)
        return complete(online, request, candidates, policy, now, outlook())
    }

    /// The plan for a request that bypasses the stored responses, for this reason.
    package static func passing(_ reason: ForwardReason, outlook: some OriginOutlook) -> Plan {
        guard outlook.standing != .offline else { return Plan(.refuse(.offline)) }
        var plan = Plan(.forward(reason, fallback: nil))
        plan.wait = outlook.hold.map { Wait(cause: .held($0)) }
        return plan
    }

    /// The plan for a validation of `candidates[index]` that nobody waits for: the origin gets no requests but those of
    /// clients unless all is well with it.
    package static func refreshing(
        _ index: Int, of candidates: [StoredResponse], for request: RequestHead, policy: CachePolicy, now: Timestamp,
        outlook: some OriginOutlook
    ) -> Plan {
        guard outlook.standing == .asked else { return Plan(.refuse(.offline)) }
        let selection = Reuse.selection(index, candidates[index], now)
        let hasValidator = candidates[index].facts.hasValidator
        var plan = Plan(
            hasValidator ? .validate(selection, .request) : .forward(.request, fallback: selection))
        plan.wait = wait(plan.action, request, candidates, policy, now, outlook)
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
            // The client gets the stored response at once, and a load in the background probes the origin.
            case .answerStale where standing == .outOfReach: plan.refreshes = mayProbe(outlook)
            // There is no stored response to answer, so this request is the probe.
            case .refuse where standing == .outOfReach && mayProbe(outlook): plan = Plan(online)
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

    /// True if this request is the probe that is due. One that is held back, by a `Retry-After` for its URL, takes it from
    /// no other.
    private static func mayProbe(_ outlook: some OriginOutlook) -> Bool { outlook.hold == nil && outlook.isProbeDue }

    /// Why the origin is not asked. A request with cache directives of its own is not answered with an old failure.
    private static func wait(
        _ action: ReuseDecision, _ request: RequestHead, _ candidates: [StoredResponse], _ policy: CachePolicy,
        _ now: Timestamp, _ outlook: some OriginOutlook
    ) -> Wait? {
        var wait: Wait
        let failure: UpstreamFailure
        let isPlain = !request.fields.contains(.cacheControl) && !request.fields.contains(.pragma)
        if isPlain, let recent = outlook.failure, recent.isRecent(at: now) {
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
    /// True if the decision needs a request to the origin.
    package var needsOrigin: Bool {
        switch self {
        case .validate, .forward: true
        case .answer, .answerStale, .refuse: false
        }
    }

    /// The stored response that may answer if the request to the origin fails.
    package var fallback: Selection? {
        switch self {
        case .validate(let selection, _): selection
        case .forward(_, let fallback): fallback
        case .answer, .answerStale, .refuse: nil
        }
    }
}

extension CacheStatus {
    /// The outcome of a plan, as far as it is known beforehand; nil for a refusal, which is no use of the cache
    /// (RFC 9211 §2).
    package init?(_ plan: Plan) {
        self.init(plan.action)
        guard let wait = plan.wait else { return }
        outcome = wait.stale == nil ? .held : .hit
        detail = wait.cause.word
        ttl = wait.stale?.ttl
    }
}
