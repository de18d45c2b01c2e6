// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

extension AccessLine {
    init(_ exchange: Exchange) {
        let (head, uri) = (exchange.request.head, exchange.request.uri)
        record = exchange.writer.record
        method = head.method.token
        url = uri.isEmpty ? AccessLog.shown(head.target) : SecretText.logged(url: uri.origin + uri.path)
        version = exchange.request.traits.version
        let peer = exchange.stream.peerAddress
        client = peer.isUnix ? "-" : peer.host
        agent = head.fields[first: .userAgent]
        trace = head.fields[first: "traceparent"]
        contentType = exchange.writer.sentType
        host = uri.isEmpty ? "-" : uri.host
        now = exchange.context.now()
    }
}

extension RequestNote {
    init(_ exchange: Exchange, at now: Timestamp) {
        let (record, uri) = (exchange.writer.record, exchange.request.uri)
        at = now
        method = exchange.request.head.method.token
        url = uri.isEmpty ? AccessLog.shown(exchange.request.head.target) : String(uri.string.prefix(4_096))
        service = record.service
        client = exchange.stream.peerAddress.host
        user = record.user
        status = Int(record.status.rawValue)
        kind = record.kind
        reason = record.reason
        cacheStatus = record.cacheStatus
        problem = record.problem?.title
        bytes = record.octets
        nanoseconds = record.duration
        hasLatency = record.latency != nil
    }
}

extension Span {
    /// The span of an exchange, with its outcome.
    init(_ ended: ServerSpan, of exchange: Exchange) {
        let (request, record) = (exchange.request, exchange.writer.record)
        let (method, uri) = (request.head.method, request.uri)
        let now = exchange.context.now()
        let isNamed = record.service != "-"
        self.init(
            context: ended.context, parent: ended.parent, link: ended.leader, kind: .server,
            name: Span.name(of: method) + (isNamed ? " \(record.service)" : ""),
            start: now - .nanoseconds(record.duration), end: now)
        add(method)
        if !uri.isEmpty {
            add("url.full", uri.origin + uri.path)
            add("url.scheme", uri.scheme.text)
            add("url.path", uri.path)
            add("server.address", uri.host)
            add("server.port", uri.port)
        }
        add("network.protocol.version", request.traits.version == .http10 ? "1.0" : "1.1")
        add("client.address", exchange.stream.peerAddress.host)
        if let agent = request.head.fields[first: .userAgent] { add("user_agent.original", agent) }
        if record.status != 0 { add("http.response.status_code", record.status.rawValue) }
        add("http.response.body.size", record.contentSent)
        if isNamed { add("larder.service", record.service) }
        add("larder.outcome", "\(record.kind)")
        add("larder.reason", record.reason)
        if let cacheStatus = record.cacheStatus { add("larder.cache_status", cacheStatus.member()) }
        if let problem = record.problem {
            add("error.type", problem.proxyError.rawValue)
        } else if record.status.isServerError {
            add("error.type", "\(record.status)")
        }
        if record.status.isServerError { failure = record.problem?.title ?? "" }
    }
}
