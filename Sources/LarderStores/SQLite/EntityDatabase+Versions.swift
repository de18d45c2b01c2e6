// SPDX-License-Identifier: Apache-2.0

/// Rows of superseded entities. They keep their numbers and labels, and never answer a request: they have a separate
/// table, which only `EntityReader.versions` reads.
extension EntityDatabase {
    /// Keeps the entity of a row as a version, in place of the row.
    func makeVersion(of id: Int64, keyHash: UInt64) throws(SQLiteFailure) {
        versions.copyEntity.bind(1, id)
        try versions.copyEntity.run()
        try deleteEntity(id: id, keyHash: keyHash)
        mayHaveVersions = true
    }

    /// Keeps the entity of a row as a version where its service has them kept, or removes it.
    func retire(_ row: RemovalRow, because reason: RemovalReason) throws(SQLiteFailure) {
        if reason == .superseded, row.history > 0 {
            try makeVersion(of: row.id, keyHash: row.keyHash)
        } else {
            try removeRow(id: row.id, keyHash: row.keyHash, content: row.content)
        }
    }

    /// After an entity was written: content that is the same as before has been there since then and is no version;
    /// versions beyond the limit go, the oldest first.
    func settleVersions(
        before id: Int64, keyHash: UInt64, variantHash: UInt64, digest: StoredDigest, limit: Int
    ) throws(SQLiteFailure) {
        versions.ofVariant.bind(1, hash: keyHash)
        versions.ofVariant.bind(2, hash: variantHash)
        var rows = try versionRows(versions.ofVariant)
        if limit > 0, let newest = rows.first, try self.digest(ofContent: newest.content) == digest {
            versions.copySince.bind(1, id)
            versions.copySince.bind(2, newest.id)
            try versions.copySince.run()
            try removeVersion(newest)
            rows.removeFirst()
        }
        for row in rows.dropFirst(limit) { try removeVersion(row) }
    }

    /// Removes the versions of one variant of a key, or of all.
    func removeVersions(of key: EntityKey, variantHash: UInt64?) throws(SQLiteFailure) {
        guard mayHaveVersions else { return }
        versions.ofKey.bind(1, hash: key.hash)
        versions.ofKey.bind(2, variantHash.map { Int64(bitPattern: $0) })
        for row in try versionRows(versions.ofKey) where row.key == key.bytes { try removeVersion(row) }
    }

    /// False if there is no version with this number.
    func discardVersion(id: Int64) throws(SQLiteFailure) -> Bool {
        guard mayHaveVersions else { return false }
        versions.byID.bind(1, id)
        guard let row = try versionRows(versions.byID).first else { return false }
        try removeVersion(row)
        return true
    }

    /// Removes the oldest versions to free space. Returns their number.
    func evictVersions(atMost limit: Int) throws(SQLiteFailure) -> Int {
        guard mayHaveVersions else { return 0 }
        versions.oldest.bind(1, Int64(limit))
        let rows = try versionRows(versions.oldest)
        for row in rows {
            try removeVersion(row)
            countEviction()
        }
        if rows.isEmpty { mayHaveVersions = false }
        return rows.count
    }

    func removeVersion(_ row: RemovalRow) throws(SQLiteFailure) {
        versions.delete.bind(1, row.id)
        try versions.delete.run()
        try removeLabels(of: row.id)
        noteLoss(of: row.keyHash)
        if let content = row.content { try releaseContent(id: content) }
    }

    func versionRows(_ statement: borrowing Statement) throws(SQLiteFailure) -> [RemovalRow] {
        var rows: [RemovalRow] = []
        try collect(statement, into: &rows)
        return rows
    }
}

/// The statements for superseded entities. Rows are returned as number, hash of the key, content, key.
final class VersionStatements {
    let copyEntity, copySince, delete, ofVariant, ofKey, byID, oldest, inRange, labelledInRange: Statement

    init(_ connection: Connection) throws(SQLiteFailure) {
        let columns = "version.id, keyHash, content, key, 0"
        copyEntity = try connection.prepare(
            """
            INSERT OR REPLACE INTO version (id, keyHash, variantHash, content, requestTime, responseTime, storedAt,
                expires, seal, key, variant, head, since)
            SELECT id, keyHash, variantHash, content, requestTime, responseTime, storedAt, expires, seal, key, variant,
                head, coalesce(since, storedAt)
            FROM entity WHERE id = ?1
            """)
        copySince = try connection.prepare(
            "UPDATE entity SET since = (SELECT since FROM version WHERE id = ?2) WHERE id = ?1")
        delete = try connection.prepare("DELETE FROM version WHERE id = ?1")
        ofVariant = try connection.prepare(
            "SELECT \(columns) FROM version WHERE keyHash = ?1 AND variantHash = ?2 ORDER BY id DESC")
        ofKey = try connection.prepare(
            "SELECT \(columns) FROM version WHERE keyHash = ?1 AND (?2 IS NULL OR variantHash = ?2)")
        byID = try connection.prepare("SELECT \(columns) FROM version WHERE id = ?1")
        oldest = try connection.prepare("SELECT \(columns) FROM version ORDER BY id LIMIT ?1")
        inRange = try connection.prepare(
            "SELECT \(columns) FROM version WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3")
        labelledInRange = try connection.prepare(
            """
            SELECT \(columns) FROM label CROSS JOIN version ON version.id = label.entity
            WHERE label.hash = ?4 AND label.entity > ?1 AND label.entity <= ?2 ORDER BY label.entity LIMIT ?3
            """)
    }
}

extension EntityHistory {
    /// The column `history` of an entity: how many versions are kept, and -1 where it is none itself.
    var column: Int64 { isVersion ? Int64(limit) : -1 }
}
