// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderStores
import Logging

/// Tells programs and webhooks of contents that have changed, as `onChange` says.
///
/// A load leaves the stored responses before and after it here, and is not held up: contents are compared one after the
/// other, on a thread of their own. Everything that waits is bounded; what does not fit is dropped and counted.
package final class ChangeNotifier: Sendable {
    /// The totals since the start.
    package struct Counts: Sendable, Equatable {
        package var told: UInt64 = 0
        /// After all attempts.
        package var failed: UInt64 = 0
        /// For lack of room.
        package var dropped: UInt64 = 0
        /// How many wait now.
        package var waiting = 0
    }

    /// A stored response that a load brought.
    struct Loaded: Sendable {
        let resource: Resource
        let service: RoutedService
        let configuration: EffectiveConfiguration
        let rule: ChangeRule
        let stored: StoredResponse
        /// The response in memory; nil if it is in the store alone.
        let variant: Variant?
        /// The variant that the response replaced.
        let predecessor: Variant?

        /// Identifies resource and variant.
        var key: [UInt8] { resource.key.bytes + StoredResponseCoding.variantKey(stored.variance) }
    }

    struct State {
        var loaded: [Loaded] = []
        var isComparing = false
        var digests = LastDigests()
        var queue = ChangeQueue()
        /// The time of the earliest timer.
        var wakesAt: Int64?
        var counts = Counts()
        /// The listeners whose failure was logged.
        var failing: Set<ChangeListener> = []
        var hashers: WorkerPool?
        var runners: WorkerPool?
    }

    let state = Lock(State())
    /// The most responses that wait to be compared: they keep their contents in memory.
    static let loadedLimit = 128

    init() {}

    package var counts: Counts {
        state.withLock { state in
            var counts = state.counts
            counts.waiting = state.queue.count
            return counts
        }
    }
}

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
