// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderShared
import LarderStores

/// The stored responses of other daemons that were found for a request.
struct SharedFinding {
    /// The responses found.
    var look: SharedLook?
    /// Whether there was no answer in time: it is not waited for twice.
    var isSilent = false
    /// Whether the content of a found response did not come: it is not waited for twice either.
    var isLost = false
    /// The variant that was stored here.
    var variant: Variant?
    /// Whether the decision may be another one now.
    var changesDecision = false
}

extension CacheLookup {
    /// Stores in memory, and on disk, the response of another daemon that the rules choose for this request. True when
    /// that may have changed the decision.
    ///
    /// Once for each request, and for all requests of this loop that come meanwhile.
    mutating func readShared(_ snapshot: ResourceMemory.Snapshot) async -> Bool {
        guard let sharing = context.sharing, shared == nil else { return false }
        let finding = await SharedReading(lookup: self, sharing: sharing).find(beside: snapshot)
        shared = finding
        return finding.changesDecision
    }

    /// Shares a stored response that a HEAD has freshened.
    func share(_ freshened: Variant) {
        guard let sharing = context.sharing, let look = shared?.look, freshened.rendition == nil,
            freshened.stored.standing == .asReceived
        else { return }
        let gift = SharedTurn.Gift(
            stored: freshened.stored, origin: request.uri.origin, request: nil,
            isPrivate: policy.narrowed(for: request.head.fields).role == .private)
        SharedTurn(look, nil, sharing).give(gift, freshened.content)
    }
}

/// Reads the other daemons' stored responses for a request. Confined to its loop.
private struct SharedReading: ExchangeStep {
    let lookup: CacheLookup
    let sharing: LoopSharing

    var exchange: Exchange { lookup.exchange }
    private var memory: ResourceMemory { lookup.resource.memory }

    func find(beside snapshot: ResourceMemory.Snapshot) async -> SharedFinding {
        var finding = SharedFinding()
        guard request.traits.method == .get || request.traits.method == .head, lookup.keyed == nil,
            !sharing.isUsuallyUnstored(memory, at: context.now()), !memory.loads.contains(where: \.isJoinable),
            let key = sharing.sharing.rules.key(
                of: lookup.resource, at: request.uri, for: request.head.fields, lookup.service, lookup.configuration,
                sharing.sharing.state)
        else { return finding }
        guard await sharing.reading.begin(key) else {
            finding.changesDecision = true
            return finding
        }
        defer { sharing.reading.end(key) }
        let mark = memory.mark
        guard let look = await sharing.tier.look(key) else {
            finding.isSilent = true
            return finding
        }
        finding.look = look
        let found = SharingRules.candidates(in: look, at: request.uri, policy: lookup.policy)
        let candidates = found.map(\.stored) + snapshot.candidates
        let decision = Reuse.decide(
            request: request.head, candidates: candidates, policy: lookup.policy, now: context.now())
        guard let index = choice(decision, among: candidates), index < found.count else { return finding }
        let entity = found[index].entity
        guard let chunks = await context.sharedContent(of: entity) else {
            finding.isLost = context.keepsInMemory(entity.content.length)
            return finding
        }
        finding.variant = keep(found[index], chunks, since: mark)
        finding.changesDecision = finding.variant != nil
        return finding
    }

    /// The stored response that the rules choose, if only in case that the origin fails, or to be completed.
    private func choice(_ decision: ReuseDecision, among candidates: [StoredResponse]) -> Int? {
        switch decision {
        case .answer(let selection), .answerStale(let selection, _), .validate(let selection, _): selection.index
        case .forward(.partial, nil): Reuse.select(request.head, candidates, policy: lookup.policy)
        case .forward(_, let fallback): fallback?.index
        case .refuse: nil
        }
    }

    /// Nil when the Resource was wiped, or the response invalidated, since `mark`.
    private func keep(
        _ candidate: SharedCandidate, _ chunks: [ContentChunk], since mark: ResourceMemory.Mark
    ) -> Variant? {
        let (resource, service, stored) = (lookup.resource, lookup.service, candidate.stored)
        let length = chunks.reduce(0) { $0 + $1.count }
        let variant = Variant(
            stored: stored, content: .memory(chunks, length: length), storedAt: stored.responseTime,
            via: ProxyConfiguration.via, fingerprint: lookup.configuration.fingerprint)
        if stored.isPartial {
            return keepPart(variant, since: mark)
        }
        let isWritten = lookup.configuration.storesReceived && candidate.durability != .memory
        let diskTier = isWritten ? context.diskTier : nil
        let writer = diskTier?.begin(
            stored, of: resource, service: service, length: Int64(length), lookup.configuration)
        for chunk in chunks { writer?.append(chunk) }
        _ = writer?.finish(sharing: chunks)
        guard case .landed(let replaced) = resource.memory.land(variant, since: mark) else {
            diskTier?.remove(variant, of: resource, service: service)
            return nil
        }
        diskTier?.removeReplaced(replaced, by: variant, of: resource, service: service)
        context.registry.charge(resource)
        return variant
    }

    /// The same for a part, which is kept in memory alone and in the place of no other response than a part.
    private func keepPart(_ variant: Variant, since mark: ResourceMemory.Mark) -> Variant? {
        let held = memory.snapshot.variants.first { $0.stored.variance == variant.stored.variance }
        guard held?.stored.isPartial ?? true,
            memory.landPart(variant, replacing: held, since: mark)
        else { return nil }
        context.registry.charge(lookup.resource)
        return variant
    }
}
