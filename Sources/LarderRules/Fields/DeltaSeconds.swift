// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// A delta-seconds argument as it was received (RFC 9111 §1.2.2).
package enum DeltaSeconds: Sendable, Hashable {
    case seconds(Int64)
    /// Present but not a non-negative integer. Where it would be a lifetime, it is none: RFC 9111 §4.2.1 encourages
    /// caches to consider such responses stale.
    case invalid

    /// The largest value: 2³¹ seconds, 68 years, which the RFC calls infinity. Larger numbers mean this one, so no
    /// sum of a clock's time and a lifetime can overflow.
    package static let infinity: Int64 = 2_147_483_648

    /// Reads `octets` as 1*DIGIT and saturates.
    package init(_ octets: UnsafeRawBufferPointer) {
        guard !octets.isEmpty else {
            self = .invalid
            return
        }
        var value: Int64 = 0
        for octet in octets {
            guard ASCII.isDigit(octet) else {
                self = .invalid
                return
            }
            value = min(value &* 10 &+ Int64(octet &- 0x30), DeltaSeconds.infinity)
        }
        self = .seconds(value)
    }

    /// The value as a duration; nil when invalid.
    package var duration: Duration? {
        if case .seconds(let value) = self { .seconds(value) } else { nil }
    }
}

extension Duration {
    /// 68 years, the value that stands for "for ever" (RFC 9111 §1.2.2).
    package static var foreverInRFC9111: Duration { .seconds(DeltaSeconds.infinity) }

    /// The duration between zero and "for ever".
    func clampedToRFC9111() -> Duration { min(max(self, .zero), .foreverInRFC9111) }
}
