// SPDX-License-Identifier: Apache-2.0
import Glibc
import Larder
import LarderHTTP

/// Keeping disk usage below the limit: evicting, returning pages, and checkpointing the log.
extension StoreWriter {
    private static let longestEvictionSlice = 512
    /// Nanoseconds. Committing the evictions takes as long again.
    private static let longestEviction: Int64 = 4_000_000
    private static let vacuumSlice: Int64 = 256

    /// Bytes on disk that cannot be reused: pages in use, the log at its longest, files.
    private func occupied(_ database: EntityDatabase) throws(SQLiteFailure) -> Int64 {
        let pages = try database.pages()
        return ((pages.all - pages.free) * Schema.pageSize).adding(saturating: besidePages)
    }

    private var besidePages: Int64 {
        let log = max(fileLength(core.databasePath + "-wal"), checkpointBytes * 2)
        return (log + fileLength(core.databasePath + "-shm") + core.files.spooledBytes + setAsideBytes)
            .adding(saturating: core.currentCounts.fileBytes).adding(saturating: segments.occupied)
    }

    private var budget: Int64 { core.limit - StoreSettings.reserve(below: core.limit) }

    var checkpointBytes: Int64 { StoreSettings.checkpointBytes(below: core.limit) }

    /// Checkpoints a long log. Not in the transaction that made it so long, as a caller may wait for its end.
    func writeBackLog() {
        guard let connection = database?.connection, connection.loggedPages * Schema.pageSize >= checkpointBytes
        else { return }
        let start = monotonicNow()
        // Pages that a reader still needs are left for the next time, and so is everything when it fails.
        _ = try? checkpoint(connection, .passive)
        let duration = monotonicNow() - start
        core.count { $0.longestCheckpoint = max($0.longestCheckpoint, duration) }
    }

    /// Writes the log back, and before that the content that its rows refer to.
    func checkpoint(_ connection: Connection, _ mode: Connection.Checkpoint) throws(SQLiteFailure) {
        segments.synchronize()
        try connection.checkpoint(mode)
    }

    /// Gives back what an earlier run left in a segment. Returns whether there are more of them.
    func sweepSegment(_ database: EntityDatabase) throws(SQLiteFailure) -> Bool {
        guard let segment = segments.nextToSweep() else { return false }
        segments.sweep(segment, sparing: try database.places(in: segment))
        return true
    }

    /// Lets the log grow as far as the limit currently allows.
    func fitLog(of connection: Connection) throws(SQLiteFailure) {
        guard checkpointBytes != loggedBytes else { return }
        try connection.execute("PRAGMA journal_size_limit = \(checkpointBytes)")
        loggedBytes = checkpointBytes
    }

    /// Evicts, a slice at a time, until there is room for `bytes` more. False if even that does not help.
    func makeRoom(for bytes: Int64) throws(SQLiteFailure) -> Bool {
        guard let database else { return false }
        try fitLog(of: database.connection)
        var fruitless = 0
        var sparesPins = true
        while try occupied(database).adding(saturating: bytes) > budget {
            if setAsideBytes > 0 {
                removeSetAside()
                continue
            }
            var slice = EntityDatabase.EvictionSlice()
            let now = core.settings.now()
            let entries = core.currentCounts.entries
            let effects = try database.transaction { () throws(SQLiteFailure) in
                slice = try database.evict(
                    atMost: evictionSlice(of: entries), of: entries, until: monotonicNow() + Self.longestEviction,
                    index: core.index, sparing: sparesPins ? core.pins : nil, now: now)
            }
            settle(effects)
            writeBackLog()
            // Everything may be marked; one round clears all marks, the next evicts.
            fruitless = slice.evicted > 0 ? 0 : fruitless + slice.examined
            guard slice.examined == 0 || fruitless > core.currentCounts.entries * 2 else { continue }
            // Pinned entities grow with what origins send: if no others are left to evict, pinned ones are evicted.
            guard sparesPins, core.pins.count > 0 else { return false }
            sparesPins = false
            fruitless = 0
            if core.pins.beginYielding() { core.emit(.pinsYielded) }
        }
        return true
    }

    /// The number of rows examined in one transaction: small enough that a small store loses little more than it must.
    private func evictionSlice(of entries: Int) -> Int { min(max(entries / 64, 8), Self.longestEvictionSlice) }

    /// Returns free pages while the files exceed the limit, or are mostly free. Returns whether more may be left.
    func vacuum(_ database: EntityDatabase) throws(SQLiteFailure) -> Bool {
        let pages = try database.pages()
        let excess = (pages.all * Schema.pageSize).adding(saturating: besidePages).subtracting(saturating: budget)
        let isMostlyAir = pages.free > pages.all / 4 && pages.free > Self.vacuumSlice
        guard pages.free > 0, excess > 0 || isMostlyAir else { return false }
        let count = min(pages.free, Self.vacuumSlice)
        try database.vacuum(pages: count)
        let left = try database.pages()
        // The file itself shrinks at the checkpoint.
        if left.free == 0 || left.all == pages.all { try checkpoint(database.connection, .passive) }
        return left.all < pages.all
    }
}
