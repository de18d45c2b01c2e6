// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderUpstream

extension Exchange {
    /// Relays the request to the upstream and the response back, both streamed, for its own client only.
    ///
    /// - Parameter retrieval: set for a GET or HEAD of a Resource, whose stored variants a HEAD may freshen.
    func forward(
        _ service: RoutedService, _ way: Way, reason: ForwardReason, retrieval: Retrieval? = nil
    ) async throws {
        record.kind = .pass
        let configuration = service.configuration(for: uri, method: head.method)
        if let answer = hardWiredAnswer(of: service, configuration) {
            return try await respond(answer, by: service)
        }
        if let problem = answerLastHop() { throw problem }
        if reason == .method { try checkPassing(reason, service, way, configuration) }
        try takeOriginPlace()
        let abort = UpstreamAbort()
        defer { stopWatching() }
        try watchClient(whileAwaiting: .origin(abort))
        let sender = InboundSender(
            context: context, service: service, uri: uri, configuration: configuration, from: reach)
        let repeatable = try await contentToKeep(configuration)
        let response: UpstreamResponse
        do {
            let request = upstreamRequest(service, way, configuration, repeatable, abort)
            if let sender {
                let policy = (retrieval?.policy ?? configuration.policy).narrowed(for: head.fields)
                let client = InboundSender.Asking(head: head, policy: policy)
                response = try await sender.send(request, for: client, repeating: repeatable)
            } else {
                response = try await context.send(request)
            }
            context.noteQuota(in: response.head, to: request.head, of: service)
        } catch {
            await settleUnfinishedWrite(error, configuration, service)
            await stopContent()
            if abort.isAborted { throw ClientGone() }
            if let error = error as? UpstreamError { noteFailure(error, reason) }
            throw error
        }
        await stopContent()
        if response.head.status == 101 { return try await upgrade(response, service, way) }
        // Before the client gets the response: a client that has seen a write succeed must not get earlier state.
        let promotion =
            onlyReads ? nil : await settleWrite(response.head, configuration, repeatable, service)
        var received = response.head
        HopByHop.strip(&received.fields, for: .forwardResponse)
        if !received.fields.contains(.date) { received.fields[.date] = context.dateText() }
        var status = CacheStatus(.forward(reason)).answered(received.status)
        status.detail = sender?.remark
        let processed = sender?.result(for: response)
        switch try await answerOfPipeline(
            to: response, received, service, configuration, processed: processed, promotion)
        {
        case .made(let made): try await send(made, trailers: response.trailers, service, way, status)
        case .asItCame(let early):
            try await relay(response, received, after: early, service, way, status, retrieval, promotion)
        }
    }

    /// The request's content, read ahead, where the configuration may need it more than once.
    private func contentToKeep(_ configuration: EffectiveConfiguration) async throws -> RepeatableContent? {
        guard let content, !traits.wantsUpgrade else { return nil }
        let isNeeded =
            configuration.decorators?.refresh != nil
            || configuration.decorators?.retry != nil && head.method.isIdempotent
            || configuration.isProgrammed
            || configuration.frozen.configuration.afterWrite.action == .override && head.method == .put
        guard isNeeded else { return nil }
        let repeatable = RepeatableContent(content)
        try await repeatable.readAhead()
        return repeatable
    }

    private func upstreamRequest(
        _ service: RoutedService, _ way: Way, _ configuration: EffectiveConfiguration,
        _ repeatable: RepeatableContent?, _ abort: UpstreamAbort
    ) -> UpstreamRequest {
        var forwarded = ForwardedRequest(
            uri: uri, way: way, via: context.via(to: uri),
            configuration: configuration, spelling: spelling, forwarded: forwardedElement
        ).head(for: head)
        if traits.wantsUpgrade {
            forwarded.fields[.connection] = "upgrade"
            forwarded.fields[.upgrade] = RequestTraits.webSocket
        }
        var request = UpstreamRequest(
            origin: Origin(uri), head: forwarded, parent: service.parent(uri),
            allowsAddress: service.allowedAddresses(for: uri, from: reach), abort: abort)
        request.describe(service, head, isReadByContent: onlyReads)
        request.tls = service.tls(for: uri)
        if let repeatable {
            request.content = repeatable.outgoing
        } else if let content {
            request.content = .stream(
                content.framing, next: { try await content.next() }, trailers: { content.trailers })
        }
        request.onInterim = { [self] interim in
            // The sender of the request would mistake the client's failure for the origin's.
            do { try await relayInterim(interim) } catch { throw ClientGone() }
        }
        return request
    }

    /// Interim responses are relayed to HTTP/1.1 clients as they arrive; `100` is answered by reading content instead.
    func relayInterim(_ interim: ResponseHead) async throws {
        if let message = interimMessage(interim) { try await interims.send(message) }
    }

    /// The same for a client whose task is waiting for something else: octets the kernel does not accept are sent with
    /// the next write.
    func relayInterimAtOnce(_ interim: ResponseHead) {
        if let message = interimMessage(interim) { interims.sendAtOnce(message) }
    }

    /// An interim response as octets; nil when it is not for this client.
    private func interimMessage(_ interim: ResponseHead) -> [UInt8]? {
        guard traits.version == .http11, interim.status != 100, interim.status != 101 else { return nil }
        var fields = interim.fields
        HopByHop.strip(&fields, for: .forwardResponse)
        if record.way.isGateway, GatewayMapping.concerns(fields) {
            let table = context.configuration.router.table
            fields = mapped(fields, service: table.named(record.service) ?? table.unclaimed, way: record.way)
        }
        var message: [UInt8] = []
        PreparedHead.appendStatusLine(interim.status, to: &message)
        PreparedHead.append(fields, to: &message)
        PreparedHead.appendLineEnd(to: &message)
        return message
    }

    /// - Parameter early: content that was read already.
    private func relay(
        _ response: UpstreamResponse, _ received: ResponseHead, after early: [ContentChunk], _ service: RoutedService,
        _ way: Way, _ status: CacheStatus, _ retrieval: Retrieval?, _ promotion: Promotion?
    ) async throws {
        var received = received
        if let retrieval, traits.method == .head {
            freshen(retrieval, with: received)
            hideOriginalOctets(of: &received, retrieval)
        }
        var fields = way.isGateway ? mapped(received.fields, service: service, way: way) : received.fields
        if let retrieval {
            noteForms(in: &fields, of: received, retrieval.policy)
            beginLinks(in: &fields, of: received.status, service, way, retrieval.configuration)
        }
        startHead(status: received.status, fields: fields)
        if traits.method == .head, links == nil,
            let length = received.fields[first: .contentLength].flatMap({ Int64($0) })
        {
            PreparedHead.appendField("Content-Length", number: length, to: &out)
        }
        finishHead(
            length: traits.method == .head ? nil : response.contentLength, cacheStatus: status,
            proxyStatus: ProxyStatus(receivedStatus: received.status))
        if traits.method != .head, !traits.isPersistent { isPersistent = false }
        // With the content in one write if it has been received; but an event stream may not begin for long.
        var isHeadPending = response.isContentAtHand || !early.isEmpty
        if !isHeadPending { try await sendHead() }
        for chunk in early {
            promotion?.append(chunk)
            if isHeadPending { try await sendHead(with: [chunk]) } else { try await sendContent([chunk]) }
            isHeadPending = false
        }
        while let chunk = try await response.nextChunk() {
            context.counters.add(.received, chunk.count)
            promotion?.append(chunk)
            if isHeadPending { try await sendHead(with: [chunk]) } else { try await sendContent([chunk]) }
            isHeadPending = false
        }
        promotion?.finish()
        if isHeadPending { try await sendHead() }
        try await endContent(trailers: response.trailers)
    }

    /// A 200 to HEAD has the fields of the GET response: stored variants that agree are freshened, others become stale
    /// (RFC 9111 §4.3.5).
    private func freshen(_ retrieval: Retrieval, with response: ResponseHead) {
        let now = context.now()
        let memory = retrieval.resource.memory
        let policy = retrieval.policy.narrowed(for: head.fields)
        let own =
            retrieval.configuration.hasOwnCaches
            ? OwnCaches(retrieval.resource, retrieval.service, retrieval.configuration, context.proxy) : nil
        for variant in memory.snapshot.variants where variant.stored.variance.matches(head.fields) {
            switch Freshening.freshenByHead(
                variant.stored, with: response, to: head, requestTime: now, responseTime: now, policy: policy)
            {
            case .updated(let stored), .stale(let stored, _):
                let changed = variant.with(stored, via: ProxyConfiguration.via)
                guard memory.replace(variant, by: changed) else { continue }
                chargeRegistry(for: retrieval.resource)
                context.storing?.update(
                    changed, of: retrieval.resource, service: retrieval.service, policy: policy)
                if stored.standing == .asReceived { own?.freshen(by: response.fields, at: now) } else { own?.expire() }
                share(changed, retrieval)
            case .discard:
                memory.removeVariants { $0 === variant }
                context.storing?.remove(variant, of: retrieval.resource, service: retrieval.service)
                own?.empty()
            case .untouched:
                break
            }
        }
    }

    /// TRACE and OPTIONS end here at `Max-Forwards: 0` (RFC 9110 §7.6.2); TRACE is not supported at all.
    private func answerLastHop() -> Problem? {
        if head.method == .trace { return .traceRefused }
        switch MaxForwards.decide(head.method, head.fields) {
        case .notApplicable: return nil
        case .forward(let left):
            head.fields[.maxForwards] = String(left)
            return nil
        case .answer: return .lastHop
        case .reject: return .badRequest("Max-Forwards must be one number.")
        }
    }

    // MARK: Upgrades

    /// After a 101 both sides speak another protocol: octets are relayed unchanged until one side ends.
    private func upgrade(_ response: UpstreamResponse, _ service: RoutedService, _ way: Way) async throws {
        guard traits.wantsUpgrade, RequestTraits.hasWebSocket(response.head.fields) else {
            response.abort()
            throw Problem(
                status: 502, title: "Bad gateway", proxyError: .httpProtocolError,
                detail: "The origin switched to a protocol that it was not asked for.",
                advice: "Report it to the origin's owner.")
        }
        guard let (upstream, early) = response.takeStream() else {
            throw UpstreamError(.protocolError, "A decorator switched protocols, with nobody to talk to.")
        }
        var fields = response.head.fields
        HopByHop.strip(&fields, for: .forwardResponse)
        if way.isGateway { fields = mapped(fields, service: service, way: way) }
        startHead(status: 101, fields: fields)
        PreparedHead.appendField("Connection", "upgrade", to: &out)
        PreparedHead.appendField("Upgrade", RequestTraits.webSocket, to: &out)
        PreparedHead.appendLineEnd(to: &out)
        isPersistent = false
        record.kind = .tunnel
        stopWatching()
        try await sendHead()
        try await hold { await relayTunnel(to: upstream, early: early) }
    }
}
