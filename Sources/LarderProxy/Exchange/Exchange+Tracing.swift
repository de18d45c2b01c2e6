// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

extension Exchange {
    /// The span begins with the request, so that whatever is sent for it is part of the trace.
    func beginSpan() {
        if let tracer = context.tracer { span = tracer.begin(&head.fields) }
    }

    /// The exchange waits for the load of another client's request.
    func linkSpan(to flight: Flight) {
        guard let span, let leader = ReceivedTrace(flight.request.fields).context, leader.isSampled else { return }
        span.leader = leader
    }

    /// Records the span with the outcome of the exchange.
    func endSpan(_ ended: ServerSpan) {
        let now = context.now()
        let method = head.method
        let isNamed = record.service != "-"
        var span = Span(
            context: ended.context, parent: ended.parent, link: ended.leader, kind: .server,
            name: Span.name(of: method) + (isNamed ? " \(record.service)" : ""),
            start: now - .nanoseconds(record.duration), end: now)
        span.add(method)
        if !uri.isEmpty {
            span.add("url.full", uri.origin + uri.path)
            span.add("url.scheme", uri.scheme.text)
            span.add("url.path", uri.path)
            span.add("server.address", uri.host)
            span.add("server.port", uri.port)
        }
        span.add("network.protocol.version", traits.version == .http10 ? "1.0" : "1.1")
        span.add("client.address", stream.peerAddress.host)
        if let agent = head.fields[first: .userAgent] { span.add("user_agent.original", agent) }
        if record.status != 0 { span.add("http.response.status_code", record.status.rawValue) }
        span.add("http.response.body.size", record.contentSent)
        if isNamed { span.add("larder.service", record.service) }
        span.add("larder.outcome", "\(record.kind)")
        span.add("larder.reason", record.reason)
        if let cacheStatus = record.cacheStatus { span.add("larder.cache_status", cacheStatus.member()) }
        if let problem = record.problem {
            span.add("error.type", problem.proxyError.rawValue)
        } else if record.status.isServerError {
            span.add("error.type", "\(record.status)")
        }
        if record.status.isServerError { span.failure = record.problem?.title ?? "" }
        context.tracer?.record(span)
    }
}
