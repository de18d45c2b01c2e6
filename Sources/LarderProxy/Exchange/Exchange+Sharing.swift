// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderShared
import LarderStores

extension Exchange {
    /// Puts into memory, and on disk, what another daemon has stored and the rules choose for this request. True when
    /// that may have changed the decision.
    ///
    /// Once for each request, and for all requests of this loop that come meanwhile.
    func readShared(_ retrieval: inout Retrieval, _ snapshot: ResourceMemory.Snapshot) async -> Bool {
        guard let sharing = context.sharing, !retrieval.isSharedRead else { return false }
        retrieval.isSharedRead = true
        let memory = retrieval.resource.memory
        guard traits.method == .get || traits.method == .head, retrieval.content == nil,
            !sharing.isUsuallyUnstored(memory, at: context.now()), !memory.flights.contains(where: \.isJoinable),
            let key = sharing.sharing.rules.key(
                of: retrieval.resource, at: uri, retrieval.service, retrieval.configuration)
        else { return false }
        guard await sharing.beginReading(key) else { return true }
        defer { sharing.endReading(key) }
        let (epoch, mark) = (memory.epoch, memory.mark)
        guard let look = await sharing.tier.look(key) else { return false }
        retrieval.sharedLook = look
        let found = SharingRules.candidates(in: look, at: uri, policy: retrieval.policy)
        let decision = Reuse.decide(
            request: head, candidates: found.map(\.stored) + snapshot.candidates, policy: retrieval.policy,
            now: context.now())
        guard let index = decision.selection?.index, index < found.count,
            let chunks = await context.sharedContent(of: found[index].entity)
        else { return false }
        retrieval.sharedVariant = keep(found[index], chunks, epoch: epoch, mark: mark, retrieval)
        return retrieval.sharedVariant != nil
    }

    /// Nil when the Resource was wiped, or the response invalidated, since `epoch` and `mark`.
    private func keep(
        _ candidate: SharedCandidate, _ chunks: [ContentChunk], epoch: UInt64, mark: UInt64, _ retrieval: Retrieval
    ) -> Variant? {
        let (resource, service, stored) = (retrieval.resource, retrieval.service, candidate.stored)
        let length = chunks.reduce(0) { $0 + $1.count }
        let variant = Variant(
            stored: stored, content: .memory(chunks, length: length), storedAt: stored.responseTime,
            via: ProxyConfiguration.via, fingerprint: retrieval.configuration.fingerprint)
        let isWritten = retrieval.configuration.storesReceived && candidate.durability != .memory
        let storing = isWritten ? context.storing : nil
        let writer = storing?.begin(
            stored, of: resource, service: service, length: Int64(length), retrieval.configuration)
        for chunk in chunks { writer?.append(chunk) }
        _ = writer?.finish(sharing: chunks)
        guard case .landed(let replaced) = resource.memory.land(variant, epoch: epoch, mark: mark) else {
            storing?.remove(variant, of: resource, service: service)
            return nil
        }
        storing?.removeReplaced(replaced, by: variant, of: resource, service: service)
        chargeRegistry(for: resource)
        return variant
    }
}

extension LoopContext {
    /// The content of an entity of the shared tier, unless it is too long to be kept here.
    func sharedContent(of entity: SharedEntity) async -> [ContentChunk]? {
        guard let sharing, entity.content.length <= Int64(memoryObjectLimit), mayKeep(entity.content.length) else {
            return nil
        }
        return await sharing.tier.content(of: entity)
    }
}

extension ReuseDecision {
    /// The stored response that the rules choose, if only in case that the origin fails.
    fileprivate var selection: Selection? {
        switch self {
        case .answer(let selection), .answerStale(let selection, _), .validate(let selection, _): selection
        case .forward(_, let fallback): fallback
        case .refuse: nil
        }
    }
}
