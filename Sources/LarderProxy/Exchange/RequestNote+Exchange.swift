// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

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
