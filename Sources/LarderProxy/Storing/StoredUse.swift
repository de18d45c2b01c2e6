// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// How a stored response may be reused for a request, and what the client is told about it.
struct StoredUse {
    /// The value of `Age` (RFC 9111 §5.1).
    var age: Duration
    var status: CacheStatus

    init(age: Duration, status: CacheStatus) {
        self.age = age
        self.status = status
    }

    /// A hit, as decided by the rules.
    init(_ selection: ReuseDecision.Selection, detail: StaleReason? = nil) {
        age = selection.age
        status = CacheStatus(.hit, ttl: selection.ttl, detail: detail?.rawValue)
    }

    /// Writes `Age` and `Cache-Status`.
    func append(to out: inout [UInt8]) {
        PreparedHead.appendField("Age", number: age.wholeSeconds, to: &out)
        PreparedHead.appendField("Cache-Status", to: &out) { status.appendMember(to: &$0) }
    }
}

extension CacheStatus {
    /// A copy that says if the response was stored while it was forwarded.
    func stored(_ isStored: Bool) -> CacheStatus { changing { _, _, stored, _ in stored = isStored } }

    /// Adds a detail.
    mutating func note(_ word: String) { detail = detail.map { "\($0), \(word)" } ?? word }

    /// The status the upstream answered with.
    func answered(_ status: Status) -> CacheStatus { changing { _, forwarded, _, _ in forwarded = status } }

    /// A copy that says if the request waited for another request's response.
    func collapsed(_ isCollapsed: Bool) -> CacheStatus {
        isCollapsed ? changing { _, _, _, collapsed in collapsed = true } : self
    }

    private func changing(
        _ change: (ForwardReason, inout Status?, inout Bool, inout Bool?) -> Void
    ) -> CacheStatus {
        guard case .forward(let reason, var status, var stored, var collapsed) = outcome else { return self }
        change(reason, &status, &stored, &collapsed)
        var copy = self
        copy.outcome = .forward(reason, status: status, stored: stored, collapsed: collapsed)
        return copy
    }
}
