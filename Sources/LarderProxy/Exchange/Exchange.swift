// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings

/// One request and its response, from the parsed head to the line in the log.
///
/// A connection has one and uses it for each of its requests in turn. Confined to its loop. It begins and ends, routes
/// the request, and turns errors into responses; the rest is done by the objects it has and by those it makes for a
/// request: `CacheLookup` decides between cache and upstream, `Forwarding` relays, `OwnAnswer` answers as Larder itself,
/// `ConnectAnswer` opens tunnels.
final class Exchange {
    // Holds: the connection has the exchange, whose tasks end before it.
    unowned let connection: DownstreamConnection
    let context: LoopContext
    let stream: ByteStream
    let request: ClientRequest
    let writer: ResponseWriter
    /// Watches the client while it waits; most clients never do.
    private(set) lazy var watch = ClientWatch(for: self)
    private(set) var isEnded = false

    init(connection: DownstreamConnection) {
        self.connection = connection
        context = connection.context
        stream = connection.stream
        request = ClientRequest(on: connection)
        writer = ResponseWriter(to: request)
    }

    /// Runs the exchange whose head has been read. Returns whether the connection is reused.
    ///
    /// - Throws: when the client cannot be answered any more.
    func run() async throws -> Bool {
        begin()
        // Content that was read ahead is not kept between requests.
        defer { request.content = nil }
        do {
            try await answer()
            writer.finishRecording()
        } catch {
            await stopContent()
            do {
                try await recover(from: error)
            } catch {
                end()
                throw error
            }
        }
        if let content = request.content, !content.isComplete {
            await content.stop()
            if writer.isPersistent { writer.isPersistent = await content.discard() }
            if !writer.isPersistent { writer.mustLinger = true }
        }
        end()
        return writer.isPersistent
    }

    /// Answers a client without examining its request; the connection closes afterwards.
    ///
    /// - Parameter lingers: whether the client may still be sending.
    func refuse(_ problem: Problem, lingers: Bool = true) async {
        // It may have fields of the request before.
        request.removeHead()
        begin()
        try? await writer.respond(problem)
        if lingers { writer.mustLinger = true }
        end()
    }

    // MARK: Steps

    private func begin() {
        request.begin()
        writer.begin()
        isEnded = false
    }

    private func answer() async throws {
        try request.openContent(writer.interims)
        let route = request.route()
        switch route {
        case .resource where connection.isForOwnPages, .tunnel where connection.isForOwnPages:
            throw Problem.connectionLimit
        case .resource, .tunnel, .refused:
            writer.record.user = try await UserCheck(of: request).admit()
        case .larder, .capabilities: break
        }
        switch route {
        case .resource(let service, let form):
            request.form = form
            try await dispatch(service)
        case .larder:
            // A client that tunnels through Larder need not be on this machine, though the connection is.
            try request.checkLoop()
            // Operators and supervisors need the place.
            if connection.isForOwnPages { writer.isPersistent = false }
            request.editHead { $0.target = RequestTarget.originForm(of: $0.target) }
            try await OwnAnswer(exchange: self).run()
        case .tunnel(let authority):
            try await asPrincipal { try await ConnectAnswer(self, to: authority).run() }
        case .capabilities: try await OwnAnswer(exchange: self).answerCapabilities()
        case .refused(let problem): throw problem
        }
    }

    /// Assigns the whole connection to the user of this request while it is a tunnel, and while the tunnel is
    /// intercepted.
    func asPrincipal(_ body: () async throws -> Void) async throws {
        connection.principal = request.principal
        do {
            try await body()
        } catch {
            // Without a tunnel, the next request is identified separately.
            if connection.client.inside == nil { connection.principal = nil }
            throw error
        }
    }

    /// Regains the client's input: the request's content is no longer read. If it is uncertain whether the client still
    /// sends it, the connection closes after the response, which announces it.
    func stopContent() async {
        guard let content = request.content else { return }
        await content.stop()
        if !content.canBeDiscarded { writer.isPersistent = false }
    }

    private func dispatch(_ service: RoutedService) async throws {
        writer.record.service = service.name
        writer.record.counters = context.counters(of: service)
        request.beginSpan()
        // Conditions for sending inbound: no loop, an allowed host, and a hop left.
        try request.checkLoop()
        guard service.allows(request.uri) else {
            throw Problem.hostNotAllowed(request.uri.host, service: service.name)
        }
        if let use = request.lane?.options.recordingUse, try await LaneRecording(exchange: self).consult(use) { return }
        if request.traits.has(.page),
            request.form.isGateway || service.addsCredentials(to: request.uri, method: request.head.method),
            try await answerPage(service)
        {
            return
        }
        if request.traits.method == .other || request.content != nil || request.traits.wantsUpgrade {
            if let keyed = try await request.keyedContent(for: service) {
                try await retrieve(service, keyed: keyed)
            } else {
                try await Forwarding(self, service, reason: .method).run()
            }
        } else {
            try await retrieve(service)
        }
    }

    /// Answers a GET or HEAD, or a request keyed by its content, from the cache or from upstream, as the rules decide.
    func retrieve(_ service: RoutedService, keyed: KeyedContent? = nil) async throws {
        var lookup = CacheLookup(for: self, service, keyed: keyed)
        try await lookup.run()
    }

    /// Applies the rules for web pages to a gateway request. True when the request was answered here.
    private func answerPage(_ service: RoutedService) async throws -> Bool {
        let allowed = service.settings.browsers.allow
        switch PageRequest(request.head, service: service.base == nil ? nil : service.name, allowed: allowed) {
        case .none: return false
        case .refused(let problem): throw problem
        case .own:
            if !allowed.isEmpty { writer.page = .own }
            // To the origin the page is same-origin.
            if request.head.fields.contains(.origin) {
                let origin = request.uri.origin
                request.editHead { $0.fields[.origin] = origin }
            }
            return false
        case .listed(let origin):
            writer.page = .listed(origin)
            // Larder has decided; the origin does not know such pages.
            request.editHead { head in
                head.fields.removeAll { name, spelling, _ in
                    name == .origin || PageFields.isMetadata(name, spelled: spelling)
                }
            }
            return false
        case .preflight(let origin):
            writer.record.kind = .own
            var fields = CrossOriginAccess(origin: origin).preflight(request.head.fields)
            fields[.date] = context.dateText()
            writer.startHead(status: 204, fields: fields)
            writer.finishHead(length: nil)
            try await writer.sendHead()
            return true
        }
    }

    // MARK: The end

    /// Answers with the error, if a response is still possible.
    private func recover(from error: any Error) async throws {
        let uri = request.uri
        let problem: Problem
        switch error {
        case let error as Problem: problem = error
        case let error as ParseError: problem = .malformed(error)
        // I/O errors of connections to origins are upstream errors.
        case is ClientGone, is IOError:
            // An event stream ends when its client leaves.
            noteDeparture()
            writer.isPersistent = false
            resetIfCut()
            throw error
        default: problem = Problem(upstream: error, place: uri.isEmpty ? "the origin" : uri.authority)
        }
        writer.recordFailure(problem)
        context.problemLog.note(
            problem, about: uri, uri.isEmpty ? "-" : SecretText.logged(url: uri.string),
            at: context.loop.time.monotonic(), to: context.proxy.logger)
        guard !writer.hasResponded else {
            // The client must notice that the content is incomplete.
            writer.isPersistent = false
            stream.reset()
            return
        }
        try await writer.respond(problem)
    }

    /// A response that the end of the connection ends would look whole after an orderly one.
    private func resetIfCut() {
        if writer.hasResponded, writer.delivery == .untilClose, writer.record.kind != .own { stream.reset() }
    }

    /// Ends an exchange whose client has left before its task, which continues a load for others.
    func endEarly() {
        noteDeparture()
        writer.isPersistent = false
        end()
        stream.close()
        connection.left()
    }

    private func noteDeparture() {
        if writer.record.kind != .own, !writer.isAllSent { writer.record.kind = .aborted }
    }

    private func end() {
        guard !isEnded else { return }
        isEnded = true
        request.releaseOriginPlace()
        writer.record.duration = context.loop.time.monotonic() - writer.record.startedAt
        let (kind, sent) = (writer.record.kind, Int(writer.record.contentSent))
        let latency = writer.record.latency
        context.counters.count(kind, latency: latency)
        context.counters.countReasons(of: writer.record)
        context.counters.add(.sent, sent)
        writer.record.counters?.count(kind, latency: latency, sent: sent)
        note()
        if let span = request.span { context.tracer?.record(Span(span, of: self)) }
        if let lane = request.lane {
            lane.count(writer.record, request.head.method, request.uri, at: context.now())
            lane.requestEnded()
        }
        let log = context.configuration.settings.log
        if log.access { context.proxy.accessLog.write(AccessLine(self), in: log.accessFormat) }
    }

    /// Reports the exchange to observers; a hit in memory only if there is room for it.
    private func note() {
        let kind = writer.record.kind
        // Answers from the configuration belong to a service; Larder's own pages do not.
        guard kind != .own || writer.record.cacheStatus != nil else { return }
        let now = writer.record.startedAt + writer.record.duration
        if kind == .hit {
            guard context.requests.isWatched(at: now), context.noteBudget.take(at: now) else { return }
        } else if kind != .error {
            guard context.loadNoteBudget.take(at: now) else { return }
        }
        context.proxy.note(RequestNote(self, at: context.now()))
    }
}

/// A step of an exchange, with the objects of the exchange that it uses.
protocol ExchangeStep {
    var exchange: Exchange { get }
}

extension ExchangeStep {
    var request: ClientRequest { exchange.request }
    var writer: ResponseWriter { exchange.writer }
    var watch: ClientWatch { exchange.watch }
    var context: LoopContext { exchange.context }
    var stream: ByteStream { exchange.stream }
    var connection: DownstreamConnection { exchange.connection }
}
