// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderStores
import LarderUpstream

/// Loads with stored parts, and loads that received only a part (RFC 9111 §3.3, §3.4).
extension Load {
    // MARK: Parts that come

    /// Relays a 206 and stores it as a part, unless a complete response is stored.
    func keepPart(_ response: UpstreamResponse, _ received: ReceivedResponse) async throws {
        let part = Part(head: received.head, request: clientHead, times: received.times, place: received.place)
        let stored = part.stored(policy, length: received.length)
        let held = variant(like: stored)
        guard held?.stored.isPartial ?? true else { return try await pass(response, received) }
        // Combined parts are written when they are complete, in memory.
        let writer = held == nil ? beginWriting(stored, length: received.length) : nil
        let keepsInMemory = context.keepsInMemory(received.length)
        let shared = announce(
            received.head, length: received.length, stored: stored, retains: keepsInMemory,
            expected: received.length.map(Int.init) ?? 0, spool: writer)
        let sink = ContentSink(shared, context, writer: writer, keepsInMemory: keepsInMemory)
        do {
            try await stream(response, into: sink)
            // If the head has no length, only the content shows if it is the part that the head announces. A head that
            // has two lengths is the origin's word: its response answers the same request again, and no other.
            if received.length == nil, case .range(let range, _) = ContentRange(received.head.fields),
                sink.total != range.count
            {
                throw UpstreamError.wrongPart
            }
        } catch {
            land(part, stored, sink, after: error)
            throw error
        }
        await landWhole(part, stored, sink)
        finish(response.trailers)
    }

    // MARK: Parts that are completed

    /// Answers with stored parts and the missing bytes. If the response is not exactly those, it is discarded and the
    /// client's own request is sent.
    func complete(_ rangeFill: RangeFill, by response: UpstreamResponse, _ received: ReceivedResponse) async throws {
        let filled = PartialContent.filled(
            rangeFill.variant.stored, rangeFill.filling, by: received.head, contentLength: received.length,
            to: clientHead, requestTime: received.times.request, responseTime: received.times.response,
            policy: policy)
        guard let filled, received.place == nil else { return try await startOver(rangeFill, response, received) }
        guard let source = try await source(of: rangeFill, else: response, received) else { return }
        let end = filled.completeLength ?? filled.range.last + 1
        let wanted = rangeFill.filling.isRange ? rangeFill.filling.wanted : nil
        let span = wanted ?? ByteRange(first: 0, last: end - 1)
        guard wanted != nil || filled.stored.extent == .whole else {
            return try await startOver(rangeFill, response, received)
        }
        var head = ResponseHead(status: wanted == nil ? 200 : 206, fields: filled.stored.fields)
        if wanted != nil {
            head.fields[.contentRange] = "\(ContentRange.range(span, completeLength: filled.completeLength))"
        }
        let part = wanted.map { _ in Part(head: head, request: clientHead, times: received.times) }
        let stored = part?.stored(policy, length: span.count) ?? filled.stored
        let mayStore = filled.isForAll && mayStore(received, as: rangeFill.filling)
        let keepsInMemory = mayStore && context.keepsInMemory(span.count)
        let writer =
            mayStore && part == nil && context.mayKeep(span.count)
            ? beginWriting(stored, length: span.count) : nil
        let shared = announce(
            head, length: span.count, stored: mayStore ? stored : nil, retains: keepsInMemory,
            expected: Int(clamping: span.count), spool: writer)
        let sink = ContentSink(shared, context, writer: writer, keepsInMemory: keepsInMemory)
        do {
            try await pour(source, span.first..<filled.range.first, of: rangeFill, into: sink)
            try await pour(response, until: filled.range.last + 1 - span.first, of: rangeFill, into: sink)
            try await pour(source, filled.range.last + 1..<span.last + 1, of: rangeFill, into: sink)
        } catch {
            if let part {
                land(part, stored, sink, after: error)
            } else {
                keepCut(stored, sink, after: error)
            }
            throw error
        }
        guard mayStore else {
            // A user's answer takes nothing from the others.
            if filled.isForAll, policy.personalField(of: clientHead.fields) == nil { forget(rangeFill.variant) }
            return finish(Fields())
        }
        guard let part else { return complete(stored, sink.begun, trailers: Fields()) }
        await landWhole(part, stored, sink)
        finish(Fields())
    }

    /// The stored bytes; nil when they cannot be read and the load has gone on without them.
    private func source(
        of rangeFill: RangeFill, else response: UpstreamResponse, _ received: ReceivedResponse
    ) async throws -> RangeFill.Source? {
        var isUseless = true
        do {
            if let source = try await RangeFill.Source(rangeFill.variant) { return source }
        } catch {
            isUseless = false
        }
        try await startOver(rangeFill, response, received, forgetting: isUseless)
        return nil
    }

    /// The response is about another representation, or not a part: the stored parts are useless, unless they only
    /// cannot be read at the moment.
    private func startOver(
        _ rangeFill: RangeFill, _ response: UpstreamResponse, _ received: ReceivedResponse,
        forgetting isUseless: Bool = true
    ) async throws {
        switch received.head.status {
        case 200 where rangeFill.filling.isRange && !clientHead.fields.contains(.ifRange), 206, 304, 416:
            // This response answers our conditional request, not the client's.
            if isUseless { forget(rangeFill.variant) }
            response.abort()
            try await startAgain()
        case 200:
            if isUseless { forget(rangeFill.variant) }
            fallthrough
        default:
            if received.isKept { try await keep(response, received) } else { try await pass(response, received) }
        }
    }

    /// True if `arrival` is storable as the answer to the request that was sent.
    private func mayStore(_ received: ReceivedResponse, as filling: Filling) -> Bool {
        var request = clientHead
        request.fields[.range] = filling.range
        let decision = Storability.decide(
            request: request, target: uri, response: received.head, policy: policy,
            responseTime: received.times.response)
        if case .store = decision { return true }
        return false
    }

    private func pour(
        _ source: RangeFill.Source, _ range: Range<Int64>, of rangeFill: RangeFill, into sink: ContentSink
    ) async throws {
        var offset = range.lowerBound
        while offset < range.upperBound {
            guard let chunks = try await source.read(offset..<range.upperBound) else {
                forget(rangeFill.variant)
                throw Problem.storedContentLost
            }
            for chunk in chunks {
                context.counters.add(.saved, chunk.count)
                await sink.take(chunk)
                offset += Int64(chunk.count)
            }
        }
    }

    /// Moves content until the sink has exactly `end` bytes.
    private func pour(
        _ response: UpstreamResponse, until end: Int64, of rangeFill: RangeFill, into sink: ContentSink
    ) async throws {
        var isLonger = false
        while !isLonger, let chunk = try await response.nextChunk() {
            context.counters.add(.received, chunk.count)
            isLonger = sink.total + Int64(chunk.count) > end
            if !isLonger { await sink.take(chunk) }
        }
        guard sink.total == end, !isLonger else {
            response.abort()
            forget(rangeFill.variant)
            throw UpstreamError.wrongPart
        }
    }

    // MARK: Interrupted responses

    /// Stores an interrupted 200 if the rest can be appended one day; the store commits it as incomplete.
    func keepCut(_ stored: StoredResponse, _ sink: ContentSink, after error: any Error) {
        let cut =
            (error as? UpstreamError)?.code == .protocolError
            ? nil : PartialContent.cut(stored, after: sink.total, policy: policy)
        guard let cut, policyAtLanding(of: stored) != nil, !isSuperseded(stored) else {
            sink.writer?.finishUnstored()
            return
        }
        keep(cut, in: sink, whereHeld: variant(like: cut))
    }

    /// The same for a part.
    private func land(_ part: Part, _ stored: StoredResponse, _ sink: ContentSink, after error: any Error) {
        // An interrupted part is not worth combining with others.
        guard variant(like: stored) == nil else {
            sink.writer?.finishUnstored()
            return
        }
        keepCut(stored, sink, after: error)
    }

    /// Stores an incomplete response in place of a shorter one.
    private func keep(_ cut: StoredResponse, in sink: ContentSink, whereHeld held: Variant?) {
        let memory = resource.memory
        let isBetter =
            held.map { held in
                held.stored.isPartial
                    && (held.stored.facts.eTag != cut.facts.eTag || held.content.length < sink.total)
            } ?? true
        guard isBetter else {
            sink.writer?.finishUnstored()
            return
        }
        let isStored = sink.writer?.finishCut(head: StoredResponseCoding.encode(cut))
        if let content = listed.shared?.retainedContent {
            let variant = variant(cut, content)
            if memory.landPart(variant, replacing: held, since: listed.mark) { landed() }
        } else if isStored == true, !isSuperseded(cut) {
            memory.forgetStoreRead(cut, since: listed.mark)
        }
        // Repeated, as it may have happened before the store knew the entity.
        if isStored == true, isSuperseded(cut) { removeFromStore(cut) }
    }

    // MARK: Landing

    /// Makes a complete part a variant, combined with the stored parts of the same representation.
    private func landWhole(_ part: Part, _ stored: StoredResponse, _ sink: ContentSink) async {
        let memory = resource.memory
        let isWanted = policyAtLanding(of: stored) != nil && !isSuperseded(stored)
        if !isWanted { sink.writer?.finishUnstored() }
        var isStored = sink.writer?.finish() ?? false
        defer { if isStored, isSuperseded(stored) { removeFromStore(stored) } }
        guard isWanted else { return }
        guard let content = listed.shared?.retainedContent else {
            if isStored, !isSuperseded(stored) {
                memory.forgetStoreRead(stored, since: listed.mark)
            }
            return
        }
        // The stored parts may change while their content is read.
        for _ in 0..<4 {
            let held = variant(like: stored)
            guard let landing = await part.landing(stored, content, beside: held, for: self) else { return }
            let variant = variant(landing.stored, landing.content)
            guard memory.landPart(variant, replacing: held, since: listed.mark) else { continue }
            landed()
            report(.stored(self, landing.stored, landing.content))
            if sink.writer == nil, landing.isWorthWriting, let diskTier = context.diskTier {
                let writer = diskTier.begin(
                    landing.stored, of: resource, service: service, length: variant.content.length, configuration)
                for chunk in landing.content { writer.append(chunk) }
                isStored = writer.finish()
            }
            return
        }
    }

    /// Applies a configuration that was loaded meanwhile to the stored response.
    private func landed() {
        judgeAgain(after: policy)
        context.registry.charge(resource)
    }

    private func removeFromStore(_ stored: StoredResponse) {
        context.diskTier?.remove(stored.variance, of: resource, service: service)
    }

    private func variant(_ stored: StoredResponse, _ content: [ContentChunk]) -> Variant {
        let chunks = ContentChunk.coalesced(content)
        return Variant(
            stored: stored, content: .memory(chunks, length: chunks.reduce(0) { $0 + $1.count }),
            storedAt: stored.responseTime, via: ProxyConfiguration.via)
    }

    /// The stored variant for the requests that `stored` matches.
    private func variant(like stored: StoredResponse) -> Variant? {
        resource.memory.snapshot.variants.first { $0.stored.variance == stored.variance }
    }

    func forget(_ variant: Variant) {
        resource.memory.removeVariants { $0 === variant }
        context.diskTier?.discard(variant, of: resource, service: service)
    }
}

extension UpstreamError {
    /// The content is longer or shorter than the head announced.
    fileprivate static let wrongPart = UpstreamError(
        .protocolError, "The origin sent a part that is not as long as it said.")
}
