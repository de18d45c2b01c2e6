// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderUpstream

/// Responses to methods other than GET and HEAD, if a pipeline is configured for them. Each response is for its own
/// client alone: it is not shared or stored.
extension Forwarding {
    /// The disposition of a relayed response.
    enum ForwardedAnswer {
        /// Transformed by the pipeline.
        case made(MadeResponse)
        /// Relayed unchanged, after the content that was already read.
        case asItCame(after: [ContentChunk])
    }

    /// Collects a response for the pipeline of its method, if there is one, and transforms it.
    ///
    /// - Parameters:
    ///   - processed: the pipeline's result for the response, where decorators have seen it.
    ///   - promotion: receives the origin's response, regardless of the pipeline's result.
    /// - Throws: `PipelineFailure` when there is no response for the client, although the origin has performed the
    ///   request.
    func answerOfPipeline(
        to response: UpstreamResponse, _ received: ResponseHead, processed: ProcessedResponse?, _ promotion: Promotion?
    ) async throws -> ForwardedAnswer {
        guard request.traits.method == .other, configuration.transforms(request.head.method) else {
            return .asItCame(after: [])
        }
        let resource = unregisteredResource
        let limit = context.transformedContentLimit
        let length = response.contentLength
        switch configuration.pipelineUse(of: received, length: length, in: resource, limit: limit) {
        case .none: return .asItCame(after: [])
        case .tooLarge:
            context.proxy.logTooLargeToTransform(request.uri, length)
            return .asItCame(after: [])
        case .transformed: break
        }
        let requestTime = context.now()
        let content = CollectedContent(in: context.proxy.transforming, for: service)
        while let chunk = try await response.nextChunk() {
            context.counters.add(.received, chunk.count)
            do throws(TransformersBusy) {
                try content.append(chunk)
            } catch {
                throw PipelineFailure(cause: RequestError(cause: error, timestamp: context.now()))
            }
            guard content.count > limit else { continue }
            context.proxy.logTooLargeToTransform(request.uri, nil)
            return .asItCame(after: content.chunks)
        }
        content.chunks.forEach { promotion?.append($0) }
        promotion?.finish()
        if let processed {
            return .made(try MadeResponse(processed.result, of: received, content, processed.sealed))
        }
        let (sealed, now) = (SealedContent(), context.now())
        let result = await resource.transform(
            configuration.frozen.configuration, on: context.proxy.transforming.threads, clock: LoopClock(context.loop),
            sealing: { sealed.seal(&$0) },
            {
                Entity(
                    content: content.joined(), fields: received.fields, status: received.status, timestamp: now,
                    requestTime: requestTime, responseTime: now)
            })
        return .made(try MadeResponse(result, of: received, content, sealed))
    }

    /// Sends the pipeline's response.
    func send(_ made: MadeResponse, trailers: Fields, _ status: CacheStatus) async throws {
        var fields = made.head.fields
        // The entity tag of a response to a write identifies the state at the origin (RFC 9110 §8.8.3), not these
        // bytes.
        if made.isTransformed { fields.remove(.eTag) }
        writer.startHead(status: made.head.status, fields: request.mapped(fields, by: service))
        writer.finishHead(
            length: Int64(made.length), cacheStatus: status, proxyStatus: ProxyStatus(receivedStatus: made.head.status))
        try await writer.sendContent(made.chunks)
        try await writer.endContent(trailers: made.isTransformed ? Fields() : trailers)
    }

    /// A temporary resource with the URL, for transformers.
    private var unregisteredResource: Resource {
        let partition = request.partition(in: service)
        var key = ResourceKey()
        key.set(service: service.number, partition: partition, url: request.uri, spelling: request.spelling)
        return service.makeResource(key: key, partition: partition, url: request.uri)
    }
}

/// The conditions of writes.
extension Forwarding {
    /// Replaces the entity tags that clients know with the origin's tags: for content with mapped links, in another
    /// coding, or from a pipeline.
    func restoreConditions() async {
        if request.form.isGateway, configuration.mapsLinks {
            GatewayLinks(request: request, service: service).restoreConditions()
        }
        let partition = request.partition(in: service)
        let reading = service.configuration(for: request.uri, method: .get, in: partition)
        guard reading.mayTransform else { return }
        request.editHead { CodedTag.restoreConditions(in: &$0.fields) }
        let renditions = await variants(in: partition, reading).filter { $0.rendition != nil }
        for name in [FieldName.ifMatch, .ifNoneMatch] {
            request.editHead { head in
                head.fields.replaceEntityTags(name) { tag in
                    renditions.first { $0.served.facts.eTag == tag }?.stored.facts.eTag
                }
            }
        }
    }

    /// The stored responses to a GET.
    private func variants(in partition: Larder.Partition, _ reading: EffectiveConfiguration) async -> [Variant] {
        var key = ResourceKey()
        key.set(service: service.number, partition: partition, url: request.uri, spelling: request.spelling)
        let inMemory = context.registry.resource(for: key)?.memory.snapshot.variants ?? []
        guard inMemory.isEmpty, let diskTier = context.diskTier else { return inMemory }
        return await diskTier.peek(key.url, partition: partition, service: service.name, reading)
    }
}
