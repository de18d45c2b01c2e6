// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderRules

/// The last response to a Resource's request that was not kept: what explains, later, why nothing is.
package struct UnstoredResponse: Sendable {
    package let at: Timestamp
    package let status: Status
    /// The first condition that failed, or what else kept it out.
    package let reason: UnstoredReason
    /// The response's fields about caching and its length, truncated where they are long.
    package let fields: Fields
    private let findings: Storability.Findings

    package init(_ response: ResponseHead, at now: Timestamp, _ findings: Storability.Findings, isCut: Bool = false) {
        at = now
        status = response.status
        self.findings = findings
        reason =
            findings.obstacle.map { .condition($0) }
            ?? (isCut ? .cut : response.status == 206 ? .part : .tooLarge)
        fields = UnstoredResponse.telling(response.fields)
    }

    private static func telling(_ fields: Fields) -> Fields {
        fields.cut { name, _, value in
            guard let name, names.contains(name) else { return nil }
            return min(value.count, valueLimit)
        }
    }

    /// How each condition for storing it came out; all passed when it was too large.
    package var conditions: [Storability.Condition] { findings.conditions }

    /// Octets of a value that are remembered.
    private static var valueLimit: Int { 200 }

    private static let names = FieldSet([
        .cacheControl, .cdnCacheControl, .surrogateControl, .pragma, .age, .expires, .vary, .contentRange,
        .contentLength,
    ])
}
