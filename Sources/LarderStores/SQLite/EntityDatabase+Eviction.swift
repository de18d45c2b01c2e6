// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import Synchronization

/// Making room: which entities are evicted, and how their pages are reused.
///
/// Superseded entities go first. `EvictionCursor` choose the other rows to examine. A row whose key was used since is skipped, once; all others are evicted,
/// so that a crowd of rows that are never read again displaces only itself. An expired entity is not skipped, as it
/// cannot be used without its origin.
extension EntityDatabase {
    struct EvictionSlice {
        var examined = 0
        var evicted = 0
    }

    private struct Candidate {
        var id: Int64
        var keyHash: UInt64
        var content: Int64?
        var expires: Int64?
    }

    /// Examines up to `limit` of `entries` rows, and no more after `deadline`, by the monotonic clock.
    ///
    /// - Parameter pins: keys whose rows stay.
    func evict(
        atMost limit: Int, of entries: Int, until deadline: Int64, index: KeyIndex, sparing pins: PinnedKeys?,
        now: Timestamp
    ) throws(SQLiteFailure) -> EvictionSlice {
        let versions = try evictVersions(atMost: limit)
        if versions > 0 { return EvictionSlice(examined: versions, evicted: versions) }
        var range = cursor.next(entries: entries, newest: lastEntityID, atMost: limit)
        var candidates = try candidates(in: range)
        if candidates.isEmpty {
            // The hand has come round, or everything is on one side of the border.
            cursor.exhausted(range)
            range = cursor.next(entries: entries, newest: lastEntityID, atMost: limit)
            candidates = try self.candidates(in: range)
        }
        if candidates.isEmpty {
            range = cursor.probation(newest: lastEntityID, atMost: limit)
            candidates = try self.candidates(in: range)
        }
        var slice = EvictionSlice()
        for candidate in candidates where slice.examined == 0 || monotonicNow() < deadline {
            slice.examined += 1
            cursor.passed(candidate.id, of: range)
            if let pins, pins.contains(candidate.keyHash) { continue }
            let hasExpired = candidate.expires.map { $0 <= now.nanoseconds } ?? false
            if index.clearMark(candidate.keyHash) {
                try removeMark(of: candidate.keyHash)
                if !hasExpired { continue }
            }
            try removeRow(id: candidate.id, keyHash: candidate.keyHash, content: candidate.content)
            if range.isProbation { ghosts.insert(candidate.keyHash, among: entries) }
            countEviction()
            slice.evicted += 1
        }
        if slice.examined == candidates.count, candidates.count < range.limit { cursor.exhausted(range) }
        try writeHands()
        return slice
    }

    /// The position of eviction in a database whose last row is `newest`.
    static func cursor(_ connection: Connection, newest: Int64) throws(SQLiteFailure) -> EvictionCursor {
        let border = try connection.integer("SELECT value FROM state WHERE name = 'probationID'")
        let hand = try connection.integer("SELECT value FROM state WHERE name = 'evictionID'")
        return EvictionCursor(
            border: (0...newest).contains(border) ? border : 0, hand: (0...newest).contains(hand) ? hand : 0)
    }

    /// Notes where eviction is. Where it has not moved the write is redundant, and shows whether writing works.
    func writeHands() throws(SQLiteFailure) {
        for (name, row) in [("evictionID", cursor.hand), ("probationID", cursor.border)] {
            setState.bind(1, name)
            setState.bind(2, row)
            try setState.run()
        }
    }

    private func candidates(in range: EvictionCursor.Range) throws(SQLiteFailure) -> [Candidate] {
        var candidates: [Candidate] = []
        evictionCandidates.bind(1, range.after)
        evictionCandidates.bind(2, Int64(range.limit))
        evictionCandidates.bind(3, range.through)
        defer { evictionCandidates.reset() }
        while try evictionCandidates.step() {
            candidates.append(
                Candidate(
                    id: evictionCandidates.integer(0), keyHash: evictionCandidates.hash(1),
                    content: evictionCandidates.optionalInteger(2), expires: evictionCandidates.optionalInteger(3)))
        }
        return candidates
    }

    func removeMark(of hash: UInt64) throws(SQLiteFailure) {
        removeMark.bind(1, hash: hash)
        try removeMark.run()
    }

    /// Removes the marks of keys that have no stored entities.
    func removeUselessMarks() throws(SQLiteFailure) {
        try connection.execute(
            """
            DELETE FROM recentlyUsed
            WHERE NOT EXISTS (SELECT 1 FROM entity WHERE entity.keyHash = recentlyUsed.keyHash)
            """)
    }

    /// Stores which keys were used, so that not all of them look unused after a restart.
    func writeMarks(_ hashes: some Sequence<UInt64>) throws(SQLiteFailure) {
        for hash in hashes {
            addMark.bind(1, hash: hash)
            try addMark.run()
        }
    }

    /// Removes the next rows of a removal, of which it examines `limit` at most.
    ///
    /// Versions come last: until then entities may still become some.
    func continueRemoval(_ removal: Removal, limit: Int) throws(SQLiteFailure) -> RemovalSlice {
        var slice = RemovalSlice()
        let lastID = removal.lastID.load(ordering: .relaxed)
        while slice.examined < limit {
            let wanted = limit - slice.examined
            let rows = try rows(of: removal, through: lastID, limit: wanted)
            for row in rows {
                // A row without a valid key matches no pattern, and is of no use.
                if let key = EntityKey(bytes: row.key), !removal.match.accepts(key) { continue }
                if removal.cursor.isAmongVersions {
                    try removeVersion(row)
                } else {
                    try retire(row, because: removal.reason)
                    slice.removed += 1
                }
            }
            // A label without rows takes time as well.
            slice.examined += rows.count + 1
            removal.cursor.row = rows.last?.id ?? removal.cursor.row
            if rows.count == wanted { return slice }
            removal.cursor.row = 0
            removal.cursor.label += 1
            if removal.cursor.label < removal.labels.count { continue }
            removal.cursor.label = 0
            guard removal.reason == .wiped, mayHaveVersions, !removal.cursor.isAmongVersions else {
                slice.mayBeMore = false
                return slice
            }
            removal.cursor.isAmongVersions = true
        }
        return slice
    }

    /// The work on a removal in one transaction.
    struct RemovalSlice {
        /// Rows and labels.
        var examined = 0
        /// Entities.
        var removed = 0
        var mayBeMore = true
    }

    /// Returns up to `pages` free pages to the file system. Outside of transactions.
    func vacuum(pages: Int64) throws(SQLiteFailure) {
        try connection.execute("PRAGMA incremental_vacuum(\(pages))")
    }
}
