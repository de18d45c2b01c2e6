// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderStores
import LarderUpstream

/// Responses that are transformed: collected, transformed once, sent to all waiting clients, and stored with their
/// originals.
extension Load {
    /// True if the pipeline applies to a response.
    func isTransformed(_ received: ReceivedResponse) -> Bool {
        switch pipelineUse(of: received.head, length: received.length) {
        case .none: return false
        case .transformed: return true
        case .tooLarge:
            context.proxy.logTooLargeToTransform(uri, received.length)
            return false
        }
    }

    private func pipelineUse(of head: ResponseHead, length: Int64?) -> EffectiveConfiguration.PipelineUse {
        configuration.pipelineUse(
            of: head, length: length, in: resource, limit: context.transformedContentLimit)
    }

    /// True if a 206 is a part of transformed content: the pipeline needs the whole, and clients' ranges refer to its
    /// output.
    func isPartOfTransformed(_ received: ReceivedResponse) -> Bool {
        guard received.head.status == 206, configuration.mayTransform else { return false }
        return pipelineUse(of: ResponseHead(status: 200, fields: received.head.fields), length: nil) == .transformed
    }

    // MARK: Loads

    /// Collects a response and transforms it. One that turns out to be too large is relayed unchanged.
    func transform(_ response: UpstreamResponse, _ received: ReceivedResponse) async throws {
        // An error that the pipeline turns into data may be stored.
        let asData = received.counting(as: 200)
        let stored = received.storedResponse()
        let writer = received.isKept || asData.isKept ? beginWriting(stored, received.isKept ? received : asData) : nil
        do {
            let content = CollectedContent(in: context.proxy.transforming, for: service)
            while let chunk = try await response.nextChunk() {
                context.counters.add(.received, chunk.count)
                try append(chunk, to: content)
                writer?.append(chunk)
                guard content.count > context.transformedContentLimit else { continue }
                context.proxy.logTooLargeToTransform(uri, nil)
                return try await goOn(response, received, stored, writer, after: content)
            }
            let made =
                if let processed {
                    try MadeResponse(processed.result, of: received.head, content, processed.sealed)
                } else {
                    try await make(of: received.head, received.times, content)
                }
            if shown != nil { show(made.result.response, of: received) }
            publish(made, of: made.isPromoted ? asData : received, writer, trailers: response.trailers)
        } catch {
            writer?.abort()
            if error is PipelineFailure, !received.isKept { note(received.unstored) }
            // A transformer's words may quote a field that only the first client gets.
            let isWholeShared = received.isKept && stored.sharable(received.head.fields) == received.head.fields
            throw refusing(error, isWholeShared ? stored : nil)
        }
    }

    /// Says of a pipeline's failure whose response it is about.
    private func refusing(_ error: any Error, _ stored: StoredResponse?) -> any Error {
        guard let failure = error as? PipelineFailure else { return error }
        let isForEveryone =
            stored.map {
                policy.role == .shared && resource.partition == .shared && $0.variance.isEmpty
                    && Reuse.answersEveryone($0, policy, at: context.now())
            } ?? false
        return failure.refusing(stored, isForEveryone: isForEveryone)
    }

    private func append(_ chunk: ContentChunk, to content: CollectedContent) throws {
        do {
            try content.append(chunk)
        } catch {
            throw PipelineFailure(cause: RequestError(cause: error, timestamp: context.now()))
        }
    }

    /// Relays the collected content and the rest.
    private func goOn(
        _ response: UpstreamResponse, _ received: ReceivedResponse, _ stored: StoredResponse, _ writer: EntityWriter?,
        after content: CollectedContent
    ) async throws {
        guard received.isKept else {
            writer?.abort()
            return try await pass(response, received, after: content.chunks)
        }
        try await keep(response, received, stored, writer, after: content.chunks)
    }

    /// Announces the transformed response to the readers, and stores it if it is data and storable.
    private func publish(_ made: MadeResponse, of received: ReceivedResponse, _ writer: EntityWriter?, trailers: Fields)
    {
        // The origin's response decides if it may be shared, not the pipeline's result.
        let stored = received.isKept ? received.storedResponse() : nil
        if !received.isKept { note(received.unstored) }
        if made.head.status != received.head.status { remarks.received = received.head.status }
        remarks.isRefused = made.isRefusal
        let shared = announce(made.head, length: Int64(made.length), stored: stored, retains: true)
        made.chunks.forEach(shared.append)
        if let stored, !made.isRefusal { land(made, stored, writer) } else { writer?.abort() }
        finish(made.isTransformed ? Fields() : trailers, as: received.isKept ? .passed : received.end)
    }

    /// Puts the transformed response into memory, and into the store beside its original.
    private func land(_ made: MadeResponse, _ stored: StoredResponse, _ writer: EntityWriter?) {
        let memory = resource.memory
        let policy = policyAtLanding(of: stored)
        let predecessor = predecessor(of: stored)
        if policy == nil || isSuperseded(stored) { writer?.abort() } else { ownCaches?.write(made, of: stored) }
        let isStored = writer?.finish() ?? false
        guard let policy else { return }
        let variant = made.variant(
            of: stored.marked(stored.standing, policy: policy), storedAt: stored.responseTime, self.policy,
            fingerprint: configuration.fingerprint, via: ProxyConfiguration.via)
        let diskTier = context.diskTier
        if isStored, configuration.storesRenditions {
            diskTier?.keepRendition(of: variant, resource, service: service)
        }
        if made.length <= context.memoryObjectLimit {
            guard
                case .landed(let replaced) = memory.land(
                    variant, since: listed.mark, ending: (listed, at: context.now()))
            else {
                if isStored { diskTier?.remove(variant, of: resource, service: service) }
                ownCaches?.empty()
                return
            }
            judgeAgain(after: policy)
            diskTier?.removeReplaced(replaced, by: variant, of: resource, service: service)
            context.registry.charge(resource)
            noteStored(stored, variant, after: predecessor)
            noteAhead(variant)
        } else if isSuperseded(stored) {
            if isStored { diskTier?.remove(variant, of: resource, service: service) }
            ownCaches?.empty()
        } else if isStored {
            memory.forgetStoreRead(stored, since: listed.mark)
            noteStored(stored, nil, after: predecessor)
            noteAhead(nil)
        }
    }

    // MARK: The pipeline

    /// Runs the pipeline on the collected content, unless the load is cancelled before its turn comes. The result is
    /// discarded if the load was cancelled meanwhile.
    private func make(
        of head: ResponseHead, _ times: ReceivedResponse.Times, _ content: CollectedContent
    ) async throws -> MadeResponse {
        let sealed = SealedContent()
        let result = await resource.transform(
            configuration.frozen.configuration, on: context.proxy.transforming.threads,
            clock: LoopClock(context.loop), while: { [listed] in !listed.isCancelled }, sealing: { sealed.seal(&$0) },
            {
                Entity(
                    content: content.joined(), fields: head.fields, status: head.status, timestamp: times.response,
                    requestTime: times.request, responseTime: times.response)
            })
        guard !listed.isCancelled else { throw UpstreamError.aborted }
        return try MadeResponse(result, of: head, content, sealed)
    }

    /// Transforms a stored response again, because the configuration has changed. The origin is not asked.
    func retransform(_ variant: Variant) async throws {
        let memory = resource.memory
        // Another load may have done it since the lookup.
        guard memory.snapshot.variants.contains(where: { $0 === variant }) else { return settle(by: variant) }
        guard variant.rendition == nil else {
            // Its original is in the store, if anywhere.
            memory.forgetStoreRead(variant.stored, since: listed.mark)
            return settle(by: variant)
        }
        let head = ResponseHead(status: variant.stored.status, fields: variant.stored.fields)
        let length = variant.content.length
        if !variant.stored.isPartial, pipelineUse(of: head, length: length) == .transformed {
            guard let content = try await collect(variant.content) else {
                forget(variant)
                return settle(by: variant)
            }
            let times = ReceivedResponse.Times(
                request: variant.stored.requestTime, response: variant.stored.responseTime)
            let made: MadeResponse
            do { made = try await make(of: head, times, content) } catch { throw refusing(error, variant.stored) }
            guard !made.isRefusal else {
                let shared = announce(
                    made.head, length: Int64(made.length), stored: variant.stored, retains: true)
                made.chunks.forEach(shared.append)
                return finish(Fields())
            }
            let stored =
                made.isPromoted ? variant.stored.counting(as: 200, policy: policy) : variant.stored
            let remade = made.variant(
                of: stored, storedAt: variant.storedAt, self.policy, fingerprint: configuration.fingerprint,
                via: ProxyConfiguration.via)
            if memory.replace(variant, by: remade) {
                if configuration.storesRenditions {
                    context.diskTier?.keepRendition(of: remade, resource, service: service)
                }
                ownCaches?.write(made, of: stored)
                context.registry.charge(resource)
            }
        } else {
            _ = memory.replace(variant, by: variant.under(fingerprint: configuration.fingerprint))
        }
        settle(by: variant)
    }

    /// Has the readers repeat their lookup.
    private func settle(by variant: Variant) {
        resource.memory.retire(listed)
        listed.shared?.conclude(.settled(variant), remarks)
    }

    /// All content of a stored response; nil when it is lost.
    private func collect(_ content: VariantContent) async throws -> CollectedContent? {
        do {
            return try await CollectedContent.read(content, in: context.proxy.transforming, for: service)
        } catch let error as StoreUnavailable {
            throw error
        } catch {
            throw PipelineFailure(cause: RequestError(cause: error, timestamp: context.now()))
        }
    }
}
