// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

extension AccessLine {
    init(_ exchange: Exchange) {
        let (head, uri) = (exchange.request.head, exchange.request.uri)
        record = exchange.writer.record
        method = head.method.token
        url = uri.isEmpty ? AccessLog.shown(head.target) : uri.origin + uri.path
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
