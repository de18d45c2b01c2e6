// SPDX-License-Identifier: Apache-2.0

extension SQLiteStore {
    /// Keeps the entities of these keys, and the entities that replace them, from eviction, until `unpin`, over
    /// restarts. Returns false if that could not be written.
    package func pin(_ keys: [EntityKey]) async -> Bool { await change(keys, isPinned: true) }

    package func unpin(_ keys: [EntityKey]) async -> Bool { await change(keys, isPinned: false) }

    /// True if anything is pinned at all.
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
