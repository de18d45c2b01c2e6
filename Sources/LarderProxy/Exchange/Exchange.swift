// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

/// One request and its response, from the parsed head to the line in the log.
///
/// A connection has one and uses it for each of its requests in turn, so that the storage for head, URI, key and
/// response head is there already. Confined to its loop. The steps are in the extensions: `+Retrieve` decides
/// between store and upstream, `+Stored` answers from what is stored, `+Leading` runs a load, `+Flight` reads along
/// one, `+Forward` passes a request through, `+Own` answers as Larder itself, `+Response` writes.
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
    /// Whether the configuration says that the request, whatever its method, only reads.
    var onlyReads = false
    /// How the page that caused the request, if one did, changes its response.
    var page = PageAccess.none
    private var knownHost = KnownHost()
    /// The head sent inbound last. Once nobody has it any more, its storage is that of the next.
    var forwarded = RequestHead.none

    /// The head as it was received, where an answer to it is worth keeping; else empty.
    var received: [UInt8] = []
    /// What a plain hit depends on, while it is answered.
    var repeatable: Repeatable?

    // MARK: The response

    /// The media type of what was sent, for logs that tell it.
    var sentType: String?
    /// The response head as octets while it is put together.
    var out: [UInt8] = []
    /// What goes out before the final response.
    let interims: InterimSender
    /// Where in `out` begins what depends on the moment: age and lifetime of what is stored.
    var momentStart = 0
    /// What the origin set for this client with a 304, whose other fields are everybody's.
    var ownCookies: [String] = []
    /// How the content is delimited for this client.
    var delivery = Delivery.none
    /// What the response's content goes through on its way out; nil for most.
    var links: LinkStream?
    /// Whether the final response's head has gone out: from then on an error can only break the connection.
    var hasResponded = false
    /// Whether the connection can serve another request afterwards.
    var isPersistent = true
    /// Whether the client may still be sending when the connection closes.
    var mustLinger = false
    var record = ExchangeRecord()
    /// Whose request it is, where that is told apart.
    var lane: Lane?
    /// Whether it has one of the places for requests to origins (`takeOriginPlace`).
    var hasOriginPlace = false
    /// What keeps the answer for the lane's recording.
    var recorder: ExchangeRecorder?
    /// Octets that went through the tunnel that the exchange became.
    var passed = 0
    private var isEnded = false

    /// What is waited for while the client is watched.
    var awaited = Awaited.nothing
    /// What the stream is told to call then.
    // Holds: the stream is told to call it only while the exchange waits.
    private(set) lazy var onPeerClosed: () -> Void = { [unowned self] in peerClosed() }

    init(connection: DownstreamConnection) {
        self.connection = connection
        context = connection.context
        stream = connection.stream
        interims = InterimSender(stream: stream, context: context)
        out.reserveCapacity(1024)
    }

    /// Runs the exchange whose head has been read. Returns whether the connection goes on.
    ///
    /// - Throws: when the client cannot be answered any more.
    func run() async throws -> Bool {
        begin()
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
        content = nil
        end()
        return isPersistent
    }

    /// Answers a head that could not be parsed; the connection closes afterwards.
    func refuse(_ error: ParseError) async { await refuse(.malformed(error)) }

    /// Answers a client whose request is not even looked at; the connection closes afterwards.
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

    /// The head sent inbound last, to be written anew.
    func takeForwarded() -> RequestHead {
        defer { forwarded = .none }
        return forwarded
    }

    // MARK: Steps

    private func begin() {
        traits = RequestTraits(of: head)
        // A request that is refused before it is routed has no URI, and not the one before it either.
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
        recorder = nil
        if traits.has(.proxyAuthorization) { findLane() }
        lane?.requestBegan()
    }

    private func answer() async throws {
        var framing = try BodyFraming(request: head)
        if framing == .length(0), traits.method != .other {
            // No octets are no content: it is a GET like any other.
            framing = .none
            head.fields.remove(.contentLength)
        }
        if framing != .none {
            content = RequestContent(
                connection: connection, interims: interims, framing: framing,
                isContinueExpected: traits.expectsContinue, timeout: context.configuration.settings.timeouts.content)
        }
        switch context.configuration.router.route(
            head, from: connection.client, uri: &uri, spelling: &spelling, host: &knownHost)
        {
        case .resource where connection.isForOwnPages, .tunnel where connection.isForOwnPages:
            throw Problem.connectionLimit
        case .resource(let service, let way): try await dispatch(service, way)
        case .larder:
            // A client that speaks through Larder need not be on this machine, though the connection is.
            try checkLoop()
            // Others who look after the daemon want the place.
            if connection.isForOwnPages { isPersistent = false }
            head.target = RequestTarget.originForm(of: head.target)
            try await answerOwn()
        case .tunnel(let authority): try await connect(to: authority)
        case .capabilities: try await answerCapabilities()
        case .refused(let problem): throw problem
        }
    }

    /// Has the client's input to itself again: nobody reads the request's content any more. Where it cannot be told
    /// whether the client goes on sending it, the connection ends with the response, which says so.
    func stopContent() async {
        guard let content else { return }
        await content.stop()
        if !content.canBeDiscarded { isPersistent = false }
    }

    private func dispatch(_ service: RoutedService, _ way: Way) async throws {
        record.service = service.name
        record.counters = context.counters(of: service)
        record.way = way
        try checkForwarding(service)
        if lane?.options.recordingUse != nil, try await consultRecording() { return }
        if way.isGateway, traits.has(.page), try await answerPage(service) { return }
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

    /// What must hold before anything is sent inbound: no loop, an allowed host, and a hop left.
    private func checkForwarding(_ service: RoutedService) throws {
        try checkLoop()
        guard service.allows(uri) else { throw Problem.hostNotAllowed(uri.host, service: service.name) }
    }

    private func checkLoop() throws(Problem) {
        guard traits.has(.via), let own = context.configuration.pseudonym.own(in: head.fields) else { return }
        throw .loop(pseudonym: own)
    }

    /// Makes an answer of an error, if one can still be made.
    private func recover(from error: any Error) async throws {
        let problem: Problem
        switch error {
        case let error as Problem: problem = error
        case let error as ParseError: problem = .malformed(error)
        case is ClientGone:
            // Leaving is how a stream of events ends.
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
            // The client must be able to tell that the content is not whole.
            isPersistent = false
            stream.reset()
            return
        }
        try await respond(problem)
    }

    /// Ends an exchange whose client has left before its task, which goes on with a load for others.
    func endEarly() {
        record.kind = .aborted
        isPersistent = false
        end()
        stream.close()
    }

    private func end() {
        guard !isEnded else { return }
        isEnded = true
        releaseOriginPlace()
        record.duration = context.loop.time.monotonic() - record.startedAt
        context.counters.count(record.kind, latency: record.duration)
        context.counters.countReasons(of: record)
        context.counters.add(.sent, Int(record.contentSent))
        record.counters?.count(record.kind, latency: record.duration, sent: Int(record.contentSent))
        note()
        if let lane {
            lane.count(record, head.method, uri.isEmpty ? "" : uri.authority, at: context.now())
            lane.requestEnded()
        }
        let log = context.configuration.settings.log
        if log.access { context.proxy.accessLog.write(self, in: log.accessFormat) }
    }
}

extension Exchange {
    /// Tells those who watch of the exchange, and of an answer from memory if there is room for it.
    private func note() {
        guard record.kind != .own else { return }
        if record.kind == .hit {
            let now = record.startedAt + record.duration
            guard context.requests.isWatched(at: now), context.noteBudget.take(at: now) else { return }
        }
        context.proxy.note(RequestNote(self, at: context.now()))
    }
}

/// The client left while its answer was awaited.
struct ClientGone: Error {}

/// What became of an exchange: the one value that the log, the counters and `Cache-Status` are made from.
struct ExchangeRecord {
    var startedAt: Int64 = 0
    /// Nanoseconds from the parsed head to the last octet handed to the kernel.
    var duration: Int64 = 0
    var kind = LoopCounters.Kind.pass
    var status: Status = 0
    var service = ""
    /// Where the service is counted.
    var counters: ServiceCounters?
    var way = Way.forward
    var cacheStatus: CacheStatus?
    var problem: Problem?
    /// Octets of content sent to the client.
    var contentSent: Int64 = 0
}
