// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderStores
import LarderUpstream

/// Responses that are relayed as they arrive, while memory and store receive the same chunks.
extension Load {
    /// Relays a response that is not stored.
    ///
    /// - Parameter early: content that was received already.
    func pass(_ response: UpstreamResponse, _ arrival: Arrival, after early: [ContentChunk] = []) async throws {
        note(arrival.unstored)
        flight.announce(.response(arrival.head, length: arrival.length, stored: nil))
        let sink = ContentSink(flight, context, writer: nil, keepsInMemory: false)
        await sink.give(early)
        early.forEach { shown?.append($0) }
        try await stream(response, into: sink)
        await show(arrival)
        finish(response.trailers)
    }

    /// Records why a response is not stored.
    func note(_ unstored: UnstoredResponse) {
        sharedTurn?.giveNothing()
        resource.memory.unstored = unstored
        flight.remarks.unstored = unstored.reason
        context.counters.count(.unstored(unstored.reason))
    }

    /// Relays a response and stores it.
    func keep(_ response: UpstreamResponse, _ arrival: Arrival) async throws {
        let stored = arrival.storedResponse()
        try await keep(response, arrival, stored, beginWriting(stored, arrival))
    }

    /// - Parameter early: content that was received already; `writer` has it.
    func keep(
        _ response: UpstreamResponse, _ arrival: Arrival, _ stored: StoredResponse, _ writer: EntityWriter?,
        after early: [ContentChunk] = []
    ) async throws {
        noteUnsharedLength(arrival.length)
        let keepsInMemory = context.keepsInMemory(arrival.length)
        flight.announce(
            .response(arrival.head, length: arrival.length, stored: stored), retains: keepsInMemory,
            expected: arrival.length.map(Int.init) ?? 0, spool: writer.map(Spool.init))
        let sink = ContentSink(flight, context, writer: writer, keepsInMemory: keepsInMemory)
        await sink.give(early)
        early.forEach { shown?.append($0) }
        let streamed: Streamed
        do {
            streamed = try await stream(response, into: sink)
        } catch {
            if !hasStreamEnd(arrival.head) { keepCut(stored, sink, after: error) } else { sink.writer?.abort() }
            throw error
        }
        guard isWhole(arrival.head, endingIn: streamed.tail) else {
            return dropCut(arrival.head, sink, trailers: response.trailers)
        }
        await show(arrival)
        complete(stored, sink.writer, trailers: response.trailers, pace: streamed.recorder?.pace)
    }

    /// Ends a load with complete content, if it is only relayed or kept in memory; `take` handles all others. Nil for
    /// those.
    func takeAtOnce(
        _ response: UpstreamResponse, _ arrival: Arrival, _ treatment: Treatment
    ) throws -> Flight.Answer? {
        guard shown == nil, try response.isAllHere() else { return nil }
        let content = response.contentHere
        let count = content.reduce(0) { $0 + $1.count }
        // Content is sent chunked if trailers follow it.
        let length = response.trailers.isEmpty ? Int64(count) : arrival.length
        let answer: Flight.Answer
        switch treatment {
        case .isKept where !isWhole(arrival.head, endingIn: content.flatMap(\.bytes)):
            note(UnstoredResponse(arrival.head, at: context.now(), .allPassed, isCut: true))
            resource.memory.retire(flight)
            answer = .response(arrival.head, length: length, stored: nil)
            flight.conclude(answer)
        case .passes:
            note(arrival.unstored)
            resource.memory.retire(flight)
            answer = .response(arrival.head, length: length, stored: nil)
            flight.conclude(answer)
        case .isKept where context.keepsInMemory(Int64(count)) && context.mayKeep(Int64(count)):
            let stored = arrival.storedResponse()
            let writer = beginWriting(stored, arrival)
            for chunk in content { writer?.append(chunk) }
            land(stored, writer, content)
            answer = .response(arrival.head, length: length, stored: stored)
            flight.conclude(answer, content: content, trailers: response.trailers)
        default: return nil
        }
        context.counters.add(.received, count)
        end()
        return answer
    }

    /// The writer of the content; nil when it is kept in memory alone.
    func beginWriting(_ stored: StoredResponse, _ arrival: Arrival) -> EntityWriter? {
        arrival.durability == .memory ? nil : beginWriting(stored, length: arrival.length)
    }

    func beginWriting(_ stored: StoredResponse, length: Int64?) -> EntityWriter? {
        guard configuration.storesReceived else { return nil }
        return context.storing?.begin(
            stored, of: resource, service: service, length: length, configuration)
    }

    /// Moves content from the upstream to the sink.
    @discardableResult
    func stream(_ response: UpstreamResponse, into sink: ContentSink) async throws -> Streamed {
        let watchesEnd = hasStreamEnd(response.head)
        let beganAt = context.loop.monotonicHere()
        var streamed = Streamed(isOfEvents: Load.isEventStream(response.head), after: sink.total)
        while let chunk = try await response.nextChunk() {
            context.counters.add(.received, chunk.count)
            shown?.append(chunk)
            if watchesEnd { streamed.tail = Array((streamed.tail + chunk.bytes).suffix(Load.streamEndLength)) }
            // Before readers that are slow hold the load back.
            streamed.recorder?.note(
                end: sink.total + Int64(chunk.count), at: .nanoseconds(context.loop.monotonicHere() - beganAt))
            if await sink.take(chunk) == .tooLong { noteTooLarge(response.head) }
        }
        return streamed
    }

    /// Makes the response a variant of its Resource, then ends the readers' content.
    ///
    /// - Parameter pace: when the content of a stream had come.
    func complete(_ stored: StoredResponse, _ writer: EntityWriter?, trailers: Fields, pace: StreamPace? = nil) {
        land(stored, writer, flight.retainedContent, pace)
        flight.finish(trailers: trailers)
    }

    /// Makes the response a variant of its Resource, where later requests find it. The load can no longer be joined.
    ///
    /// - Parameters:
    ///   - whole: the content, unless it is too large for memory.
    ///   - pace: when the content of a stream had come.
    ///
    /// - Returns: the variant in memory, if there is one.
    @discardableResult
    func land(
        _ stored: StoredResponse, _ writer: EntityWriter?, _ whole: [ContentChunk]?, _ pace: StreamPace? = nil
    ) -> Variant? {
        let memory = resource.memory
        let policy = policyAtLanding(of: stored)
        let predecessor = predecessor(of: stored)
        if policy == nil || isSuperseded(stored) { writer?.abort() }
        let chunks = whole.map { ContentChunk.coalesced($0) }
        if let own = ownCaches, policy != nil, !isSuperseded(stored) { own.write(chunks, of: stored) }
        let head = pace.map {
            StoredResponseCoding.encode(stored, pace: $0, normalises: self.policy.normalisedVary)
        }
        let isStored = writer?.finish(sharing: chunks ?? [], head: head) ?? false
        guard let chunks else {
            // Repeated, as it may have happened before the store knew the entity.
            if isSuperseded(stored) {
                context.storing?.remove(stored.variance, of: resource, service: service)
                ownCaches?.empty()
            } else if isStored {
                // Too large for memory: the next request reads it from the store.
                memory.forgetStoreRead(variance: stored.variance, epoch: epoch)
                noteStored(stored, nil, after: predecessor)
                noteAhead(nil)
                shareFromDisk(stored)
            }
            memory.retire(flight)
            return nil
        }
        guard let policy else {
            memory.retire(flight)
            return nil
        }
        let judged = policy == self.policy ? stored : stored.marked(stored.standing, policy: policy)
        let length = chunks.reduce(0) { $0 + $1.count }
        let variant = Variant(
            stored: judged.complete(length: Int64(length), policy: policy),
            content: .memory(chunks, length: length),
            storedAt: stored.responseTime, via: ProxyConfiguration.via,
            fingerprint: configuration.fingerprint, pace: pace)
        if case .landed(let replaced) = memory.land(variant, epoch: epoch, mark: mark, ending: flight) {
            judgeAgain(after: policy)
            context.storing?.removeReplaced(replaced, by: variant, of: resource, service: service)
            context.registry.charge(resource, content: memory.cost)
            noteStored(stored, variant, after: predecessor)
            noteAhead(variant)
            share(variant.stored, chunks)
            return variant
        }
        context.storing?.remove(variant, of: resource, service: service)
        ownCaches?.empty()
        memory.retire(flight)
        return nil
    }

    /// The load can no longer be joined: new requests find the stored response.
    func finish(_ trailers: Fields) {
        resource.memory.retire(flight)
        flight.finish(trailers: trailers)
    }
}

/// Records of a stream's content that are used at its end.
struct Streamed {
    /// The last octets, where they must be examined.
    var tail: [UInt8] = []
    /// Of a stream of events.
    var recorder: StreamPace.Recorder?

    /// - Parameter early: how many octets came with the head.
    init(isOfEvents: Bool, after early: Int64) {
        guard isOfEvents else { return }
        recorder = StreamPace.Recorder()
        recorder?.note(end: early, at: .zero)
    }
}

/// A writer as the readers of a flight see it.
struct Spool: ContentSpool {
    let writer: EntityWriter

    func read(at offset: Int64, count: Int) async -> ContentChunk? { await writer.readBack(at: offset, count: count) }
}
