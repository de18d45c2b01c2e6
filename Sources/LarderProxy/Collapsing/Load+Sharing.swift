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

/// Loads that ask other daemons, through the shared tier, before they ask the origin.
extension Load {
    /// For how long after a response that was not stored others are not asked.
    private static let unsharedPeriod = Duration.seconds(120)

    /// The response in the shared tier that answers the client; it is stored here then. Nil when the origin is to be
    /// asked.
    func askSharedTier() async -> Variant? {
        guard let tier = context.sharing, SharingRules.mayAsk(clientHead, policy: policy), !isUsuallyUnstored,
            let key = tier.sharing.rules.key(of: resource, at: uri, service, configuration),
            let look = await tier.tier.look(key)
        else { return nil }
        guard sharing == .asks, Reuse.isPlain(clientHead) else {
            sharedTurn = SharedTurn(look, nil, tier)
            return nil
        }
        if let variant = await take(look, tier) { return variant }
        let turn = await tier.tier.takeTurn(after: look) { fresh(in: $0) != nil }
        switch turn {
        case .mine(let look, let token): sharedTurn = SharedTurn(look, token, tier)
        case .found(let found):
            if let variant = await take(found, tier) { return variant }
            sharedTurn = SharedTurn(found, nil, tier)
        }
        return nil
    }

    /// Whether the last response was not stored, as the next one will not be either.
    private var isUsuallyUnstored: Bool {
        guard let last = resource.memory.unstored, !last.status.isError else { return false }
        return context.now() - last.at < Load.unsharedPeriod
    }

    /// The entity that answers the client's request without asking anybody, and its response.
    private func fresh(in look: SharedLook) -> (SharedEntity, StoredResponse)? {
        let candidates = look.entities.compactMap { entity in
            SharingRules.stored(entity, for: clientHead, at: uri, policy: policy).map { (entity, $0) }
        }
        let decision = Reuse.decide(
            request: clientHead, candidates: candidates.map(\.1), policy: policy, now: context.now())
        guard case .answer(let selection) = decision else { return nil }
        return candidates[selection.index]
    }

    /// Stores what was found as a response of the origin is stored. Nil when there is nothing, or it is invalid by now.
    private func take(_ look: SharedLook, _ tier: LoopSharing) async -> Variant? {
        guard let (entity, stored) = fresh(in: look), entity.content.length <= Int64(context.memoryObjectLimit),
            context.mayKeep(entity.content.length), let chunks = await tier.tier.content(of: entity),
            !isSuperseded(stored)
        else { return nil }
        let writer = beginWriting(stored, length: entity.content.length)
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
