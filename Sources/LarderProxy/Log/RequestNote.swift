// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO
package import LarderRules

/// One exchange as reported to observers.
package struct RequestNote: Sendable {
    /// A serial number, assigned by the log.
    package var number: UInt64 = 0
    /// The end of the exchange.
    package let at: Timestamp
    package let method: String
    /// The requested URL, with its query.
    package let url: String
    package let service: String
    package let client: String
    /// The proven name of the client's user.
    package let user: String?
    /// 0 for an exchange that was aborted before the response.
    package let status: Int
    package let kind: LoopCounters.Kind
    /// The reason of the outcome, in one word.
    package let reason: String
    package let cacheStatus: CacheStatus?
    package let problem: String?
    /// Bytes of content sent to the client.
    package let bytes: Int64
    package let nanoseconds: Int64
    /// True if the cache or an origin took this time.
    let hasLatency: Bool

    /// The URL for people. A query may contain secrets: it is shown only of stored responses, whose whole URLs are
    /// visible to them anyway.
    package var shownURL: String {
        let plain = plainURL
        guard !isKept, plain.utf8.count < url.utf8.count else { return url }
        return plain + url.dropFirst(plain.count).prefix(1) + "…"
    }

    /// The URL up to its query, or to the first parameter of its path, which may be a session's name.
    package var plainURL: String {
        url.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: ";") }.map { String(url[..<$0]) } ?? url
    }

    /// True if the response is stored.
    package var isKept: Bool {
        switch kind {
        case .hit, .stale, .validated, .collapsed: return true
        case .miss: if case .forward(_, _, true, _) = cacheStatus?.outcome { return true }
        default: break
        }
        return false
    }
}
