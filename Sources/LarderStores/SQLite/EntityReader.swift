// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

/// The database as one of its readers uses it. Belongs to one reading thread.
final class EntityReader {
    /// The rows found under a key.
    struct Found {
        struct Row {
            var id: Int64
            var record: EntityRecord
            /// The place of content that was not read with the row.
            var place: SegmentPlace?
            /// For versions only: when the content was first stored, and true if the entity is not superseded yet.
            var since: Timestamp?
            var isCurrent = true
        }

        var rows: [Row] = []
        /// Damaged rows, and the reason.
        var damaged: [(id: Int64, reason: String)] = []
        /// Rows whose content cannot be checked, as the secret that it was stored under was lost.
        var lost: [Int64] = []
        /// Damaged content.
        var damagedContent: [StoredDigest] = []
        /// Rows beyond the limit on variants.
        var surplus: [Int64] = []
        /// Why rows are left out whose content cannot be read just now.
        var unread: DiskFailure?
    }

    /// Bytes; a longer column is damaged, and is not read into memory.
    private static let longestRun = 4 << 20
    /// Bytes; enough for the digests of a file of half a terabyte.
    private static let longestBlocks = 64 << 20
    private static let mostVersions = 4096

    /// The number of this database; a new one has another number.
    let generation: Int
    let connection: Connection
    private let hashing = ContentDigest.Hashing()
    private let contentKey: ContentKey?
    private let keyed: KeyedHashing?
    private let segments: SegmentFiles?
    private let entities, versions, versionCount, content, listing, labelled, labelsOfKey: Statement

    init(
        path: String, generation: Int, key: ContentKey?, segments: SegmentFiles? = nil, mappedBytes: Int64
    ) throws(SQLiteFailure) {
        self.segments = segments
        self.generation = generation
        contentKey = key
        keyed = key.flatMap { KeyedHashing($0.secret) }
        connection = try Connection(path: path, isWriter: false)
        connection.leaveLogOnClose()
        try connection.execute(
            """
            PRAGMA mmap_size = \(mappedBytes);
            PRAGMA cache_size = -4096;
            PRAGMA query_only = 1;
            """)
        func columns(of table: String, octetsIf condition: String = "TRUE", _ rest: String = "") -> String {
            """
            SELECT \(table).id, CASE WHEN length(key) <= \(Self.longestRun) THEN key END,
                CASE WHEN length(variant) <= \(Self.longestRun) THEN variant END,
                CASE WHEN length(head) <= \(Self.longestRun) THEN head END,
                requestTime, responseTime, storedAt, expires, seal, \(table).content, digest, length,
                CASE WHEN length(octets) <= \(Self.longestRun) AND \(condition) THEN octets END,
                CASE WHEN \(condition) THEN segment END, place\(rest)
            FROM \(table) LEFT JOIN content ON content.id = \(table).content WHERE keyHash = ?1
            """
        }
        entities = try connection.prepare(columns(of: "entity"))
        versions = try connection.prepare(
            columns(of: "entity", octetsIf: "entity.id = ?2", ", coalesce(since, storedAt), TRUE") + " UNION ALL "
                + columns(of: "version", octetsIf: "version.id = ?2", ", since, FALSE")
                + " ORDER BY 1 DESC LIMIT \(Self.mostVersions)")
        versionCount = try connection.prepare(
            """
            SELECT (SELECT count(*) FROM entity WHERE keyHash = ?1 AND key = ?2)
                + (SELECT count(*) FROM version WHERE keyHash = ?1 AND key = ?2 AND id > ?3)
            """)
        content = try connection.prepare(
            """
            SELECT digest, length, CASE WHEN length(blocks) <= \(Self.longestBlocks) THEN blocks END,
                octets IS NOT NULL OR segment IS NOT NULL, segment, place
            FROM content WHERE digestHash = ?1
            """)
        listing = try connection.prepare(
            """
            SELECT entity.id, keyHash, key, variant, requestTime, responseTime, storedAt, expires, length
            FROM entity LEFT JOIN content ON content.id = entity.content
            WHERE entity.id > ?1 ORDER BY entity.id LIMIT ?2
            """)
        labelled = try connection.prepare(
            """
            SELECT entity.id, keyHash, key, variant, requestTime, responseTime, storedAt, expires, length
            FROM label CROSS JOIN entity ON entity.id = label.entity LEFT JOIN content ON content.id = entity.content
            WHERE label.hash = ?3 AND label.entity > ?1 ORDER BY label.entity LIMIT ?2
            """)
        labelsOfKey = try connection.prepare(
            """
            SELECT entity.id, label.hash FROM entity JOIN label ON label.entity = entity.id WHERE keyHash = ?1
            """)
    }

    /// All rows of a key, the latest first, at most `limit`.
    func read(_ key: EntityKey, limit: Int) throws(SQLiteFailure) -> Found {
        var found = Found()
        entities.bind(1, hash: key.hash)
        do {
            defer { entities.reset() }
            // With many more rows than the limit, more than one read is needed to remove them.
            let most = limit * 4
            while found.rows.count < most, try entities.step() {
                if isMeant(entities, key) { readRow(entities, of: key, into: &found) }
            }
        }
        if found.rows.count > 1 {
            found.rows.sort { ($0.record.storedAt, $0.id) > ($1.record.storedAt, $1.id) }
        }
        if found.rows.count > limit {
            found.surplus = found.rows[limit...].map(\.id)
            found.rows.removeLast(found.rows.count - limit)
        }
        try readSegments(into: &found)
        return found
    }

    /// The entities of a key and the entities that they superseded, the latest first. Only the entity of one row comes
    /// with its content.
    func versions(of key: EntityKey, withContentOf row: Int64) throws(SQLiteFailure) -> Found {
        var found = Found()
        versions.bind(1, hash: key.hash)
        versions.bind(2, row)
        do {
            defer { versions.reset() }
            while try versions.step() {
                let count = found.rows.count
                if isMeant(versions, key) { readRow(versions, of: key, into: &found) }
                guard found.rows.count > count else { continue }
                // Nothing guards this number: it is a time before the row was written, or of no use.
                let since = min(max(versions.integer(15), 0), found.rows[count].record.storedAt.nanoseconds)
                found.rows[count].since = Timestamp(nanoseconds: since)
                found.rows[count].isCurrent = versions.integer(16) != 0
            }
        }
        try readSegments(into: &found)
        return found
    }

    /// How many rows `versions(of:withContentOf:)` has, damaged ones included.
    func versionCount(of key: EntityKey, after row: Int64) throws(SQLiteFailure) -> Int {
        versionCount.bind(1, hash: key.hash)
        versionCount.bind(2, key.bytes)
        versionCount.bind(3, row)
        defer { versionCount.reset() }
        return try versionCount.step() ? min(Int(versionCount.integer(0)), Self.mostVersions) : 0
    }

    private func isMeant(_ row: borrowing Statement, _ key: EntityKey) -> Bool {
        row.withBytes(1) { stored in key.bytes.withUnsafeBytes { stored.elementsEqual($0) } }
    }

    private func readRow(_ entities: borrowing Statement, of key: EntityKey, into found: inout Found) {
        let id = entities.integer(0)
        var digest = ContentReference.empty.digest
        var length: Int64 = 0
        var location = ContentReference.Location.empty
        if !entities.isNull(9) {
            guard let itsDigest = entities.withBytes(10, { StoredDigest($0) }) else {
                found.damaged.append((id, "its content is gone"))
                return
            }
            guard contentKey?.hasLost(itsDigest, row: entities.integer(9)) != true else {
                found.lost.append(id)
                return
            }
            digest = itsDigest
            length = entities.integer(11)
            location = .file
        }
        let checksum = RowChecksum(
            requestTime: Timestamp(nanoseconds: entities.integer(4)),
            responseTime: Timestamp(nanoseconds: entities.integer(5)),
            storedAt: Timestamp(nanoseconds: entities.integer(6)),
            expires: entities.optionalInteger(7).map(Timestamp.init(nanoseconds:)), digest: digest, length: length)
        let variant = entities.bytes(2)
        let head = entities.bytes(3)
        guard checksum.value(key: key.bytes, variant: variant, head: head, using: hashing) == entities.integer(8) else {
            found.damaged.append((id, "its row does not match its seal"))
            return
        }
        var place: SegmentPlace?
        if !entities.isNull(13) {
            place = SegmentPlace(segment: entities.integer(13), offset: entities.integer(14), length: length)
            guard place != nil else {
                found.damaged.append((id, "its content has no possible place"))
                found.damagedContent.append(digest)
                return
            }
        } else if !entities.isNull(12) {
            let octets = entities.withBytes(12) { ContentChunk(copying: $0) }
            guard Int64(octets.count) == length, matches(octets.bytes, digest) else {
                found.damaged.append((id, "its content does not match its digest"))
                found.damagedContent.append(digest)
                return
            }
            location = .inline(octets)
        }
        let record = EntityRecord(
            variant: variant, head: head, requestTime: checksum.requestTime, responseTime: checksum.responseTime,
            storedAt: checksum.storedAt, expires: checksum.expires,
            content: ContentReference(digest: digest, length: length, location: location))
        found.rows.append(Found.Row(id: id, record: record, place: place))
    }

    /// Reads the content of rows that lies in segments. Omits rows whose content was removed meanwhile, and rows that
    /// the disk cannot read: a bad sector affects no other row.
    private func readSegments(into found: inout Found) throws(SQLiteFailure) {
        guard found.rows.contains(where: { $0.place != nil }) else { return }
        var rows: [Found.Row] = []
        for var row in found.rows {
            guard let place = row.place, let segments else {
                rows.append(row)
                continue
            }
            let digest = row.record.content.digest
            let octets: ContentChunk?
            do {
                octets = try segments.read(place)
            } catch {
                found.unread = error
                continue
            }
            if let octets, matches(octets.bytes, digest) {
                row.record.content.location = .inline(octets)
                rows.append(row)
            } else if try isStill(digest, at: place) {
                found.damaged.append((row.id, "its content does not match its digest"))
                found.damagedContent.append(digest)
            }
        }
        found.rows = rows
    }

    /// True if content is where it was: its place becomes a hole after its row is gone, not before.
    private func isStill(_ digest: StoredDigest, at place: SegmentPlace) throws(SQLiteFailure) -> Bool {
        content.bind(1, hash: digest.prefix)
        defer { content.reset() }
        guard try content.step(), content.withBytes(0, { StoredDigest($0) }) == digest else { return false }
        return content.integer(4) == place.segment && content.integer(5) == place.offset
    }

    /// True if bytes have the digest; they have not where the store has no secret to tell.
    private func matches(_ octets: UnsafeRawBufferPointer, _ digest: StoredDigest) -> Bool {
        switch digest {
        case .keyed(let digest): keyed.map { $0.digest(of: octets) == digest } ?? false
        case .sha256(let digest): hashing.digest(of: octets) == digest
        }
    }

    /// The digests of content in a file: nil if no such content is in one, `.some(nil)` if the row is damaged.
    func blocks(of digest: StoredDigest, length: Int64) throws(SQLiteFailure) -> BlockDigests?? {
        content.bind(1, hash: digest.prefix)
        defer { content.reset() }
        guard try content.step(), content.withBytes(0, { StoredDigest($0) }) == digest, content.integer(3) == 0
        else { return .none }
        guard content.integer(1) == length else { return .some(nil) }
        guard case .keyed = digest else { return .some(BlockDigests(content.bytes(2), length: length, secret: nil)) }
        // Rows under another secret are not read as far as this.
        return .some(contentKey.flatMap { BlockDigests(content.bytes(2), length: length, secret: $0.secret) })
    }

    func hasContent(_ digest: StoredDigest) throws(SQLiteFailure) -> Bool {
        content.bind(1, hash: digest.prefix)
        defer { content.reset() }
        return try content.step() && content.withBytes(0, { StoredDigest($0) }) == digest
    }

    /// Examines up to `examine` rows after `row`. Returns the matching rows, at most `limit`, and the last row that was
    /// examined, nil at the end.
    func list(
        after row: Int64, examine: Int, limit: Int, match: EntityMatch, index: KeyIndex
    ) throws(SQLiteFailure) -> (lines: [EntityListing], last: Int64?) {
        guard let label = match.label else {
            return try list(listing, after: row, examine: examine, limit: limit, match: match, index: index)
        }
        labelled.bind(3, hash: label.hash)
        return try list(labelled, after: row, examine: examine, limit: limit, match: match, index: index)
    }

    private func list(
        _ listing: borrowing Statement, after row: Int64, examine: Int, limit: Int, match: EntityMatch,
        index: KeyIndex
    ) throws(SQLiteFailure) -> (lines: [EntityListing], last: Int64?) {
        var lines: [EntityListing] = []
        var examined = 0
        var last: Int64?
        listing.bind(1, row)
        listing.bind(2, Int64(examine))
        defer { listing.reset() }
        while lines.count < limit, try listing.step() {
            examined += 1
            last = listing.integer(0)
            guard let key = EntityKey(bytes: listing.bytes(2)), match.accepts(key) else { continue }
            lines.append(
                EntityListing(
                    row: listing.integer(0), key: key, variant: listing.bytes(3),
                    length: min(max(listing.integer(8), 0), StoredNumber.lengths.upperBound),
                    requestTime: Timestamp(nanoseconds: listing.integer(4)),
                    responseTime: Timestamp(nanoseconds: listing.integer(5)),
                    storedAt: Timestamp(nanoseconds: listing.integer(6)),
                    expires: listing.optionalInteger(7).map(Timestamp.init(nanoseconds:)),
                    isRecentlyUsed: index.isMarked(listing.hash(1))))
        }
        return (lines, examined == examine || lines.count == limit ? last : nil)
    }

    /// The rows of a key that have the label.
    func forEachLabel(of key: EntityKey, _ body: (_ row: Int64, EntityLabel) -> Void) throws(SQLiteFailure) {
        labelsOfKey.bind(1, hash: key.hash)
        defer { labelsOfKey.reset() }
        while try labelsOfKey.step() { body(labelsOfKey.integer(0), EntityLabel(hash: labelsOfKey.hash(1))) }
    }

    /// Calls `body` with the hash of every label, in their order, until it returns false.
    func forEachLabelHash(_ body: (UInt64) -> Bool) throws(SQLiteFailure) {
        let statement = try connection.prepare("SELECT DISTINCT hash FROM label")
        while try statement.step(), body(statement.hash(0)) {}
    }

    /// Calls `body` with the hash of every key, those of versions included, in no order, until it returns false.
    func forEachKeyHash(_ body: (UInt64) -> Bool) throws(SQLiteFailure) {
        let statement = try connection.prepare(
            """
            SELECT keyHash FROM entity INDEXED BY entityByKey
            UNION ALL SELECT DISTINCT keyHash FROM version INDEXED BY versionByKey
            """)
        while try statement.step(), body(statement.hash(0)) {}
    }

    func forEachMark(_ body: (UInt64) -> Bool) throws(SQLiteFailure) {
        let statement = try connection.prepare("SELECT keyHash FROM recentlyUsed")
        while try statement.step(), body(statement.hash(0)) {}
    }
}
