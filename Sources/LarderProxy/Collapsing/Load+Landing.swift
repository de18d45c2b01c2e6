// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// What may have changed between the beginning of a load and its end.
extension Load {
    /// Whether the Resource was wiped, or a group of the response invalidated, since the load began (B-12).
    func isSuperseded(_ stored: StoredResponse) -> Bool {
        let memory = resource.memory
        return memory.epoch != epoch || memory.isInvalid(stored, since: mark)
    }

    /// Remembers, for who asks later, that the content turned out to be longer than what is kept.
    func noteTooLarge(_ head: ResponseHead) {
        resource.memory.unstored = UnstoredResponse(head, at: context.now(), .allPassed)
        context.counters.count(.unstored(.tooLarge))
    }

    /// What the configuration says now: a reload may have come since the load began. Nil when it keeps the response
    /// no more.
    func policyAtLanding(of stored: StoredResponse) -> CachePolicy? {
        let policy: CachePolicy
        switch configurationNow {
        case nil: policy = self.policy
        case .some(let now) where now.caches: policy = now.policy.narrowed(for: clientHead.fields)
        case .some: return nil
        }
        guard policy != self.policy else { return policy }
        let response = ResponseHead(status: stored.status, fields: stored.fields)
        let storability = Storability.decide(
            request: clientHead, target: uri, response: response, policy: policy,
            responseTime: stored.responseTime)
        guard case .store = storability else { return nil }
        return policy
    }

    /// Judges what has landed by a configuration that came in the moment of landing.
    func judgeAgain(after policy: CachePolicy) {
        guard let now = configurationNow, now.policy != policy else { return }
        resource.memory.judge(by: now.policy)
    }

    /// Nil when the service is there no more.
    private var configurationNow: EffectiveConfiguration? {
        let configuration = context.proxy.configuration(orKnown: context.configuration)
        let current = configuration.router.table.numbered(service.number)
        if current === service, current?.configurationVersion == version { return self.configuration }
        return current?.configuration(for: resource)
    }
}
