// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP

/// The database as its one writer uses it: rows of entities and of content, and the effects of changing them. Belongs
/// to the writing thread. All changes are made within `transaction`.
final class EntityDatabase {
    /// The effects of the transaction in progress that others must know once it is committed.
    struct Effects {
        var entries = 0
        var evictions = 0
        /// Bytes of files that rows refer to.
        var fileBytes: Int64 = 0
        /// Keys without rows now, by hash.
        var lostKeys: [UInt64] = []
        /// Content that was written to segments.
        var stored: [SegmentPlace] = []
        /// Content in segments that lost its row.
        var freed: [SegmentPlace] = []
        /// Content in segments that lost a damaged row: its place may contain something else.
        var lost: [SegmentPlace] = []
        /// Content in files that lost its row.
        var freedFiles: Set<StoredDigest> = []
        /// Nanoseconds from the beginning to the end of the commit.
        var duration: Int64 = 0
    }

    let connection: Connection
    var effects = Effects()
    /// Keys that lost a row in the transaction in progress.
    private var shrunkKeys: Set<UInt64> = []
    /// The last row that was ever written by this object; rows are numbered upward.
    private(set) var lastEntityID: Int64
    var lastContentID: Int64
    /// The position of eviction.
    var cursor: EvictionCursor
    /// The keys of rows that were recently evicted from probation.
    var ghosts = GhostSet()
    /// For rows, keys and variants.
    let hashing = ContentDigest.Hashing()
    /// For content.
    let contentHashing: StoredHashing
    let contentKey: ContentKey?
    let contents: ContentStatements
    let segments: ContentSegments?
    let versions: VersionStatements
    /// True if the secret was lost that content had been stored under.
    let hasLostKey: Bool
    /// True if there may be superseded entities; without any, the code for them is skipped.
    var mayHaveVersions: Bool

    private let begin, commit, rollback: Statement
    private let insertEntity, findEntity, entitiesOfKey, entityByID, deleteEntity, updateEntity, anyOfKey: Statement
    let insertLabel, deleteLabels, labelledInRange: Statement
    let entitiesInRange, evictionCandidates, pageCount, freePageCount, addMark, removeMark: Statement
    let setState, deleteState: Statement

    /// - Parameters:
    ///   - secret: the secret for a database that has none yet.
    ///   - segments: for content that is too long for its row.
    init(
        _ connection: Connection, secret: ContentSecret?, segments: ContentSegments? = nil
    ) throws(SQLiteFailure) {
        self.connection = connection
        self.segments = segments
        // A row number outside the range is damaged; `removeImpossibleRows` handles it.
        lastEntityID = max(try Self.lastRow(of: "entity", connection), try Self.lastRow(of: "version", connection))
        mayHaveVersions = try connection.integer("SELECT EXISTS (SELECT 1 FROM version)") != 0
        contents = try ContentStatements(connection)
        versions = try VersionStatements(connection)
        let lastContent = try Self.lastRow(of: "content", connection)
        let finding = try ContentKey.find(in: connection, lastContent: lastContent, secret: secret)
        contentKey = finding.key
        hasLostKey = finding.isLost
        // Rows beyond it were stored under the present secret.
        lastContentID = max(lastContent, finding.key?.since ?? 0)
        contentHashing = StoredHashing(finding.key?.secret)
        cursor = try Self.cursor(connection, newest: lastEntityID)
        begin = try connection.prepare("BEGIN IMMEDIATE")
        commit = try connection.prepare("COMMIT")
        rollback = try connection.prepare("ROLLBACK")
        insertEntity = try connection.prepare(
            """
            INSERT INTO entity (id, keyHash, variantHash, content, requestTime, responseTime, storedAt, expires, seal,
                key, variant, head, history)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
            ON CONFLICT (keyHash, variantHash) DO NOTHING
            """)
        findEntity = try connection.prepare(
            """
            SELECT id, content, key, variant, storedAt, history FROM entity WHERE keyHash = ?1 AND variantHash = ?2
            """)
        entitiesOfKey = try connection.prepare("SELECT id, content, key, history FROM entity WHERE keyHash = ?1")
        entityByID = try connection.prepare("SELECT keyHash, content FROM entity WHERE id = ?1")
        deleteEntity = try connection.prepare("DELETE FROM entity WHERE id = ?1")
        updateEntity = try connection.prepare(
            "UPDATE entity SET requestTime = ?2, responseTime = ?3, expires = ?4, seal = ?5, head = ?6 WHERE id = ?1")
        anyOfKey = try connection.prepare(
            """
            SELECT 1 FROM entity WHERE keyHash = ?1 UNION ALL SELECT 1 FROM version WHERE keyHash = ?1 LIMIT 1
            """)
        entitiesInRange = try connection.prepare(
            "SELECT id, keyHash, content, key, history FROM entity WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3")
        insertLabel = try connection.prepare("INSERT OR IGNORE INTO label (hash, entity) VALUES (?1, ?2)")
        deleteLabels = try connection.prepare("DELETE FROM label WHERE entity = ?1")
        labelledInRange = try connection.prepare(
            """
            SELECT entity.id, keyHash, content, key, history FROM label CROSS JOIN entity ON entity.id = label.entity
            WHERE label.hash = ?4 AND label.entity > ?1 AND label.entity <= ?2 ORDER BY label.entity LIMIT ?3
            """)
        evictionCandidates = try connection.prepare(
            "SELECT id, keyHash, content, expires FROM entity WHERE id > ?1 AND id <= ?3 ORDER BY id LIMIT ?2")
        pageCount = try connection.prepare("PRAGMA page_count")
        freePageCount = try connection.prepare("PRAGMA freelist_count")
        addMark = try connection.prepare(
            "INSERT OR IGNORE INTO recentlyUsed SELECT keyHash FROM entity WHERE keyHash = ?1")
        removeMark = try connection.prepare("DELETE FROM recentlyUsed WHERE keyHash = ?1")
        deleteState = try connection.prepare("DELETE FROM state WHERE name = ?1")
        setState = try connection.prepare("INSERT OR REPLACE INTO state (name, value) VALUES (?1, ?2)")
    }

    private static func lastRow(of table: String, _ connection: Connection) throws(SQLiteFailure) -> Int64 {
        try connection.integer("SELECT max(id) FROM \(table) WHERE id BETWEEN 1 AND \(StoredNumber.rows.upperBound)")
    }

    func countEntities() throws(SQLiteFailure) -> Int {
        Int(try connection.integer("SELECT count(*) FROM entity"))
    }

    func sumOfFiles(noneLongerThan limit: Int64) throws(SQLiteFailure) -> Int64 {
        try connection.integer(
            "SELECT total(length) FROM content WHERE blocks IS NOT NULL AND length BETWEEN 1 AND \(limit)")
    }

    // MARK: Transactions

    /// Runs `body` so that all of its changes are made or none; returns their effects.
    func transaction(_ body: () throws(SQLiteFailure) -> Void) throws(SQLiteFailure) -> Effects {
        effects = Effects()
        shrunkKeys.removeAll(keepingCapacity: shrunkKeys.count <= 1024)
        let cursorBefore = cursor
        let start = monotonicNow()
        // The previous one may have failed so badly that even its rollback was impossible.
        if connection.isInTransaction { try rollback.run() }
        try begin.run()
        do {
            try body()
            for key in shrunkKeys where try !hasKey(key) {
                effects.lostKeys.append(key)
                try removeMark(of: key)
            }
            try commit.run()
        } catch {
            cursor = cursorBefore
            segments?.writer.free(effects.stored)
            // Some failures have rolled back already.
            if connection.isInTransaction { try? rollback.run() }
            throw error
        }
        effects.duration = monotonicNow() - start
        return effects
    }

    // MARK: Entities

    /// Stores an entity in the place of the one of the same key and variant, which may become a version.
    ///
    /// - Parameter blocks: set if its content is a file.
    func insert(_ record: EntityRecord, for key: EntityKey, blocks: BlockDigests?) throws(SQLiteFailure) {
        guard let (content, digest) = try storeContent(record.content, blocks: blocks) else {
            // The existing entity is out of date nevertheless.
            return try remove(key, variant: record.variant, because: .unusable)
        }
        let variantHash = hash(ofVariant: record.variant)
        lastEntityID += 1
        let checksum = RowChecksum(
            requestTime: record.requestTime, responseTime: record.responseTime, storedAt: record.storedAt,
            expires: record.expires, digest: digest, length: record.content.length)
        insertEntity.bind(1, lastEntityID)
        insertEntity.bind(2, hash: key.hash)
        insertEntity.bind(3, hash: variantHash)
        insertEntity.bind(4, content)
        insertEntity.bind(5, record.requestTime.nanoseconds)
        insertEntity.bind(6, record.responseTime.nanoseconds)
        insertEntity.bind(7, record.storedAt.nanoseconds)
        insertEntity.bind(8, record.expires?.nanoseconds)
        insertEntity.bind(9, checksum.value(key: key.bytes, variant: record.variant, head: record.head, using: hashing))
        insertEntity.bind(10, key.bytes)
        insertEntity.bind(11, record.variant)
        insertEntity.bind(12, record.head)
        insertEntity.bind(13, record.history.column)
        try insertEntity.run()
        if connection.changes == 0 {
            // Looking first would cost more: most entities are new.
            if let row = try find(keyHash: key.hash, variantHash: variantHash) {
                let isKept = record.history.limit > 0 && row.history >= 0 && row.key == key.bytes
                try isKept
                    ? makeVersion(of: row.id, keyHash: key.hash)
                    : removeRow(id: row.id, keyHash: key.hash, content: row.content)
            }
            try insertEntity.run()
            guard connection.changes > 0 else { throw .corrupt("an index has a row that its table has not") }
        }
        try add(record.labels, to: lastEntityID)
        effects.entries += 1
        if mayHaveVersions {
            try settleVersions(
                before: lastEntityID, keyHash: key.hash, variantHash: variantHash, digest: digest,
                limit: record.history.limit)
        }
    }

    func updateHead(_ update: HeadUpdate, of key: EntityKey) throws(SQLiteFailure) {
        let variantHash = hash(ofVariant: update.variant)
        guard let row = try find(keyHash: key.hash, variantHash: variantHash) else { return }
        guard row.key == key.bytes, row.variant == update.variant, row.storedAt == update.storedAt.nanoseconds
        else { return }
        var digest = ContentReference.empty.digest
        var length: Int64 = 0
        if let content = row.content {
            // Without its content the seal is invalid; the next read will find out.
            guard let found = try contentOf(id: content), let itsDigest = found.digest else { return }
            digest = itsDigest
            length = found.length
        }
        let checksum = RowChecksum(
            requestTime: update.requestTime, responseTime: update.responseTime, storedAt: update.storedAt,
            expires: update.expires, digest: digest, length: length)
        updateEntity.bind(1, row.id)
        updateEntity.bind(2, update.requestTime.nanoseconds)
        updateEntity.bind(3, update.responseTime.nanoseconds)
        updateEntity.bind(4, update.expires?.nanoseconds)
        updateEntity.bind(5, checksum.value(key: key.bytes, variant: update.variant, head: update.head, using: hashing))
        updateEntity.bind(6, update.head)
        try updateEntity.run()
        guard let labels = update.labels else { return }
        try removeLabels(of: row.id)
        try add(labels, to: row.id)
    }

    /// Removes one variant of a key, or all.
    ///
    /// - Parameter storedAt: when the one was stored that is meant; nil for any.
    func remove(
        _ key: EntityKey, variant: [UInt8]?, because reason: RemovalReason, ifStoredAt storedAt: Timestamp? = nil
    ) throws(SQLiteFailure) {
        if reason == .wiped { try removeVersions(of: key, variantHash: variant.map(hash(ofVariant:))) }
        if let variant {
            let variantHash = hash(ofVariant: variant)
            guard let row = try find(keyHash: key.hash, variantHash: variantHash) else { return }
            guard row.key == key.bytes, row.variant == variant,
                row.storedAt == storedAt?.nanoseconds ?? row.storedAt
            else { return }
            try retire(
                RemovalRow(
                    id: row.id, keyHash: key.hash, content: row.content, key: row.key, history: row.history),
                because: reason)
        } else {
            var rows: [RemovalRow] = []
            entitiesOfKey.bind(1, hash: key.hash)
            do {
                defer { entitiesOfKey.reset() }
                while try entitiesOfKey.step() {
                    let found = entitiesOfKey.bytes(2)
                    guard found == key.bytes else { continue }
                    rows.append(
                        RemovalRow(
                            id: entitiesOfKey.integer(0), keyHash: key.hash, content: entitiesOfKey.optionalInteger(1),
                            key: found, history: entitiesOfKey.integer(3)))
                }
            }
            for row in rows { try retire(row, because: reason) }
        }
    }

    /// Removes a row that a reader found damaged, or too much; it may be gone.
    func discardEntity(id: Int64) throws(SQLiteFailure) {
        if try discardVersion(id: id) { return }
        entityByID.bind(1, id)
        let row: (keyHash: UInt64, content: Int64?)
        do {
            defer { entityByID.reset() }
            guard try entityByID.step() else { return }
            row = (entityByID.hash(0), entityByID.optionalInteger(1))
        }
        try removeRow(id: id, keyHash: row.keyHash, content: row.content)
    }

    func removeRow(id: Int64, keyHash: UInt64, content: Int64?) throws(SQLiteFailure) {
        try deleteEntity(id: id, keyHash: keyHash)
        try removeLabels(of: id)
        if let content { try releaseContent(id: content) }
    }

    /// Deletes the row alone.
    func deleteEntity(id: Int64, keyHash: UInt64) throws(SQLiteFailure) {
        deleteEntity.bind(1, id)
        try deleteEntity.run()
        effects.entries -= connection.changes
        noteLoss(of: keyHash)
    }

    /// Records that a key has one row less.
    func noteLoss(of keyHash: UInt64) { shrunkKeys.insert(keyHash) }

    private func hasKey(_ hash: UInt64) throws(SQLiteFailure) -> Bool {
        anyOfKey.bind(1, hash: hash)
        defer { anyOfKey.reset() }
        return try anyOfKey.step()
    }

    private func hash(ofVariant variant: [UInt8]) -> UInt64 {
        variant.isEmpty ? ContentReference.empty.digest.prefix : hashing.digest(of: variant).prefix
    }

    private struct FoundEntity {
        var id: Int64
        var content: Int64?
        var key: [UInt8]
        var variant: [UInt8]
        var storedAt: Int64
        var history: Int64
    }

    private func find(keyHash: UInt64, variantHash: UInt64) throws(SQLiteFailure) -> FoundEntity? {
        findEntity.bind(1, hash: keyHash)
        findEntity.bind(2, hash: variantHash)
        defer { findEntity.reset() }
        guard try findEntity.step() else { return nil }
        return FoundEntity(
            id: findEntity.integer(0), content: findEntity.optionalInteger(1), key: findEntity.bytes(2),
            variant: findEntity.bytes(3), storedAt: findEntity.integer(4), history: findEntity.integer(5))
    }

    // MARK: Room

    /// The pages of the file, and the free ones among them.
    func pages() throws(SQLiteFailure) -> (all: Int64, free: Int64) {
        try (number(pageCount), number(freePageCount))
    }

    private func number(_ statement: borrowing Statement) throws(SQLiteFailure) -> Int64 {
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : 0
    }

    func countEviction() { effects.evictions += 1 }
}
