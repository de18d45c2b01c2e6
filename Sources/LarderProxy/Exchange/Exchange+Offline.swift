// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderUpstream

extension Exchange {
    /// The decision as the offline mode has it. What is fresh is answered in every mode and costs nothing here.
    func reconsidered(
        _ decision: ReuseDecision, _ snapshot: ResourceMemory.Snapshot, _ retrieval: Retrieval
    ) -> ReuseDecision {
        if case .answer = decision { return decision }
        let mode = context.proxy.offlineMode(retrieval.service, retrieval.configuration)
        let isOutOfReach = mode == .auto && context.proxy.isOutOfReach(uri, retrieval.service)
        let isOffline = mode == .on || (isOutOfReach && !CacheControl.Request(head.fields).bypassesBackoff)
        var policy = retrieval.policy
        guard isOffline != policy.offline || isOutOfReach else { return decision }
        policy.offline = isOffline
        let reconsidered = Reuse.decide(
            request: head, candidates: snapshot.candidates, policy: policy, now: context.now())
        guard isOffline, mode == .auto, context.proxy.isProbeDue(uri, retrieval.service) else { return reconsidered }
        switch reconsidered {
        case .answerStale(let selection, _):
            // The client gets what is stored at once; a load in the background finds out whether the origin is back.
            refresh(snapshot.variants[selection.index], in: snapshot, retrieval)
            return reconsidered
        case .refuse:
            // There is nothing to lose: this request finds out.
            policy.offline = false
            return Reuse.decide(request: head, candidates: snapshot.candidates, policy: policy, now: context.now())
        case .answer, .validate, .forward: return reconsidered
        }
    }

    /// Why a request that nothing stored can answer is refused offline, with the nearest that is stored.
    func offlineProblem(_ retrieval: Retrieval) async -> Problem {
        let (service, way) = (retrieval.service, retrieval.way)
        let stored = await context.proxy.nearestStored(
            to: uri, service: service, partition: retrieval.resource.partition, limit: 5)
        let mapping = GatewayMapping(
            table: context.configuration.router.table, service: service, way: way, target: uri,
            authority: head.fields[first: .host] ?? connection.client.localHost)
        return .offline(uri: uri, stored: stored.map { way.isGateway ? mapping.mapped(reference: $0) ?? $0 : $0 })
    }
}

extension Problem {
    static func offline(uri: TargetURI, stored: [String]) -> Problem {
        let near =
            stored.isEmpty
            ? "Nothing near it is stored."
            : "Stored are: " + stored.map { String($0.prefix(500)) }.joined(separator: " , ")
        return Problem(
            status: 504, title: "Offline", proxyError: .destinationUnavailable,
            detail:
                "Nothing stored may answer for \(uri.string.prefix(500)), and origins are not asked (offline). \(near)",
            advice: stored.isEmpty
                ? "Go online to have the origin asked: `larder offline off`."
                : "Use one of these, or go online to have the origin asked: `larder offline off`.")
    }

    /// For what nothing stored could answer: writes, tunnels.
    static func offline(_ method: Method, to place: String) -> Problem {
        Problem(
            status: 504, title: "Offline", proxyError: .destinationUnavailable,
            detail: "\(method) needs \(place), and origins are not asked (offline).",
            advice: "Go online to have the origin asked: `larder offline off`.")
    }
}
