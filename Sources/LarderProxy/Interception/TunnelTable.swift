// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Tunnelled connections, by host and reason. Bounded: the least recently used entry is dropped first.
package struct TunnelTable: Sendable {
    package struct Line: Sendable {
        package let authority: Authority
        package let reason: TunnelReason
        /// CONNECT requests.
        package fileprivate(set) var requests: UInt64 = 0
        /// Bytes in both directions of finished tunnels.
        package fileprivate(set) var octets: UInt64 = 0
        package fileprivate(set) var last: Timestamp
        /// The client of the last request: its address, and its `User-Agent` if any.
        package fileprivate(set) var client: String
    }

    private struct Key: Hashable {
        let authority: Authority
        let reason: TunnelReason
    }

    static let limit = 512
    private var byKey: [Key: Line] = [:]
    /// Requests and bytes by reason, including dropped entries.
    package private(set) var totals: [TunnelReason: (requests: UInt64, octets: UInt64)] = [:]

    package init() {}

    mutating func began(_ authority: Authority, _ reason: TunnelReason, client: String, at now: Timestamp) {
        totals[reason, default: (0, 0)].requests += 1
        let key = Key(authority: authority, reason: reason)
        var line = byKey[key] ?? Line(authority: authority, reason: reason, last: now, client: client)
        line.requests += 1
        line.last = now
        line.client = client
        byKey[key] = line
        if byKey.count > TunnelTable.limit, let oldest = byKey.min(by: { $0.value.last < $1.value.last }) {
            byKey[oldest.key] = nil
        }
    }

    mutating func ended(_ authority: Authority, _ reason: TunnelReason, octets: Int) {
        let octets = UInt64(max(0, octets))
        totals[reason, default: (0, 0)].octets += octets
        byKey[Key(authority: authority, reason: reason)]?.octets += octets
    }

    /// The lines with most requests first.
    package var lines: [Line] {
        byKey.values.sorted { a, b in
            (b.requests, a.authority.description, a.reason.rawValue)
                < (a.requests, b.authority.description, b.reason.rawValue)
        }
    }
}
