// SPDX-License-Identifier: Apache-2.0
import Glibc
package import Larder
package import LarderHTTP
import LarderIO

/// The store of the daemon: entities in a SQLite database, long content in files beside it.
///
/// One thread writes, in groups of a few milliseconds or a few megabytes; a few threads read; two write long content to
/// files. Operations on one key take effect in the order in which they were called, for readers at once and on disk
/// with the next group. Only opening throws. An entity that the disk refuses is dropped; an entity that the disk lost
/// or altered is a miss. Both are reported as events. Calls that are not `async` never block and may be made from any
/// thread.
package final class SQLiteStore: Sendable {
    let core: StoreCore
    private let writer: Thread
    /// True if there was no database before it was opened.
    package let isNew: Bool

    private init(core: StoreCore, writer: Thread, isNew: Bool) {
        self.core = core
        self.writer = writer
        self.isNew = isNew
    }

    /// Opens the store in a directory, which is created if it is missing, and refused if other users may write to it or
    /// it contains files that are not Larder's. The stored keys are loaded in the background; a damaged or foreign
    /// database is set aside, and a full disk only prevents writing.
    ///
    /// - Parameter events: called on the store's own threads; must not block.
    package static func open(
        _ settings: StoreSettings, events: @escaping @Sendable (StoreEvent) -> Void
    ) throws(StoreError) -> SQLiteStore {
        try check(settings)
        try makeDirectories(settings.path)
        let core = StoreCore(settings: settings, directory: try directory(at: settings.path), report: events)
        let isNew = access(core.databasePath, F_OK) != 0
        do {
            try core.files.prepare()
            try core.files.directory.refuseSchema(after: Migration.all.count)
            try core.files.discardSpool()
        } catch let failure as DiskFailure where failure.errno == ENOSPC || failure.errno == EDQUOT {
            core.degrade(failure.description)
        } catch {
            core.dismissThreads()
            throw error as? StoreError ?? StoreError(code: .unusableDirectory, message: "\(error)")
        }
        let isOpen = Monitor(false)
        let writer = Thread.startForStore(name: "larder-write") {
            let writer = StoreWriter(core: core)
            writer.begin()
            isOpen.change { $0 = true }
            writer.examine()
            writer.run()
        }
        guard let writer else {
            core.dismissThreads()
            throw StoreError(code: .unusableDirectory, message: "The system gives the store no thread to write on.")
        }
        isOpen.wait { $0 ? .done(()) : .wait(until: nil) }
        core.loadInBackground()
        return SQLiteStore(core: core, writer: writer, isNew: isNew)
    }

    deinit {
        guard core.beginClosing() else { return }
        let (core, writer) = (core, writer)
        Thread.startForStore(name: "larder-close") { core.close(writer) }?.detach()
    }

    private static func check(_ settings: StoreSettings) throws(StoreError) {
        func demand(_ condition: Bool, _ message: String) throws(StoreError) {
            if !condition { throw StoreError(code: .invalidSettings, message: message) }
        }
        try demand(
            settings.diskLimit >= StoreSettings.smallestDiskLimit,
            "The disk limit is \(settings.diskLimit) octets; it must be at least "
                + "\(StoreSettings.smallestDiskLimit >> 20) MiB.")
        try demand((0...1 << 20).contains(settings.inlineLimit), "The inline limit must be between 0 and 1 MiB.")
        try demand((1...64).contains(settings.readers), "There must be between 1 and 64 reading threads.")
        try demand(settings.variantLimit > 0, "At least one variant of a key must be kept.")
        try demand(settings.coolDown > .zero, "The cool-down must be longer than nothing.")
    }

    private static func makeDirectories(_ path: String) throws(StoreError) {
        var made = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            made += "/" + part
            // The parent directories may exist without being ours to create.
            if access(made, F_OK) == 0 { continue }
            do {
                try makeDirectory(made)
            } catch {
                throw StoreError(
                    code: .unusableDirectory,
                    message: "\(error). Make the directory, or give the cache another one (cache.path).")
            }
        }
    }

    /// The directory that belongs to this store.
    package var directory: String { core.settings.path }

    private static func directory(at path: String) throws(StoreError) -> StoreDirectory {
        do {
            return try StoreDirectory(path)
        } catch {
            throw StoreError(code: .unusableDirectory, message: error.description)
        }
    }

    /// The bytes of a small file in the directory of this store, which only this user may read: created by `make` if
    /// it is missing or something else, and again if it is deleted while the store is open.
    ///
    /// - Parameter count: its length in bytes.
    package func keepFile(
        _ name: String, count: Int, _ make: () -> [UInt8]
    ) throws(StoreError) -> [UInt8] {
        do {
            return try core.files.directory.keep(name, count: count, make)
        } catch {
            throw StoreError(code: .unusableDirectory, message: error.description)
        }
    }

    /// The bytes of a small file in the directory of this store, which only this user may read; nil if there is none,
    /// or it cannot be read.
    package func contents(ofFile name: String, limit: Int) -> [UInt8]? {
        try? core.files.directory.open().octets(of: name, limit: limit, isPrivate: true)
    }

    /// Writes such a file as a whole. False if that fails: then the old one is there.
    @discardableResult
    package func replace(file name: String, with octets: [UInt8]) -> Bool {
        (try? core.files.directory.open().write(octets, to: name)) != nil
    }

    /// Removes such a file, if it is there.
    package func remove(file name: String) { _ = try? core.files.directory.open().remove(name) }

    /// Longer content is not stored: `maxObject`, or an eighth of the room.
    package var longestContent: Int64 { core.settings.longestContent }

    // MARK: Reading

    /// True if something may be stored under `key`. False is certain; true may be a false positive.
    package func mayContain(_ key: EntityKey) -> Bool {
        !core.isClosed && core.index.mayContain(key.hash)
    }

    /// All variants stored under `key`, the latest `storedAt` first.
    ///
    /// - Parameter skippingUnread: whether those will do that can be read, if all are committed and any can.
    package func read(
        _ key: EntityKey, skippingUnread: Bool = false
    ) async throws(StoreUnavailable) -> [EntityRecord] {
        guard mayContain(key) else { return [] }
        while true {
            switch core.queue.view(of: key) {
            case .wait(let operation): await core.queue.waitForContent(of: operation)
            case .database: return try await rows(of: key, skippingUnread: skippingUnread).map(\.record)
            case .merge(let overlay):
                var stored: [EntityRecord] = []
                if !overlay.hidesRows {
                    // Labels first: a row that is removed meanwhile is not read then.
                    let hidden = try await rows(of: key, hiddenBy: overlay)
                    stored = try await rows(of: key, skippingUnread: false).filter { row in
                        !overlay.hides(row: row.id) && !hidden.contains(row.id)
                    }.map(\.record)
                }
                return try await withDigests(overlay.applied(to: stored))
            }
        }
    }

    private func rows(
        of key: EntityKey, skippingUnread: Bool
    ) async throws(StoreUnavailable) -> [EntityReader.Found.Row] {
        let limit = core.settings.variantLimit
        let found = await core.reading { (reader) throws(SQLiteFailure) in try reader.read(key, limit: limit) }
        guard let found else { throw StoreUnavailable() }
        let rows = sound(found, of: key)
        if found.unread != nil, !skippingUnread || rows.isEmpty { throw StoreUnavailable() }
        if !found.rows.isEmpty { core.index.touch(key.hash) }
        return rows
    }

    /// The rows that were found, without damaged ones, which are removed.
    private func sound(_ found: EntityReader.Found, of key: EntityKey) -> [EntityReader.Found.Row] {
        if let unread = found.unread { core.emit(.readFailed(unread.description)) }
        for id in found.lost { core.queue.post(.discardEntity(id: id)) }
        for (id, reason) in found.damaged {
            core.emit(.damagedEntity(url: key.url, reason: reason))
            core.queue.post(.discardEntity(id: id))
        }
        for digest in found.damagedContent { core.queue.post(.discardContent(digest)) }
        for id in found.surplus { core.queue.post(.discardEntity(id: id)) }
        return found.rows.filter { !core.trust.isDiscarded($0.record.content) }
    }

    /// The committed entities under a key and the entities that they superseded, the latest first.
    ///
    /// - Parameter number: the number of the entity whose content can be opened.
    package func versions(_ key: EntityKey, openable number: Int64?) async -> [EntityVersion] {
        guard mayContain(key) else { return [] }
        await flush()
        let wiped = core.queue.wipedVersions(of: key) ?? 0
        let found = await core.reading { (reader) throws(SQLiteFailure) in
            try reader.versions(of: key, withContentOf: number ?? 0)
        }
        guard let found else { return [] }
        return sound(found, of: key).filter { $0.id > wiped }.map { row in
            EntityVersion(
                number: row.id, record: row.record, since: row.since ?? row.record.storedAt, isCurrent: row.isCurrent)
        }
    }

    /// How many entities each key has and has had, as far as they are kept and committed.
    package func versionCounts(_ keys: [EntityKey]) async -> [Int] {
        guard keys.contains(where: mayContain) else { return keys.map { _ in 0 } }
        await flush()
        let wiped = keys.map { core.queue.wipedVersions(of: $0) ?? 0 }
        let counts = await core.reading { (reader) throws(SQLiteFailure) in
            var counts: [Int] = []
            for (key, row) in zip(keys, wiped) { counts.append(try reader.versionCount(of: key, after: row)) }
            return counts
        }
        return counts ?? keys.map { _ in 0 }
    }

    /// The rows of a key that removals by label hide.
    private func rows(
        of key: EntityKey, hiddenBy overlay: Overlay
    ) async throws(StoreUnavailable) -> Set<Int64> {
        guard !overlay.removals.isEmpty else { return [] }
        let found = await core.reading { (reader) throws(SQLiteFailure) in
            var rows: Set<Int64> = []
            try reader.forEachLabel(of: key) { row, label in
                if !rows.contains(row), overlay.hides(row: row, of: key, with: label) { rows.insert(row) }
            }
            return rows
        }
        guard let found else { throw StoreUnavailable() }
        return found
    }

    /// Uncommitted content has no digest yet; it is not computed on the caller's thread.
    private func withDigests(_ records: [EntityRecord]) async throws(StoreUnavailable) -> [EntityRecord] {
        let core = core
        let digested = await core.onReadingThread {
            let hashing = StoredHashing(core.key?.secret)
            return records.map { record in
                guard case .inline(let chunk) = record.content.location else { return record }
                var record = record
                record.content.digest = hashing.digest(of: chunk.bytes)
                return record
            }
        }
        guard let digested else { throw StoreUnavailable() }
        return digested
    }

    /// Opens content for reading in parts; nil if it is missing or damaged. Opened content stays readable even if its
    /// entity is removed.
    package func openContent(_ reference: ContentReference) async throws(StoreUnavailable) -> StoredContent? {
        let (digest, length) = (reference.digest, reference.length)
        switch reference.location {
        case .empty: return StoredContent(nil, digest: digest, core: core)
        case .inline(let chunk): return StoredContent(chunk, digest: digest, core: core)
        case .file: if core.trust.isDiscarded(reference) { return nil }
        }
        let core = core
        let opened = await core.reading { (reader) throws(SQLiteFailure) in
            try core.open(digest, length: length, with: reader)
        }
        guard let opened else { throw StoreUnavailable() }
        return try opened.get()
    }

    // MARK: Writing

    /// Begins to store an entity, which replaces the entity of this key and variant when it is finished.
    ///
    /// - Parameters:
    ///   - expectedLength: the length of the content in bytes, if known; content of any other length is not stored.
    ///   - labels: the labels by which it is found.
    ///   - history: the versions to keep of this entity and of the entities that it supersedes.
    package func beginWrite(
        _ key: EntityKey, variant: [UInt8], head: [UInt8], requestTime: Timestamp, responseTime: Timestamp,
        storedAt: Timestamp, expires: Timestamp?, expectedLength: Int64?, labels: [EntityLabel] = [],
        history: EntityHistory = EntityHistory()
    ) -> EntityWriter {
        var record = EntityRecord(
            variant: variant, head: head, requestTime: requestTime, responseTime: responseTime, storedAt: storedAt,
            expires: expires, content: .empty)
        record.labels = labels
        record.history = history
        return EntityWriter(core: core, key: key, record: record, expectedLength: expectedLength)
    }

    /// Replaces the head and times of an entity, as a validation does (RFC 9111 §4.3.4). Does nothing if the entity was
    /// not stored at `ifStoredAt`.
    ///
    /// - Parameter labels: replace the existing ones; nil keeps those.
    package func updateHead(
        _ key: EntityKey, variant: [UInt8], head: [UInt8], requestTime: Timestamp, responseTime: Timestamp,
        expires: Timestamp?, ifStoredAt: Timestamp, labels: [EntityLabel]? = nil
    ) {
        let update = HeadUpdate(
            variant: variant, head: head, requestTime: requestTime, responseTime: responseTime, expires: expires,
            storedAt: ifStoredAt, labels: labels)
        _ = core.queue.accept(Operation(key: key, change: .updateHead(update)))
    }

    /// Removes all variants.
    package func remove(_ key: EntityKey, because reason: RemovalReason = .wiped) {
        _ = core.queue.accept(Operation(key: key, change: .remove(variant: nil, because: reason)))
    }

    package func remove(_ key: EntityKey, variant: [UInt8], because reason: RemovalReason = .wiped) {
        _ = core.queue.accept(Operation(key: key, change: .remove(variant: variant, because: reason)))
    }

    /// Removes an entity if it was stored at `ifStoredAt`; otherwise does nothing.
    package func remove(
        _ key: EntityKey, variant: [UInt8], because reason: RemovalReason, ifStoredAt: Timestamp
    ) {
        let change = Operation.Change.remove(variant: variant, because: reason, ifStoredAt: ifStoredAt)
        _ = core.queue.accept(Operation(key: key, change: change))
    }

    /// True if anything may have the label. False is certain; true may be a false positive.
    package func mayContain(_ label: EntityLabel) -> Bool {
        !core.isClosed && core.labels.mayContain(label.hash)
    }

    /// Returns when all earlier operations are committed, or were dropped. Retries failed ones at once.
    package func flush() async {
        for operation in core.queue.spooling { await core.queue.waitForContent(of: operation) }
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            if !core.queue.post(.flush(continuation)) { continuation.resume() }
        }
    }

    /// Commits the accepted operations, and closes all files. Later calls find nothing and store nothing.
    package func close() async {
        let (core, writer) = (core, writer)
        guard core.beginClosing() else { return }
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let thread = Thread.startForStore(name: "larder-close") {
                core.close(writer)
                continuation.resume()
            }
            // Without a thread to wait on, the process ends with the last group uncommitted, as if it were killed.
            if let thread { thread.detach() } else { continuation.resume() }
        }
    }

    /// Bytes of content that wait to be written.
    package var pendingBytes: Int { core.queue.heldOctets }

    package var statistics: StoreStatistics {
        let counts = core.currentCounts
        return StoreStatistics(
            state: core.state, entries: counts.entries, bytesOnDisk: core.bytesOnDisk, limit: core.limit,
            configuredLimit: core.settings.diskLimit, pendingOperations: core.queue.pendingOperations,
            pendingBytes: core.queue.heldOctets, evictions: counts.evictions,
            droppedWrites: counts.droppedWrites, damaged: counts.damaged, pinned: core.pins.count,
            longestTransaction: .nanoseconds(counts.longestTransaction),
            longestCheckpoint: .nanoseconds(counts.longestCheckpoint))
    }
}
