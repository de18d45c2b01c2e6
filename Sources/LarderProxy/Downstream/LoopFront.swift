// SPDX-License-Identifier: Apache-2.0

import Glibc
import Larder
import LarderHTTP
import LarderRules

/// The answers one loop gave to plain requests, found again by the octets of the request head.
///
/// The same head from the same kind of client leads to the same answer as long as nothing it was made from has
/// changed: the snapshot of the Resource, the configuration, the freshness. So it needs no parsing, routing or
/// looking up again. Whatever is not exactly as before takes the ordinary way, which is also what puts answers here.
///
/// Confined to its loop. Bounded in answers and octets: a place is taken by another request when its answer was not
/// used since that last tried.
final class LoopFront {
    private var places: [FrontAnswer?] = Array(repeating: nil, count: LoopFront.placeCount)
    /// What was asked for once: only what is asked for again is worth a place.
    private var sightings: [UInt32] = Array(repeating: 0, count: 4 * LoopFront.placeCount)
    private var hand = 0
    private var sweptAt = Int64.min
    private var sweeper = 0
    /// Octets that the answers keep in memory.
    private(set) var bytes = 0
    /// Counts how often everything was let go, so that what was decided before is not kept after.
    private(set) var generation = 0
    private let limit: Int
    /// Differs in every process, so that nobody can choose heads that collide.
    private let seed = UInt64.random(in: .min ... .max)

    private static let placeCount = 16_384
    /// How many pieces the places are swept in, one each sixteenth of a second.
    private static let sweepPieces = 16
    /// Longer heads and contents take the ordinary way: what could be saved is nothing to what they cost.
    static let headLimit = 2048
    static let contentLimit = 64 << 10

    /// - Parameter limit: octets that the answers may keep.
    init(limit: Int) { self.limit = limit }

    /// The answer to `request`, which holds one head and nothing else, if it may be given at `now`.
    func answer(to request: UnsafeRawBufferPointer, from client: ClientKind, at now: Timestamp) -> FrontAnswer? {
        guard LoopFront.isOneHead(request) else { return nil }
        let turn = now.nanoseconds / (1_000_000_000 / Int64(LoopFront.sweepPieces))
        if turn != sweptAt { sweep(at: turn) }
        guard let answer = places[place(of: hash(request))], answer.isFor(request, client) else { return nil }
        return answer.isGood(at: now) ? answer : nil
    }

    /// Whether `request` looks like exactly one head that was asked for before: then the answer is worth keeping.
    func isWorthKeeping(_ request: UnsafeRawBufferPointer) -> Bool {
        guard LoopFront.isOneHead(request) else { return false }
        let hash = hash(request)
        let tag = UInt32(truncatingIfNeeded: hash >> 32) | 1
        let sighting = Int(truncatingIfNeeded: hash % UInt64(sightings.count))
        defer { sightings[sighting] = tag }
        return sightings[sighting] == tag
    }

    /// Keeps an answer, unless its place is taken by one that is in use.
    func keep(_ answer: FrontAnswer) {
        guard answer.cost <= limit / 4 else { return }
        let place = place(of: answer.request.withUnsafeBytes { hash($0) })
        if let other = places[place], !other.isFor(answer.request, answer.client), other.takeUsed(), other.isCurrent {
            return
        }
        drop(place)
        while bytes + answer.cost > limit {
            drop(hand)
            hand = (hand + 1) % LoopFront.placeCount
        }
        places[place] = answer
        bytes += answer.cost
    }

    /// Lets go, within a second, of answers that cannot be given any more, so that what the registry evicted does not
    /// stay here. It is done piece by piece: the loop has others to serve.
    private func sweep(at turn: Int64) {
        sweptAt = turn
        sweeper = (sweeper + 1) % LoopFront.sweepPieces
        let size = LoopFront.placeCount / LoopFront.sweepPieces
        for place in (sweeper * size)..<((sweeper + 1) * size) where places[place]?.isCurrent == false { drop(place) }
    }

    func removeAll() {
        generation += 1
        for place in places.indices { places[place] = nil }
        bytes = 0
    }

    private func drop(_ place: Int) {
        guard let answer = places[place] else { return }
        bytes -= answer.cost
        places[place] = nil
    }

    private func place(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash % UInt64(LoopFront.placeCount)) }

    /// Ends with an empty line and is short. Whether there is another one before the end is told by the comparison
    /// with a request that was one head.
    private static func isOneHead(_ request: UnsafeRawBufferPointer) -> Bool {
        guard request.count >= 16, request.count <= headLimit else { return false }
        return request.loadUnaligned(fromByteOffset: request.count - 4, as: UInt32.self) == 0x0A0D_0A0D
    }

    /// Eight octets at a time, each folded in by a multiplication whose halves are mixed.
    private func hash(_ octets: UnsafeRawBufferPointer) -> UInt64 {
        var state = seed ^ UInt64(octets.count)
        var offset = 0
        while offset + 8 <= octets.count {
            state = LoopFront.mix(state ^ octets.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        // The last eight once more: the head is longer than that.
        return LoopFront.mix(state ^ octets.loadUnaligned(fromByteOffset: octets.count - 8, as: UInt64.self))
    }

    @inline(__always)
    private static func mix(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return product.high ^ product.low
    }
}

/// What of a client decides about its answers, beside what it sends; equal for those that get the same.
typealias ClientKind = Int

/// One answer, ready to be sent again.
final class FrontAnswer {
    let request: [UInt8]
    let client: ClientKind
    /// Octets of content, as the counters count them.
    let contentLength: Int
    /// What this keeps in memory.
    let cost: Int
    /// Whether the client was told that nothing follows on its connection.
    let closes: Bool
    /// Head and content, or the head alone where the content is sent from its own memory.
    private(set) var octets: [UInt8] = []
    /// What follows `octets`.
    let chunks: [ContentChunk]

    private let variant: Variant
    private let snapshot: ResourceMemory.Snapshot
    private let memory: ResourceMemory
    private let service: Service
    private let version: UInt64
    /// The head up to what depends on the moment.
    private let head: [UInt8]
    private let inlined: [ContentChunk]
    /// When `octets` say the truth about age and lifetime.
    private var validFrom = Timestamp(nanoseconds: .max)
    private var validUntil = Timestamp(nanoseconds: .min)
    private var wasUsed = false
    /// The mark of the last invalidation that is known not to have meant this.
    private var mark: UInt64 = 0

    /// One copy of a short content costs less than another part of a gathered write.
    private static let inlineLimit = 2 << 10

    init(
        to request: [UInt8], from client: ClientKind, with variant: Variant, head: [UInt8], content: [ContentChunk],
        of retrieval: Retrieval, snapshot: ResourceMemory.Snapshot, version: UInt64, closes: Bool
    ) {
        self.request = request
        self.closes = closes
        self.client = client
        self.variant = variant
        self.snapshot = snapshot
        self.version = version
        self.head = head
        memory = retrieval.resource.memory
        service = retrieval.service.service
        contentLength = content.reduce(0) { $0 + $1.count }
        let isShort = contentLength <= FrontAnswer.inlineLimit
        inlined = isShort ? content : []
        chunks = isShort ? [] : content
        cost = request.count + 2 * head.count + contentLength * (isShort ? 2 : 1) + 512
    }

    /// Whether the Resource and the configuration are as they were.
    var isCurrent: Bool {
        guard snapshot.isCurrent, service.configurationVersion == version else { return false }
        let latest = memory.mark
        if latest == mark { return true }
        // Something was invalidated: the Resource finds out whether it was meant.
        guard memory.snapshot === snapshot else { return false }
        mark = latest
        return true
    }

    func isFor(_ other: UnsafeRawBufferPointer, _ kind: ClientKind) -> Bool {
        guard client == kind, request.count == other.count else { return false }
        return request.withUnsafeBytes { memcmp($0.baseAddress!, other.baseAddress!, other.count) == 0 }
    }

    func isFor(_ other: [UInt8], _ kind: ClientKind) -> Bool { other.withUnsafeBytes { isFor($0, kind) } }

    /// Whether it was used since the last call.
    func takeUsed() -> Bool {
        defer { wasUsed = false }
        return wasUsed
    }

    /// Whether the answer can be given at `now`; then `octets` are right for it.
    func isGood(at now: Timestamp) -> Bool {
        guard isCurrent else { return false }
        wasUsed = true
        if now < validUntil, now >= validFrom { return touched() }
        guard Freshness.isFresh(variant.stored, at: now) else { return false }
        render(at: now)
        return touched()
    }

    private func touched() -> Bool {
        memory.touch()
        return true
    }

    private func render(at now: Timestamp) {
        let age = Age.currentAge(of: variant.stored, at: now)
        let ttl = Freshness.remaining(variant.stored, at: now)
        octets.removeAll(keepingCapacity: true)
        octets.append(contentsOf: head)
        StoredUse(age: age, status: CacheStatus(.hit, ttl: ttl, detail: variant.rendition?.form?.word)).append(
            to: &octets)
        if closes { PreparedHead.appendField("Connection", "close", to: &octets) }
        PreparedHead.appendLineEnd(to: &octets)
        for chunk in inlined { octets.append(contentsOf: chunk.bytes) }
        validFrom = now
        // The whole seconds of age change when its fraction is full, those of the lifetime when its fraction is used up.
        let untilOlder = Duration.seconds(1) - age.fraction
        validUntil = min(now + untilOlder, now + ttl.fraction + .nanoseconds(1), variant.stored.facts.freshUntil)
    }
}

extension Duration {
    /// What exceeds the whole seconds.
    fileprivate var fraction: Duration { Duration(secondsComponent: 0, attosecondsComponent: components.attoseconds) }
}
