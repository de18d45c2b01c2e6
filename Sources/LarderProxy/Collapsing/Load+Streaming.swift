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
    func pass(_ response: UpstreamResponse, _ received: ReceivedResponse, after early: [ContentChunk] = []) async throws
    {
        note(received.unstored)
        let shared = announce(received.head, length: received.length, stored: nil)
        let sink = ContentSink(shared, context, writer: nil, keepsInMemory: false)
        await sink.give(early)
        early.forEach { shown?.append($0) }
        try await stream(response, into: sink)
        guard received.head.status == 304 else {
            await show(received)
            return finish(response.trailers, as: received.end)
        }
        showUnasked(received, response.conditions)
        finish(response.trailers, as: .notModified)
    }

    /// Records why a response is not stored.
    func note(_ unstored: UnstoredResponse) {
        report(.unstored(self))
        resource.memory.unstored = unstored
        context.registry.pass(resource)
        remarks.unstored = unstored.reason
        context.counters.count(.unstored(unstored.reason))
    }

    /// Relays a response and stores it.
    func keep(_ response: UpstreamResponse, _ received: ReceivedResponse) async throws {
        let stored = received.storedResponse()
        try await keep(response, received, stored, beginWriting(stored, received))
    }

    /// - Parameter early: content that was received already; `writer` has it.
    func keep(
        _ response: UpstreamResponse, _ received: ReceivedResponse, _ stored: StoredResponse, _ writer: EntityWriter?,
        after early: [ContentChunk] = []
    ) async throws {
        report(.begun(self, length: received.length))
        let keepsInMemory = context.keepsInMemory(received.length)
        let shared = announce(
            received.head, length: received.length, stored: stored, retains: keepsInMemory,
            expected: received.length.map(Int.init) ?? 0, spool: writer)
        let sink = ContentSink(shared, context, writer: writer, keepsInMemory: keepsInMemory)
        await sink.give(early)
        early.forEach { shown?.append($0) }
        let streamed: Streamed
        do {
            streamed = try await stream(response, into: sink)
        } catch {
            if hasStreamEnd(received.head) {
                sink.writer?.finishUnstored()
            } else {
                keepCut(stored, sink, after: error)
            }
            throw error
        }
        guard isWhole(received.head, endingIn: streamed.tail) else {
            return dropCut(received.head, sink, trailers: response.trailers)
        }
        await show(received)
        complete(stored, sink.begun, trailers: response.trailers, pace: streamed.recorder?.pace)
    }

    /// Ends a load with complete content, if it is only relayed or kept in memory; `take` handles all others. Nil for
    /// those.
    func takeAtOnce(
        _ response: UpstreamResponse, _ received: ReceivedResponse, _ disposition: Disposition
    ) throws -> SharedLoad.Answer? {
        guard shown == nil, try response.isAllHere() else { return nil }
        let content = response.contentHere
        let count = content.reduce(0) { $0 + $1.count }
        // Content is sent chunked if trailers follow it.
        let length = response.trailers.isEmpty ? Int64(count) : received.length
        let answer: SharedLoad.Answer
        switch disposition {
        case .isKept where !isWhole(received.head, endingIn: content.flatMap(\.bytes)):
            note(UnstoredResponse(received.head, at: context.now(), .allPassed, hindrance: .cut))
            resource.memory.retire(listed)
            answer = .response(received.head, length: length, stored: nil)
            listed.shared?.conclude(answer, remarks)
        case .passes:
            note(received.unstored)
            resource.memory.retire(listed, as: received.end)
            answer = .response(received.head, length: length, stored: nil)
            listed.shared?.conclude(answer, remarks)
        case .isKept where context.keepsInMemory(Int64(count)) && context.mayKeep(Int64(count)):
            let stored = received.storedResponse()
            let writer = beginWriting(stored, received)
            for chunk in content { writer?.append(chunk) }
            land(stored, writer, content)
            answer = .response(received.head, length: length, stored: stored)
            listed.shared?.conclude(answer, remarks, content: content, trailers: response.trailers)
        default: return nil
        }
        context.counters.add(.received, count)
        end()
        return answer
    }

    /// The writer of the content; nil when it is kept in memory alone.
    func beginWriting(_ stored: StoredResponse, _ received: ReceivedResponse) -> EntityWriter? {
        received.durability == .memory ? nil : beginWriting(stored, length: received.length)
    }

    func beginWriting(_ stored: StoredResponse, length: Int64?) -> EntityWriter? {
        guard configuration.storesReceived else { return nil }
        return context.diskTier?.begin(
            stored, of: resource, service: service, length: length, configuration)
    }

    /// Moves content from the upstream to the sink.
    @discardableResult
    func stream(_ response: UpstreamResponse, into sink: ContentSink) async throws -> Streamed {
        let watchesEnd = hasStreamEnd(response.head)
        let beganAt = context.loop.monotonicHere()
        var streamed = Streamed(isOfEvents: response.head.isEventStream, after: sink.total)
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
        land(stored, writer, listed.shared?.retainedContent, pace)
        listed.shared?.finish(trailers: trailers)
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
        // Readers may still need what it has.
        if policy == nil || isSuperseded(stored) { writer?.finishUnstored() }
        let chunks = whole.map { ContentChunk.coalesced($0) }
        if let own = ownCaches, policy != nil, !isSuperseded(stored) { own.write(chunks, of: stored) }
        let head = pace.map { StoredResponseCoding.encode(stored, pace: $0) }
        let isStored = writer?.finish(sharing: chunks ?? [], head: head) ?? false
        guard let chunks else {
            // Repeated, as it may have happened before the store knew the entity.
            if isSuperseded(stored) {
                if isStored { context.diskTier?.remove(stored.variance, of: resource, service: service) }
                ownCaches?.empty()
            } else if isStored {
                // Too large for memory: the next request reads it from the store.
                memory.forgetStoreRead(stored, since: listed.mark)
                noteStored(stored, nil, after: predecessor)
                noteAhead(nil)
                report(
                    .storedOnDisk(self, stored) { [context, resource, service, configuration] in
                        await context.diskTier?.variant(like: stored, of: resource, service, configuration)?.content
                    })
            }
            memory.retire(listed)
            return nil
        }
        guard let policy else {
            memory.retire(listed)
            return nil
        }
        let judged = policy == self.policy ? stored : stored.marked(stored.standing, policy: policy)
        let length = chunks.reduce(0) { $0 + $1.count }
        let variant = Variant(
            stored: judged.complete(length: Int64(length), policy: policy),
            content: .memory(chunks, length: length),
            storedAt: stored.responseTime, via: ProxyConfiguration.via,
            fingerprint: configuration.fingerprint, pace: pace)
        if case .landed(let replaced) = memory.land(variant, since: listed.mark, ending: (listed, at: context.now())) {
            judgeAgain(after: policy)
            context.diskTier?.removeReplaced(replaced, by: variant, of: resource, service: service)
            context.registry.charge(resource)
            noteStored(stored, variant, after: predecessor)
            noteAhead(variant)
            report(.stored(self, variant.stored, chunks))
            return variant
        }
        // Otherwise it may be a later load that wrote it.
        if isStored { context.diskTier?.remove(variant, of: resource, service: service) }
        ownCaches?.empty()
        memory.retire(listed)
        return nil
    }

    /// The load can no longer be joined: new requests find the stored response.
    func finish(_ trailers: Fields, as end: LoadEnd = .passed) {
        resource.memory.retire(listed, as: end)
        listed.shared?.finish(trailers: trailers)
    }
}

/// Records of a stream's content that are used at its end.
struct Streamed {
    /// The last bytes, where they must be examined.
    var tail: [UInt8] = []
    /// Set for a stream of events.
    var recorder: StreamPace.Recorder?

    /// - Parameter early: the number of bytes received with the head.
    init(isOfEvents: Bool, after early: Int64) {
        guard isOfEvents else { return }
        recorder = StreamPace.Recorder()
        recorder?.note(end: early, at: .zero)
    }
}

/// Event streams that are stored only if they end as configured.
extension Load {
    /// The number of bytes that are examined at the end of a stream.
    static let streamEndLength = 4 << 10

    /// True if the response is a stream whose end must be examined.
    func hasStreamEnd(_ head: ResponseHead) -> Bool {
        !configuration.streamEnds.isEmpty && head.isEventStream
    }

    /// True if a stream that ends in these bytes is complete.
    func isWhole(_ head: ResponseHead, endingIn tail: @autoclosure () -> [UInt8]) -> Bool {
        guard hasStreamEnd(head) else { return true }
        // The end of encoded content cannot be read.
        guard ServedCoding(of: head.fields) == .identity else { return false }
        let end = String(decoding: tail().suffix(Load.streamEndLength), as: UTF8.self)
        return configuration.streamEnds.contains { end.contains($0) }
    }

    /// Ends the readers' content and stores nothing.
    func dropCut(_ head: ResponseHead, _ sink: ContentSink, trailers: Fields) {
        sink.writer?.finishUnstored()
        note(UnstoredResponse(head, at: context.now(), .allPassed, hindrance: .cut))
        finish(trailers)
    }
}
