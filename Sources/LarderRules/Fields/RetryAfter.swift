// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// When to ask again (RFC 9110 §10.2.3).
package enum RetryAfter {
    /// The backoff requested by the origin, from `now` on; nil without a valid one.
    package static func delay(_ fields: Fields, now: Timestamp) -> Duration? {
        guard fields.count(of: .retryAfter) == 1 else { return nil }
        let seconds = fields.withFirst(.retryAfter) { DeltaSeconds($0).duration }
        if let seconds, let seconds { return seconds }
        return fields.date(.retryAfter, now: now).map { ($0 - now).clampedToRFC9111() }
    }
}
