// SPDX-License-Identifier: Apache-2.0

import LarderIO
import Synchronization

/// Where the changes of all Resources in memory are told, for one reader who passes them on.
///
/// A change is put here under the lock of its Resource, so the changes of one Resource are in their order. While nobody
/// listens nothing is put here, and a change costs one look at a flag. When the reader is slow, what waits is dropped:
/// each change holds the whole state, so those who are told of the loss look at the Resources themselves.
package final class ChangeFeed: Sendable {
    /// What the reader has not taken yet.
    package struct Batch: Sendable {
        /// In order, each with its number among all changes ever put here.
        package var changes: [(number: UInt64, change: ResourceChange)] = []
        /// Whether changes were dropped since the last batch, all of them before those in `changes`.
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

    /// - Parameter limit: how many changes wait for the reader at most.
    package init(limit: Int = 8_192) { self.limit = limit }

    /// Whether anybody wants to know.
    package var isHeard: Bool { listeners.load(ordering: .sequentiallyConsistent) > 0 }

    /// Asks for changes from now on; `ignore` must follow.
    package func listen() { listeners.add(1, ordering: .sequentiallyConsistent) }
    package func ignore() { listeners.subtract(1, ordering: .sequentiallyConsistent) }

    /// Calls `wake` whenever there is something to take after there was nothing. It is called with a Resource's lock held,
    /// so it must be short and touch no Resource.
    package func onChange(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

    /// How many changes were put here so far: the number of the last one.
    package var last: UInt64 { state.withLock { $0.last } }

    /// Everything that waits.
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

/// Something that happened to a Resource, and how it was right after (model: 3.7).
package struct ResourceChange: Sendable {
    package enum Happening: Sendable {
        case event(ResourceEvent)
        /// How far a load has come, 0…1. It counts as no event: what it says is not part of the state.
        case progress(Double, of: Flight)
    }

    package let what: Happening
    package let key: ResourceKey
    /// The name of the Resource's service.
    package let service: String
    /// How many events the Resource has had since it came to memory, this one included.
    package let sequence: UInt64
    package let snapshot: ResourceMemory.Snapshot
    /// The loads under way.
    package let flights: [Flight]
    /// The last response that was not kept, if nothing was kept since.
    package let unstored: UnstoredResponse?

    package var isLoading: Bool { !flights.isEmpty }
}

/// How a load ended, other than by what landed.
package enum LoadEnd: Sendable {
    /// Its response went to its readers, and nothing of it is in memory.
    case passed
    /// The origin confirmed what is here.
    case notModified
    case cancelled
    case failed(LoadFailure)
}

/// What a Resource's memory needs to know to tell its changes.
struct ChangeTeller: Sendable {
    let feed: ChangeFeed
    let key: ResourceKey
    let service: Service
}
