// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP

/// Cached replies of one loop to plain requests, keyed by the bytes of the request head.
///
/// The same head from the same kind of client gets the same reply as long as its inputs are unchanged: the snapshot of
/// the Resource, the configuration, the freshness. So it needs no parsing, routing or lookup. All other requests are
/// handled by an exchange, which also adds the replies here.
///
/// Confined to its loop. Bounded in replies and bytes: a reply may be replaced if it was not used since the last
/// search for room.
final class RequestCache {
    private var table = ReplyTable<CachedReply>()
    /// Hashes of heads seen once: only repeated requests are worth caching.
    private var sightings: [UInt16] = Array(repeating: 0, count: 1 << 17)
    private var sweptAt = Int64.min
    /// Bytes of memory that the replies use.
    private(set) var bytes = 0
    /// Counts how often everything was dropped, so that replies prepared before are not added after.
    private(set) var generation = 0
    private let limit: Int
    /// Random in every process, so that clients cannot choose colliding heads.
    private let seed = UInt64.random(in: .min ... .max)

    /// Longer heads and contents are handled by an exchange: the saving is small compared to their cost.
    static let headLimit = 2048
    static let contentLimit = 64 << 10
    /// How often per second some slots are swept, and how many at a time.
    private static let sweeps: Int64 = 16
    private static let sweepSize = 1024
    /// How many slots are searched for room for one reply.
    private static let searchLimit = 64

    /// - Parameter limit: bytes that the replies may use.
    init(limit: Int) { self.limit = limit }

    /// The reply to `request`, which contains one head and nothing else, if it is valid at `now`.
    func answer(to request: UnsafeRawBufferPointer, from client: ClientKind, at now: Timestamp) -> CachedReply? {
        guard RequestCache.isOneHead(request) else { return nil }
        let turn = now.nanoseconds / (1_000_000_000 / RequestCache.sweeps)
        if turn != sweptAt { sweep(at: turn) }
        guard let answer = table.find(hash(request, client)), answer.isFor(request, client), answer.isGood(at: now)
        else { return nil }
        return answer
    }

    /// True if `request` looks like exactly one head that was seen before: then the reply is worth caching.
    func isWorthKeeping(_ request: UnsafeRawBufferPointer) -> Bool {
        guard RequestCache.isOneHead(request) else { return false }
        let hash = hash(request, 0)
        let tag = UInt16(truncatingIfNeeded: hash >> 48) | 1
        let sighting = Int(truncatingIfNeeded: hash % UInt64(sightings.count))
        defer { sightings[sighting] = tag }
        return sightings[sighting] == tag
    }

    /// Caches a reply to `request`, unless only replies in use could be replaced.
    func keep(_ answer: CachedReply, to request: [UInt8]) {
        guard answer.cost <= limit / 4, makeRoom(for: answer.cost) else { return }
        let hash = request.withUnsafeBytes { self.hash($0, answer.client) }
        guard let place = table.place(for: hash, where: \.mayGo) else { return }
        drop(place)
        table.put(answer, hash, at: place)
        bytes += answer.cost
    }

    private func makeRoom(for cost: Int) -> Bool {
        var left = RequestCache.searchLimit
        while bytes + cost > limit {
            guard left > 0 else { return false }
            left -= 1
            let place = table.advanceHand()
            if table[place]?.mayGo == true { drop(place) }
        }
        return true
    }

    /// Drops replies that are no longer valid, so that memory evicted by the registry is freed: within a second, or
    /// some where there are many. A few at a time: the loop serves others meanwhile.
    private func sweep(at turn: Int64) {
        sweptAt = turn
        for _ in 0..<RequestCache.sweepSize {
            let place = table.advanceSweeper()
            guard let answer = table[place] else { continue }
            answer.tellUses()
            if !answer.isCurrent { drop(place) }
        }
    }

    func removeAll() {
        generation += 1
        table = ReplyTable()
        bytes = 0
    }

    private func drop(_ place: Int) {
        guard let answer = table.remove(at: place) else { return }
        bytes -= answer.cost
    }

    /// True if it is short and ends with an empty line. Another empty line before the end is found by the comparison
    /// with a request that was one head.
    private static func isOneHead(_ request: UnsafeRawBufferPointer) -> Bool {
        guard request.count >= 16, request.count <= headLimit else { return false }
        return request.loadUnaligned(fromByteOffset: request.count - 4, as: UInt32.self) == 0x0A0D_0A0D
    }

    /// Eight bytes at a time, each folded in by a multiplication whose halves are mixed.
    private func hash(_ octets: UnsafeRawBufferPointer, _ client: ClientKind) -> UInt64 {
        var state = seed ^ UInt64(octets.count) ^ UInt64(truncatingIfNeeded: client) << 32
        var offset = 0
        while offset + 8 <= octets.count {
            state = RequestCache.mix(state ^ octets.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        // The last eight once more: the head is longer than that.
        return RequestCache.mix(state ^ octets.loadUnaligned(fromByteOffset: octets.count - 8, as: UInt64.self))
    }

    @inline(__always)
    private static func mix(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return product.high ^ product.low
    }
}
