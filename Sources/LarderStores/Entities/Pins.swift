// SPDX-License-Identifier: Apache-2.0
import LarderIO
import Synchronization

/// The keys whose entities eviction leaves alone, by hash, as the database has them. Any thread may ask.
final class PinnedKeys: Sendable {
    private struct State {
        var hashes: Set<UInt64> = []
        /// True if some of them were evicted since the keys last changed, as nothing else was left.
        var isYielding = false
    }

    private let state = Monitor(State())
    /// The number of keys, which answers most questions without the lock.
    private let amount = Atomic<Int>(0)

    var count: Int { amount.load(ordering: .relaxed) }

    func contains(_ hash: UInt64) -> Bool { count > 0 && state.withLock { $0.hashes.contains(hash) } }

    func replace(by hashes: Set<UInt64>) { change { $0 = hashes } }

    func apply(_ pins: PinChange) {
        change { hashes in
            for key in pins.keys {
                if pins.isPinned { hashes.insert(key.hash) } else { hashes.remove(key.hash) }
            }
        }
    }

    private func change(_ body: (inout Set<UInt64>) -> Void) {
        state.withLock { state in
            body(&state.hashes)
            state.isYielding = false
            amount.store(state.hashes.count, ordering: .relaxed)
        }
    }

    /// True if this is the first time since the keys changed.
    func beginYielding() -> Bool {
        state.withLock { state in
            defer { state.isYielding = true }
            return !state.isYielding
        }
    }
}

/// Keys to be pinned, or not to be any more.
final class PinChange: Sendable {
    let keys: [EntityKey]
    let isPinned: Bool
    private let continuation: Monitor<UnsafeContinuation<Bool, Never>?>

    init(_ keys: [EntityKey], isPinned: Bool, continuation: UnsafeContinuation<Bool, Never>) {
        self.keys = keys
        self.isPinned = isPinned
        self.continuation = Monitor(continuation)
    }

    /// Lets the caller go on, once.
    func end(isDone: Bool) {
        let waiting = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume(returning: isDone)
    }
}

/// A pinned key, and what is stored under it.
package struct PinListing: Sendable {
    package var key: EntityKey
    package var variants: Int
    /// The bytes of their content.
    package var bytes: Int64
}
