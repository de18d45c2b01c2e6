// SPDX-License-Identifier: Apache-2.0

import LarderIO
import Synchronization

/// The changes of all Resources in memory, for one reader that distributes them.
///
/// A change is appended under the lock of its Resource, so the changes of one Resource are in order. Without listeners
/// no change is appended, and a change costs one test of a flag. When the reader is slow, waiting changes are dropped:
/// each change contains the whole state, so after a gap listeners read the Resources themselves.
package final class ChangeFeed: Sendable {
    /// The changes that the reader has not taken yet.
    package struct Batch: Sendable {
        /// In order, each with its number among all changes ever appended.
        package var changes: [(number: UInt64, change: ResourceChange)] = []
        /// True if changes were dropped since the last batch, all of them before those in `changes`.
        package var hasGap = false
    }

    private struct State {
        var batch = Batch()
        var last: UInt64 = 0
        var wake: (@Sendable () -> Void)?
    }

    private let state = Lock(State())
    private let listeners = Atomic<Int>(0)
    private let limit: Int

    /// - Parameter limit: the most changes that wait for the reader.
    package init(limit: Int = 8_192) { self.limit = limit }

    /// True if there are listeners.
    package var isHeard: Bool { listeners.load(ordering: .sequentiallyConsistent) > 0 }

    /// Subscribes to changes from now on; balance with `ignore`.
    package func listen() { listeners.add(1, ordering: .sequentiallyConsistent) }
    package func ignore() { listeners.subtract(1, ordering: .sequentiallyConsistent) }

    /// Calls `wake` whenever changes are available after there were none. It is called with a Resource's lock held, so
    /// it must be short and touch no Resource.
    package func onChange(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

    /// How many changes were appended so far: the number of the last one.
    package var last: UInt64 { state.withLock { $0.last } }

    /// All waiting changes.
    package func take() -> Batch {
        state.withLock { state in
            defer { state.batch = Batch() }
            return state.batch
        }
    }

    func append(_ change: ResourceChange) {
        let wake = state.withLock { state -> (@Sendable () -> Void)? in
            state.last += 1
            if state.batch.changes.count >= limit {
                state.batch.changes.removeAll(keepingCapacity: true)
                state.batch.hasGap = true
            }
            state.batch.changes.append((state.last, change))
            return state.batch.changes.count == 1 && !state.batch.hasGap ? state.wake : nil
        }
        wake?()
    }
}

/// A change of a Resource, and its state right after it (model: 3.7).
package struct ResourceChange: Sendable {
    package enum Happening: Sendable {
        case event(ResourceEvent)
        /// The progress of a load, 0…1. It does not count as an event: progress is not part of the state.
        case progress(Double, of: ActiveLoad)
    }

    package let what: Happening
    package let key: ResourceKey
    /// The name of the Resource's service.
    package let service: String
    /// How many events the Resource has had since it was created in memory, this one included.
    package let sequence: UInt64
    package let snapshot: ResourceMemory.Snapshot
    /// The loads under way.
    package let loads: [ActiveLoad]
    /// The last response that was not stored, if none has been stored since.
    package let unstored: UnstoredResponse?
}

/// How a load ended, except with new data.
package enum LoadEnd: Sendable {
    /// Its response was sent to its readers, and is not in memory.
    case passed
    /// The origin confirmed the stored data.
    case notModified
    /// A later load was answered before: its response is in memory, and this one changes nothing.
    case superseded
    case cancelled
    case failed(LoadFailure)
}

/// The properties that a Resource's memory needs to publish its changes.
struct ChangePublisher: Sendable {
    let feed: ChangeFeed
    let key: ResourceKey
    let service: Service
}
