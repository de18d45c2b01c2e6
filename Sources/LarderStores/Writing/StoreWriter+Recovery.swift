// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderHTTP
import LarderIO

/// Opening the database, and replacing it when it is unusable or to be wiped.
extension StoreWriter {
    /// Opens the database, or a new one if there is none or only an unusable one.
    func open() throws {
        if isDisplaced { putAside(reason: "what is there is no file") }
        do {
            try createFile()
        } catch {
            // The content can still be read, and checked with its key.
            if core.key == nil { core.use(ContentKey.stored(at: core.databasePath)) }
            throw error
        }
        removeUselessLog()
        do {
            try openExisting()
        } catch  where error.isDamage {
            // Not open yet: no other thread has it open either.
            putAside(reason: error.message)
            try createFile()
            try openExisting()
        }
        identity = Directory.Identity(path: core.databasePath)
        logIdentity = currentLogIdentity
    }

    private var currentLogIdentity: Directory.Identity? { Directory.Identity(path: core.databasePath + "-wal") }

    private func openExisting() throws(SQLiteFailure) {
        let settings = core.settings
        let connection = try Connection(path: core.databasePath, isWriter: true)
        let finding = try Schema.prepare(connection)
        guard case .ready(let migrated) = finding else {
            if case .foreign(let reason) = finding { throw .useless(reason) }
            return
        }
        try checkMayBeWritten(connection)
        try connection.execute(
            """
            PRAGMA synchronous = NORMAL;
            PRAGMA mmap_size = \(settings.mappedBytes);
            PRAGMA cache_size = -16384;
            PRAGMA temp_store = MEMORY;
            PRAGMA secure_delete = FAST;
            """)
        loggedBytes = 0
        try fitLog(of: connection)
        if let limit = settings.pageLimit { try connection.execute("PRAGMA max_page_count = \(limit)") }
        // Without a log there is nothing to write back first.
        if fileLength(core.databasePath + "-wal") == 0 { try checkLength(connection) }
        // Content that is being written was digested under the present secret: a new database gets that secret.
        let opened = try EntityDatabase(
            connection, secret: core.key?.secret,
            segments: ContentSegments(
                writer: segments, rowLimit: settings.rowLimit,
                limit: StoreSettings.segmentBytes(below: settings.diskLimit)))
        core.use(opened.contentKey)
        if opened.hasLostKey { core.emit(.keyLost) }
        core.pins.replace(by: try opened.pinnedKeys())
        // Only the removals of an earlier process are not known yet.
        if removals.isEmpty {
            removals = try opened.unfinishedRemovals()
            core.queue.resume(removals)
        }
        database = opened
        isExamined = false
        if !migrated.isEmpty { core.emit(.migrated(migrated)) }
    }

    /// Counts the contents. Checkpointing a long log and counting a million rows take a tenth of a second or more, for
    /// which the first answer does not wait.
    func examine(_ database: EntityDatabase) throws(SQLiteFailure) {
        try checkLength(database.connection)
        // Before anything is removed, so that segments are known for what else they have.
        segments.begin(try database.usedSegments())
        let impossible = try database.impossibleRows(longerThan: core.settings.diskLimit)
        if !impossible.isEmpty {
            settle(try database.transaction { () throws(SQLiteFailure) in try database.remove(impossible) })
            core.emit(.impossibleRows)
        }
        // Earlier versions left marks of keys that were removed.
        _ = try? database.transaction { () throws(SQLiteFailure) in try database.removeUselessMarks() }
        let entries = try database.countEntities()
        // The disk may have damaged a row since.
        let fileBytes = try database.sumOfFiles(noneLongerThan: core.settings.diskLimit)
        core.count { counts in
            counts.entries = entries
            counts.fileBytes = fileBytes
        }
        isExamined = true
    }

    /// A truncated file is found at once, not when its missing part is needed.
    private func checkLength(_ connection: Connection) throws(SQLiteFailure) {
        do {
            // Pages only in the log are not missing; after a checkpoint of all of it, the length must be right.
            guard try connection.checkpoint(.passive) == 0 else { return }
        } catch  where !error.isDamage {
            // The disk may be full; reading continues nevertheless.
            return
        }
        let pages = try connection.integer("PRAGMA page_count")
        guard fileLength(core.databasePath) < pages * Schema.pageSize else { return }
        throw .corrupt("the file is shorter than it says")
    }

    /// SQLite treats a file as read-only when the system says so, or when a damaged byte of its header does.
    private func checkMayBeWritten(_ connection: Connection) throws(SQLiteFailure) {
        guard connection.isReadOnly, (try? createFile()) != nil else { return }
        throw .corrupt("its header says that it may only be read")
    }

    /// SQLite gives the log the mode of the database: readers of a read-only database have left an empty log that
    /// cannot be written.
    private func removeUselessLog() {
        let path = core.databasePath + "-wal"
        guard fileLength(path) == 0, access(path, F_OK) == 0, access(path, W_OK) != 0 else { return }
        core.readers.withoutTools {
            guard let directory = try? core.files.directory.open() else { return }
            for name in Self.databaseFiles.dropFirst() { directory.remove(name) }
            core.beginGeneration()
        }
    }

    /// True if a directory, a pipe or a socket is in the database's place, which every attempt to open it would fail at.
    private var isDisplaced: Bool {
        guard let status = try? core.files.directory.open().status(of: StoreDirectory.databaseName) else {
            return false
        }
        return [S_IFDIR, S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT)
    }

    private func createFile() throws(DiskFailure) {
        Glibc.close(try core.files.directory.open().open(StoreDirectory.databaseName, O_RDWR | O_CREAT))
    }

    /// The database, its log and the index of that.
    private static let databaseFiles = ["", "-wal", "-shm"].map { StoreDirectory.databaseName + $0 }

    /// Detects that the database was deleted or replaced: writes to it would be lost. Also detects this of its log: the
    /// next connection to the database then makes another log, and reads nothing.
    func checkIdentity() {
        guard let database else { return }
        guard identity == Directory.Identity(path: core.databasePath) else {
            return replaceDatabase { core.emit(.databaseLost) }
        }
        guard let logIdentity else { return logIdentity = currentLogIdentity }
        guard logIdentity != currentLogIdentity else { return }
        core.readers.withoutTools { _ = try? checkpoint(database.connection, .truncate) }
        replaceDatabase(keepsRows: true) {
            guard let directory = try? core.files.directory.open() else { return }
            for name in Self.databaseFiles.dropFirst() { directory.remove(name) }
            core.emit(.logLost)
        }
    }

    /// The database is damaged: renames it for later inspection, and creates another.
    func setAside(reason: String) {
        replaceDatabase { putAside(reason: reason) }
    }

    /// A reader found the database unusable. Its report may concern a new database that was not complete yet.
    func examine(_ failure: SQLiteFailure) {
        if failure.kind == .schema {
            do {
                _ = try core.makeReader(generation: core.generation)
                return
            } catch {
                guard error.isDamage else { return }
            }
        }
        setAside(reason: failure.message)
    }

    func wipe(_ removal: Removal) {
        core.queue.count(core.currentCounts.entries, for: removal)
        core.queue.begin(removal, lastID: .max)
        replaceDatabase {
            removeSetAside()
            guard let directory = try? core.files.directory.open() else { return }
            for name in Self.databaseFiles { directory.remove(name) }
        }
        // Not left to the background sweep: after a wipe the files must be gone.
        core.files.forEachFile { core.files.removeUnlessClaimed($0) }
        if core.currentCounts.entries == 0 { segments.begin([:]) }
        _ = core.files.removeLeftOvers()
        if let database, database.lastEntityID > 0 {
            // The file could not be removed; its rows can.
            core.queue.post(
                .removeAll(Removal(match: EntityMatch(), reason: .wiped)))
        }
        core.queue.end([removal])
    }

    /// Closes the database everywhere, runs `body` on the files, and opens the result.
    ///
    /// - Parameter keepsRows: whether that has the same rows.
    private func replaceDatabase(keepsRows: Bool = false, _ body: () -> Void) {
        database = nil
        segments.letGo()
        // A reader with the old file open under the old name would corrupt the log of the new one.
        core.readers.withoutTools {
            body()
            core.beginGeneration()
        }
        core.count { counts in
            counts.entries = 0
            counts.fileBytes = 0
        }
        if keepsRows { restartRemovals() } else { endRemovals() }
        core.index.isLoaded = false
        core.labels.isLoaded = false
        core.queue.forgetAllKeys()
        // Readings into the indexes that are under way would leave halves.
        core.beginGeneration()
        do {
            try core.files.prepare()
            try open()
            if let database { try examine(database) }
        } catch {
            core.degrade("\(error)")
        }
        core.loadInBackground()
    }

    private func putAside(reason: String) {
        removeSetAside()
        let target = Self.setAsidePrefix + "\(core.settings.now().seconds)"
        var isKept = true
        do {
            let directory = try core.files.directory.open()
            do {
                try directory.rename(StoreDirectory.databaseName, to: target, in: directory)
            } catch  where error.errno == ENOENT {
                isKept = false
            }
            // Without its database the log means nothing; it would damage the next database.
            for name in Self.databaseFiles.dropFirst() { directory.remove(name) }
            setAsideBytes = directory.length(of: target)
        } catch {
            // If renaming fails, creating fails as well: opening fails again, and is retried later.
            return
        }
        core.emit(isKept ? .setAside(path: core.files.directory.path + "/" + target, reason: reason) : .databaseLost)
    }

    private static let setAsidePrefix = StoreDirectory.databaseName + ".corrupt-"

    /// Deletes databases that were set aside earlier.
    func removeSetAside() {
        forEachSetAside { $0.remove($1) }
        setAsideBytes = 0
    }

    func measureSetAside() {
        setAsideBytes = 0
        forEachSetAside { setAsideBytes += $0.length(of: $1) }
    }

    private func forEachSetAside(_ body: (Directory, String) -> Void) {
        guard let directory = try? core.files.directory.open() else { return }
        for name in directory.names where name.hasPrefix(Self.setAsidePrefix) { body(directory, name) }
    }

    /// After a failure: makes sure that everything needed exists and can be written. Returns whether it does.
    func tryAgain() -> Bool {
        do {
            do {
                try makeUsable()
            } catch let failure as SQLiteFailure where failure.isDamage {
                setAside(reason: failure.message)
                try makeUsable()
            }
            core.recovered()
            return true
        } catch {
            core.postponeRetry()
            core.queue.letGoOfWaiting()
            return false
        }
    }

    private func makeUsable() throws {
        checkIdentity()
        try core.files.prepare()
        if database == nil { try open() }
        guard let database else { throw SQLiteFailure.missing("there is no database") }
        if !isExamined { try examine(database) }
        _ = try makeRoom(for: 0)
        try probe(database)
    }

    /// Writes something, to test whether that works.
    private func probe(_ database: EntityDatabase) throws {
        let effects = try database.transaction { () throws(SQLiteFailure) in try database.writeHands() }
        settle(effects)
        _ = try segments.place(for: 1, limit: StoreSettings.segmentBytes(below: core.settings.diskLimit))
        let file = try core.files.makeSpoolFile()
        try [UInt8](repeating: 0, count: 64 << 10).withUnsafeBytes { try file.write($0, at: 0) }
    }
}
