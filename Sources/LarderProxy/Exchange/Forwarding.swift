// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings
import LarderUpstream

/// Relays a request to the upstream and the response back, both streamed, for its own client only. Confined to its loop.
struct Forwarding: ExchangeStep {
    let exchange: Exchange
    let service: RoutedService
    let reason: ForwardReason
    /// Set for a GET or HEAD of a Resource, whose stored variants a HEAD may freshen.
    let lookup: CacheLookup?
    /// A stored variant that may be served if the origin fails.
    let fallback: Variant?
    let configuration: EffectiveConfiguration
    /// The time and mark at which a HEAD began, which determine the stored variants that its answer describes.
    let beginning: (time: Timestamp, mark: ResourceMemory.Mark)?

    init(
        _ exchange: Exchange, _ service: RoutedService, reason: ForwardReason, lookup: CacheLookup? = nil,
        fallback: Variant? = nil
    ) {
        self.exchange = exchange
        self.service = service
        self.reason = reason
        self.lookup = lookup
        self.fallback = fallback
        configuration = service.configuration(for: exchange.request.uri, method: exchange.request.head.method)
        let isHead = exchange.request.traits.method == .head
        beginning = isHead ? lookup.map { (exchange.context.now(), $0.resource.memory.mark) } : nil
    }

    func run() async throws {
        writer.record.kind = .pass
        if let answer = request.hardWiredAnswer(of: service, configuration) {
            return try await writer.respond(answer, by: service)
        }
        if let problem = answerLastHop() { throw problem }
        if reason == .method { try checkPassing(configuration) }
        try request.takeOriginPlace()
        if lookup == nil, request.traits.has(.conditional) { await restoreConditions() }
        let abort = UpstreamAbort()
        defer { watch.stop() }
        try watch.start(whileAwaiting: .origin(abort))
        let sender =
            InboundSender.isNeeded(for: configuration)
            ? InboundSender(
                context: context, service: service, uri: request.uri, configuration: configuration,
                from: request.network) : nil
        let repeatable = try await contentToKeep()
        let settlement = WriteSettlement(of: request, service, configuration)
        let response: UpstreamResponse
        do {
            let inbound = upstreamRequest(repeatable, abort)
            if let sender {
                let policy = (lookup?.policy ?? configuration.policy).narrowed(for: request.head.fields)
                let client = InboundSender.Asking(head: request.head, policy: policy)
                response = try await sender.send(inbound, for: client, repeating: repeatable)
            } else {
                response = try await context.send(inbound)
            }
            context.noteQuota(in: response.head, to: inbound, of: service, at: sender?.place)
        } catch {
            await settlement.settle(unfinishedBecauseOf: error)
            await exchange.stopContent()
            if abort.isAborted { throw ClientGone() }
            if let error = error as? UpstreamError { noteFailure(error) }
            throw error
        }
        let goesOn = response.isBesideRequest && request.content?.goOn() == true
        if !goesOn {
            response.giveUpRequest()
            await exchange.stopContent()
        }
        if response.head.status == 101 { return try await upgrade(response) }
        // Before the client gets the response: a client that has seen a write succeed must not get earlier state.
        let promotion = await settlement.settle(
            response.head, repeatable, isForAnotherPartition: sender?.isForAnotherPartition ?? false)
        guard goesOn else {
            do { return try await answer(with: response, promotion, by: sender) } catch {
                throw abort.isAborted ? ClientGone() : error
            }
        }
        let outcome = await answerBesideRequest(with: response, promotion, by: sender)
        // The content that is cut off now is not the reason of what came before.
        if case .failure = outcome, response.failureOfRequest == nil { response.giveUpRequest() }
        await exchange.stopContent()
        await settlement.settleAgain(response.head)
        if abort.isAborted { throw ClientGone() }
        if let cause = response.failureOfRequest { throw cause is IOError ? ClientGone() : cause }
        try outcome.get()
    }

    /// Answers the client while the rest of its request's content is sent, to the end of both.
    private func answerBesideRequest(
        with response: UpstreamResponse, _ promotion: Promotion?, by sender: InboundSender?
    ) async -> Result<Void, any Error> {
        do {
            try await answer(with: response, promotion, by: sender)
            await response.endOfRequest()
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    /// Answers the client with the response, or with a stored one in its place.
    private func answer(
        with response: UpstreamResponse, _ promotion: Promotion?, by sender: InboundSender?
    ) async throws {
        var received = response.head
        HopByHop.strip(&received.fields, for: .forwardResponse)
        if !received.fields.contains(.date) { received.fields[.date] = context.dateText() }
        if let lookup, fallback != nil {
            let answer = LoadedAnswer(lookup: lookup, status: CacheStatus(.forward(reason)), fallback: fallback)
            if try await answer.serveStale(insteadOf: received) {
                // The client has its answer and does not depend on this response.
                if (try? response.isAllHere()) != true { response.abort() }
                return
            }
        }
        var status = CacheStatus(.forward(reason)).answered(received.status)
        status.detail = sender?.remark
        let processed = sender?.result(for: response)
        switch try await answerOfPipeline(to: response, received, processed: processed, promotion) {
        case .made(let made): try await send(made, trailers: response.trailers, status)
        case .asItCame(let early): try await relay(response, received, after: early, status, promotion, by: sender)
        }
    }

    // MARK: The request

    /// Throws the reason why a request that bypasses the cache may not be sent now, if there is one.
    ///
    /// - Parameter configuration: the configuration of the request's Resource, if it has one.
    func checkPassing(_ configuration: EffectiveConfiguration) throws {
        // Usually no condition is known that would prevent the request.
        guard
            context.proxy.origins.hasTrouble || service.settings.quotaReserve != nil
                || request.offlineMode(service, configuration) == .on
        else { return }
        let outlook = request.outlook(service, configuration)
        let plan = Plan.passing(reason, outlook: outlook)
        if case .refuse = plan.action {
            throw Problem.offline(
                request.head.method, to: request.uri.authority, isLaneOffline: request.isLaneOffline)
        }
        guard plan.wait != nil, let refusal = outlook.refusal else { return }
        context.counters.add(.upstreamHeld)
        noteFailure(refusal)
        throw refusal
    }

    /// Counts the failure of a relayed request, or records why it was not sent.
    private func noteFailure(_ error: UpstreamError) {
        guard let hold = error.hold else { return context.counters.add(.upstreamErrors) }
        writer.record.cacheStatus = CacheStatus(.held, detail: hold.reason.rawValue)
    }

    /// TRACE and OPTIONS end here at `Max-Forwards: 0` (RFC 9110 §7.6.2); TRACE is not supported at all.
    private func answerLastHop() -> Problem? {
        if request.head.method == .trace { return .traceRefused }
        switch MaxForwards.decide(request.head.method, request.head.fields) {
        case .notApplicable: return nil
        case .forward(let left):
            request.editHead { $0.fields[.maxForwards] = String(left) }
            return nil
        case .answer: return .lastHop
        case .reject: return .badRequest("Max-Forwards must be one number.")
        }
    }

    /// The request's content, read ahead, where the configuration may need it more than once.
    private func contentToKeep() async throws -> RepeatableContent? {
        guard let content = request.content, !request.traits.wantsUpgrade else { return nil }
        let isNeeded =
            configuration.decorators?.refresh != nil
            || configuration.decorators?.retry != nil && request.head.method.isIdempotent
            || configuration.isProgrammed
            || configuration.frozen.configuration.afterWrite.action == .override && request.head.method == .put
        guard isNeeded else { return nil }
        let repeatable = RepeatableContent(content)
        try await repeatable.readAhead()
        return repeatable
    }

    private func upstreamRequest(_ repeatable: RepeatableContent?, _ abort: UpstreamAbort) -> UpstreamRequest {
        let uri = request.uri
        var forwarded = ForwardedRequest(
            uri: uri, form: request.form, via: context.via(to: uri), configuration: configuration,
            spelling: request.spelling, forwarded: request.forwardedElement
        ).head(for: request.head)
        if request.traits.wantsUpgrade {
            forwarded.fields[.connection] = "upgrade"
            forwarded.fields[.upgrade] = RequestTraits.webSocket
        }
        var inbound = UpstreamRequest(
            origin: Origin(uri), head: forwarded, parent: service.parent(uri),
            allowsAddress: service.allowedAddresses(for: uri, from: request.network), abort: abort)
        inbound.describe(service, request.head, isReadByContent: request.onlyReads)
        inbound.tls = service.tls(for: uri)
        inbound.client = request.clientDigest
        inbound.lacksContent = request.lacksContent && repeatable?.isWhole != true
        if let repeatable {
            inbound.content = repeatable.outgoing
            // The client has been asked for it already.
            if repeatable.hasBegun { inbound.head.fields.remove(.expect) }
        } else if let content = request.content {
            inbound.content = .stream(
                content.framing, next: { try await content.next() }, trailers: { content.trailers })
        }
        if let content = request.content { inbound.whenContentIsAtHand = { content.whenAtHand($0) } }
        inbound.onInterim = { [writer] interim in
            // The sender of the request would mistake the client's failure for the origin's.
            do { try await writer.relayInterim(interim) } catch { throw ClientGone() }
        }
        return inbound
    }
}
