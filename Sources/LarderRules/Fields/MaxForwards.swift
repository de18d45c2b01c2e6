// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The effect of `Max-Forwards` on an intermediary (RFC 9110 §7.6.2).
package enum MaxForwardsDecision: Sendable, Hashable {
    /// The field is absent, or means nothing with this method.
    case notApplicable
    /// Forward the request with this value.
    case forward(Int64)
    /// Answer as the final recipient.
    case answer
    /// The value is no number: the request is malformed.
    case reject
}

package enum MaxForwards {
    /// The largest value that is sent on.
    package static let maximum: Int64 = 255

    package static func decide(_ method: Method, _ fields: Fields) -> MaxForwardsDecision {
        guard method == .trace || method == .options, fields.contains(.maxForwards) else { return .notApplicable }
        let value = fields.count(of: .maxForwards) == 1 ? fields.withFirst(.maxForwards) { Int64(decimal: $0) } : nil
        guard let value, let value else { return .reject }
        return value == 0 ? .answer : .forward(min(value - 1, maximum))
    }
}
