// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// Changes between the start of a load and its end.
extension Load {
    /// True if the clients of this load can wait for `other` instead: both loads can be joined, and they have the same
    /// configuration, which has the same credentials.
    func mayJoin(_ other: ActiveLoad) -> Bool {
        isJoinable && other.isJoinable && other.version == version
    }

    /// True if the Resource was wiped or invalidated, or a group of the response, since the load began (B-05, B-12), or a
    /// later load was answered before this one.
    func isSuperseded(_ stored: StoredResponse) -> Bool {
        resource.memory.isSuperseded(stored, since: listed.mark, at: context.now())
    }

    /// Records that the content is longer than the storage limit, for later explanations.
    func noteTooLarge(_ head: ResponseHead) {
        resource.memory.unstored = UnstoredResponse(head, at: context.now(), .allPassed)
        context.registry.pass(resource)
        context.counters.count(.unstored(.tooLarge))
        report(.unstored(self))
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

/// Reports of a load: content that is compared with its predecessor, if `onChange` requires it, and responses that may
/// be refreshed ahead.
extension Load {
    /// The rule by which listeners are notified of this load; nil for a user's own responses.
    private var changeRule: ChangeRule? { resource.partition.isOfUser ? nil : configuration.changeRule }

    /// The stored response that `stored` replaces; nil if there is none, or changes are not reported.
    func predecessor(of stored: StoredResponse) -> Variant? {
        guard changeRule != nil else { return nil }
        return resource.memory.snapshot.variants.first {
            $0.stored.variance == stored.variance && !$0.isOverride && !$0.stored.isPartial && !$0.stored.status.isError
        }
    }

    /// Submits a response that this load has stored for comparison. Error responses are not compared.
    ///
    /// - Parameter variant: nil for a response that is in the store alone.
    func noteStored(_ stored: StoredResponse, _ variant: Variant?, after predecessor: Variant?) {
        guard let rule = changeRule, !stored.status.isError, !stored.isPartial else { return }
        context.proxy.changes.note(
            ChangeNotifier.Loaded(
                resource: resource, service: service, configuration: configuration, rule: rule, stored: stored,
                variant: variant, predecessor: predecessor), on: context)
    }

    /// Records the response that this load has stored or confirmed, for `refreshAhead`.
    ///
    /// - Parameter variant: nil for a response that is in the store alone.
    func noteAhead(_ variant: Variant?) {
        guard configuration.refreshAhead != .off else { return }
        if let variant {
            context.proxy.ahead.note(
                variant, of: resource, service, configuration, sent: clientHead.fields, on: context)
        } else if let target = AheadTarget(resource, service) {
            context.proxy.ahead.consider(target, in: .seconds(1), on: context)
        }
    }
}
