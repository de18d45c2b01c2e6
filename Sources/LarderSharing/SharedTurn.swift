// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import LarderShared

/// The turn of a load to ask the origin, until its outcome is known. Confined to its loop.
final class SharedTurn {
    private let sharing: LoopSharing
    private let look: SharedLook
    private let token: LeaseToken?
    private var isOver = false

    init(_ look: SharedLook, _ token: LeaseToken?, _ sharing: LoopSharing) {
        self.look = look
        self.token = token
        self.sharing = sharing
    }

    /// A response to share, and its encoding.
    struct Gift {
        let stored: StoredResponse
        let origin: String
        /// The client's request that it is the answer to; nil where it is made of the answers to several, or credentials
        /// of the configuration were added.
        let request: RequestHead?
        /// True if the rules of a private cache hold for it.
        let isPrivate: Bool

        /// A response that a load has stored.
        ///
        /// - Parameter isFirstHand: true if it is the answer to the load's own request.
        init(_ stored: StoredResponse, of load: any StagedLoad, isFirstHand: Bool) {
            self.stored = stored
            origin = load.uri.origin
            request = isFirstHand && !stored.isPartial ? load.soleRequest : nil
            isPrivate = load.policy.role == .private
        }

        /// A response that a HEAD has freshened.
        init(_ stored: StoredResponse, of lookup: any StagedLookup) {
            self.stored = stored
            origin = lookup.uri.origin
            request = nil
            isPrivate = lookup.policy.narrowed(for: lookup.head.fields).role == .private
        }
    }

    /// Shares a response that this daemon has stored; of others it says that they are not shared.
    static func hear(of response: StagedResponse) {
        switch response {
        case .begun(let load, let length):
            guard let turn = load.states[SharedTurn.self], let length, length > turn.sharing.sharing.rules.limit else {
                return
            }
            turn.giveNothing()
        case .stored(let load, let stored, let chunks):
            load.states[SharedTurn.self]?.give(Gift(stored, of: load, isFirstHand: true), chunks)
        case .storedOnDisk(let load, let stored, let content):
            load.states[SharedTurn.self]?.give(Gift(stored, of: load, isFirstHand: true)) {
                await Source.open(content())
            }
        case .confirmed(let load, let variant):
            guard let turn = load.states[SharedTurn.self] else { return }
            if variant.rendition != nil { return turn.giveNothing() }
            turn.give(Gift(variant.stored, of: load, isFirstHand: false), variant.content)
        case .freshened(let lookup, let variant):
            guard let sharing = lookup.loop.states[LoopSharing.self],
                let look = lookup.states[SharedFinding.self]?.look, variant.rendition == nil,
                variant.stored.standing == .asReceived
            else { return }
            SharedTurn(look, nil, sharing).give(Gift(variant.stored, of: lookup), variant.content)
        case .unstored(let load): load.states[SharedTurn.self]?.giveNothing()
        }
    }

    /// Content that is read as it is needed.
    struct Source {
        let length: Int64
        /// Exactly so many bytes from an offset on; nil when they cannot be read.
        let read: (_ offset: Int64, _ count: Int) async -> [UInt8]?
    }

    /// Shares a response whose content is in memory.
    func give(_ gift: Gift, _ chunks: [ContentChunk]) {
        let length = chunks.reduce(0) { $0 + $1.count }
        give(gift, length: Int64(length), octets: 2 * length + 1024) { _ in SharedContent.cut(chunks) }
    }

    /// The same for content on disk, which is read a piece at a time.
    ///
    /// - Parameters:
    ///   - isFreshened: whether it was stored before; then an entity that was found with the same content lends its own.
    ///   - content: finds it; nil when it is gone.
    func give(_ gift: Gift, isFreshened: Bool = false, from content: @escaping () async -> Source?) {
        let known = isFreshened ? sharing.known(like: gift.stored, in: look) : nil
        let limit = Int64(sharing.sharing.rules.limit)
        give(gift, length: gift.stored.contentLength ?? 0, octets: SharedTier.octetsAtOnce) { tier in
            if let known { return (known, []) }
            guard let found = await content(), found.length <= limit else { return nil }
            return await tier.write(contentOf: found.length, found.read).map { ($0, []) }
        }
    }

    /// - Parameters:
    ///   - length: as far as it is known.
    ///   - bytes: of memory that `place` needs.
    ///   - place: puts content into the engine, but for the pieces that it returns; nil when that is impossible.
    private func give(
        _ gift: Gift, length: Int64, octets: Int,
        _ place: @escaping (SharedTier) async -> (SharedEntity.Content, [SharedContent.Piece])?
    ) {
        // A response stored for one user is shared under that user's key only, and no other response is.
        let isOwn = !look.key.owner.isEmpty
        guard isOwn == gift.isPrivate,
            sharing.sharing.rules.mayGive(gift.stored, to: gift.request, isOwn: isOwn, length: length)
        else { return giveNothing() }
        guard !isOver else { return }
        isOver = true
        let (tier, look, token) = (sharing.tier, look, token)
        let counters = sharing.sharing.state.counters
        let isTaken = sharing.later(octets: octets) {
            guard let (content, pieces) = await place(tier) else {
                counters.add(.unwritten)
                return await tier.release(token, look.key)
            }
            let isWritten = await tier.write(
                SharedTurn.entity(gift, content), pieces, after: look, releasing: token)
            counters.add(isWritten ? .written : .unwritten)
        }
        if !isTaken {
            counters.add(.unwritten)
            _ = sharing.later(octets: 0) { await tier.release(token, look.key) }
        }
    }

    private static func entity(_ gift: Gift, _ content: SharedEntity.Content) -> SharedEntity {
        let stored = gift.stored
        return SharedEntity(
            variant: StoredResponseCoding.variantKey(stored.variance),
            head: StoredResponseCoding.encode(stored), requestTime: stored.requestTime,
            responseTime: stored.responseTime, groups: stored.facts.groups, origin: gift.origin,
            isPart: stored.isPartial, content: content)
    }

    /// The response is not for others: other daemons need not wait for the next one.
    func giveNothing() {
        end { [tier = sharing.tier, look, token] in await tier.note(token, look.key) }
    }

    /// The load ended without a response: the next daemon asks.
    func giveUp() {
        end { [tier = sharing.tier, look, token] in await tier.release(token, look.key) }
    }

    private func end(_ job: @escaping () async -> Void) {
        guard !isOver else { return }
        isOver = true
        if token != nil { _ = sharing.later(octets: 0, job) }
    }
}

extension LoopSharing {
    /// The content of a found entity whose strong validator and length equal those of the response.
    fileprivate func known(like stored: StoredResponse, in look: SharedLook) -> SharedEntity.Content? {
        guard let tag = stored.facts.eTag, !tag.isWeak, !stored.isPartial, let length = stored.contentLength else {
            return nil
        }
        let variant = StoredResponseCoding.variantKey(stored.variance)
        return look.entities.first { entity in
            guard entity.variant == variant, !entity.isPart, entity.content.length == length else { return false }
            let other = StoredResponseCoding.decode(
                entity.head, requestTime: entity.requestTime, responseTime: entity.responseTime,
                contentLength: length, policy: CachePolicy())
            return other?.facts.eTag == tag && other?.status == stored.status && other?.place == stored.place
        }?.content
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
    /// Nil when the content cannot be read.
    static func open(_ content: VariantContent?) async -> SharedTurn.Source? {
        guard let content, let cursor = try? await ContentCursor.open(content) else { return nil }
        return SharedTurn.Source(length: content.length) { offset, count in
            var octets: [UInt8] = []
            octets.reserveCapacity(count)
            while octets.count < count {
                let next = try? await cursor.read(at: offset + Int64(octets.count), count: count - octets.count)
                guard let next else { return nil }
                for chunk in next { octets.append(contentsOf: chunk.bytes) }
            }
            return octets.count == count ? octets : nil
        }
    }
}
