// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// Changes between the start of a load and its end.
extension Load {
    /// Whether whoever needs this load can wait for `other` instead: it is for others, too, by the same configuration,
    /// which has the same credentials.
    func mayJoin(_ other: ActiveLoad) -> Bool {
        isJoinable && other.isJoinable && other.version == version
    }

    /// Whether the Resource was wiped or invalidated, or a group of the response, since the load began (B-05, B-12), or a
    /// later load was answered before this one.
    func isSuperseded(_ stored: StoredResponse) -> Bool {
        resource.memory.isSuperseded(stored, since: listed.mark, at: context.now())
    }

    /// Records that the content is longer than the storage limit, for later explanations.
    func noteTooLarge(_ head: ResponseHead) {
        resource.memory.unstored = UnstoredResponse(head, at: context.now(), .allPassed)
        context.registry.pass(resource)
        context.counters.count(.unstored(.tooLarge))
        sharedTurn?.giveNothing()
    }

    /// The policy of the current configuration: a reload may have happened since the load began. Nil when it no longer
    /// stores the response, as when the service speaks for another user now.
    func policyAtLanding(of stored: StoredResponse) -> CachePolicy? {
        if context.hasOtherCredentials(than: service) { return nil }
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

    /// Applies a configuration that was loaded while the response was being stored.
    func judgeAgain(after policy: CachePolicy) {
        guard let now = configurationNow, now.policy != policy else { return }
        resource.memory.judge(by: now.policy)
    }

    /// The service as it is configured now; nil when it no longer exists.
    private var currentService: RoutedService? {
        context.current(service)
    }

    /// Nil when the service no longer exists.
    private var configurationNow: EffectiveConfiguration? {
        let current = currentService
        if current === service, current?.configurationVersion == version { return self.configuration }
        return current?.configuration(for: resource)
    }
}
