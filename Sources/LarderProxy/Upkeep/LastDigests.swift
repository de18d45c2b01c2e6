// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderStores

/// The digests of the contents loaded last, by resource and variant: of so many, the oldest are forgotten. Keys, which
/// may be long, are known by their digests as well.
struct LastDigests: Sendable {
    struct Known: Sendable, Hashable {
        let digest: String
        /// Distinguishes the stored response from others in its place.
        let storedAt: Timestamp
    }

    private var known: [ContentDigest: Known] = [:]
    private var order: [ContentDigest] = []
    private var oldest = 0

    static let limit = 10_000

    subscript(key: [UInt8]) -> Known? { known[ContentDigest(of: key)] }

    mutating func set(_ new: Known, for key: [UInt8]) {
        let key = ContentDigest(of: key)
        guard known.updateValue(new, forKey: key) == nil else { return }
        if order.count < LastDigests.limit { return order.append(key) }
        known[order[oldest]] = nil
        order[oldest] = key
        oldest = (oldest + 1) % LastDigests.limit
    }
}
