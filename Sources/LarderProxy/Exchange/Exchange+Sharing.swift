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
                of: retrieval.resource, at: uri, for: head.fields, retrieval.service, retrieval.configuration,
                sharing.sharing.state)
        else { return false }
        guard await sharing.beginReading(key) else { return true }
        defer { sharing.endReading(key) }
        let (epoch, mark) = (memory.epoch, memory.mark)
        guard let look = await sharing.tier.look(key) else {
            retrieval.isSharedSilent = true
            return false
        }
        retrieval.sharedLook = look
        let found = SharingRules.candidates(in: look, at: uri, policy: retrieval.policy)
        let candidates = found.map(\.stored) + snapshot.candidates
        let decision = Reuse.decide(
            request: head, candidates: candidates, policy: retrieval.policy, now: context.now())
        guard let index = choice(decision, among: candidates, retrieval.policy), index < found.count else {
            return false
        }
        let entity = found[index].entity
        guard let chunks = await context.sharedContent(of: entity) else {
            retrieval.isSharedLost = context.keepsInMemory(entity.content.length)
            return false
        }
        retrieval.sharedVariant = keep(found[index], chunks, epoch: epoch, mark: mark, retrieval)
        return retrieval.sharedVariant != nil
    }

    /// The stored response that the rules choose, if only in case that the origin fails, or to be completed.
    private func choice(
        _ decision: ReuseDecision, among candidates: [StoredResponse], _ policy: CachePolicy
    ) -> Int? {
        switch decision {
        case .answer(let selection), .answerStale(let selection, _), .validate(let selection, _): selection.index
        case .forward(.partial, nil): Reuse.select(head, candidates, policy: policy)
        case .forward(_, let fallback): fallback?.index
        case .refuse: nil
        }
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
        if stored.isPartial { return keepPart(variant, epoch: epoch, mark: mark, retrieval) }
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

    /// The same for a part, which is kept in memory alone and in the place of no other response than a part.
    private func keepPart(_ variant: Variant, epoch: UInt64, mark: UInt64, _ retrieval: Retrieval) -> Variant? {
        let memory = retrieval.resource.memory
        let held = memory.snapshot.variants.first { $0.stored.variance == variant.stored.variance }
        guard held?.stored.isPartial ?? true, memory.landPart(variant, replacing: held, epoch: epoch, mark: mark) else {
            return nil
        }
        chargeRegistry(for: retrieval.resource)
        return variant
    }

    /// Shares a stored response that a HEAD has freshened.
    func share(_ freshened: Variant, _ retrieval: Retrieval) {
        guard let sharing = context.sharing, let look = retrieval.sharedLook, freshened.rendition == nil,
            freshened.stored.standing == .asReceived
        else { return }
        let gift = SharedTurn.Gift(
            stored: freshened.stored, origin: uri.origin, normalises: retrieval.policy.normalisedVary, request: nil,
            isPrivate: retrieval.policy.narrowed(for: head.fields).role == .private)
        SharedTurn(look, nil, sharing).give(gift, freshened.content)
    }
}

extension SharedTurn {
    /// Shares a response that was freshened, wherever its content is.
    func give(_ gift: Gift, _ content: VariantContent) {
        switch content {
        case .memory(let chunks, _): give(gift, chunks)
        case .store: give(gift, isFreshened: true) { await Source.open(content) }
        }
    }
}

extension SharedTurn.Source {
    /// Nil when the content is gone.
    static func open(_ content: VariantContent?) async -> SharedTurn.Source? {
        guard let content, let cursor = await ContentCursor.open(content) else { return nil }
        return SharedTurn.Source(length: content.length) { offset, count in
            var octets: [UInt8] = []
            octets.reserveCapacity(count)
            while octets.count < count {
                let next = await cursor.read(at: offset + Int64(octets.count), count: count - octets.count)
                guard let next else { return nil }
                for chunk in next { octets.append(contentsOf: chunk.bytes) }
            }
            return octets.count == count ? octets : nil
        }
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
