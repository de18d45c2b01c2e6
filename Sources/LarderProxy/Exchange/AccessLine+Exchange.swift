// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

extension AccessLine {
    init(_ exchange: Exchange) {
        let (head, uri) = (exchange.head, exchange.uri)
        record = exchange.record
        method = head.method.token
        url = uri.isEmpty ? AccessLog.shown(head.target) : uri.origin + uri.path
        version = exchange.traits.version
        let peer = exchange.stream.peerAddress
        client = peer.isUnix ? "-" : peer.host
        agent = head.fields[first: .userAgent]
        trace = head.fields[first: "traceparent"]
        contentType = exchange.sentType
        host = uri.isEmpty ? "-" : uri.host
        now = exchange.context.now()
    }
}
