// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderRules
import LarderShared

/// The stored responses of other daemons that were found for a request.
final class SharedFinding {
    /// The responses found.
    let look: SharedLook?
    /// True if there was no answer in time: it is not waited for twice.
    var isSilent: Bool { look == nil }
    /// True if the content of a found response did not come: it is not waited for twice either.
    let isLost: Bool

    init(_ look: SharedLook?, isLost: Bool = false) {
        self.look = look
        self.isLost = isLost
    }
}

/// Reads the other daemons' stored responses for a request. Confined to its loop.
struct SharedReading {
    let lookup: any StagedLookup
    let sharing: LoopSharing

    private var memory: ResourceMemory { lookup.resource.memory }

    /// Stores in memory, and on disk, the response of another daemon that the rules choose for this request: once for
    /// all requests of this loop that come meanwhile.
    func find(_ states: inout StageStates) async -> Bool {
        guard lookup.head.method == .get || lookup.head.method == .head,
            !sharing.isUsuallyUnstored(memory, at: lookup.loop.now()), !memory.loads.contains(where: \.isJoinable),
            let key = sharing.key(for: lookup)
        else { return false }
        guard await sharing.reading.begin(key) else { return true }
        defer { sharing.reading.end(key) }
        let mark = memory.mark
        guard let look = await sharing.tier.look(key) else {
            states[SharedFinding.self] = SharedFinding(nil)
            return false
        }
        states[SharedFinding.self] = SharedFinding(look)
        let found = SharingRules.candidates(in: look, at: lookup.uri, policy: lookup.policy)
        let candidates = found.map(\.stored) + lookup.candidates
        let decision = Reuse.decide(
            request: lookup.head, candidates: candidates, policy: lookup.policy, now: lookup.loop.now())
        guard let index = choice(decision, among: candidates), index < found.count else { return false }
        let (entity, stored) = (found[index].entity, found[index].stored)
        guard let chunks = await sharing.content(of: entity, for: lookup.loop) else {
            states[SharedFinding.self] = SharedFinding(
                look, isLost: lookup.loop.keepsInMemory(entity.content.length))
            return false
        }
        guard let variant = lookup.keep(stored, found[index].durability, chunks, since: mark) else { return false }
        states[StageSupply.self] = StageSupply(variant, detail: SharingRules.detail)
        return true
    }

    /// The stored response that the rules choose, if only in case that the origin fails, or to be completed.
    private func choice(_ decision: ReuseDecision, among candidates: [StoredResponse]) -> Int? {
        switch decision {
        case .answer(let selection), .answerStale(let selection, _), .validate(let selection, _): selection.index
        case .forward(.partial, nil): Reuse.select(lookup.head, candidates, policy: lookup.policy)
        case .forward(_, let fallback): fallback?.index
        case .refuse: nil
        }
    }
}

extension LoopSharing {
    /// The key of a request's Resource in the shared tier; nil if the Resource is not shared.
    func key(for subject: some Staged) -> SharedKey? {
        let resource = subject.resource
        guard !resource.key.hasMark, resource.key.isFor(subject.uri) else { return nil }
        return sharing.rules.key(
            of: subject.uri, in: resource.partition, for: subject.head.fields, subject.service, subject.configuration,
            sharing.state)
    }

    /// The content of an entity, unless it is too long to be kept here.
    func content(of entity: SharedEntity, for loop: any StagedLoop) async -> [ContentChunk]? {
        let length = entity.content.length
        guard loop.keepsInMemory(length), loop.mayKeep(length) else { return nil }
        return await tier.content(of: entity)
    }
}

/// Lets one daemon ask the origin for all, before a load does. Confined to its loop.
struct SharedAsking {
    private let load: any StagedLoad
    private let sharing: LoopSharing
    /// The look-up of the client's exchange; nil without one.
    private let found: SharedFinding?
    /// True if the content of what was found did not come: it is not waited for twice.
    private var isLost: Bool

    init(_ load: any StagedLoad, _ sharing: LoopSharing) {
        self.load = load
        self.sharing = sharing
        found = load.states[SharedFinding.self]
        isLost = found?.isLost ?? false
    }

    /// The response of another daemon that answers the client; it is stored here then. Nil when the origin is to be
    /// asked.
    mutating func run() async -> Variant? {
        guard found?.isSilent != true, load.head.method == .get,
            !sharing.isUsuallyUnstored(load.resource.memory, at: load.loop.now()),
            let key = sharing.key(for: load)
        else { return nil }
        var look = found?.look
        if look == nil { look = await sharing.tier.look(key) }
        guard let look else { return nil }
        let mayWait = !key.owner.isEmpty || SharingRules.mayWait(load.head, policy: load.policy)
        guard load.maySettle, !asksOrigin, mayWait else { return asksItself(after: look, nil) }
        // If the client's exchange looked (`found`), it took all responses that memory keeps; only long ones are left.
        if !isLost, let variant = await take(look, onlyLong: found != nil) { return variant }
        switch await sharing.tier.takeTurn(after: look, isEnough: { candidate(in: $0) != nil }) {
        case .mine(let latest, let token): return asksItself(after: latest, token)
        case .found(let later):
            if !isLost, let variant = await take(later) { return variant }
            return asksItself(after: later, nil)
        }
    }

    /// - Returns: nil.
    private func asksItself(after look: SharedLook, _ token: LeaseToken?) -> Variant? {
        load.states[SharedTurn.self] = SharedTurn(look, token, sharing)
        return nil
    }

    /// True if the client wants more than any response that is fresh: it does not wait for another daemon's.
    private var asksOrigin: Bool {
        let wishes = CacheControl.Request(load.head.fields)
        return wishes.noCache || wishes.noStore || wishes.maxAge != nil || wishes.minFresh != nil
    }

    /// The entity that answers the client.
    private func candidate(in look: SharedLook) -> SharedCandidate? {
        let candidates = SharingRules.candidates(in: look, at: load.uri, policy: load.policy)
        let decision = Reuse.decide(
            request: load.head, candidates: candidates.map(\.stored), policy: load.policy, now: load.loop.now())
        guard case .answer(let selection) = decision else { return nil }
        return candidates[selection.index]
    }

    /// Stores the shared response that answers the client, as a response of the origin is stored. Nil if no response
    /// answers it, or the response is invalid by now.
    private mutating func take(_ look: SharedLook, onlyLong: Bool = false) async -> Variant? {
        // Use whole responses only, which other clients may join.
        guard let chosen = candidate(in: look), !chosen.stored.isPartial else { return nil }
        guard load.loop.keepsInMemory(chosen.entity.content.length) else { return await takeLong(chosen) }
        guard !onlyLong else { return nil }
        guard let chunks = await sharing.content(of: chosen.entity, for: load.loop) else {
            isLost = true
            return nil
        }
        return load.keep(chosen.stored, chosen.durability, chunks)
    }

    /// The same for content that is too long for memory: it goes to disk, piece by piece. When one is missing, nothing of
    /// it is stored.
    private mutating func takeLong(_ chosen: SharedCandidate) async -> Variant? {
        guard chosen.durability != .memory else { return nil }
        let (content, tier) = (chosen.entity.content, sharing.tier)
        var isWhole = true
        defer { isLost = !isWhole }
        return await load.keepOnDisk(chosen.stored, length: content.length) { receive in
            isWhole = await tier.read(content, receive)
            return isWhole
        }
    }
}
