// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

/// Rows of content. Entities with equal content share one, unless it is so short that finding it costs more than a row:
/// each digest that can be found is a change of some other page of the index.
extension EntityDatabase {
    /// True if a row refers to the file of this digest.
    func hasContentFile(_ digest: StoredDigest) throws(SQLiteFailure) -> Bool {
        guard let found = try findContent(digest) else { return false }
        return found.isSame && found.isFile
    }

    /// Removes damaged content. Entities that share it are removed when they are read.
    func discardContent(_ digest: StoredDigest) throws(SQLiteFailure) {
        guard let found = try findContent(digest), found.isSame else { return }
        try deleteContentRow(found, isDamaged: true)
    }

    struct FoundContent {
        var id: Int64 = 0
        var digest: StoredDigest?
        var length: Int64
        /// Nil if it belongs to one entity alone.
        var users: Int64?
        var isFile: Bool
        var place: SegmentPlace?
        /// True if the content has the whole requested digest, not only its first bytes.
        var isSame = true
    }

    func findContent(_ digest: StoredDigest) throws(SQLiteFailure) -> FoundContent? {
        contents.find.bind(1, hash: digest.prefix)
        defer { contents.find.reset() }
        guard try contents.find.step() else { return nil }
        let found = contents.find.withBytes(1) { StoredDigest($0) }
        return FoundContent(
            id: contents.find.integer(0), digest: found, length: contents.find.integer(2),
            users: contents.find.integer(3),
            isFile: contents.find.integer(4) != 0, place: place(contents.find, 5, length: contents.find.integer(2)),
            isSame: found == digest)
    }

    func contentOf(id: Int64) throws(SQLiteFailure) -> FoundContent? {
        contents.byID.bind(1, id)
        defer { contents.byID.reset() }
        guard try contents.byID.step() else { return nil }
        return FoundContent(
            id: id, digest: contents.byID.withBytes(3) { StoredDigest($0) }, length: contents.byID.integer(1),
            users: contents.byID.hash(6) == UInt64(bitPattern: id) ? nil : contents.byID.integer(0),
            isFile: contents.byID.integer(2) != 0,
            place: place(contents.byID, 4, length: contents.byID.integer(1)))
    }

    /// Nil if its row is gone or damaged.
    func digest(ofContent id: Int64?) throws(SQLiteFailure) -> StoredDigest? {
        guard let id else { return ContentReference.empty.digest }
        return try contentOf(id: id)?.digest
    }

    private func place(_ row: borrowing Statement, _ column: Int32, length: Int64) -> SegmentPlace? {
        guard !row.isNull(column) else { return nil }
        return SegmentPlace(segment: row.integer(column), offset: row.integer(column + 1), length: length)
    }

    /// Stores content; shared content is stored once for all entities that have it. Nil if it cannot be stored: other
    /// content has a digest that begins alike, which only happens by intent, or it was digested under the secret of an
    /// earlier database.
    ///
    /// - Parameter isShared: true to share content of any length.
    func storeContent(
        _ content: ContentReference, blocks: BlockDigests?, isShared: Bool = false
    ) throws(SQLiteFailure) -> (id: Int64?, digest: StoredDigest)? {
        let digest: StoredDigest
        switch content.location {
        case .empty: return (nil, ContentReference.empty.digest)
        case .inline(let chunk): digest = contentHashing.digest(of: chunk.bytes)
        case .file:
            digest = content.digest
            if case .keyed = digest, blocks?.secret != contentKey?.secret { return nil }
        }
        let place = try segments?.place(for: content)
        let id = lastContentID + 1
        let isShared = isShared || blocks != nil || content.length > StoreSettings.ownLimit
        contents.insert.bind(1, id)
        contents.insert.bind(2, hash: isShared ? digest.prefix : UInt64(bitPattern: id))
        contents.insert.bind(3, content.length)
        digest.withBytes { contents.insert.bind(4, $0) }
        contents.insert.bindNull(5)
        contents.insert.bindNull(6)
        if let blocks { contents.insert.bind(5, blocks.bytes) }
        if place == nil, case .inline(let chunk) = content.location { contents.insert.bindInPlace(6, chunk.bytes) }
        contents.insert.bind(7, place?.segment)
        contents.insert.bind(8, place?.offset)
        defer { contents.insert.bindNull(6) }
        do {
            try withExtendedLifetime(content) { () throws(SQLiteFailure) in try contents.insert.run() }
        } catch  where error.kind == .constraint {
            throw .corrupt("a row of content is where none can be")
        }
        if connection.changes > 0 {
            lastContentID = id
            if let place { try write(content, to: place) }
            if blocks != nil { effects.fileBytes = effects.fileBytes.adding(saturating: content.length) }
            return (id, digest)
        }
        // Some digest begins with this number.
        guard isShared else { return try storeContent(content, blocks: blocks, isShared: true) }
        guard let found = try findContent(digest) else { throw .corrupt("an index has a row that its table has not") }
        guard found.isSame else { return nil }
        guard let users = found.users, found.length == content.length, StoredNumber.users.contains(users) else {
            // Damage. Entities with it are removed when they are read; the new content is stored as usual.
            try deleteContentRow(found, isDamaged: true)
            return try storeContent(content, blocks: blocks, isShared: true)
        }
        if let lost = found.place, segments?.writer.isUnread(lost) == true {
            // The disk may have lost it. Its place is not used again.
            guard blocks == nil else {
                try deleteContentRow(found, isDamaged: true)
                return try storeContent(content, blocks: blocks, isShared: true)
            }
            // The content is written again for all entities that have it.
            try move(found.id, to: place, content)
            effects.lost.append(lost)
        }
        try set(users: users + 1, of: found.id)
        if blocks != nil, !found.isFile { effects.freedFiles.insert(digest) }
        return (found.id, digest)
    }

    func releaseContent(id: Int64) throws(SQLiteFailure) {
        guard let found = try contentOf(id: id) else { return }
        if let users = found.users, users > 1, StoredNumber.users.contains(users) {
            try set(users: users - 1, of: id)
        } else {
            try deleteContentRow(found)
        }
    }

    /// Before the row is committed, and only where there is none for equal content.
    private func write(_ content: ContentReference, to place: SegmentPlace) throws(SQLiteFailure) {
        guard let segments, case .inline(let chunk) = content.location else { return }
        effects.stored.append(place)
        do {
            try segments.writer.write(chunk.bytes, to: place)
        } catch {
            throw SQLiteFailure(error)
        }
    }

    /// Writes the content of a row again, to another place or into the row.
    private func move(_ id: Int64, to place: SegmentPlace?, _ content: ContentReference) throws(SQLiteFailure) {
        contents.move.bind(1, id)
        contents.move.bind(2, place?.segment)
        contents.move.bind(3, place?.offset)
        contents.move.bindNull(4)
        if place == nil, case .inline(let chunk) = content.location { contents.move.bindInPlace(4, chunk.bytes) }
        defer { contents.move.bindNull(4) }
        try withExtendedLifetime(content) { () throws(SQLiteFailure) in try contents.move.run() }
        if let place { try write(content, to: place) }
    }

    private func set(users: Int64, of id: Int64) throws(SQLiteFailure) {
        contents.setUsers.bind(1, id)
        contents.setUsers.bind(2, users)
        try contents.setUsers.run()
    }

    /// - Parameter isDamaged: whether its numbers may be wrong.
    func deleteContentRow(_ found: FoundContent, isDamaged: Bool = false) throws(SQLiteFailure) {
        contents.delete.bind(1, found.id)
        try contents.delete.run()
        if let place = found.place {
            if isDamaged { effects.lost.append(place) } else { effects.freed.append(place) }
        }
        guard found.isFile, let file = found.digest else { return }
        effects.freedFiles.insert(file)
        // An impossible length was never counted.
        guard StoredNumber.lengths.contains(found.length) else { return }
        effects.fileBytes = effects.fileBytes.subtracting(saturating: found.length)
    }
}

/// The segments as the writing thread uses them, and which content belongs there.
struct ContentSegments {
    let writer: SegmentWriter
    /// Content up to this length is stored in its row.
    let rowLimit: Int
    /// The length at which another segment is begun.
    let limit: Int64

    /// The place for content; nil if it does not belong in a segment.
    fileprivate func place(for content: ContentReference) throws(SQLiteFailure) -> SegmentPlace? {
        guard case .inline(let chunk) = content.location, chunk.count > rowLimit else { return nil }
        do {
            return try writer.place(for: Int64(chunk.count), limit: limit)
        } catch {
            throw SQLiteFailure(error)
        }
    }
}

extension EntityDatabase {
    /// The bytes that the content of each segment takes, as far as rows tell.
    func usedSegments() throws(SQLiteFailure) -> [Int64: Int64] {
        let (room, longest) = (SegmentPlace.alignment, SegmentPlace.longest)
        let statement = try connection.prepare(
            """
            SELECT segment, sum((min(max(cast(length AS INTEGER), 0), \(longest)) + \(room - 1)) / \(room) * \(room))
            FROM content INDEXED BY contentInSegments WHERE segment IS NOT NULL GROUP BY segment
            """)
        var used: [Int64: Int64] = [:]
        while try statement.step() {
            let segment = statement.integer(0)
            if SegmentPlace.segments.contains(segment) { used[segment, default: 0] += statement.integer(1) }
        }
        return used
    }

    /// The places in a segment that rows refer to, in their order.
    func places(in segment: Int64) throws(SQLiteFailure) -> [SegmentPlace] {
        let statement = try connection.prepare(
            """
            SELECT place, length FROM content INDEXED BY contentInSegments
            WHERE segment IS NOT NULL AND segment = ?1 ORDER BY place
            """)
        statement.bind(1, segment)
        var places: [SegmentPlace] = []
        while try statement.step() {
            let place = SegmentPlace(segment: segment, offset: statement.integer(0), length: statement.integer(1))
            if let place { places.append(place) }
        }
        return places
    }
}

/// The statements about content, prepared once.
final class ContentStatements {
    let insert, find, byID, setUsers, move, delete: Statement

    init(_ connection: Connection) throws(SQLiteFailure) {
        insert = try connection.prepare(
            """
            INSERT INTO content (id, digestHash, users, length, digest, blocks, octets, segment, place)
            VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6, ?7, ?8)
            ON CONFLICT (digestHash) DO NOTHING
            """)
        find = try connection.prepare(
            "SELECT id, digest, length, users, blocks IS NOT NULL, segment, place FROM content WHERE digestHash = ?1")
        byID = try connection.prepare(
            """
            SELECT users, length, blocks IS NOT NULL, digest, segment, place, digestHash FROM content WHERE id = ?1
            """)
        setUsers = try connection.prepare("UPDATE content SET users = ?2 WHERE id = ?1")
        move = try connection.prepare("UPDATE content SET segment = ?2, place = ?3, octets = ?4 WHERE id = ?1")
        delete = try connection.prepare("DELETE FROM content WHERE id = ?1")
    }
}
