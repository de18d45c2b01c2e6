// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderUpstream

/// The course of a load that an operator or a program asks for, by the plan for the request that it amounts to.
enum LoadCourse {
    case asks(validating: Variant?, completing: Variant?)
    /// The stored response answers; to a request that asks for the origin's, only because that one is not asked.
    case answered(by: Variant)
    /// The origin is left alone for now, because of this.
    case held(any Error)
    case refused(RefusalReason)
}

/// A load without a client, before it is decided whether it takes place.
struct LoadWish {
    let subject: ResourceSubject
    let resource: Resource
    let configuration: EffectiveConfiguration
    /// The request that is made if the origin is asked.
    let head: RequestHead
    let network: ClientNetwork
    /// True if an up-to-date response will do; if not, the load is decided like a request with `no-cache`.
    let onlyIfNeeded: Bool
    /// True if the Resource's last failure does not count.
    var despiteFailure = false

    /// The request that the load is decided like.
    private var decided: RequestHead {
        var decided = head
        if !onlyIfNeeded { decided.fields.append(.cacheControl, "no-cache") }
        return decided
    }

    /// True if the origin is asked although it is in backoff.
    var bypassesBackoff: Bool { CacheControl.Request(decided.fields).bypassesBackoff }

    /// Nil if the origin's state changed meanwhile: the caller decides anew.
    func course(by snapshot: ResourceMemory.Snapshot, on context: LoopContext) -> LoadCourse? {
        let decided = decided
        let outlook = outlook(for: decided, snapshot, on: context)
        let plan = Plan.decide(
            decided, snapshot.candidates, policy: configuration.policy, now: context.now()
        ) { outlook }
        if let wait = plan.wait {
            switch wait.cause {
            case .retryTime: return snapshot.failure.map { .held($0.error) }
            case .held: return outlook.refusal.map { .held($0) }
            }
        }
        switch plan.action {
        case .validate(let selection, _):
            return .asks(validating: snapshot.variants[selection.index], completing: nil)
        case .forward:
            return .asks(validating: nil, completing: plan.parts.map { snapshot.variants[$0] })
        case .answer(let selection), .answerStale(let selection, .maxStale):
            return .answered(by: snapshot.variants[selection.index])
        case .answerStale(let selection, let reason):
            // A client gets the stale response meanwhile; this load is the refresh.
            let variant = snapshot.variants[selection.index]
            if plan.refreshes {
                let isValidatable = variant.stored.facts.hasValidator && !variant.stored.isPartial
                return .asks(validating: isValidatable ? variant : nil, completing: nil)
            }
            if reason == .offline { return refused(.offline, by: outlook) }
            if let failure = outlook.failure, failure.isRecent(at: context.now()) {
                return snapshot.failure.map { .held($0.error) }
            }
            return outlook.refusal.map { .held($0) }
        case .refuse(let reason): return refused(reason, by: outlook)
        }
    }

    /// An origin that is out of reach has an error to report.
    private func refused(_ reason: RefusalReason, by outlook: LiveOutlook) -> LoadCourse {
        if reason == .offline, outlook.standing == .outOfReach, let refusal = outlook.refusal { return .held(refusal) }
        return .refused(reason)
    }

    private func outlook(
        for decided: RequestHead, _ snapshot: ResourceMemory.Snapshot, on context: LoopContext
    ) -> LiveOutlook {
        var outlook = LiveOutlook(
            proxy: context.proxy, proxyConfiguration: context.configuration, service: subject.service,
            configuration: configuration, uri: subject.uri, form: subject.form, spelling: subject.spelling,
            head: decided, network: network)
        if !despiteFailure { outlook.snapshot = snapshot }
        if RequestTraits(of: decided).mayJoin(configuration) { outlook.memory = resource.memory }
        return outlook
    }
}
