// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderShared
import LarderStores

/// How far a load uses the shared tier.
enum SharedTierUse {
    case none
    /// What is there does not answer; what the origin answers is shared.
    case looks
    case asks
}

/// Loads that let one daemon ask the origin for all, and share what it answers.
extension Load {
    /// The response of another daemon that answers the client; it is stored here then. Nil when the origin is to be
    /// asked.
    func askSharedTier() async -> Variant? {
        guard let tier = context.sharing, SharingRules.mayAsk(clientHead, policy: policy),
            !tier.isUsuallyUnstored(resource.memory, at: context.now()),
            let key = tier.sharing.rules.key(of: resource, at: uri, service, configuration)
        else { return nil }
        var look = sharedLook
        if look == nil { look = await tier.tier.look(key) }
        guard let look else { return nil }
        guard sharing == .asks, !asksOrigin else {
            sharedTurn = SharedTurn(look, nil, tier)
            return nil
        }
        if sharedLook == nil, let variant = await take(look, tier) { return variant }
        switch await tier.tier.takeTurn(after: look, isEnough: { isAnswered(by: $0) }) {
        case .mine(let latest, let token): sharedTurn = SharedTurn(latest, token, tier)
        case .found(let found):
            if let variant = await take(found, tier) { return variant }
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
    private func take(_ look: SharedLook, _ tier: LoopSharing) async -> Variant? {
        let candidates = SharingRules.candidates(in: look, at: uri, policy: policy)
        let decision = Reuse.decide(
            request: clientHead, candidates: candidates.map(\.stored), policy: policy, now: context.now())
        guard case .answer(let selection) = decision else { return nil }
        let chosen = candidates[selection.index]
        let stored = chosen.stored
        guard let chunks = await context.sharedContent(of: chosen.entity), !isSuperseded(stored) else { return nil }
        let writer =
            chosen.durability == .memory ? nil : beginWriting(stored, length: chosen.entity.content.length)
        for chunk in chunks { writer?.append(chunk) }
        guard let variant = land(stored, writer, chunks) else { return nil }
        flight.remarks.isShared = true
        flight.conclude(.settled(variant))
        return variant
    }

    /// Shares a response that was stored.
    func share(_ stored: StoredResponse, _ chunks: [ContentChunk]) {
        sharedTurn?.give(stored, chunks, of: uri, normalises: policy.normalisedVary)
    }

    /// The same for one that was validated.
    func share(_ variant: Variant) {
        guard case .memory(let chunks, _) = variant.content, variant.rendition == nil else {
            sharedTurn?.giveNothing()
            return
        }
        share(variant.stored, chunks)
    }
}
