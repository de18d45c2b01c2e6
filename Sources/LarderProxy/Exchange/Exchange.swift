// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings

/// One request and its response, from the parsed head to the line in the log.
///
/// A connection has one and uses it for each of its requests in turn, to reuse the storage for head, URI, key and
/// response head. Confined to its loop. The steps are in the extensions: `+Retrieve` decides between store and
/// upstream, `+Stored` answers from the cache, `+Leading` runs a load, `+Flight` joins one, `+Forward` relays a
/// request, `+Own` answers as Larder itself, `+Response` writes.
final class Exchange {
    // Holds: the connection has the exchange, and what the exchange begins ends before it.
    unowned let connection: DownstreamConnection
    let context: LoopContext
    let stream: ByteStream

    // MARK: The request

    var head = RequestHead()
    var traits = RequestTraits()
    var uri = TargetURI()
    /// Path and query as the client wrote them, where that is not the normal form of `uri`; else empty.
    var spelling: [UInt8] = []
    var key = ResourceKey()
    var content: RequestContent?
    /// Whether the request only reads according to the configuration, whatever its method.
    var onlyReads = false
    /// How the page that caused the request, if any, changes its response.
    var page = PageAccess.none
    private var knownHost = KnownHost()
    /// The head sent inbound last. Once nobody else uses it, its storage is reused for the next.
    var forwarded = RequestHead.none

    /// The head as received, where the reply may be cached; else empty.
    var received: [UInt8] = []
    /// The inputs of a plain hit, while it is answered.
    var repeatable: Repeatable?

    // MARK: The response

    /// The media type of the response's content, for logs that include it.
    var sentType: String?
    /// The response head as octets while it is assembled.
    var out: [UInt8] = []
    /// Sends interim responses.
    let interims: InterimSender
    /// Where in `out` the time-dependent fields begin: age and lifetime of the stored response.
    var momentStart = 0
    /// The `Set-Cookie` fields of a 304, for this client alone; the other fields are shared.
    var ownCookies: [String] = []
    /// How the content is delimited for this client.
    var delivery = Delivery.none
    /// Maps the links of the response's content on its way out; nil for most.
    var links: LinkStream?
    /// Whether the final response's head was sent: from then on an error can only close the connection.
    var hasResponded = false
    /// Whether the connection can serve another request afterwards.
    var isPersistent = true
    /// Whether the client may still be sending when the connection closes.
    var mustLinger = false
    var record = ExchangeRecord()
    /// The lane of the request, where lanes are used.
    var lane: Lane?
    /// The user it is from.
    var principal = Principal.anyone
    /// The users among whom that was found out; nil where nobody is asked.
    var users: UserGate?
    /// Whether it has one of the places for requests to origins (`takeOriginPlace`).
    var hasOriginPlace = false
    /// Collects the response for the lane's recording.
    var recorder: ExchangeRecorder?
    /// Its span, if it is part of a recorded trace.
    var span: ServerSpan?
    /// Octets relayed through the tunnel that the exchange became.
    var passed = 0
    private var isEnded = false

    /// The response that is awaited while the client is watched.
    var awaited = Awaited.nothing
    /// The stream calls it then.
    // Holds: the stream is told to call it only while the exchange waits.
    private(set) lazy var onPeerClosed: () -> Void = { [unowned self] in peerClosed() }

    /// A load calls it while this exchange leads it.
    // Holds: the exchange ends that before it returns.
    private(set) lazy var onInterim: (ResponseHead) -> Void = { [unowned self] in relayInterimAtOnce($0) }

    init(connection: DownstreamConnection) {
        self.connection = connection
        context = connection.context
        stream = connection.stream
        interims = InterimSender(stream: stream, context: context)
        out.reserveCapacity(1024)
    }

    /// Runs the exchange whose head has been read. Returns whether the connection is reused.
    ///
    /// - Throws: when the client cannot be answered any more.
    func run() async throws -> Bool {
        begin()
        // Content that was read ahead is not kept between requests.
        defer { content = nil }
        do {
            try await answer()
            finishRecording()
        } catch {
            await stopContent()
            do {
                try await recover(from: error)
            } catch {
                end()
                throw error
            }
        }
        if let content, !content.isComplete {
            await content.stop()
            if isPersistent { isPersistent = await content.discard() }
            if !isPersistent { mustLinger = true }
        }
        end()
        return isPersistent
    }

    /// Answers a head that could not be parsed; the connection closes afterwards.
    func refuse(_ error: ParseError) async { await refuse(.malformed(error)) }

    /// Answers a client without examining its request; the connection closes afterwards.
    func refuse(_ problem: Problem) async {
        begin()
        head = RequestHead()
        traits = RequestTraits()
        record.kind = .error
        try? await respond(problem)
        mustLinger = true
        end()
    }

    /// Answers a client that did not finish its head in time.
    func refuseSlowHead() async {
        begin()
        head = RequestHead()
        traits = RequestTraits()
        record.kind = .error
        try? await respond(.slowHead)
        end()
    }

    /// The head sent inbound last, to be overwritten.
    func takeForwarded() -> RequestHead {
        defer { forwarded = .none }
        return forwarded
    }

    // MARK: Steps

    private func begin() {
        traits = RequestTraits(of: head)
        // A request that is refused before routing has no URI, and must not keep the previous one.
        uri.clear()
        spelling.removeAll(keepingCapacity: true)
        out.removeAll(keepingCapacity: true)
        ownCookies = []
        delivery = .none
        links = nil
        hasResponded = false
        isPersistent = traits.isPersistent
        mustLinger = false
        _ = interims.takeOwed()
        content = nil
        onlyReads = false
        page = .none
        repeatable = nil
        sentType = nil
        isEnded = false
        record = ExchangeRecord(startedAt: context.loop.time.monotonic())
        lane = connection.lane
        principal = .anyone
        users = nil
        recorder = nil
        span = nil
        if traits.has(.proxyAuthorization) { findLane() }
        lane?.requestBegan()
    }

    private func answer() async throws {
        var framing = try BodyFraming(request: head)
        if framing == .length(0), traits.method != .other {
            // Empty content counts as none: it is a GET like any other.
            framing = .none
            head.fields.remove(.contentLength)
        }
        if framing != .none {
            content = RequestContent(
                on: stream, connection.buffer, context, interims: interims, framing: framing,
                isContinueExpected: traits.expectsContinue, timeout: context.configuration.settings.timeouts.content)
        }
        let route = context.configuration.router.route(
            head, from: connection.client, uri: &uri, spelling: &spelling, host: &knownHost)
        switch route {
        case .resource where connection.isForOwnPages, .tunnel where connection.isForOwnPages:
            throw Problem.connectionLimit
        case .resource, .tunnel, .refused: try await admit()
        case .larder, .capabilities: break
        }
        switch route {
        case .resource(let service, let way): try await dispatch(service, way)
        case .larder:
            // A client that tunnels through Larder need not be on this machine, though the connection is.
            try checkLoop()
            // Operators and supervisors need the place.
            if connection.isForOwnPages { isPersistent = false }
            head.target = RequestTarget.originForm(of: head.target)
            try await answerOwn()
        case .tunnel(let authority): try await hold { try await connect(to: authority) }
        case .capabilities: try await answerCapabilities()
        case .refused(let problem): throw problem
        }
    }

    /// Regains the client's input: the request's content is no longer read. If it is uncertain whether the client still
    /// sends it, the connection closes after the response, which announces it.
    func stopContent() async {
        guard let content else { return }
        await content.stop()
        if !content.canBeDiscarded { isPersistent = false }
    }

    private func dispatch(_ service: RoutedService, _ way: Way) async throws {
        record.service = service.name
        record.counters = context.counters(of: service)
        record.way = way
        beginSpan()
        try checkForwarding(service)
        if lane?.options.recordingUse != nil, try await consultRecording() { return }
        if traits.has(.page), way.isGateway || service.addsCredentials(to: uri, method: head.method),
            try await answerPage(service)
        {
            return
        }
        if traits.method == .other || content != nil || traits.wantsUpgrade {
            if let keyed = try await keyedContent(for: service) {
                try await retrieve(service, way, keyed: keyed)
            } else {
                try await forward(service, way, reason: .method)
            }
        } else {
            try await retrieve(service, way)
        }
    }

    /// Conditions for sending inbound: no loop, an allowed host, and a hop left.
    private func checkForwarding(_ service: RoutedService) throws {
        try checkLoop()
        guard service.allows(uri) else { throw Problem.hostNotAllowed(uri.host, service: service.name) }
    }

    private func checkLoop() throws(Problem) {
        guard traits.has(.via), let own = context.configuration.pseudonym.own(in: head.fields) else { return }
        throw .loop(pseudonym: own)
    }

    /// Answers with the error, if a response is still possible.
    private func recover(from error: any Error) async throws {
        let problem: Problem
        switch error {
        case let error as Problem: problem = error
        case let error as ParseError: problem = .malformed(error)
        case is ClientGone:
            // An event stream ends when its client leaves.
            if record.kind != .own { record.kind = .aborted }
            isPersistent = false
            throw error
        case let error as IOError: throw error
        default: problem = Problem(upstream: error, place: uri.isEmpty ? "the origin" : uri.authority)
        }
        record.kind = .error
        record.problem = problem
        context.problemLog.note(problem, about: uri, at: context.loop.time.monotonic(), to: context.proxy.logger)
        guard !hasResponded else {
            // The client must notice that the content is incomplete.
            isPersistent = false
            record.cacheStatus = record.cacheStatus?.stored(false)
            stream.reset()
            return
        }
        try await respond(problem)
    }

    /// Ends an exchange whose client has left before its task, which continues a load for others.
    func endEarly() {
        record.kind = .aborted
        isPersistent = false
        end()
        stream.close()
        connection.left()
    }

    private func end() {
        guard !isEnded else { return }
        isEnded = true
        releaseOriginPlace()
        record.duration = context.loop.time.monotonic() - record.startedAt
        let latency = record.duration - record.pauses
        context.counters.count(record.kind, latency: latency)
        context.counters.countReasons(of: record)
        context.counters.add(.sent, Int(record.contentSent))
        record.counters?.count(record.kind, latency: latency, sent: Int(record.contentSent))
        note()
        if let span { endSpan(span) }
        if let lane {
            lane.count(record, head.method, uri.isEmpty ? "" : uri.authority, at: context.now())
            lane.requestEnded()
        }
        let log = context.configuration.settings.log
        if log.access { context.proxy.accessLog.write(AccessLine(self), in: log.accessFormat) }
    }
}

extension Exchange {
    /// Reports the exchange to observers; a hit in memory only if there is room for it.
    private func note() {
        guard record.kind != .own else { return }
        let now = record.startedAt + record.duration
        if record.kind == .hit {
            guard context.requests.isWatched(at: now), context.noteBudget.take(at: now) else { return }
        } else if record.kind != .error {
            guard context.loadNoteBudget.take(at: now) else { return }
        }
        context.proxy.note(RequestNote(self, at: context.now()))
    }
}
