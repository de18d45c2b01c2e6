// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
import LarderSettings
import LarderUpstream

/// Decides on one loop which requests begin a trace, and records spans. There is none where traces are not exported.
/// Confined to its loop.
final class Tracer {
    private let exporter: TraceExporter
    // Holds: the context has the tracer.
    private unowned let context: LoopContext
    /// The number of requests without a trace, out of 2⁶⁴, that begin a trace; nil for all.
    private let share: UInt64?
    private var random = UInt64.random(in: 1 ... .max)
    /// True if the next request without a trace begins one, once that has been decided.
    private var decision: Bool?

    init?(_ configuration: ProxyConfiguration, _ context: LoopContext) {
        let settings = configuration.settings.trace
        guard settings.otlp != nil else { return nil }
        exporter = context.proxy.traces
        self.context = context
        share = settings.sample >= 1 ? nil : UInt64(max(0, settings.sample) * 0x1p64)
    }

    // MARK: Sampling

    /// True if the next request without a trace begins one; the same until `decided`.
    func begins() -> Bool {
        if let decision { return decision }
        let begins = draw()
        decision = begins
        return begins
    }

    /// The decision was used.
    func decided() { decision = nil }

    /// By xorshift, which is good enough here, and needs no system call.
    private func draw() -> Bool {
        guard let share else { return true }
        guard share > 0 else { return false }
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return random < share
    }

    /// The span of an exchange whose request has `fields`, if it is recorded. Fields that are no valid trace are
    /// removed; others stay as they are, but the span's parent becomes the span.
    func begin(_ fields: inout Fields) -> ServerSpan? {
        let received = ReceivedTrace(fields)
        let span: ServerSpan
        if let parent = received.context {
            guard parent.isSampled else { return nil }
            span = ServerSpan(context: parent.child(), parent: parent.span)
        } else {
            if received.hasParent { fields.remove(TraceContext.parentField) }
            if received.hasState { fields.remove(TraceContext.stateField) }
            defer { decided() }
            guard begins() else { return nil }
            span = ServerSpan(context: .root(), parent: nil)
        }
        fields[TraceContext.parentField] = span.context.text
        return span
    }

    /// The span of a request to an origin, if it is part of a recorded trace.
    func begin(_ request: UpstreamRequest) -> ClientSpan? {
        guard let parent = ReceivedTrace(request.head.fields).context, parent.isSampled else { return nil }
        return ClientSpan(request, parent: parent, at: context.now(), by: self)
    }

    func record(_ span: Span) { exporter.add(span, from: context) }

    var now: Timestamp { context.now() }
}

/// The span of an exchange with a client. Confined to its loop.
final class ServerSpan {
    let context: TraceContext
    let parent: UInt64?
    /// The request that started the load this one waited for.
    var leader: TraceContext?

    init(context: TraceContext, parent: UInt64?) {
        self.context = context
        self.parent = parent
    }
}

/// The span of a request to an origin. Confined to its loop.
final class ClientSpan {
    /// The request that is sent, which names this span; nil once it was answered.
    private(set) var request: UpstreamRequest?
    private var span: Span
    private let tracer: Tracer

    init(_ request: UpstreamRequest, parent: TraceContext, at now: Timestamp, by tracer: Tracer) {
        let (head, origin) = (request.head, request.origin)
        let context = parent.child()
        var request = request
        request.head.fields[TraceContext.parentField] = context.text
        self.request = request
        self.tracer = tracer
        span = Span(
            context: context, parent: parent.span, kind: .client, name: Span.name(of: head.method), start: now, end: now
        )
        span.add(head.method)
        span.add(
            "url.full", "\(origin)" + String(decoding: head.target.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self))
        span.add("server.address", origin.host)
        span.add("server.port", origin.port)
        span.add("network.protocol.version", "1.1")
    }

    /// The origin answers; the span ends with the content.
    func answered(_ response: UpstreamResponse) {
        request = nil
        let status = response.head.status
        span.add("http.response.status_code", status.rawValue)
        if status.isError {
            span.add("error.type", "\(status)")
            span.failure = ""
        }
        response.onEnd { [self] isWhole in
            if !isWhole, !status.isError { fail(UpstreamError.Code.responseIncomplete.description, "") }
            end()
        }
    }

    /// There is no response. A request that was not sent at all has no span.
    func failed(_ error: any Error) {
        let reason = error as? UpstreamError
        guard reason?.hold == nil else { return }
        fail("\(reason?.code ?? .internalError)", reason?.detail ?? "")
        end()
    }

    private func fail(_ type: String, _ description: String) {
        span.add("error.type", type)
        span.failure = description
    }

    private func end() {
        span.end = tracer.now
        tracer.record(span)
    }
}
