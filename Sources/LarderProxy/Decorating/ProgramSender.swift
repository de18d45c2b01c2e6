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
    /// The load that the request belongs to; nil if it belongs to no load.
    private let load: ActiveLoad?
    /// The initial request of all attempts.
    private let request: UpstreamRequest
    /// The request's content, if it is available.
    private let body: [UInt8]?
    /// The attempts for decorators, in flight and answered, until one attempt is chosen.
    private var attempts: [ProgramAttempt] = []
    /// True if the request has its response: later responses are discarded.
    private var isOver = false
    /// The pipeline's result for the response that was chosen, so that it is not transformed again.
    private(set) var chosen: ProcessedResponse?

    /// True if there was an attempt.
    private var wasSent = false
    /// The outcome of the last attempt.
    private var last: ResponseInfo?

    /// Content up to this size is visible to decorators; longer content is streamed.
    static let shownLimit = 1 << 20

    init(
        context: LoopContext, service: RoutedService, resource: Resource, uri: TargetURI,
        _ configuration: Configuration, _ request: UpstreamRequest, _ content: RepeatableContent?,
        of load: ActiveLoad?
    ) {
        self.load = load
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
        guard !decorators.isEmpty else { return try await send(by: request.abort) }
        let place = Confined(self)
        let delegate = InboundDelegate(resource: resource, loop: context.loop, sender: place)
        // A load requested by another load's decorators is part of their work.
        let work = load?.forPrograms.work ?? DecoratorsWork()
        let (method, resource) = (request.head.method, resource)
        let decorated = work.resume {
            resource.whileDecorating(method) {
                decorators.reduce(resource.prepareRequest(using: delegate)) { $1(resource, $0) }
            }
        }
        load?.forPrograms.decorated = decorated
        // The decorated request has no client any more, even if it waits for another request of the program.
        request.abort.onAbortOfWhole { decorated.cancel() }
        work.resume { resource.whileDecorating(method) { _ = decorated.start() } }
        let info = await decorated.outcome()
        guard !request.abort.isAborted else {
            finish(keeping: nil)
            throw ClientGone()
        }
        return try answer(info)
    }

    /// Gives up all attempts but one.
    private func finish(keeping kept: ProgramAttempt?) {
        isOver = true
        for attempt in attempts where attempt !== kept { attempt.giveUp() }
        attempts = []
        // The kept attempt may still receive its content, or send the request's content.
        request.abort.onAbortOfWhole(kept.map(\.abort).map { abort in { abort.abort() } })
    }

    /// The response that `info` represents. All other responses are discarded.
    private func answer(_ info: ResponseInfo) throws -> UpstreamResponse {
        let chosen = info.source.flatMap { source in attempts.first { $0.source === source } }
        // A program that answers in its own words does not end an upload that the origin still reads.
        let replaced = chosen == nil ? attempts.last { $0.result != nil && $0.response?.isBesideRequest == true } : nil
        finish(keeping: chosen ?? replaced)
        self.chosen = chosen?.result
        if let response = chosen?.response { return response }
        let entity: AnyEntity
        var status: Status?
        switch info.response {
        case .success(let success): entity = success
        case .failure(let error):
            if let cause = error.cause as? UpstreamError { throw cause }
            // It may quote the response that the pipeline refused.
            if error.isAboutInput || error.stage != nil && error.cause != nil { throw PipelineFailure(cause: error) }
            guard error.status?.isError == true else {
                throw UpstreamError(
                    .internalError, "A decorator of ‘\(service.name)’ let the request fail: \(error.userMessage)",
                    advice: "Look at the program that brings the service along.", cause: error)
            }
            // An error without content is answered with its message as text, as `decorate.respond` answers.
            entity =
                error.entity
                ?? AnyEntity(
                    content: error.userMessage, contentType: "text/plain; charset=utf-8", timestamp: context.now())
            status = error.status
        }
        guard !(entity.content is UnseenContent) else {
            throw UpstreamError(
                .internalError,
                "A decorator of ‘\(service.name)’ changed or kept a response whose content it had not seen.",
                advice: "Let it pass on a response as it is unless `hasWholeContent`.")
        }
        let wire =
            if let octets = entity.content as? [UInt8] { entity.withContent(octets) } else {
                try entity.encodedForWire()
            }
        let head = ResponseHead(status: status ?? wire.status, fields: wire.fields)
        let isUnasked = head.status == 304 && !request.head.fields.askWhetherModified
        guard (200...599).contains(head.status.rawValue), !isUnasked else {
            throw UpstreamError(
                .internalError, "A decorator of ‘\(service.name)’ answered with the status \(head.status.rawValue).",
                advice: "Let it answer with a status from 200 to 599, and with 304 only if the request has a condition."
            )
        }
        // Some have none (RFC 9110 §15.3.5, §15.3.6, §15.4.5).
        let hasContent = !wire.content.isEmpty && !head.status.isSentEmpty
        let chunks = hasContent ? [ContentChunk(wire.content)] : []
        let made = UpstreamResponse(made: head, content: chunks, insteadOf: replaced?.response)
        // It goes through no pipeline: decorators are behind it.
        self.chosen = ProcessedResponse(
            response: made, result: .untouched(info.response, as: wire), sealed: SealedContent())
        return made
    }

    // MARK: Attempts

    /// One request to the origin.
    private func send(by abort: UpstreamAbort) async throws -> UpstreamResponse {
        var fields = request.head.fields
        let configuration = resource.configuration(for: request.head.method)
        // Values the fields are made of, such as a token, may have changed since.
        configuration.fields.apply(to: &fields)
        let original = OutgoingRequest(method: request.head.method, url: uri, fields: fields, body: body)
        var outgoing = original
        for mutate in configuration.mutators { mutate(&outgoing) }
        let isRetrieval = [.get, .head].contains(original.method)
        let isOther = isRetrieval && outgoing.method != original.method
        // For another method, these fields would be a condition for its effect (RFC 9110 §13.1.2).
        for name in [FieldName.ifNoneMatch, .ifModifiedSince]
        where isOther && outgoing.fields[name] == original.fields[name] { outgoing.fields.remove(name) }
        let response = try await context.send(inbound(outgoing, insteadOf: original, abort))
        response.isOfOtherMethod = isOther
        if outgoing.fields.askWhetherModified { response.conditions = outgoing.fields }
        return response
    }

    private func inbound(
        _ outgoing: OutgoingRequest, insteadOf original: OutgoingRequest, _ abort: UpstreamAbort
    ) -> UpstreamRequest {
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
                allowsAddress: request.allowsAddress)
            inbound.content = request.content
            inbound.belongsToService = request.belongsToService
            inbound.tls = service.tls(for: outgoing.url)
            inbound.bypassesBackoff = request.bypassesBackoff
            inbound.client = request.client
            inbound.lacksContent = request.lacksContent
            inbound.onInterim = request.onInterim
        }
        inbound.abort = abort
        inbound.head = head
        // Received content passes once as it came, with its trailers; what is repeated was kept.
        if outgoing.body != original.body || wasSent, outgoing.body != nil || original.body != nil {
            inbound.content = outgoing.body.map { .octets(ContentChunk($0)) } ?? .none
            inbound.lacksContent = false
        }
        wasSent = true
        return inbound
    }

    /// One request to the origin, and its outcome as the library would report it to decorators.
    fileprivate func attempt(
        _ number: Int, as source: ResponseMark, _ progress: TransferProgress
    ) async -> ResponseInfo {
        // Content that was not kept cannot be sent again: the last outcome is returned, if there is one.
        if wasSent, case .stream = request.content, body == nil { return last ?? unrepeatable }
        let attempt = ProgramAttempt(source, number, progress)
        do {
            guard !isOver else { throw RequestCancelled() }
            attempts.append(attempt)
            var info = try await outcome(of: attempt)
            info.response = info.response.mapError { named($0, attempt) }
            info.source = source
            last = info
            return info
        } catch {
            let cause = attempt.abort.isAborted ? RequestCancelled(networkError: error) : error
            let info = ResponseInfo(.failure(named(RequestError(cause: cause, timestamp: context.now()), attempt)))
            if wasSent { last = info }
            return info
        }
    }

    private var unrepeatable: ResponseInfo {
        ResponseInfo(.failure(RequestError(cause: RequestCancelled(), timestamp: context.now())))
    }

    private func outcome(of attempt: ProgramAttempt) async throws -> ResponseInfo {
        let requestTime = context.now()
        let response = try await send(by: attempt.abort)
        attempt.response = response
        attempt.tell(0)
        var octets: [UInt8]?
        if !response.head.isEventStream, response.head.status != 101 {
            if try await response.readAhead(upTo: ProgramSender.shownLimit, telling: attempt.tell) {
                octets = response.contentHere.flatMap { $0.withBytes { Array($0) } }
            }
        }
        let now = context.now()
        var fields = response.head.fields
        HopByHop.strip(&fields, for: .forwardResponse)
        if !fields.contains(.date) { fields[.date] = context.dateText() }
        let entity = AnyEntity(
            content: octets ?? UnseenContent(), fields: fields, status: response.head.status, timestamp: now,
            requestTime: requestTime, responseTime: now)
        var info = ResponseInfo(.success(entity), isNew: response.head.status != 304)
        info.hasWholeContent = octets != nil
        if let octets, info.isNew {
            let processed = await process(entity.withContent(octets), of: response)
            info.response = processed.result.response
            attempt.result = processed
        } else if entity.status.isError {
            info.response = .failure(
                RequestError(status: entity.status, entity: entity, timestamp: now))
        }
        return info
    }

    /// An error as the library has it.
    private func named(_ error: RequestError, _ attempt: ProgramAttempt) -> RequestError {
        var error = error
        error.url = resource.url
        error.method = request.head.method
        error.attempt = attempt.number
        return error
    }

    /// The pipeline's result for a response with all of its content: for decorators, and for clients if they choose it.
    private func process(_ entity: Entity<[UInt8]>, of response: UpstreamResponse) async -> ProcessedResponse {
        let sealed = SealedContent()
        let result = await resource.transform(
            configuration, on: context.proxy.transforming.threads, clock: LoopClock(context.loop),
            sealing: { sealed.seal(&$0) }, { entity })
        return ProcessedResponse(response: response, result: result, sealed: sealed)
    }

    /// Ends one attempt; decorators may go on without it.
    fileprivate func cancel(_ source: ResponseMark) { attempts.first { $0.source === source }?.giveUp() }
}

/// One request to the origin that decorators see the outcome of. Confined to its loop.
private final class ProgramAttempt {
    let source: ResponseMark
    /// Which one at the same operation it is, from 1.
    let number: Int
    let abort = UpstreamAbort()
    private let progress: TransferProgress
    /// Once its head is there.
    var response: UpstreamResponse?
    /// The pipeline's result for it; nil where that was not run on all of the content.
    var result: ProcessedResponse?

    init(_ source: ResponseMark, _ number: Int, _ progress: TransferProgress) {
        self.source = source
        self.number = number
        self.progress = progress
    }

    /// So many bytes of the response's content have come. Its head counts as the first one.
    func tell(_ received: Int) {
        let length = response?.contentLength
        progress.update {
            $0.received = max(1, received)
            $0.toReceive = length.map { Int(clamping: max(1, $0)) }
        }
    }

    func giveUp() {
        abort.abort()
        response?.abort()
    }
}

/// Stands in the entities that decorators see for content that is passed on as it arrives. A copy of such an entity is
/// never mistaken for one without content.
private struct UnseenContent: Sendable {}

/// The library's side of an attempt, started on the loop of its sender.
private final class InboundDelegate: RequestDelegate {
    private let resource: Resource
    private let loop: EventLoop
    private let sender: Confined<ProgramSender>
    private let source = ResponseMark()
    private let number: Int
    private let progress = TransferProgress()
    private let estimate = Lock(ProgressEstimate(isGet: true))

    init(resource: Resource, loop: EventLoop, sender: Confined<ProgramSender>, number: Int = 1) {
        self.resource = resource
        self.loop = loop
        self.sender = sender
        self.number = number
    }

    func startUnderlyingOperation(_ completion: RequestCompletion) {
        let (sender, number, source, progress) = (sender, number, source, progress)
        loop.spawn { _ in
            // It may have been cancelled meanwhile.
            guard !completion.willBeIgnored else { return }
            completion.complete(await sender.value.attempt(number, as: source, progress))
        }
    }

    func cancelUnderlyingOperation() {
        let (sender, source) = (sender, source)
        loop.execute { _ in sender.value.cancel(source) }
    }

    func repeated() -> any RequestDelegate {
        InboundDelegate(resource: resource, loop: loop, sender: sender, number: number + 1)
    }

    var progressReportingInterval: Duration { resource.configuration.progressReportingInterval }

    func computeProgress() -> Double {
        let seconds = Double(resource.service.clock.now.nanoseconds) / 1e9
        return estimate.withLock { $0.update(progress.counters, at: seconds) }
    }

    var requestDescription: String { "request of a client for \(resource.url)" }
}
