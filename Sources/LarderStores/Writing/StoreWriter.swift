// SPDX-License-Identifier: Apache-2.0
import Glibc
import Larder
import LarderHTTP

/// Performs what the `WriteQueue` decides: groups of operations in one transaction each, and between them whatever
/// keeps the house in order. Everything here happens on the one writing thread.
final class StoreWriter {
    let core: StoreCore
    /// Nil while there is none that could be used.
    var database: EntityDatabase?
    /// Whether it is known how much is in it, and that it is whole as far as that can be told.
    var isExamined = false
    /// Removals of many entities that have begun and are not done.
    private var removals: [Removal] = []
    /// Which file the database is, to notice when someone takes it away.
    var identity: Directory.Identity?
    /// How far the connection lets the log grow.
    var loggedBytes: Int64 = 0
    private var marksWrittenAt = monotonicNow()
    /// Octets in databases that were set aside.
    var setAsideBytes: Int64 = 0
    /// Marks that were taken from the index and could not be written yet.
    private var marks: ArraySlice<UInt64> = []

    private static let marksInterval: Int64 = 30_000_000_000
    private static let marksLimit = 4096
    private static let marksSlice = 512
    private static let removalSlice = 1000

    init(core: StoreCore) { self.core = core }

    // MARK: The thread

    /// Opens the database, or leaves that to a later attempt.
    func begin() {
        do {
            measureSetAside()
            try open()
        } catch {
            core.degrade("\(error)")
        }
        publish()
    }

    /// Looks more closely at a database that was just opened, which takes as long as it is large: until then nothing
    /// is written, but it is read.
    func examine() {
        guard let database, !isExamined else { return }
        do {
            try examine(database)
        } catch  where error.isDamage {
            setAside(reason: error.message)
        } catch {
            core.degrade(error.description)
        }
        publish()
    }

    /// Serves the queue until the store is closed.
    func run() {
        var idleDeadline: Int64 = 0
        while true {
            let work = core.queue.next(idleDeadline: core.retryAt ?? (removals.isEmpty ? idleDeadline : 0))
            switch work {
            case .batch(let batch): commit(batch)
            case .wipe(let removal): wipe(removal)
            case .idle:
                let mayGoOn = core.retryAt == nil ? maintain() : tryAgain()
                idleDeadline = mayGoOn ? 0 : monotonicNow() + core.settings.idleInterval.wholeNanoseconds
            case .close:
                close()
                return
            }
            writeBackLog()
            publish()
        }
    }

    private func close() {
        if let database {
            marks += core.index.takeMarks()
            _ = try? database.transaction { () throws(SQLiteFailure) in try database.writeMarks(marks) }
            core.readers.withoutTools { _ = try? database.connection.checkpoint(.truncate) }
        }
        database = nil
    }

    // MARK: Committing

    private func commit(_ batch: WriteQueue.Batch) {
        checkIdentity()
        do {
            try write(batch)
        } catch  where error.isDamage {
            // What was to be written is sound; it goes into the database that takes the place of this one.
            setAside(reason: error.message)
            do {
                try write(batch)
            } catch {
                fail(batch, error)
            }
        } catch {
            fail(batch, error)
        }
    }

    private func write(_ batch: WriteQueue.Batch) throws(SQLiteFailure) {
        guard let database else { throw .missing("there is no database") }
        let hasRoom = try makeRoom(for: Int64(batch.bytes))
        var begun: [Removal] = []
        var ended: [(removal: Removal, removed: Int)] = []
        var flushes: [UnsafeContinuation<Void, Never>] = []
        var corruption: (generation: Int, failure: SQLiteFailure)?
        let effects = try database.transaction { () throws(SQLiteFailure) in
            for item in batch.items {
                switch item {
                case .operation(let operation): try perform(operation, in: database, hasRoom: hasRoom)
                case .command(.discardEntity(let id)): try database.discardEntity(id: id)
                case .command(.discardContent(let digest)): try database.discardContent(digest)
                case .command(.removeAll(let removal)):
                    let lastID = database.lastEntityID
                    core.queue.begin(removal, lastID: lastID)
                    // What a label finds is mostly little, and done at once.
                    guard removal.match.label != nil else {
                        begun.append(removal)
                        continue
                    }
                    let slice = try database.continueRemoval(removal, lastID: lastID, limit: Self.removalSlice)
                    ended.append((removal, slice.removed))
                    if slice.mayBeMore { begun.append(removal) }
                case .command(.flush(let continuation)): flushes.append(continuation)
                case .command(.reportCorruption(let generation, let failure)): corruption = (generation, failure)
                case .command(.checkOrphan), .command(.wipe): break
                }
            }
        }
        removals += begun
        settle(batch, effects)
        for (removal, removed) in ended {
            core.queue.count(removed, for: removal)
            if !begun.contains(where: { $0 === removal }) { core.queue.end(removal) }
        }
        for flush in flushes { flush.resume() }
        if let corruption, corruption.generation == core.generation { examine(corruption.failure) }
    }

    private func perform(
        _ operation: Operation, in database: EntityDatabase, hasRoom: Bool
    ) throws(SQLiteFailure) {
        let key = operation.key
        switch operation.change {
        case .write(let record, let blocks):
            if hasRoom {
                try database.insert(record, for: key, blocks: blocks)
                // What is wanted again soon after it had to go is not on probation once more.
                let isBack = database.ghosts.take(key.hash, among: core.currentCounts.entries)
                if isBack { core.index.restoreMark(key.hash) }
            } else {
                try database.remove(key, variant: record.variant)
            }
        case .updateHead(let update): try database.updateHead(update, of: key)
        case .remove(let variant): try database.remove(key, variant: variant)
        }
    }

    /// Does outside of the database what follows from a batch that is in it.
    private func settle(_ batch: WriteQueue.Batch, _ effects: EntityDatabase.Effects) {
        core.queue.committed(batch)
        forgetDiscarded(in: batch)
        let files = batch.files
        for file in files { letGo(of: file) }
        settle(effects)
        // Whether the write was done or not, the row decides whether the file stays.
        for file in files { removeIfOrphan(file.digest) }
        for case .command(.checkOrphan(let digest)) in batch.items { removeIfOrphan(digest) }
    }

    /// Damaged content that a batch was to discard is gone, or is found out again.
    private func forgetDiscarded(in batch: WriteQueue.Batch) {
        for case .command(.discardContent(let digest)) in batch.items { core.trust.forget(digest) }
    }

    func settle(_ effects: EntityDatabase.Effects) {
        core.count { counts in
            counts.entries += effects.entries
            counts.evictions += effects.evictions
            counts.fileBytes = max(counts.fileBytes.adding(saturating: effects.fileBytes), 0)
            counts.longestTransaction = max(counts.longestTransaction, effects.duration)
        }
        for digest in effects.freedFiles { removeIfOrphan(digest) }
        core.queue.forgetKeys(effects.lostKeys)
    }

    /// What becomes of a file is from now on a matter of the database.
    private func letGo(of file: ContentReference) {
        core.files.release(file.digest)
        core.files.addSpooled(-file.length)
    }

    private func removeIfOrphan(_ digest: ContentDigest) {
        guard let database, (try? database.hasContentFile(digest)) == false else { return }
        core.files.removeUnlessClaimed(digest)
    }

    /// A slice of every removal of many entities that is under way.
    private func continueRemovals() throws(SQLiteFailure) {
        guard let database else { return }
        for removal in removals {
            guard let lastID = removal.lastID else { continue }
            let before = removal.nextID
            var result = (mayBeMore: false, removed: 0)
            do {
                let effects = try database.transaction { () throws(SQLiteFailure) in
                    result = try database.continueRemoval(removal, lastID: lastID, limit: Self.removalSlice)
                }
                settle(effects)
                writeBackLog()
            } catch {
                removal.nextID = before
                throw error
            }
            core.queue.count(result.removed, for: removal)
            if !result.mayBeMore {
                removals.removeAll { $0 === removal }
                core.queue.end(removal)
            }
        }
    }

    // MARK: Looking after the house

    /// A slice of whatever is to be done when there is nothing to commit. Returns whether there is more.
    private func maintain() -> Bool {
        checkIdentity()
        // What was deleted beside the database; where it cannot be made again now, that is tried again.
        try? core.files.directory.secure()
        guard let database else {
            core.degrade("there is no database")
            return false
        }
        do {
            try continueRemovals()
            _ = try makeRoom(for: 0)
            let hasMarks = try writeMarks(database)
            let mayVacuum = try vacuum(database)
            if fileLength(core.databasePath + "-wal") > checkpointBytes * 3 {
                try database.connection.checkpoint(.truncate)
            }
            let isDone = !mayVacuum && !hasMarks && removals.isEmpty
            // The system keeps the pages that are read again soon, and may give their room to others.
            if isDone { database.connection.releaseMemory() }
            return !isDone
        } catch  where error.isDamage {
            setAside(reason: error.message)
            return true
        } catch {
            fail(WriteQueue.Batch(), error)
            return false
        }
    }

    /// Which keys were used is written down now and then, the latest of them: losing the others costs a few evictions
    /// that could be better. Returns whether there is more to write.
    private func writeMarks(_ database: EntityDatabase) throws(SQLiteFailure) -> Bool {
        let now = monotonicNow()
        if now - marksWrittenAt > Self.marksInterval || core.index.waitingMarks > 10_000 {
            marksWrittenAt = now
            marks = (marks + core.index.takeMarks()).suffix(Self.marksLimit)
        }
        guard !marks.isEmpty else { return false }
        let slice = marks.suffix(Self.marksSlice)
        let effects = try database.transaction { () throws(SQLiteFailure) in try database.writeMarks(slice) }
        marks.removeLast(slice.count)
        settle(effects)
        return !marks.isEmpty
    }

    /// Tells the others how large everything is.
    private func publish() {
        if core.retryAt == nil { core.regrowLimit() }
        let bytes =
            fileLength(core.databasePath) + fileLength(core.databasePath + "-wal")
            + fileLength(core.databasePath + "-shm") + setAsideBytes
        core.count { $0.databaseBytes = bytes }
    }

    // MARK: Failing and recovering

    private func fail(_ batch: WriteQueue.Batch, _ failure: SQLiteFailure) {
        if failure.kind == .full { core.fitToDisk() }
        core.degrade(failure.description)
        for operation in batch.operations where operation.isWrite {
            core.emit(.writeDropped(url: operation.key.url, reason: failure.description))
        }
        for file in batch.files {
            letGo(of: file)
            removeIfOrphan(file.digest)
        }
        core.queue.failed(batch)
        // Those who read it find out again.
        forgetDiscarded(in: batch)
        // A log that is written back may make room; if that fails as well, nothing is lost.
        _ = try? database?.connection.checkpoint(.truncate)
    }

    /// The rows that removals were about are gone with their database.
    func endRemovals() {
        for removal in removals { core.queue.end(removal) }
        removals = []
    }
}
