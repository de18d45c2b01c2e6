// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// Stores the state that a write sent or returned in the memory of its Resource, where GET finds it.
///
/// In memory only: the store contains only origins' responses to GET (EC-05).
struct WrittenState {
    private let context: LoopContext
    private let service: RoutedService
    private let resource: Resource
    private let policy: CachePolicy
    /// The GET that would have returned the state.
    private let reading: RequestHead
    private let written: RequestHead
    private let target: TargetURI
    /// A wipe since then prevents the state from being stored, and so does a response that was loaded since.
    private let mark: ResourceMemory.Mark
    private let began: Timestamp

    /// Nil if the state is not stored.
    init?(_ request: ClientRequest, _ service: RoutedService) {
        context = request.context
        self.service = service
        let uri = request.uri
        let partition = request.partition(in: service)
        var key = ResourceKey()
        key.set(service: service.number, partition: partition, url: uri, spelling: request.spelling)
        resource = context.registry.resource(for: key) { key in
            service.makeResource(key: key, partition: partition, url: uri)
        }
        let configuration = service.configuration(for: resource)
        guard configuration.caches else { return nil }
        policy = configuration.policy.narrowed(for: request.head.fields)
        written = request.head
        target = uri
        reading = RequestHead(
            method: .get, target: uri.pathAndQuery, fields: WrittenState.readingFields(of: request.head.fields))
        mark = resource.memory.mark.exceptGroups
        began = context.now()
    }

    /// The fields of a write except those about its content and its conditions.
    static func readingFields(of fields: Fields) -> Fields {
        var fields = fields
        for name in [
            FieldName.contentLength, .contentType, .contentEncoding, .contentLanguage, .contentLocation,
            .contentRange, .transferEncoding, .expect, .trailer, .ifMatch, .ifNoneMatch, .ifModifiedSince,
            .ifUnmodifiedSince, .ifRange, .range, .cacheControl, .pragma, .connection,
        ] { fields.remove(name) }
        return fields
    }

    /// Stores the request's content as the origin's state. The origin sent no validators for it, so it has none.
    func land(contentOfRequest chunks: [ContentChunk]) {
        var fields = Fields()
        for name in [FieldName.contentType, .contentEncoding, .contentLanguage] {
            if let value = written.fields[name] { fields[name] = value }
        }
        fields[.date] = context.dateText()
        land(ResponseHead(status: 200, fields: fields), chunks, isOfRequest: true)
    }

    /// Collects the content of `response`; nil when it is not stored.
    func promotion(of response: ResponseHead) -> Promotion? {
        var head = response
        head.status = 200
        HopByHop.strip(&head.fields, for: .forwardResponse)
        for name in [FieldName.location, .contentLocation] { head.fields.remove(name) }
        if !head.fields.contains(.date) { head.fields[.date] = context.dateText() }
        return Promotion(limit: context.memoryObjectLimit) { [self] chunks in land(head, chunks) }
    }

    /// Collects the content of a 200 to POST that claims to be the response to GET, with its freshness lifetime (RFC
    /// 9110 §9.3.3); nil for all others.
    func representation(in response: ResponseHead) -> Promotion? {
        var head = response
        HopByHop.strip(&head.fields, for: .forwardResponse)
        if !head.fields.contains(.date) { head.fields[.date] = context.dateText() }
        guard isStorable(head, to: written) else { return nil }
        return Promotion(limit: context.memoryObjectLimit) { [self] chunks in land(head, chunks, to: written) }
    }

    private func isStorable(_ head: ResponseHead, to request: RequestHead) -> Bool {
        let decision = Storability.decide(
            request: request, target: target, response: head, policy: policy, responseTime: context.now())
        if case .store = decision { return true }
        return false
    }

    /// - Parameter request: the request to apply the rules to, where that is not the GET.
    private func land(
        _ head: ResponseHead, _ chunks: [ContentChunk], to request: RequestHead? = nil, isOfRequest: Bool = false
    ) {
        // It is the state that a former user of the service sees.
        if context.hasOtherCredentials(than: service) { return }
        let decision = Storability.decide(
            request: request ?? reading, target: target, response: head, policy: policy, responseTime: began)
        guard case .store = decision else { return }
        let length = chunks.reduce(0) { $0 + $1.count }
        guard length <= context.memoryObjectLimit else { return }
        let stored = StoredResponse(
            head, to: reading, requestTime: began, responseTime: began, contentLength: Int64(length), policy: policy)
        let isOutdated = resource.memory.snapshot.variants.contains { !$0.isOverride && $0.stored.responseTime > began }
        guard !isOutdated else { return }
        let variant = Variant(
            stored: stored.complete(length: Int64(length), policy: policy),
            content: .memory(ContentChunk.coalesced(chunks), length: length), storedAt: began,
            via: ProxyConfiguration.via, isWritten: isOfRequest)
        if case .landed = resource.memory.land(variant, since: mark) {
            context.registry.charge(resource)
        }
    }
}

/// A response on its way to its client that becomes a resource's state once it is complete. Confined to its loop.
final class Promotion {
    private var chunks: [ContentChunk]?
    private var count = 0
    private let limit: Int
    private let land: ([ContentChunk]) -> Void

    init(limit: Int, land: @escaping ([ContentChunk]) -> Void) {
        self.limit = limit
        self.land = land
        chunks = []
    }

    func append(_ chunk: ContentChunk) {
        count += chunk.count
        if count > limit { chunks = nil } else { chunks?.collect(chunk) }
    }

    /// The response is complete. Without content it says nothing about the state.
    func finish() {
        if let chunks, count > 0 { land(chunks) }
    }
}
