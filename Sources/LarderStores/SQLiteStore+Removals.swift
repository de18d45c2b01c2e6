// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Removing many entities at once.
extension SQLiteStore {
    /// Removes entities that match and were stored before the call. Returns their number.
    @discardableResult
    package func removeAll(where match: EntityMatch, because reason: RemovalReason = .wiped) async -> Int {
        await withUnsafeContinuation { continuation in
            let removal = Removal(match: match, reason: reason, continuation: continuation)
            if !core.queue.post(.removeAll(removal)) { continuation.resume(returning: 0) }
        }
    }

    /// Begins to remove matching entities that were stored before the call, and hides them from readers at once. With a
    /// label the cost does not depend on the size of the store.
    package func beginRemoval(_ match: EntityMatch, because reason: RemovalReason) {
        if let label = match.label { return beginRemoval(match, labels: [label], because: reason) }
        core.queue.post(.removeAll(Removal(match: match, reason: reason)))
    }

    /// Begins to remove entities that match, have one of these labels and were stored before the call. While a thousand
    /// labels wait, all entities of the origin that `match` names are removed instead.
    package func beginRemoval(_ match: EntityMatch, labels: [EntityLabel], because reason: RemovalReason) {
        let known = labels.filter(mayContain)
        guard !known.isEmpty else { return }
        core.queue.post(.removeAll(Removal(match: match, labels: known, reason: reason)))
    }

    /// Removes everything, including all traces of it that the store can reach.
    package func wipe() async {
        _ = await withUnsafeContinuation { continuation in
            let removal = Removal(match: EntityMatch(), reason: .wiped, continuation: continuation)
            if !core.queue.post(.wipe(removal)) { continuation.resume(returning: 0) }
        }
    }

    /// Returns when the entities that were to be removed until now are gone from the disk, also if it loses power then.
    /// False when the store was closed before, or the disk does not say so.
    package func removalsEnd() async -> Bool {
        guard await core.queue.removalsEnd() else { return false }
        return await syncLog()
    }

    /// Returns when all earlier operations are on the disk, also if it loses power then. False at once while nothing can
    /// be written: they are done when it can.
    package func reachDisk() async -> Bool {
        await flush()
        guard core.state == .open else { return false }
        return await syncLog()
    }

    private func syncLog() async -> Bool {
        let log = core.databasePath + "-wal"
        return await core.onReadingThread { SQLiteStore.sync(log) } ?? false
    }

    /// Has the system write a file to the disk. One that is gone needs nothing.
    private static func sync(_ path: String) -> Bool {
        let descriptor = Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return errno == ENOENT }
        defer { Glibc.close(descriptor) }
        return fsync(descriptor) == 0
    }
}
