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
    func keepPart(_ response: UpstreamResponse, _ arrival: Arrival) async throws {
        let part = Part(head: arrival.head, request: clientHead, times: arrival.times)
        let stored = part.stored(policy, length: arrival.length)
        let held = variant(like: stored)
        guard held?.stored.isPartial ?? true else { return try await pass(response, arrival) }
        // Combined parts are written when they are complete, in memory.
        let writer = held == nil ? beginWriting(stored, length: arrival.length) : nil
        let keepsInMemory = context.keepsInMemory(arrival.length)
        flight.announce(
            .response(arrival.head, length: arrival.length, stored: stored), retains: keepsInMemory,
            expected: arrival.length.map(Int.init) ?? 0, spool: writer.map(Spool.init))
        let sink = ContentSink(flight, context, writer: writer, keepsInMemory: keepsInMemory)
        do {
            try await stream(response, into: sink)
        } catch {
            land(part, stored, sink, after: error)
            throw error
        }
        await landWhole(part, stored, sink)
        finish(response.trailers)
    }

    // MARK: Parts that are completed

    /// Answers with stored parts and the missing octets. If the response is not exactly those, it is discarded and the
    /// client's own request is sent.
    func complete(_ completion: Completion, by response: UpstreamResponse, _ arrival: Arrival) async throws {
        let filled = PartialContent.filled(
            completion.variant.stored, completion.filling, by: arrival.head, contentLength: arrival.length,
            to: clientHead, requestTime: arrival.times.request, responseTime: arrival.times.response,
            policy: policy)
        guard let filled, let source = await Completion.Source(completion.variant) else {
            return try await startOver(completion, response, arrival)
        }
        let end = filled.completeLength ?? filled.range.last + 1
        let wanted = completion.filling.isRange ? completion.filling.wanted : nil
        let span = wanted ?? ByteRange(first: 0, last: end - 1)
        guard wanted != nil || filled.stored.extent == .whole else {
            return try await startOver(completion, response, arrival)
        }
        var head = ResponseHead(status: wanted == nil ? 200 : 206, fields: filled.stored.fields)
        if wanted != nil {
            head.fields[.contentRange] = "\(ContentRange.range(span, completeLength: filled.completeLength))"
        }
        let part = wanted.map { _ in Part(head: head, request: clientHead, times: arrival.times) }
        let stored = part?.stored(policy, length: span.count) ?? filled.stored
        let mayStore = mayStore(arrival, as: completion.filling)
        let keepsInMemory = mayStore && context.keepsInMemory(span.count)
        let writer =
            mayStore && part == nil && context.mayKeep(span.count)
            ? beginWriting(stored, length: span.count) : nil
        flight.announce(
            .response(head, length: span.count, stored: mayStore ? stored : nil), retains: keepsInMemory,
            expected: Int(clamping: span.count), spool: writer.map(Spool.init))
        let sink = ContentSink(flight, context, writer: writer, keepsInMemory: keepsInMemory)
        do {
            try await pour(source, span.first..<filled.range.first, of: completion, into: sink)
            try await pour(response, until: filled.range.last + 1 - span.first, of: completion, into: sink)
            try await pour(source, filled.range.last + 1..<span.last + 1, of: completion, into: sink)
        } catch {
            if let part {
                land(part, stored, sink, after: error)
            } else {
                keepCut(stored, sink, after: error)
            }
            throw error
        }
        guard mayStore else {
            forget(completion.variant)
            return finish(Fields())
        }
        guard let part else { return complete(stored, sink.writer, trailers: Fields()) }
        await landWhole(part, stored, sink)
        finish(Fields())
    }

    /// The response is about another representation, or not a part: the stored parts are useless.
    private func startOver(
        _ completion: Completion, _ response: UpstreamResponse, _ arrival: Arrival
    ) async throws {
        switch arrival.head.status {
        case 200 where completion.filling.isRange && !clientHead.fields.contains(.ifRange), 206, 304, 416:
            // This response answers our conditional request, not the client's.
            forget(completion.variant)
            response.abort()
            try await startAgain()
        case 200:
            forget(completion.variant)
            fallthrough
        default:
            if arrival.isKept { try await keep(response, arrival) } else { try await pass(response, arrival) }
        }
    }

    /// Whether `arrival` is storable as the answer to the request that was sent.
    private func mayStore(_ arrival: Arrival, as filling: Filling) -> Bool {
        var request = clientHead
        request.fields[.range] = filling.range
        let decision = Storability.decide(
            request: request, target: uri, response: arrival.head, policy: policy,
            responseTime: arrival.times.response)
        if case .store = decision { return true }
        return false
    }

    private func pour(
        _ source: Completion.Source, _ range: Range<Int64>, of completion: Completion, into sink: ContentSink
    ) async throws {
        var offset = range.lowerBound
        while offset < range.upperBound {
            guard let chunks = await source.read(offset..<range.upperBound) else {
                forget(completion.variant)
                throw Problem.storedContentLost
            }
            for chunk in chunks {
                context.counters.add(.saved, chunk.count)
                await sink.take(chunk)
                offset += Int64(chunk.count)
            }
        }
    }

    /// Moves content until the sink has exactly `end` octets.
    private func pour(
        _ response: UpstreamResponse, until end: Int64, of completion: Completion, into sink: ContentSink
    ) async throws {
        while let chunk = try await response.nextChunk() {
            context.counters.add(.received, chunk.count)
            guard sink.total + Int64(chunk.count) <= end else { break }
            await sink.take(chunk)
        }
        guard sink.total == end else {
            response.abort()
            forget(completion.variant)
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
            sink.writer?.abort()
            return
        }
        keep(cut, in: sink, whereHeld: variant(like: cut))
    }

    /// The same for a part.
    private func land(_ part: Part, _ stored: StoredResponse, _ sink: ContentSink, after error: any Error) {
        // An interrupted part is not worth combining with others.
        guard variant(like: stored) == nil else {
            sink.writer?.abort()
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
            sink.writer?.abort()
            return
        }
        let isStored = sink.writer?.finishCut(
            head: StoredResponseCoding.encode(cut, normalises: policy.normalisedVary))
        if let content = flight.retainedContent {
            let variant = variant(cut, content)
            if memory.landPart(variant, replacing: held, epoch: epoch, mark: mark) { landed() }
        } else if isStored == true, !isSuperseded(cut) {
            memory.forgetStoreRead(variance: cut.variance, epoch: epoch)
        }
        // Repeated, as it may have happened before the store knew the entity.
        if isSuperseded(cut) { removeFromStore(cut) }
    }

    // MARK: Landing

    /// Makes a complete part a variant, combined with the stored parts of the same representation.
    private func landWhole(_ part: Part, _ stored: StoredResponse, _ sink: ContentSink) async {
        let memory = resource.memory
        let isWanted = policyAtLanding(of: stored) != nil && !isSuperseded(stored)
        if !isWanted { sink.writer?.abort() }
        let isStored = sink.writer?.finish() ?? false
        defer { if isSuperseded(stored) { removeFromStore(stored) } }
        guard isWanted else { return }
        guard let content = flight.retainedContent else {
            if isStored, !isSuperseded(stored) { memory.forgetStoreRead(variance: stored.variance, epoch: epoch) }
            return
        }
        // The stored parts may change while their content is read.
        for _ in 0..<4 {
            let held = variant(like: stored)
            guard let landing = await part.landing(stored, content, beside: held, for: self) else { return }
            let variant = variant(landing.stored, landing.content)
            guard memory.landPart(variant, replacing: held, epoch: epoch, mark: mark) else { continue }
            landed()
            share(landing.stored, landing.content)
            if sink.writer == nil, landing.isWorthWriting, let storing = context.storing {
                let writer = storing.begin(
                    landing.stored, of: resource, service: service, length: variant.content.length, configuration)
                for chunk in landing.content { writer.append(chunk) }
                writer.finish()
            }
            return
        }
    }

    /// Applies a configuration that was loaded meanwhile to the stored response.
    private func landed() {
        judgeAgain(after: policy)
        context.registry.charge(resource, content: resource.memory.cost)
    }

    private func removeFromStore(_ stored: StoredResponse) {
        context.storing?.remove(stored.variance, of: resource, service: service)
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

    private func forget(_ variant: Variant) {
        resource.memory.removeVariants { $0 === variant }
        context.storing?.remove(variant, of: resource, service: service)
    }
}

extension UpstreamError {
    /// The content is longer or shorter than the head announced.
    fileprivate static let wrongPart = UpstreamError(
        .protocolError, "The origin sent a part that is not as long as it said.")
}
