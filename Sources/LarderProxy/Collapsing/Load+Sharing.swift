// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderShared
import LarderStores
import LarderUpstream

/// How far a load uses the shared tier.
enum SharedTierUse {
    case none
    /// The origin is asked whatever is there; what it answers is shared.
    case gives
    case asks
}

/// Loads that let one daemon ask the origin for all, and share what it answers.
extension Load {
    /// The response of another daemon that answers the client; it is stored here then. Nil when the origin is to be
    /// asked.
    func askSharedTier() async -> Variant? {
        guard let tier = context.sharing, clientHead.method == .get,
            !tier.isUsuallyUnstored(resource.memory, at: context.now()),
            let key = tier.sharing.rules.key(
                of: resource, at: uri, for: clientHead.fields, service, configuration, tier.sharing.state)
        else { return nil }
        var look = sharedLook
        if look == nil { look = await tier.tier.look(key) }
        guard let look else { return nil }
        let mayWait = !key.owner.isEmpty || SharingRules.mayWait(clientHead, policy: policy)
        guard sharing == .asks, !asksOrigin, mayWait else {
            sharedTurn = SharedTurn(look, nil, tier)
            return nil
        }
        // Of what the client's exchange has found it took all that memory keeps.
        if !isSharedLost, let variant = await take(look, tier, onlyLong: sharedLook != nil) { return variant }
        switch await tier.tier.takeTurn(after: look, isEnough: { isAnswered(by: $0) }) {
        case .mine(let latest, let token): sharedTurn = SharedTurn(latest, token, tier)
        case .found(let found):
            if !isSharedLost, let variant = await take(found, tier) { return variant }
            sharedTurn = SharedTurn(found, nil, tier)
        }
        return nil
    }

    /// Whether the client wants more than any response that is fresh: it does not wait for another daemon's.
    private var asksOrigin: Bool {
        let wishes = CacheControl.Request(clientHead.fields)
        return wishes.noCache || wishes.noStore || wishes.maxAge != nil || wishes.minFresh != nil
    }

    private func isAnswered(by look: SharedLook) -> Bool {
        let candidates = SharingRules.candidates(in: look, at: uri, policy: policy).map(\.stored)
        let decision = Reuse.decide(request: clientHead, candidates: candidates, policy: policy, now: context.now())
        if case .answer = decision { return true }
        return false
    }

    /// Stores what answers the client as a response of the origin is stored. Nil when nothing does, or it is invalid by
    /// now.
    private func take(_ look: SharedLook, _ tier: LoopSharing, onlyLong: Bool = false) async -> Variant? {
        let candidates = SharingRules.candidates(in: look, at: uri, policy: policy)
        let decision = Reuse.decide(
            request: clientHead, candidates: candidates.map(\.stored), policy: policy, now: context.now())
        guard case .answer(let selection) = decision else { return nil }
        let chosen = candidates[selection.index]
        let stored = chosen.stored
        // Of a request for the whole, which others may join.
        guard !stored.isPartial else { return nil }
        guard context.keepsInMemory(chosen.entity.content.length) else { return await takeLong(chosen, tier) }
        guard !onlyLong else { return nil }
        guard let chunks = await context.sharedContent(of: chosen.entity) else {
            isSharedLost = true
            return nil
        }
        guard !isSuperseded(stored) else { return nil }
        let writer =
            chosen.durability == .memory ? nil : beginWriting(stored, length: chosen.entity.content.length)
        for chunk in chunks { writer?.append(chunk) }
        guard let variant = land(stored, writer, chunks) else { return nil }
        remarks.isShared = true
        listed.shared?.conclude(.settled(variant), remarks)
        return variant
    }

    /// The same for content that is too long for memory: it goes to disk, piece by piece. When one is missing, nothing of
    /// it is stored.
    private func takeLong(_ chosen: SharedCandidate, _ tier: LoopSharing) async -> Variant? {
        let (stored, content) = (chosen.stored, chosen.entity.content)
        guard chosen.durability != .memory, context.mayKeep(content.length), let diskTier = context.diskTier,
            let writer = beginWriting(stored, length: content.length)
        else { return nil }
        let isWhole = await tier.tier.read(content) { chunk in
            guard !abort.isAborted, await diskTier.hasRoom(on: context), case .open = writer.state else { return false }
            writer.append(chunk)
            return true
        }
        guard isWhole, !isSuperseded(stored) else {
            isSharedLost = !isWhole
            writer.abort()
            return nil
        }
        land(stored, writer, nil)
        let found = await diskTier.variant(like: stored, of: resource, service, configuration)
        guard let found, !isSuperseded(stored) else { return nil }
        remarks.isShared = true
        listed.shared?.conclude(.settled(found), remarks)
        return found
    }

    /// Shares a response that was stored.
    func share(_ stored: StoredResponse, _ chunks: [ContentChunk]) {
        sharedTurn?.give(gift(stored, isFirstHand: true), chunks)
    }

    /// The same for one that is on disk alone.
    func shareFromDisk(_ stored: StoredResponse) {
        guard let diskTier = context.diskTier else { return }
        sharedTurn?.give(gift(stored, isFirstHand: true)) {
            [resource, service, configuration] in
            await SharedTurn.Source.open(
                diskTier.variant(like: stored, of: resource, service, configuration)?.content)
        }
    }

    /// The same for one that was validated.
    func share(_ variant: Variant) {
        guard variant.rendition == nil else {
            sharedTurn?.giveNothing()
            return
        }
        let gift = gift(variant.stored, isFirstHand: false)
        sharedTurn?.give(gift, variant.content)
    }

    /// Whether content of that length is not for others, so that nobody need wait for the end of it.
    func noteUnsharedLength(_ length: Int64?) {
        guard let length, let limit = context.sharing?.sharing.rules.limit, length > limit else { return }
        sharedTurn?.giveNothing()
    }

    /// - Parameter isFirstHand: whether it is the answer to this load's own request.
    private func gift(_ stored: StoredResponse, isFirstHand: Bool) -> SharedTurn.Gift {
        // Parts may be those of other requests; and nothing else may have been added to the client's credentials.
        let isClients = isFirstHand && rangeFill == nil && !stored.isPartial && !policy.addsCredentials
        return SharedTurn.Gift(
            stored: stored, origin: uri.origin, request: isClients ? clientHead : nil,
            isPrivate: policy.role == .private)
    }
}

extension DiskTier {
    /// Waits for the disk. False if it does not keep up.
    fileprivate func hasRoom(on context: LoopContext) async -> Bool {
        var patience = 200
        while isBehind, patience > 0 {
            patience -= 1
            await context.sleep(for: .milliseconds(5))
        }
        return !isBehind
    }

    /// A response as it was just stored.
    func variant(
        like stored: StoredResponse, of resource: Resource, _ service: RoutedService,
        _ configuration: EffectiveConfiguration
    ) async -> Variant? {
        let found = try? await variants(of: resource, service: service, configuration)
        return found?.first { $0.isLanded(stored) }
    }
}

extension Variant {
    /// Whether it is that response, now with its content: whose length may have decided whether it is coded.
    func isLanded(_ response: StoredResponse) -> Bool {
        stored.responseTime == response.responseTime && stored.status == response.status
            && stored.isPartial == response.isPartial
            && stored.variance.spanningCodings(false) == response.variance.spanningCodings(false)
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
