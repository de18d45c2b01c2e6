// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderUpstream

/// Sends a request to its origin as defined by the Swift program that supplies the service: its mutators edit each
/// attempt, and its decorators see a request of the library, whose attempts are sent here.
///
/// Confined to its loop.
final class ProgramSender {
    private let context: LoopContext
    private let service: RoutedService
    private let resource: Resource
    private let uri: TargetURI
    private let configuration: Configuration
    private let decorators: [RequestDecorator]
    /// The initial request of all attempts.
    private let request: UpstreamRequest
    /// The request's content, if it is at hand.
    private let body: [UInt8]?
    /// The responses so far, numbered as in `ResponseInfo.source`.
    private var responses: [UpstreamResponse] = []
    /// The pipeline's results for them; nil where it was not run on all of the content.
    private var results: [ProcessedResponse?] = []
    /// The pipeline's result for the response that was chosen, so that it is not transformed again.
    private(set) var chosen: ProcessedResponse?

    /// Whether there was an attempt.
    private var wasSent = false

    /// Content up to this size is visible to decorators; longer content is streamed.
    static let shownLimit = 1 << 20

    init(
        context: LoopContext, service: RoutedService, resource: Resource, uri: TargetURI,
        _ configuration: Configuration, _ request: UpstreamRequest, _ content: RepeatableContent?
    ) {
        self.context = context
        self.service = service
        self.resource = resource
        self.uri = uri
        self.request = request
        self.configuration = configuration
        decorators = configuration.decorators
        body =
            switch (request.content, content?.octets) {
            case (.octets(let chunk), _): chunk.withBytes { Array($0) }
            case (_, let chunks?): chunks.flatMap { $0.withBytes { Array($0) } }
            default: nil
            }
    }

    func send() async throws -> UpstreamResponse {
        guard !decorators.isEmpty else { return try await attempt() }
        let place = Confined(self)
        let attempts = InboundDelegate(resource: resource, loop: context.loop, sender: place)
        let decorated = decorators.reduce(resource.prepareRequest(using: attempts)) { $1(resource, $0) }
        // Nobody waits for it any more, whatever it waits for: another request of the program's, perhaps.
        request.abort.onAbortOfWhole { decorated.cancel() }
        defer { request.abort.onAbortOfWhole(nil) }
        let info = await decorated.start().response()
        guard !request.abort.isAborted else {
            for response in responses { response.abort() }
            throw ClientGone()
        }
        return try answer(info)
    }

    /// The response that `info` stands for; all others are discarded.
    private func answer(_ info: ResponseInfo) throws -> UpstreamResponse {
        let chosen = info.source.flatMap { responses.indices.contains($0) ? responses[$0] : nil }
        for response in responses where response !== chosen { response.abort() }
        self.chosen = chosen == nil ? nil : info.source.flatMap { results[$0] }
        (responses, results) = ([], [])
        if let chosen { return chosen }
        let entity: AnyEntity
        var status: Status?
        switch info.response {
        case .success(let success): entity = success
        case .failure(let error):
            if let cause = error.cause as? UpstreamError { throw cause }
            guard let content = error.entity, error.status?.isError == true else {
                throw UpstreamError(
                    .internalError, "A decorator of ‘\(service.name)’ let the request fail: \(error.userMessage)",
                    advice: "Look at the program that brings the service along.", cause: error)
            }
            (entity, status) = (content, error.status)
        }
        let wire = try entity.content as? [UInt8] == nil ? entity.encodedForWire() : entity.withContent(octets(entity))
        let chunks = wire.content.isEmpty ? [] : [ContentChunk(wire.content)]
        return UpstreamResponse(made: ResponseHead(status: status ?? wire.status, fields: wire.fields), content: chunks)
    }

    private func octets(_ entity: AnyEntity) -> [UInt8] { entity.content as? [UInt8] ?? [] }

    // MARK: Attempts

    /// One request to the origin.
    private func attempt() async throws -> UpstreamResponse {
        var fields = request.head.fields
        let configuration = resource.configuration(for: request.head.method)
        // Values the fields are made of, such as a token, may have changed since.
        configuration.fields.apply(to: &fields)
        let original = OutgoingRequest(method: request.head.method, url: uri, fields: fields, body: body)
        var outgoing = original
        for mutate in configuration.mutators { mutate(&outgoing) }
        return try await context.send(inbound(outgoing, insteadOf: original))
    }

    private func inbound(_ outgoing: OutgoingRequest, insteadOf original: OutgoingRequest) -> UpstreamRequest {
        var head = request.head
        head.method = outgoing.method
        head.fields = outgoing.fields
        // The connection adds the framing.
        for name in [FieldName.contentLength, .transferEncoding] { head.fields.remove(name) }
        if outgoing.url != original.url {
            head.target = Array(outgoing.url.pathAndQuery.utf8)
            head.fields[.host] = outgoing.url.authority
        }
        var inbound = request
        if !outgoing.url.hasSameOrigin(as: uri) {
            inbound = UpstreamRequest(
                origin: Origin(outgoing.url), head: head, parent: service.parent(outgoing.url),
                allowsAddress: request.allowsAddress, abort: request.abort)
            inbound.content = request.content
            inbound.belongsToService = request.belongsToService
            inbound.tls = service.tls(for: outgoing.url)
            inbound.bypassesBackoff = request.bypassesBackoff
            inbound.onInterim = request.onInterim
        }
        inbound.head = head
        // Received content passes once as it came, with its trailers; what is repeated was kept.
        if outgoing.body != original.body || wasSent, outgoing.body != nil || original.body != nil {
            inbound.content = outgoing.body.map { .octets(ContentChunk($0)) } ?? .none
        }
        wasSent = true
        return inbound
    }

    /// One request to the origin, and its outcome as the library would report it to decorators.
    fileprivate func attemptForDecorators() async -> ResponseInfo {
        let requestTime = context.now()
        do {
            let response = try await attempt()
            var isWhole = false
            var octets: [UInt8] = []
            if !response.head.isEventStream, response.head.status != 101 {
                isWhole = try await response.readAhead(upTo: ProgramSender.shownLimit)
                octets = response.contentHere.flatMap { $0.withBytes { Array($0) } }
            }
            let number = responses.count
            responses.append(response)
            results.append(nil)
            let now = context.now()
            var fields = response.head.fields
            HopByHop.strip(&fields, for: .forwardResponse)
            if !fields.contains(.date) { fields[.date] = context.dateText() }
            let entity = Entity(
                content: octets, fields: fields, status: response.head.status, timestamp: now,
                requestTime: requestTime, responseTime: now)
            var info = ResponseInfo(.success(entity.erased), isNew: response.head.status != 304)
            if isWhole, info.isNew {
                let processed = await process(entity, of: response)
                info.response = processed.result.response
                // Another attempt may have been chosen meanwhile.
                if results.indices.contains(number) { results[number] = processed }
            } else if entity.status.isError {
                info.response = .failure(
                    RequestError(status: entity.status, entity: entity.erased, timestamp: now))
            }
            info.source = number
            return info
        } catch {
            return ResponseInfo(.failure(RequestError(cause: error, timestamp: context.now())))
        }
    }

    /// The pipeline's result for a response with all of its content: for decorators, and for clients if they choose it.
    private func process(_ entity: Entity<[UInt8]>, of response: UpstreamResponse) async -> ProcessedResponse {
        let sealed = SealedContent()
        let result = await resource.transform(
            configuration, on: context.proxy.transforming.threads, clock: LoopClock(context.loop),
            sealing: { sealed.seal(&$0) }, { entity })
        return ProcessedResponse(response: response, result: result, sealed: sealed)
    }

    fileprivate func cancel() { request.abort.abort() }
}

/// The library's side of an attempt, started on the loop of its sender.
private final class InboundDelegate: RequestDelegate {
    private let resource: Resource
    private let loop: EventLoop
    private let sender: Confined<ProgramSender>

    init(resource: Resource, loop: EventLoop, sender: Confined<ProgramSender>) {
        self.resource = resource
        self.loop = loop
        self.sender = sender
    }

    func startUnderlyingOperation(_ completion: RequestCompletion) {
        let sender = sender
        loop.spawn { _ in completion.complete(await sender.value.attemptForDecorators()) }
    }

    func cancelUnderlyingOperation() {
        let sender = sender
        loop.execute { _ in sender.value.cancel() }
    }

    func repeated() -> any RequestDelegate { InboundDelegate(resource: resource, loop: loop, sender: sender) }
    var requestDescription: String { "request of a client for \(resource.url)" }
}
