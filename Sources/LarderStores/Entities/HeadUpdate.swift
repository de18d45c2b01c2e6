// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

/// The changes of a validation (RFC 9111 §4.3.4).
struct HeadUpdate: Sendable {
    var variant: [UInt8]
    var head: [UInt8]
    var requestTime: Timestamp
    var responseTime: Timestamp
    var expires: Timestamp?
    /// The version of the entity that it applies to.
    var storedAt: Timestamp
    /// Replace the existing labels; nil keeps those.
    var labels: [EntityLabel]?

    func apply(to record: inout EntityRecord) {
        record.head = head
        record.requestTime = requestTime
        record.responseTime = responseTime
        record.expires = expires
        if let labels { record.labels = labels }
    }
}
