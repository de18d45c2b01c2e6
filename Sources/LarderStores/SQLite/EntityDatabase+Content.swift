// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

/// Rows of content, which entities with equal content share.
extension EntityDatabase {
    /// Whether a row refers to the file of this digest.
    func hasContentFile(_ digest: StoredDigest) throws(SQLiteFailure) -> Bool {
        guard let found = try findContent(digest) else { return false }
        return found.isSame && found.isFile
    }

    /// Removes damaged content. Entities that share it are removed when they are read.
    func discardContent(_ digest: StoredDigest) throws(SQLiteFailure) {
        guard let found = try findContent(digest), found.isSame else { return }
        try deleteContentRow(id: found.id, length: found.length, file: found.isFile ? digest : nil)
    }

    struct FoundContent {
        var id: Int64 = 0
        var digest: StoredDigest?
        var length: Int64
        var users: Int64
        var isFile: Bool
        /// Whether it has the whole requested digest, not only its first octets.
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
            isFile: contents.find.integer(4) != 0, isSame: found == digest)
    }

    func contentOf(id: Int64) throws(SQLiteFailure) -> FoundContent? {
        contents.byID.bind(1, id)
        defer { contents.byID.reset() }
        guard try contents.byID.step() else { return nil }
        return FoundContent(
            id: id, digest: contents.byID.withBytes(3) { StoredDigest($0) }, length: contents.byID.integer(1),
            users: contents.byID.integer(0), isFile: contents.byID.integer(2) != 0)
    }

    /// Stores content once, however many entities have it. Nil if it cannot be stored: beside other content whose digest
    /// begins alike, which only happens by intent, or if it was digested under the secret of an earlier database.
    func storeContent(
        _ content: ContentReference, blocks: BlockDigests?
    ) throws(SQLiteFailure) -> (id: Int64?, digest: StoredDigest)? {
        let digest: StoredDigest
        switch content.location {
        case .empty: return (nil, ContentReference.empty.digest)
        case .inline(let chunk): digest = contentHashing.digest(of: chunk.bytes)
        case .file:
            digest = content.digest
            if case .keyed = digest, blocks?.secret != contentKey?.secret { return nil }
        }
        contents.insert.bind(1, lastContentID + 1)
        contents.insert.bind(2, hash: digest.prefix)
        contents.insert.bind(3, content.length)
        digest.withBytes { contents.insert.bind(4, $0) }
        contents.insert.bindNull(5)
        contents.insert.bindNull(6)
        if let blocks { contents.insert.bind(5, blocks.bytes) }
        if case .inline(let chunk) = content.location { contents.insert.bindInPlace(6, chunk.bytes) }
        defer { contents.insert.bindNull(6) }
        do {
            try withExtendedLifetime(content) { () throws(SQLiteFailure) in try contents.insert.run() }
        } catch  where error.kind == .constraint {
            throw .corrupt("a row of content is where none can be")
        }
        if connection.changes > 0 {
            lastContentID += 1
            if blocks != nil { effects.fileBytes = effects.fileBytes.adding(saturating: content.length) }
            return (lastContentID, digest)
        }
        guard let found = try findContent(digest) else { throw .corrupt("an index has a row that its table has not") }
        guard found.isSame else { return nil }
        guard found.length == content.length, StoredNumber.users.contains(found.users) else {
            // Damage. Entities with it are removed when they are read; the new content is stored as usual.
            try deleteContentRow(id: found.id, length: found.length, file: found.isFile ? digest : nil)
            return try storeContent(content, blocks: blocks)
        }
        try set(users: found.users + 1, of: found.id)
        if blocks != nil, !found.isFile { effects.freedFiles.insert(digest) }
        return (found.id, digest)
    }

    func releaseContent(id: Int64) throws(SQLiteFailure) {
        guard let found = try contentOf(id: id) else { return }
        if found.users > 1, StoredNumber.users.contains(found.users) {
            try set(users: found.users - 1, of: id)
        } else {
            try deleteContentRow(id: id, length: found.length, file: found.isFile ? found.digest : nil)
        }
    }

    private func set(users: Int64, of id: Int64) throws(SQLiteFailure) {
        contents.setUsers.bind(1, id)
        contents.setUsers.bind(2, users)
        try contents.setUsers.run()
    }

    func deleteContentRow(id: Int64, length: Int64, file: StoredDigest?) throws(SQLiteFailure) {
        contents.delete.bind(1, id)
        try contents.delete.run()
        guard let file else { return }
        effects.freedFiles.insert(file)
        // An impossible length was never counted.
        guard StoredNumber.lengths.contains(length) else { return }
        effects.fileBytes = effects.fileBytes.subtracting(saturating: length)
    }
}

/// The statements about content, prepared once.
final class ContentStatements {
    let insert, find, byID, setUsers, delete: Statement

    init(_ connection: Connection) throws(SQLiteFailure) {
        insert = try connection.prepare(
            """
            INSERT INTO content (id, digestHash, users, length, digest, blocks, octets)
            VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6)
            ON CONFLICT (digestHash) DO NOTHING
            """)
        find = try connection.prepare(
            "SELECT id, digest, length, users, blocks IS NOT NULL FROM content WHERE digestHash = ?1")
        byID = try connection.prepare(
            "SELECT users, length, blocks IS NOT NULL, digest FROM content WHERE id = ?1")
        setUsers = try connection.prepare("UPDATE content SET users = ?2 WHERE id = ?1")
        delete = try connection.prepare("DELETE FROM content WHERE id = ?1")
    }
}
