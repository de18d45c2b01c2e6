// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderRules

/// The last response to a Resource's request, if it was not stored. It explains later why no response is stored.
package final class UnstoredResponse: Sendable {
    package let at: Timestamp
    package let status: Status
    /// The first condition that failed, or what else kept it out.
    package let reason: UnstoredReason
    /// For each recorded field of the response: its code, the length of its value, and its value.
    private let told: [UInt8]
    private let findings: Storability.Findings

    /// - Parameter hindrance: what keeps it out although all conditions hold; if nil, its length, or that it is a part.
    package convenience init(
        _ response: ResponseHead, at now: Timestamp, _ findings: Storability.Findings,
        hindrance: UnstoredReason? = nil
    ) {
        self.init(
            at: now, response.status, findings,
            reason: findings.obstacle.map { .condition($0) } ?? hindrance
                ?? (response.status == 206 ? .part : .tooLarge),
            told: UnstoredResponse.telling(response.fields))
    }

    private init(
        at moment: Timestamp, _ status: Status, _ findings: Storability.Findings, reason: UnstoredReason, told: [UInt8]
    ) {
        at = moment
        self.status = status
        self.findings = findings
        self.reason = reason
        self.told = told
    }

    /// The response's fields about caching and its length, truncated where they are long.
    package var fields: Fields {
        var fields = Fields()
        var rest = told[...]
        while let code = rest.popFirst(), let length = rest.popFirst() {
            let value = rest.prefix(Int(length))
            rest = rest.dropFirst(Int(length))
            guard let name = FieldName(registeredCode: code) else { continue }
            value.withUnsafeBytes { fields.append(name, bytes: $0) }
        }
        return fields
    }

    /// Uses one allocation of exact size, because there may be thousands of these objects.
    private static func telling(_ fields: Fields) -> [UInt8] {
        func forEachTold(_ body: (_ code: UInt8, _ value: Slice<UnsafeRawBufferPointer>) -> Void) {
            fields.forEachLine { name, _, value in
                if let name, names.contains(name) { body(name.registeredCode, value.prefix(valueLimit)) }
            }
        }
        var told: [UInt8] = []
        var length = 0
        forEachTold { length += 2 + $1.count }
        told.reserveCapacity(length)
        forEachTold { code, value in
            told.append(code)
            told.append(UInt8(value.count))
            told.append(contentsOf: value)
        }
        return told
    }

    /// How each condition for storing it came out; all passed when something else kept it out.
    package var conditions: [Storability.Condition] { findings.conditions }

    /// Bytes of a value that are remembered: one byte says how many.
    private static var valueLimit: Int { 200 }

    private static let names = FieldSet([
        .cacheControl, .cdnCacheControl, .surrogateControl, .pragma, .age, .expires, .vary, .contentRange,
        .contentLength,
    ])
}

extension UnstoredResponse {
    /// All of it but the fields, in 48 bytes, and whose it is.
    struct Trace: BitwiseCopyable {
        /// The hash of the Resource's key.
        let hash: UInt64
        private let at: Int64
        private let findings: Storability.Findings.Brief
        private let status: UInt16
        private let reason: UnstoredReason

        init(of response: UnstoredResponse, hash: UInt64) {
            self.hash = hash
            at = response.at.nanoseconds
            findings = response.findings.brief
            status = response.status.rawValue
            reason = response.reason
        }

        var response: UnstoredResponse {
            UnstoredResponse(
                at: Timestamp(nanoseconds: at), Status(rawValue: status), Storability.Findings(findings),
                reason: reason,
                told: [])
        }
    }
}
