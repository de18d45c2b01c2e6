// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// The digests of the contents loaded last, by resource and variant: of so many, the oldest are forgotten.
struct LastDigests: Sendable {
    struct Known: Sendable, Hashable {
        let digest: String
        /// Distinguishes the stored response from others in its place.
        let storedAt: Timestamp
    }

    private var known: [[UInt8]: Known] = [:]
    private var order: [[UInt8]] = []
    private var oldest = 0

    static let limit = 10_000

    subscript(key: [UInt8]) -> Known? { known[key] }

    mutating func set(_ new: Known, for key: [UInt8]) {
        guard known.updateValue(new, forKey: key) == nil else { return }
        if order.count < LastDigests.limit { return order.append(key) }
        known[order[oldest]] = nil
        order[oldest] = key
        oldest = (oldest + 1) % LastDigests.limit
    }
}
