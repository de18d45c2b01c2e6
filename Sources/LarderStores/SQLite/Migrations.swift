// SPDX-License-Identifier: Apache-2.0

/// A step of the schema. Each step is applied once, in order, in its own transaction.
struct Migration {
    let name: String
    let sql: String
    /// Additional changes to the existing rows.
    var fill: (@Sendable (Connection) throws(SQLiteFailure) -> Void)?

    /// Never change a step that was released; add one.
    static let all: [Migration] = [
        Migration(
            name: "entities and content",
            sql: """
                CREATE TABLE entity (
                    id INTEGER PRIMARY KEY,
                    keyHash INTEGER NOT NULL,
                    variantHash INTEGER NOT NULL,
                    content INTEGER,
                    requestTime INTEGER NOT NULL,
                    responseTime INTEGER NOT NULL,
                    storedAt INTEGER NOT NULL,
                    expires INTEGER,
                    seal INTEGER NOT NULL,
                    key BLOB NOT NULL,
                    variant BLOB NOT NULL,
                    head BLOB NOT NULL
                );
                CREATE UNIQUE INDEX entityByKey ON entity (keyHash, variantHash);
                CREATE TABLE content (
                    id INTEGER PRIMARY KEY,
                    digestHash INTEGER NOT NULL,
                    users INTEGER NOT NULL,
                    length INTEGER NOT NULL,
                    digest BLOB NOT NULL,
                    blocks BLOB,
                    octets BLOB
                );
                CREATE UNIQUE INDEX contentByDigest ON content (digestHash);
                CREATE INDEX contentInFiles ON content (digestHash, length) WHERE blocks IS NOT NULL;
                """),
        Migration(
            name: "eviction remembers what was read",
            sql: """
                CREATE TABLE recentlyUsed (keyHash INTEGER PRIMARY KEY);
                CREATE TABLE state (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
                """),
        Migration(
            name: "entities are found by what they have in common",
            sql: """
                CREATE TABLE label (
                    hash INTEGER NOT NULL,
                    entity INTEGER NOT NULL,
                    PRIMARY KEY (hash, entity)
                ) WITHOUT ROWID;
                CREATE INDEX labelByEntity ON label (entity);
                """,
            fill: labelPartitions),
        Migration(
            name: "keys can be pinned",
            sql: "CREATE TABLE pin (keyHash INTEGER PRIMARY KEY, key BLOB NOT NULL);"),
        Migration(
            name: "superseded entities are kept where a service says so",
            sql: """
                ALTER TABLE entity ADD COLUMN history INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE entity ADD COLUMN since INTEGER;
                CREATE TABLE version (
                    id INTEGER PRIMARY KEY,
                    keyHash INTEGER NOT NULL,
                    variantHash INTEGER NOT NULL,
                    content INTEGER,
                    requestTime INTEGER NOT NULL,
                    responseTime INTEGER NOT NULL,
                    storedAt INTEGER NOT NULL,
                    expires INTEGER,
                    seal INTEGER NOT NULL,
                    key BLOB NOT NULL,
                    variant BLOB NOT NULL,
                    head BLOB NOT NULL,
                    since INTEGER NOT NULL
                );
                CREATE INDEX versionByKey ON version (keyHash, variantHash);
                """),
        Migration(
            name: "content is found by keyed digests",
            sql: """
                CREATE TABLE contentKey (
                    id INTEGER PRIMARY KEY,
                    secret BLOB NOT NULL,
                    since INTEGER NOT NULL,
                    seal INTEGER NOT NULL
                );
                """),
        Migration(
            name: "content lies in segments",
            sql: """
                ALTER TABLE content ADD COLUMN segment INTEGER;
                ALTER TABLE content ADD COLUMN place INTEGER;
                CREATE INDEX contentInSegments ON content (segment, place, length) WHERE segment IS NOT NULL;
                """),
    ]
}

/// The meaning of the schema.
///
/// - `entity`: a stored entity. Rows are only ever appended, so `id` is the order of writing and names a version; a
///   newer entity of the same key and variant is a new row. `keyHash` and `variantHash` find it, `key` and `variant`
///   confirm that it is the requested entity. Times are nanoseconds since the epoch. `content` is null if there is
///   none. `seal` guards everything in the row and the digest of the content against damage, except `history`, how many
///   versions are kept beside it (-1 if it becomes none itself), and `since`, when equal content was first stored, if
///   that was earlier.
/// - `version`: an entity that was superseded, with the number, the labels and the seal that it had.
/// - `content`: the content of entities. Long content is shared by the entities that have it: `digestHash`, where its
///   digest begins, finds it, and `users` counts them. Short content belongs to one, and has its `id` there instead.
///   Either `octets`, or `segment` and `place`, the number of a file in `segments/` and the offset in it, or, for a
///   file named by its digest, `blocks`: the digests of its parts of 256 KiB. `digest` is `BlockDigests.address`.
///   Digests are of 16 bytes, made with the secret in `contentKey`, or, stored by earlier versions, SHA-256: both the
///   digest and its blocks'. Even earlier versions used the SHA-256 of all bytes for files; readers need not know.
/// - `contentKey`: one row. `secret` is a `ContentSecret`; content in rows up to `since` was stored under another one,
///   which was lost; `seal` guards both.
/// - `label`: by which entities are found together, by hash: the URL of entities in partitions, and groups. A row
///   without its entity means nothing.
/// - `pin`: the keys whose entities are not evicted, whether or not there are any now.
/// - `recentlyUsed`: the keys that eviction will skip once. `state`: its position.
enum Schema {
    static let applicationID = StoreDirectory.applicationID
    static let pageSize: Int64 = 16 << 10

    enum Finding {
        /// Ready for use; these steps had to be applied.
        case ready(migrated: [String])
        /// Unusable for this version.
        case foreign(String)
    }

    /// Brings the database up to `migrations`. A failure may mean that the file is damaged.
    static func prepare(
        _ connection: Connection, migrations: [Migration] = Migration.all
    ) throws(SQLiteFailure) -> Finding {
        let isNew = try connection.integer("SELECT count(*) FROM sqlite_schema") == 0
        if isNew {
            // These three only take effect before the first table is created.
            try connection.execute(
                """
                PRAGMA page_size = \(pageSize);
                PRAGMA auto_vacuum = INCREMENTAL;
                PRAGMA application_id = \(applicationID);
                """)
        } else if try connection.integer("PRAGMA application_id") != applicationID {
            return .foreign("it is not a database of Larder")
        }
        let version = Int(try connection.integer("PRAGMA user_version"))
        guard version <= migrations.count, version >= 0 else {
            return .foreign("its schema has version \(version), this Larder knows \(migrations.count)")
        }
        guard try connection.text("PRAGMA journal_mode = WAL") == "wal" else {
            return .foreign("it cannot keep a write-ahead log")
        }
        var migrated: [String] = []
        for (index, migration) in migrations.enumerated().dropFirst(version) {
            try connection.execute("BEGIN IMMEDIATE; \(migration.sql);")
            do {
                try migration.fill?(connection)
                try connection.execute("PRAGMA user_version = \(index + 1); COMMIT;")
            } catch {
                if connection.isInTransaction { try? connection.execute("ROLLBACK") }
                throw error
            }
            migrated.append(migration.name)
        }
        return .ready(migrated: isNew ? [] : migrated)
    }
}
