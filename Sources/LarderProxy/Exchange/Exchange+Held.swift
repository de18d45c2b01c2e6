// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderSettings
import LarderUpstream

/// Requests whose origin is in backoff.
extension Exchange {
    /// The state of the origin of a Resource's content.
    func outlook(of retrieval: Retrieval) -> LiveOutlook {
        var outlook = outlook(retrieval.service, retrieval.way, retrieval.configuration)
        outlook.isReadByContent = retrieval.content != nil
        outlook.snapshot = retrieval.snapshot
        if traits.method != .head, isJoinable(retrieval) { outlook.memory = retrieval.resource.memory }
        outlook.passedOver = retrieval.passedOver
        return outlook
    }

    private func outlook(
        _ service: RoutedService, _ way: Way, _ configuration: EffectiveConfiguration
    ) -> LiveOutlook {
        var outlook = LiveOutlook(
            proxy: context.proxy, proxyConfiguration: context.configuration, service: service,
            configuration: configuration, uri: uri, way: way, spelling: spelling, head: head, reach: reach)
        outlook.isOffline = isLaneOffline
        return outlook
    }

    func isJoinable(_ retrieval: Retrieval) -> Bool {
        !retrieval.asksAlone && traits.mayJoin(retrieval.configuration)
    }

    /// Answers with stored data if the plan has some, else with the error that caused the backoff. False when the
    /// backoff has ended: the caller decides anew.
    func serveMeanwhile(
        _ wait: Plan.Wait, _ plan: Plan, _ snapshot: ResourceMemory.Snapshot, _ retrieval: Retrieval
    ) async throws -> Bool {
        // Credentials that changed while the store was read: the failure is of the old ones.
        if let successor = retrieval.service.successor(in: context.configuration.router.table) {
            try await retrieve(successor, retrieval.way)
            return true
        }
        let error: (any Error)? =
            switch wait.cause {
            case .retryTime: snapshot.failure?.error
            case .held: outlook(of: retrieval).refusal
            }
        guard let error, let status = CacheStatus(plan) else { return false }
        if case .held = wait.cause { context.counters.add(.upstreamHeld) }
        if let stale = wait.stale {
            record.kind = .stale
            return try await serve(
                snapshot.variants[stale.index], StoredUse(age: stale.age, status: status), retrieval)
        }
        record.cacheStatus = status
        throw Problem(upstream: error, place: uri.authority)
    }

    /// Throws the reason why a request that bypasses the cache is not sent now, if it is not.
    func checkPassing(
        _ reason: ForwardReason, _ service: RoutedService, _ way: Way, _ configuration: EffectiveConfiguration
    ) throws {
        // Usually nothing is known that would prevent it.
        guard
            context.proxy.origins.hasTrouble || service.settings.quotaReserve != nil
                || offlineMode(service, configuration) == .on
        else { return }
        let outlook = outlook(service, way, configuration)
        let plan = Plan.passing(reason, outlook: outlook)
        if case .refuse = plan.action {
            throw Problem.offline(head.method, to: uri.authority, isLaneOffline: isLaneOffline)
        }
        guard plan.wait != nil, let refusal = outlook.refusal else { return }
        context.counters.add(.upstreamHeld)
        noteFailure(refusal, reason)
        throw refusal
    }

    /// Counts the failure of a relayed request, or records why it was not sent.
    func noteFailure(_ error: UpstreamError, _ reason: ForwardReason) {
        guard let hold = error.hold else { return context.counters.add(.upstreamErrors) }
        record.cacheStatus = CacheStatus(.held, detail: hold.reason.rawValue)
    }
}
