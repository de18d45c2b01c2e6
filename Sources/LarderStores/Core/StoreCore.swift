// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderHTTP
import LarderIO
import Synchronization

/// The shared state of a store: its settings, queues, threads and health.
final class StoreCore: Sendable {
    private struct Health {
        var state = StoreStatistics.State.open
        /// Number of the database in use; counts up when it is replaced.
        var generation = 0
        var isClosing = false
        /// When the next attempt to write is made, by the monotonic clock, and how long to wait if that fails too.
        var retryAt: Int64?
        var coolDown: Duration
        /// The current limit on disk usage: lower than configured if the disk turned out to be smaller.
        var limit: Int64
        var limitChangedAt: Int64 = 0
        /// The key that content is digested with; nil until a database was opened.
        var key: ContentKey?
    }

    struct Counts {
        var entries = 0
        var evictions = 0
        var droppedWrites = 0
        var damaged = 0
        var transactions = 0
        /// Nanoseconds.
        var longestTransaction: Int64 = 0
        /// Nanoseconds.
        var longestCheckpoint: Int64 = 0
        /// The database, its log and index, and databases set aside; as of the last commit.
        var databaseBytes: Int64 = 0
        /// Files that rows refer to.
        var fileBytes: Int64 = 0
        /// Segments; as of the last commit.
        var segmentBytes: Int64 = 0
    }

    let settings: StoreSettings
    let index: KeyIndex
    /// The labels that entities may have. They are not taken back one by one, as other entities may have them.
    let labels: KeyIndex
    /// The number of labels at which they are read again: twice as many as there were, or a few.
    let labelLimit = Atomic<Int>(.max)
    let queue: WriteQueue
    let files: ContentFiles
    let segments: SegmentFiles
    /// Threads that write content to files, and digest it.
    let spoolers: ThreadTeam<Never>
    /// Threads that read, each with its own connection.
    let readers: ThreadTeam<EntityReader>
    private let report: @Sendable (StoreEvent) -> Void
    private let health: Monitor<Health>
    private let counts = Monitor(Counts())
    private let closed = Atomic<Bool>(false)
    let trust = ContentTrust()
    let pins = PinnedKeys()

    init(settings: StoreSettings, directory: StoreDirectory, report: @escaping @Sendable (StoreEvent) -> Void) {
        self.settings = settings
        self.report = report
        health = Monitor(Health(coolDown: settings.coolDown, limit: settings.diskLimit))
        (index, labels) = (KeyIndex(), KeyIndex())
        queue = WriteQueue(settings: settings, index: index, labels: labels)
        files = ContentFiles(directory: directory)
        segments = SegmentFiles(directory: directory)
        spoolers = ThreadTeam(name: "larder-spool", threads: 2, queueLimit: 4096, takesSignals: false)
        readers = ThreadTeam(
            name: "larder-read", threads: settings.readers, queueLimit: settings.readQueueLimit, takesSignals: false)
    }

    var databasePath: String { files.directory.databasePath }

    var state: StoreStatistics.State { health.withLock { $0.state } }
    var generation: Int { health.withLock { $0.generation } }

    /// True if `state` is closed, without a lock: every request checks it.
    var isClosed: Bool { closed.load(ordering: .relaxed) }

    func set(_ state: StoreStatistics.State) {
        health.withLock { health in
            health.state = state
            closed.store(state == .closed, ordering: .relaxed)
        }
    }

    /// True if the store is about to close, and long work should end.
    var isClosing: Bool { health.withLock { $0.isClosing } }

    /// False if it has begun before.
    func beginClosing() -> Bool {
        health.withLock { health in
            defer { health.isClosing = true }
            return !health.isClosing
        }
    }

    func beginGeneration() { health.withLock { $0.generation += 1 } }

    var key: ContentKey? { health.withLock { $0.key } }

    /// Readers that have another key open the database again.
    func use(_ key: ContentKey?) {
        health.withLock { health in
            if health.key != key { health.generation += 1 }
            health.key = key
        }
    }

    func count(_ body: (inout Counts) -> Void) { counts.withLock(body) }
    var currentCounts: Counts { counts.withLock { $0 } }

    func emit(_ event: StoreEvent) {
        switch event {
        case .damagedEntity, .damagedContent, .impossibleRows: count { $0.damaged += 1 }
        case .writeDropped: count { $0.droppedWrites += 1 }
        default: break
        }
        report(event)
    }

    /// Total disk usage, as far as is known without querying the disk.
    var bytesOnDisk: Int64 {
        let counts = currentCounts
        return counts.databaseBytes.adding(saturating: counts.fileBytes).adding(saturating: counts.segmentBytes)
            .adding(saturating: files.spooledBytes)
    }

    // MARK: Reading

    /// Runs `body` with a connection on a reading thread. Nil if it failed, without a database, or under overload.
    func reading<Result: Sendable>(
        _ body: @escaping @Sendable (EntityReader) throws(SQLiteFailure) -> Result
    ) async -> Result? {
        await onReader { [self] reader in attempt(body, with: &reader) }
    }

    /// Runs `body` on a reading thread; returns nil if that does, or if too many reads wait.
    private func onReader<Result: Sendable>(
        _ body: @escaping @Sendable (inout EntityReader?) -> Result?
    ) async -> Result? {
        await handedOver { finish in
            if !readers.submit({ reader in finish(body(&reader)) }) { finish(nil) }
        }
    }

    private func attempt<Result>(
        _ body: (EntityReader) throws(SQLiteFailure) -> Result, with reader: inout EntityReader?
    ) -> Result? {
        do {
            return try body(current(&reader))
        } catch {
            failed(error, generation: reader?.generation ?? generation)
            // The next read opens a new connection.
            reader = nil
            return nil
        }
    }

    /// The reader of a thread, opened if there is none or the database was replaced.
    private func current(_ reader: inout EntityReader?) throws(SQLiteFailure) -> EntityReader {
        let generation = generation
        if let reader, reader.generation == generation { return reader }
        reader = nil
        let opened = try makeReader(generation: generation, mappedBytes: settings.mappedBytes)
        reader = opened
        return opened
    }

    /// Opens the database for reading, if it is in our directory: it may have been replaced by now.
    func makeReader(generation: Int, mappedBytes: Int64 = 0) throws(SQLiteFailure) -> EntityReader {
        do {
            _ = try files.directory.open()
        } catch {
            throw .missing(error.description)
        }
        return try EntityReader(
            path: databasePath, generation: generation, key: key, segments: segments, mappedBytes: mappedBytes)
    }

    func failed(_ failure: SQLiteFailure, generation: Int) {
        guard state != .closed else { return }
        emit(.readFailed(failure.description))
        if failure.isDamage {
            queue.post(.reportCorruption(generation: generation, failure: failure))
        }
    }

    /// Runs blocking work without a connection on a reading thread; nil if too many reads wait.
    func onReadingThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result? {
        await onReader { _ in body() }
    }

    // MARK: Failing

    /// When the next attempt to write is made; nil if nothing failed.
    var retryAt: Int64? { health.withLock { $0.retryAt } }

    /// The current limit on disk usage.
    var limit: Int64 { health.withLock { $0.limit } }

    /// A file could not be written. Unless the failure is about this file alone, all writing pauses.
    func failed(_ failure: DiskFailure) {
        guard failure.concernsTheDisk else { return }
        if failure.errno == ENOSPC || failure.errno == EDQUOT { fitToDisk() }
        degrade(failure.description)
        queue.hurry()
    }

    /// The disk is full before the limit was reached: the limit is lowered to the current usage, less a little.
    func fitToDisk() {
        let used = bytesOnDisk
        health.withLock { health in
            health.limit = min(health.limit, max(used - used / 8, StoreSettings.smallestDiskLimit))
            health.limitChangedAt = monotonicNow()
        }
    }

    /// Space may have been freed on a full disk: a lowered limit grows back, by a sixteenth every ten seconds.
    func regrowLimit() {
        health.withLock { health in
            let now = monotonicNow()
            guard health.limit < settings.diskLimit, now - health.limitChangedAt > 10_000_000_000 else { return }
            health.limit = min(health.limit + health.limit / 16, settings.diskLimit)
            health.limitChangedAt = now
        }
    }

    /// Stops writing until a later attempt succeeds.
    func degrade(_ reason: String) {
        let isNew = health.withLock { health in
            guard case .open = health.state else { return false }
            health.state = .degraded(reason)
            health.retryAt = monotonicNow() + health.coolDown.wholeNanoseconds
            // With the lock held, so that a recovery comes before both or after both.
            queue.suspend()
            return true
        }
        if isNew { emit(.degraded(reason)) }
    }

    /// The attempt failed; the next one is made later.
    func postponeRetry() {
        health.withLock { health in
            health.coolDown = min(health.coolDown * 2, settings.coolDown * 64)
            health.retryAt = monotonicNow() + health.coolDown.wholeNanoseconds
        }
    }

    func recovered() {
        let wasDegraded = health.withLock { health in
            guard case .degraded = health.state else { return false }
            health.state = .open
            health.retryAt = nil
            health.coolDown = settings.coolDown
            queue.resume()
            return true
        }
        if wasDegraded { emit(.recovered) }
    }
}
