// SPDX-License-Identifier: Apache-2.0
import Glibc
import Larder
import LarderHTTP
import LarderIO
import Synchronization

/// Carries out the decisions of the `WriteQueue`: groups of operations in one transaction each, and maintenance in
/// between. Everything here happens on the one writing thread.
final class StoreWriter {
    let core: StoreCore
    let segments: SegmentWriter
    /// Nil while there is none that can be used.
    var database: EntityDatabase?
    /// True if its contents have been counted, and are complete as far as that can be checked.
    var isExamined = false
    /// Removals of many entities in progress.
    var removals: [Removal] = []
    /// The identity of the database file, to detect its deletion or replacement.
    var identity: Directory.Identity?
    /// The same of its log.
    var logIdentity: Directory.Identity?
    /// The connection's limit on the log.
    var loggedBytes: Int64 = 0
    private var marksWrittenAt = monotonicNow()
    /// Bytes in databases that were set aside.
    var setAsideBytes: Int64 = 0
    /// Marks that were taken from the index and are not written yet.
    private var marks: ArraySlice<UInt64> = []

    private static let marksInterval: Int64 = 30_000_000_000
    private static let marksLimit = 4096
    private static let marksSlice = 512
    /// Rows and labels that removals examine in one transaction, and the fewest of one removal.
    private static let removalSlice = 1000
    private static let smallestShare = 50

    init(core: StoreCore) {
        self.core = core
        segments = SegmentWriter(core.segments, canPunch: core.settings.punchesHoles)
    }

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

    /// Examines a database that was just opened, in time proportional to its size. Until then the database is read, but
    /// not written.
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
        var isLastTry = false
        while true {
            let isRemoving = core.retryAt == nil && !removals.isEmpty
            let work = core.queue.next(
                idleDeadline: core.retryAt ?? (isRemoving ? 0 : idleDeadline), isRemoving: isRemoving)
            switch work {
            case .batch(let batch): commit(batch)
            case .wipe(let removal): wipe(removal)
            case .idle:
                let mayGoOn = core.retryAt == nil ? maintain() : tryAgain()
                idleDeadline = mayGoOn ? 0 : monotonicNow() + core.settings.idleInterval.wholeNanoseconds
            case .close:
                // Entities removed while writing failed must not be there again.
                if core.retryAt != nil, !isLastTry {
                    isLastTry = true
                    if tryAgain() { continue }
                }
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
            core.readers.withoutTools { _ = try? checkpoint(database.connection, .truncate) }
        }
        database = nil
    }

    // MARK: Committing

    private func commit(_ batch: WriteQueue.Batch) {
        checkIdentity()
        do {
            try write(batch)
        } catch  where error.isDamage {
            // The pending operations are sound; they are written to the database that replaces this one.
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
        segments.checkCurrent()
        let hasRoom = try makeRoom(for: Int64(batch.bytes))
        var (begun, ended): ([Removal], [Removal]) = ([], [])
        var removed: [(removal: Removal, rows: Int)] = []
        var examined = 0
        var flushes: [UnsafeContinuation<Void, Never>] = []
        var pins: [PinChange] = []
        var corruption: (generation: Int, failure: SQLiteFailure)?
        let effects = try database.transaction { () throws(SQLiteFailure) in
            for item in batch.items {
                switch item {
                case .operation(let operation): try perform(operation, in: database, hasRoom: hasRoom)
                case .command(.discardEntity(let id)): try database.discardEntity(id: id)
                case .command(.discardContent(let digest)): try database.discardContent(digest)
                case .command(.removeAll(let removal)):
                    core.queue.begin(removal, lastID: database.lastEntityID)
                    // A removal by label usually concerns few rows, and is done at once.
                    var isDone = false
                    if !removal.labels.isEmpty, examined < Self.removalSlice {
                        let slice = try database.continueRemoval(removal, limit: Self.removalSlice - examined)
                        examined += slice.examined
                        removed.append((removal, slice.removed))
                        isDone = !slice.mayBeMore
                    }
                    if isDone { ended.append(removal) } else { begun.append(removal) }
                    if !isDone { try database.note(removal) }
                case .command(.flush(let continuation)): flushes.append(continuation)
                case .command(.pin(let change)):
                    try database.change(change)
                    pins.append(change)
                case .command(.reportCorruption(let generation, let failure)): corruption = (generation, failure)
                case .command(.checkOrphan), .command(.wipe): break
                }
            }
        }
        removals += begun
        settle(batch, effects)
        for (removal, rows) in removed { core.queue.count(rows, for: removal) }
        core.queue.end(ended)
        for change in pins {
            core.pins.apply(change)
            change.end(isDone: true)
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
                // An entity that is stored again soon after its eviction skips probation.
                let isBack = database.ghosts.take(key.hash, among: core.currentCounts.entries)
                if isBack { core.index.restoreMark(key.hash) }
            } else {
                try database.remove(key, variant: record.variant, because: .unusable)
            }
        case .updateHead(let update): try database.updateHead(update, of: key)
        case .remove(let variant, let reason, let storedAt):
            try database.remove(key, variant: variant, because: reason, ifStoredAt: storedAt)
        }
    }

    /// Applies the effects of a committed batch outside of the database.
    private func settle(_ batch: WriteQueue.Batch, _ effects: EntityDatabase.Effects) {
        core.queue.committed(batch)
        forgetDiscarded(in: batch)
        let files = batch.files
        for file in files { letGo(of: file) }
        settle(effects)
        // The row decides if the file stays, with or without the write.
        for file in files { removeIfOrphan(file.digest) }
        for case .command(.checkOrphan(let digest)) in batch.items { removeIfOrphan(digest) }
    }

    /// Damaged content that a batch discards is gone, or will be detected again.
    private func forgetDiscarded(in batch: WriteQueue.Batch) {
        for case .command(.discardContent(let digest)) in batch.items { core.trust.forget(digest) }
    }

    func settle(_ effects: EntityDatabase.Effects) {
        core.count { counts in
            counts.entries += effects.entries
            counts.evictions += effects.evictions
            counts.fileBytes = max(counts.fileBytes.adding(saturating: effects.fileBytes), 0)
            counts.transactions += 1
            counts.longestTransaction = max(counts.longestTransaction, effects.duration)
        }
        for digest in effects.freedFiles { removeIfOrphan(digest) }
        segments.free(effects.freed)
        segments.forget(effects.lost)
        core.queue.forgetKeys(effects.lostKeys)
    }

    /// From now on the database decides about the file.
    private func letGo(of file: ContentReference) {
        core.files.release(file.digest)
        core.files.addSpooled(-file.length)
    }

    private func removeIfOrphan(_ digest: StoredDigest) {
        guard let database, (try? database.hasContentFile(digest)) == false else { return }
        core.files.removeUnlessClaimed(digest)
    }

    /// Processes a slice of the removals in progress, with a share for each removal, in one transaction.
    private func continueRemovals() throws(SQLiteFailure) {
        guard let database, !removals.isEmpty else { return }
        let before = removals.map(\.cursor)
        let share = max(Self.removalSlice / removals.count, Self.smallestShare)
        var slices: [EntityDatabase.RemovalSlice] = []
        do {
            let effects = try database.transaction { () throws(SQLiteFailure) in
                var examined = 0
                for removal in removals where examined < Self.removalSlice {
                    let slice = try database.continueRemoval(removal, limit: share)
                    if !slice.mayBeMore { try database.forget(removal) }
                    examined += slice.examined
                    slices.append(slice)
                }
            }
            settle(effects)
            writeBackLog()
        } catch {
            for (removal, cursor) in zip(removals, before) { removal.cursor = cursor }
            throw error
        }
        let reached = removals.prefix(slices.count)
        for (removal, slice) in zip(reached, slices) { core.queue.count(slice.removed, for: removal) }
        // Removals that were not reached come first the next time.
        removals = removals.dropFirst(slices.count) + zip(reached, slices).filter { $0.1.mayBeMore }.map(\.0)
        core.queue.end(zip(reached, slices).filter { !$0.1.mayBeMore }.map(\.0))
    }

    // MARK: Looking after the house

    /// Does a slice of maintenance when there is nothing to commit. Returns whether there is more.
    private func maintain() -> Bool {
        checkIdentity()
        // Files that were deleted beside the database are restored; if that fails now, it is retried.
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
                try checkpoint(database.connection, .truncate)
            }
            let maySweep = try sweepSegment(database)
            forgetLabels()
            let isDone = !mayVacuum && !hasMarks && !maySweep && removals.isEmpty
            // The system caches the pages that are read again soon, and may reclaim their memory.
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

    /// Used keys are stored now and then, the latest of them: losing the others only makes a few evictions worse.
    /// Returns whether there are more to store.
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

    /// Has the labels read again when there are so many that most of them may have gone with their entities.
    private func forgetLabels() {
        guard core.labels.isLoaded, core.labels.count > core.labelLimit.load(ordering: .relaxed) else { return }
        core.labels.isLoaded = false
        core.queue.forgetAllLabels()
        // Until they are read, each question about one asks the database.
        if !core.spoolers.submit({ [core] _ in core.loadLabels() }) { core.loadLabels() }
    }

    /// Publishes all sizes.
    private func publish() {
        if core.retryAt == nil { core.regrowLimit() }
        let bytes =
            fileLength(core.databasePath) + fileLength(core.databasePath + "-wal")
            + fileLength(core.databasePath + "-shm") + setAsideBytes
        let segmentBytes = segments.occupied
        core.count { counts in
            counts.databaseBytes = bytes
            counts.segmentBytes = segmentBytes
        }
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
        for case .command(.pin(let change)) in batch.items { change.end(isDone: false) }
        // Readers will detect it again.
        forgetDiscarded(in: batch)
        // A checkpoint may free space; if it fails as well, no data is lost.
        if let database { try? checkpoint(database.connection, .truncate) }
    }

    /// Rows of the removals that were deleted last may be there again, with the log that they were deleted in.
    func restartRemovals() {
        for removal in removals { removal.cursor = Removal.Cursor() }
    }

    /// The rows of the removals are gone with their database.
    func endRemovals() {
        core.queue.end(removals)
        removals = []
    }
}
