// SPDX-License-Identifier: Apache-2.0

import Glibc
import Larder
import LarderHTTP
import LarderRules
import LarderStores

/// Everything about a client that affects its replies, apart from its request; equal for clients with equal replies.
typealias ClientKind = Int

/// A cached reply of the loop, ready to be sent again.
final class CachedReply {
    let client: ClientKind
    /// Bytes of content, as the counters count them.
    let contentLength: Int
    /// Bytes of memory it uses.
    let cost: Int
    /// True if the reply announces that the connection closes.
    let closes: Bool
    /// Content that is sent behind `response` from its own memory.
    let chunks: [ContentChunk]

    /// The request, and behind it the response: in one allocation, as another cache miss costs more than the
    /// comparison.
    private var octets: [UInt8]
    private let requestCount: Int
    /// The offset of the time-dependent fields in `octets`.
    private let momentStart: Int
    /// The time from which age and lifetime in the reply are correct.
    private var validFrom = Timestamp(nanoseconds: .max)
    private var validUntil = Timestamp(nanoseconds: .min)
    private var wasUsed = false
    /// The mark of the last invalidation that is known not to apply to this.
    private var invalidationSequence: UInt64 = 0

    private let variant: Variant
    private let snapshot: ResourceMemory.Snapshot
    private let memory: ResourceMemory
    /// The counters of its service.
    let counters: ServiceCounters
    /// The digest of a user's credentials, which are among the bytes of the request.
    let credentials: ContentDigest?
    /// Uses that were not yet reported to the Resource.
    private var uses: UInt64 = 0
    private let service: Service
    private let version: UInt64
    private let inlined: [ContentChunk]

    /// Copying short content costs less than another part of a gathered write.
    private static let inlineLimit = 2 << 10
    /// Bytes that usually suffice for the time-dependent fields.
    private static let momentEstimate = 96

    /// - Parameter head: the bytes of the response head up to the time-dependent fields.
    init(
        to request: [UInt8], from client: ClientKind, with variant: Variant, head: ArraySlice<UInt8>,
        content: [ContentChunk], of resource: Resource, _ service: Service, snapshot: ResourceMemory.Snapshot,
        version: UInt64, closes: Bool, counters: ServiceCounters, credentials: ContentDigest?
    ) {
        self.credentials = credentials
        self.counters = counters
        self.closes = closes
        self.client = client
        self.variant = variant
        self.snapshot = snapshot
        self.version = version
        memory = resource.memory
        self.service = service
        contentLength = content.reduce(0) { $0 + $1.count }
        let isShort = contentLength <= CachedReply.inlineLimit
        inlined = isShort ? content : []
        chunks = isShort ? [] : content
        requestCount = request.count
        momentStart = request.count + head.count
        let size = momentStart + CachedReply.momentEstimate + (isShort ? contentLength : 0)
        octets = []
        octets.reserveCapacity(size)
        octets.append(contentsOf: request)
        octets.append(contentsOf: head)
        // The content is the Resource's and charged to it; here it counts in part, as it stays in memory until this
        // reply is dropped as well.
        cost = size + contentLength / 2 + 512
    }

    /// True if the Resource and the configuration are unchanged.
    var isCurrent: Bool {
        guard snapshot.isCurrent, service.configurationVersion == version else { return false }
        let latest = memory.invalidationSequence
        if latest == invalidationSequence { return true }
        // Something was invalidated: the Resource determines whether this is affected.
        guard memory.snapshot === snapshot else { return false }
        invalidationSequence = latest
        return true
    }

    func isFor(_ request: UnsafeRawBufferPointer, _ kind: ClientKind) -> Bool {
        guard client == kind, requestCount == request.count, let wanted = request.baseAddress else { return false }
        return octets.withUnsafeBytes { own in own.baseAddress.map { memcmp($0, wanted, requestCount) } == 0 }
    }

    /// True if another reply may replace this one: it is out of date, or was not used since the last call.
    var mayGo: Bool {
        defer { wasUsed = false }
        return !wasUsed || !isCurrent
    }

    /// True if the reply is valid at `now`; then `withResponse` returns the right bytes.
    func isGood(at now: Timestamp) -> Bool {
        guard isCurrent else { return false }
        if now >= validUntil || now < validFrom {
            guard Freshness.isFresh(variant.stored, at: now) else { return false }
            render(at: now)
        }
        if !wasUsed { wasUsed = true }
        uses &+= 1
        memory.touch()
        return true
    }

    /// Reports its uses to the Resource: now and then, as every loop does.
    func tellUses() {
        guard uses > 0 else { return }
        memory.count(hits: uses)
        uses = 0
    }

    deinit { tellUses() }

    /// Calls `body` with head and content, or with the head alone where `chunks` follow.
    func withResponse<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        octets.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[requestCount...])) }
    }

    private func render(at now: Timestamp) {
        let age = Age.currentAge(of: variant.stored, at: now)
        let ttl = Freshness.remaining(variant.stored, at: now)
        octets.removeLast(octets.count - momentStart)
        StoredUse(age: age, status: CacheStatus(.hit, ttl: ttl, detail: variant.detail)).append(
            to: &octets)
        if closes { PreparedHead.appendField("Connection", "close", to: &octets) }
        PreparedHead.appendLineEnd(to: &octets)
        for chunk in inlined { octets.append(contentsOf: chunk.bytes) }
        validFrom = now
        // The seconds of the age change when its fraction is full, the lifetime's when its fraction is used up.
        let untilOlder = Duration.seconds(1) - age.fraction
        validUntil = min(now + untilOlder, now + ttl.fraction + .nanoseconds(1), variant.stored.facts.freshUntil)
    }
}

extension Duration {
    /// The part below whole seconds.
    fileprivate var fraction: Duration { Duration(secondsComponent: 0, attosecondsComponent: components.attoseconds) }
}
