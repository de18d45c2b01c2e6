// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderHTTP

/// Opening the database, and replacing it when it is of no use or not wanted any more.
extension StoreWriter {
    /// Which file a path leads to.
    struct FileIdentity: Equatable {
        var device: dev_t
        var number: ino_t

        init?(_ path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            device = status.st_dev
            number = status.st_ino
        }
    }

    /// Opens the database, or a new one if there is none or only a useless one.
    func open() throws {
        try createFile(core.databasePath)
        do {
            try openExisting()
        } catch  where error.isDamage {
            // Still closed: nobody else has it open either.
            putAside(reason: error.message)
            try createFile(core.databasePath)
            try openExisting()
        }
        identity = FileIdentity(core.databasePath)
    }

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
        database = try EntityDatabase(connection)
        isExamined = false
        if !migrated.isEmpty { core.emit(.migrated(migrated)) }
    }

    /// Counts what is there. Writing back a long log and counting a million rows take a tenth of a second or more,
    /// which the first answer does not wait for.
    func examine(_ database: EntityDatabase) throws(SQLiteFailure) {
        try checkLength(database.connection)
        let entries = try database.countEntities()
        let fileBytes = try database.sumOfFiles()
        core.count { counts in
            counts.entries = entries
            counts.fileBytes = fileBytes
        }
        isExamined = true
    }

    /// A file that was cut is found at once, not when someone asks for what is missing.
    private func checkLength(_ connection: Connection) throws(SQLiteFailure) {
        do {
            // Pages that are only in the log are no loss; with all of it written back, the length must be right.
            guard try connection.checkpoint(.passive) == 0 else { return }
        } catch  where !error.isDamage {
            // The disk may be full, and reading can go on all the same.
            return
        }
        let pages = try connection.integer("PRAGMA page_count")
        guard fileLength(core.databasePath) < pages * Schema.pageSize else { return }
        throw .corrupt("the file is shorter than it says")
    }

    /// SQLite takes a file for read-only when the system says so, or when a damaged octet of its header does.
    private func checkMayBeWritten(_ connection: Connection) throws(SQLiteFailure) {
        guard connection.isReadOnly, (try? createFile(core.databasePath)) != nil else { return }
        throw .corrupt("its header says that it may only be read")
    }

    private func createFile(_ path: String) throws(DiskFailure) {
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .last("create \(path)") }
        Glibc.close(descriptor)
    }

    /// Notices that someone took the database away. What is written to it then would be lost.
    func checkIdentity() {
        guard database != nil, identity != FileIdentity(core.databasePath) else { return }
        replaceDatabase { core.emit(.databaseLost) }
    }

    /// The database is damaged: keeps it for whoever wants to know why, and begins another.
    func setAside(reason: String) {
        replaceDatabase { putAside(reason: reason) }
    }

    /// A reader found the database of no use. It may have come while a new one was not complete yet.
    func examine(_ failure: SQLiteFailure) {
        if failure.kind == .schema {
            do {
                _ = try EntityReader(path: core.databasePath, generation: core.generation, mappedBytes: 0)
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
            for suffix in ["", "-wal", "-shm"] { unlink(core.databasePath + suffix) }
        }
        // Not left to the sweep in the background: whoever wipes wants it gone.
        _ = core.files.forEachFile { core.files.removeUnlessClaimed($0) }
        _ = core.files.removeLeftOvers()
        core.queue.end(removal)
    }

    /// Closes the database everywhere, lets `body` do what it will with the files, and opens what is there then.
    private func replaceDatabase(_ body: () -> Void) {
        database = nil
        // A reader that kept the old file open under the old name would meddle with the log of the new one.
        core.readers.withoutTools {
            body()
            core.beginGeneration()
        }
        core.count { counts in
            counts.entries = 0
            counts.fileBytes = 0
        }
        endRemovals()
        core.index.isLoaded = false
        core.queue.forgetAllKeys()
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
        let target = "\(core.databasePath).corrupt-\(core.settings.now().seconds)"
        // Where nothing may be renamed nothing can be begun either: opening fails again, and is tried later.
        let isKept = rename(core.databasePath, target) == 0
        guard isKept || errno == ENOENT else { return }
        // Without its database the log means nothing; beside the next database it would do harm.
        for suffix in ["-wal", "-shm"] { unlink(core.databasePath + suffix) }
        setAsideBytes = fileLength(target)
        core.emit(isKept ? .setAside(path: target, reason: reason) : .databaseLost)
    }

    /// Deletes databases that were set aside earlier.
    func removeSetAside() {
        for name in entries(of: core.settings.path) where name.hasPrefix("larder.db.corrupt-") {
            unlink(core.settings.path + "/" + name)
        }
        setAsideBytes = 0
    }

    func measureSetAside() {
        setAsideBytes = entries(of: core.settings.path).filter { $0.hasPrefix("larder.db.corrupt-") }
            .reduce(0) { $0 + fileLength(core.settings.path + "/" + $1) }
    }

    /// After a failure: makes sure that everything needed is there and can be written. Returns whether it is.
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

    /// Writes something, to see whether that works.
    private func probe(_ database: EntityDatabase) throws {
        let effects = try database.transaction { () throws(SQLiteFailure) in try database.probe() }
        settle(effects)
        let file = try core.files.makeSpoolFile()
        try [UInt8](repeating: 0, count: 64 << 10).withUnsafeBytes { try file.write($0, at: 0) }
    }
}
