// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// The keys whose entities eviction leaves alone, by hash, as the database has them. Any thread may ask.
final class PinnedKeys: Sendable {
    private struct State {
        var hashes: Set<UInt64> = []
        /// Whether some of them were evicted since the keys last changed, as nothing else was left.
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

    /// Whether this is the first time since the keys changed.
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
    /// The octets of their content.
    package var bytes: Int64
}

extension SQLiteStore {
    /// Keeps the entities of these keys, and those that replace them, from eviction, until `unpin`, over restarts.
    /// Returns false if that could not be written.
    package func pin(_ keys: [EntityKey]) async -> Bool { await change(keys, isPinned: true) }

    package func unpin(_ keys: [EntityKey]) async -> Bool { await change(keys, isPinned: false) }

    /// Whether anything is pinned at all.
    package var hasPins: Bool { core.pins.count > 0 }

    package func isPinned(_ key: EntityKey) -> Bool { hasPins && core.pins.contains(key.hash) }

    /// All pinned keys; nil when they cannot be read.
    package func pins() async -> [PinListing]? {
        guard core.pins.count > 0 else { return [] }
        return await core.reading { (reader) throws(SQLiteFailure) in try reader.pins() }
    }

    private func change(_ keys: [EntityKey], isPinned: Bool) async -> Bool {
        guard !keys.isEmpty else { return true }
        return await withUnsafeContinuation { continuation in
            let change = PinChange(keys, isPinned: isPinned, continuation: continuation)
            if !core.queue.post(.pin(change)) { change.end(isDone: false) }
        }
    }
}

extension EntityDatabase {
    func change(_ pins: PinChange) throws(SQLiteFailure) {
        let statement =
            pins.isPinned
            ? try connection.prepare("INSERT OR IGNORE INTO pin (keyHash, key) VALUES (?1, ?2)")
            : try connection.prepare("DELETE FROM pin WHERE keyHash = ?1")
        for key in pins.keys {
            statement.bind(1, hash: key.hash)
            if pins.isPinned { statement.bind(2, key.bytes) }
            try statement.run()
        }
    }

    func pinnedKeys() throws(SQLiteFailure) -> Set<UInt64> {
        var keys: Set<UInt64> = []
        let statement = try connection.prepare("SELECT keyHash FROM pin")
        while try statement.step() { keys.insert(statement.hash(0)) }
        return keys
    }
}

extension EntityReader {
    func pins() throws(SQLiteFailure) -> [PinListing] {
        let statement = try connection.prepare(
            """
            SELECT pin.keyHash, pin.key, count(entity.id), ifnull(sum(content.length), 0)
            FROM pin LEFT JOIN entity ON entity.keyHash = pin.keyHash LEFT JOIN content ON content.id = entity.content
            GROUP BY pin.keyHash
            """)
        var pins: [PinListing] = []
        while try statement.step() {
            // A key whose hash is another was damaged.
            guard let key = EntityKey(bytes: statement.bytes(1)), key.hash == statement.hash(0) else { continue }
            pins.append(
                PinListing(
                    key: key, variants: Int(statement.integer(2)),
                    bytes: min(max(statement.integer(3), 0), StoredNumber.lengths.upperBound)))
        }
        return pins
    }
}
