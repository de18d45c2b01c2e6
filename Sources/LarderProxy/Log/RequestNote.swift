// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO
package import LarderRules

/// One exchange as those who watch are told of it.
package struct RequestNote: Sendable {
    /// Counts the notes; made by the log that keeps it.
    package var number: UInt64 = 0
    /// When it was over.
    package let at: Timestamp
    package let method: String
    /// As it was asked for, its query included.
    package let url: String
    package let service: String
    package let client: String
    /// 0 for an exchange that was aborted before there was a response.
    package let status: Int
    package let kind: LoopCounters.Kind
    /// Why it came out as it did, in one word.
    package let reason: String
    package let cacheStatus: CacheStatus?
    package let problem: String?
    /// Octets of content sent to the client.
    package let bytes: Int64
    package let nanoseconds: Int64

    /// The URL for people. A query may hold secrets: it is shown of what is kept under the whole URL, which is no secret
    /// to them.
    package var shownURL: String {
        isKept ? url : plainURL + (plainURL.utf8.count < url.utf8.count ? "?…" : "")
    }

    /// The URL up to its query.
    package var plainURL: String { String(url.prefix { $0 != "?" }) }

    /// Whether what was answered is stored.
    package var isKept: Bool {
        switch kind {
        case .hit, .stale, .validated, .collapsed: return true
        case .miss: if case .forward(_, _, true, _) = cacheStatus?.outcome { return true }
        default: break
        }
        return false
    }
}

extension RequestNote {
    init(_ exchange: Exchange, at now: Timestamp) {
        let (record, uri) = (exchange.record, exchange.uri)
        at = now
        method = exchange.head.method.token
        url = uri.isEmpty ? AccessLog.shown(exchange.head.target) : String(uri.string.prefix(4_096))
        service = record.service
        client = exchange.stream.peerAddress.host
        status = Int(record.status.rawValue)
        kind = record.kind
        reason = record.reason
        cacheStatus = record.cacheStatus
        problem = record.problem?.title
        bytes = record.contentSent
        nanoseconds = record.duration
    }
}
