// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderRules

/// The last response to a Resource's request that was not kept: what explains, later, why nothing is.
package struct UnstoredResponse: Sendable {
    package let at: Timestamp
    package let status: Status
    /// How each condition for storing it came out; all passed when it was too large.
    package let conditions: [Storability.Condition]
    /// The first condition that failed, or what else kept it out.
    package let reason: UnstoredReason
    /// What the response said about caching: `Name: value`, cut where they are long.
    package let fields: [String]

    package init(_ response: ResponseHead, at now: Timestamp, conditions: [Storability.Condition]) {
        at = now
        status = response.status
        self.conditions = conditions
        reason =
            conditions.first { !$0.passed }.map { .condition($0.condition) }
            ?? (response.status == 206 ? .part : .tooLarge)
        fields = UnstoredResponse.telling.compactMap { name in
            response.fields[name].map { "\(name): \($0.prefix(200))" }
        }
    }

    private static let telling: [FieldName] = [
        .cacheControl, .cdnCacheControl, .surrogateControl, .pragma, .age, .expires, .vary, .contentRange,
        .contentLength,
    ]
}
