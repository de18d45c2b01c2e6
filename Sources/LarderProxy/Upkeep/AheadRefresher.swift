// SPDX-License-Identifier: Apache-2.0

package import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderStores
import Logging

/// Validates stored responses before they are out of date, or at set times, as `refreshAhead` says.
///
/// A load that ends notes its response here; when most of its lifetime is over, it is decided whether the origin is
/// asked. A hit costs nothing: the Resource counts its uses anyway.
package final class AheadRefresher: Sendable {
    /// The totals since the start.
    package struct Counts: Sendable, Equatable {
        /// The origin confirmed the stored response.
        package var validated: UInt64 = 0
        /// It sent another one.
        package var replaced: UInt64 = 0
        package var failed: UInt64 = 0
        /// The origin was not asked: backoff, quota, offline.
        package var held: UInt64 = 0
        /// How many resources are in the queue.
        package var waiting = 0

        package init() {}
    }

    struct State {
        var queue = AheadQueue()
        /// The time of the earliest timer.
        var wakesAt: Int64?
        var counts = Counts()
    }

    let state = Lock(State())
    /// How long after a failure, or when the origin may not be asked, it is looked again.
    static let pause = Duration.seconds(60)
    /// How long a load may keep others waiting; then it goes on beside them.
    static let patience = Duration.seconds(30)
    /// The most entries without requests that are dropped before the loop does other work.
    static let skipLimit = 256

    init() {}

    package var counts: Counts {
        state.withLock { state in
            var counts = state.counts
            counts.waiting = state.queue.count
            return counts
        }
    }

    /// How long until a resource is looked at; nil if it is not in the queue.
    package func wait(for key: ResourceKey, now: Int64) -> Duration? {
        state.withLock { $0.queue.due(key) }.map { .nanoseconds(max(0, $0 - now)) }
    }
}
