// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// How this cache handled a request, as a member of `Cache-Status` (RFC 9211).
package struct CacheStatus: Sendable, Hashable {
    package enum Outcome: Sendable, Hashable {
        /// Answered without forwarding.
        case hit
        /// Forwarded. `collapsed` is nil when the request did not wait for another.
        case forward(ForwardReason, status: Status? = nil, stored: Bool = false, collapsed: Bool? = nil)
        /// Neither: nothing stored could answer, and the origin is not asked for a reason that `detail` names.
        case held
        /// Neither: the answer was decided before the cache look-up.
        case unused
    }

    package var outcome: Outcome
    /// The remaining lifetime; negative for a stale response.
    package var ttl: Duration?
    package var key: String?
    package var detail: String?

    package init(_ outcome: Outcome, ttl: Duration? = nil, key: String? = nil, detail: String? = nil) {
        self.outcome = outcome
        self.ttl = ttl
        self.key = key
        self.detail = detail
    }

    /// The outcome of a decision if nothing goes wrong; nil for a refusal, which is no use of the cache (RFC 9211 §2).
    package init?(_ decision: ReuseDecision) {
        switch decision {
        case .answer(let selection): self.init(.hit, ttl: selection.ttl)
        case .answerStale(let selection, let reason): self.init(.hit, ttl: selection.ttl, detail: reason.rawValue)
        case .validate(_, let reason), .forward(let reason, _): self.init(.forward(reason))
        case .refuse: return nil
        }
    }

    /// The member as text.
    package func member() -> String {
        var octets: [UInt8] = []
        appendMember(to: &octets)
        return String(decoding: octets, as: UTF8.self)
    }

    /// Writes the member, with the name of the cache first.
    package func appendMember(to octets: inout [UInt8]) {
        octets.append("Larder")
        switch outcome {
        case .hit: octets.append("; hit")
        case .held, .unused: break
        case .forward(let reason, let status, let stored, let collapsed):
            octets.append("; fwd=")
            octets.append(reason.rawValue)
            if let status {
                octets.append("; fwd-status=")
                octets.append(decimal: Int64(status.rawValue))
            }
            if stored { octets.append("; stored") }
            if let collapsed { octets.append(collapsed ? "; collapsed" : "; collapsed=?0") }
        }
        if let ttl {
            octets.append("; ttl=")
            octets.append(decimal: ttl.flooredSeconds)
        }
        if let key {
            octets.append("; key=")
            StructuredText.append(string: key, to: &octets)
        }
        if let detail {
            octets.append("; detail=")
            StructuredText.append(tokenOrString: detail, to: &octets)
        }
    }
}

extension Duration {
    /// Whole seconds, rounded down, so that one second left and none left differ.
    fileprivate var flooredSeconds: Int64 {
        let (seconds, attoseconds) = components
        return attoseconds < 0 ? seconds - 1 : seconds
    }
}
