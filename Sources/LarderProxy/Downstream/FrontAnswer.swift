// SPDX-License-Identifier: Apache-2.0

import Glibc
import Larder
import LarderHTTP
import LarderRules

/// What of a client decides about its answers, beside what it sends; equal for those that get the same.
typealias ClientKind = Int

/// One answer of the loop's front, ready to be sent again.
final class FrontAnswer {
    let client: ClientKind
    /// Octets of content, as the counters count them.
    let contentLength: Int
    /// What this keeps in memory.
    let cost: Int
    /// Whether the client was told that nothing follows on its connection.
    let closes: Bool
    /// What is sent behind `response` from its own memory.
    let chunks: [ContentChunk]

    /// The request, and behind it the response: in one piece of memory, as to go and look at another costs more than to
    /// compare what is there.
    private var octets: [UInt8]
    private let requestCount: Int
    /// Where in `octets` begins what depends on the moment.
    private let momentStart: Int
    /// When `octets` say the truth about age and lifetime.
    private var validFrom = Timestamp(nanoseconds: .max)
    private var validUntil = Timestamp(nanoseconds: .min)
    private var wasUsed = false
    /// The mark of the last invalidation that is known not to have meant this.
    private var mark: UInt64 = 0

    private let variant: Variant
    private let snapshot: ResourceMemory.Snapshot
    private let memory: ResourceMemory
    /// Where its uses count.
    let counters: ServiceCounters
    /// Uses that the Resource has not been told of.
    private var uses: UInt64 = 0
    private let service: Service
    private let version: UInt64
    private let inlined: [ContentChunk]

    /// One copy of a short content costs less than another part of a gathered write.
    private static let inlineLimit = 2 << 10
    /// Octets that usually suffice for what depends on the moment.
    private static let momentEstimate = 96

    /// - Parameter head: the octets of the response head up to what depends on the moment.
    init(
        to request: [UInt8], from client: ClientKind, with variant: Variant, head: ArraySlice<UInt8>,
        content: [ContentChunk], of retrieval: Retrieval, snapshot: ResourceMemory.Snapshot, version: UInt64,
        closes: Bool, counters: ServiceCounters
    ) {
        self.counters = counters
        self.closes = closes
        self.client = client
        self.variant = variant
        self.snapshot = snapshot
        self.version = version
        memory = retrieval.resource.memory
        service = retrieval.service.service
        contentLength = content.reduce(0) { $0 + $1.count }
        let isShort = contentLength <= FrontAnswer.inlineLimit
        inlined = isShort ? content : []
        chunks = isShort ? [] : content
        requestCount = request.count
        momentStart = request.count + head.count
        let size = momentStart + FrontAnswer.momentEstimate + (isShort ? contentLength : 0)
        octets = []
        octets.reserveCapacity(size)
        octets.append(contentsOf: request)
        octets.append(contentsOf: head)
        // The content is the Resource's and charged to it; here it counts in part, as it stays until the front lets it
        // go as well.
        cost = size + contentLength / 2 + 512
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

    func isFor(_ request: UnsafeRawBufferPointer, _ kind: ClientKind) -> Bool {
        guard client == kind, requestCount == request.count, let wanted = request.baseAddress else { return false }
        return octets.withUnsafeBytes { own in own.baseAddress.map { memcmp($0, wanted, requestCount) } == 0 }
    }

    /// Whether another answer may take the place of this one: it is out of date, or was not used since the last call.
    var mayGo: Bool {
        defer { wasUsed = false }
        return !wasUsed || !isCurrent
    }

    /// Whether the answer can be given at `now`; then `withResponse` gives what is right for it.
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

    /// Tells the Resource how often it was used: now and then, as every loop does.
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
        // The whole seconds of age change when its fraction is full, those of the lifetime when its fraction is used up.
        let untilOlder = Duration.seconds(1) - age.fraction
        validUntil = min(now + untilOlder, now + ttl.fraction + .nanoseconds(1), variant.stored.facts.freshUntil)
    }
}

extension Duration {
    /// What exceeds the whole seconds.
    fileprivate var fraction: Duration { Duration(secondsComponent: 0, attosecondsComponent: components.attoseconds) }
}
