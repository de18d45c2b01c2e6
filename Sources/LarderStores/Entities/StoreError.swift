// SPDX-License-Identifier: Apache-2.0

/// Why a store could not be opened. All later failures are `StoreEvent`s.
public struct StoreError: Error, Hashable, Sendable {
    /// The kind of reason.
    public enum Code: Hashable, Sendable {
        /// Another process, or another store of this one, has the directory.
        case inUse
        /// The directory cannot be created or written.
        case unusableDirectory
        /// A setting is out of bounds.
        case invalidSettings
    }

    /// The kind of reason.
    public var code: Code
    /// The expectation, the finding, and the remedy.
    public var message: String
}

extension StoreError: CustomStringConvertible {
    /// The message.
    public var description: String { message }
}

/// An event of a store for the log. Reported from the store's own threads.
package enum StoreEvent: Hashable, Sendable {
    /// These steps brought an older database up to date.
    case migrated([String])
    /// From now on a miss is known without reading the disk.
    case keysLoaded(count: Int)
    /// Left-overs of an earlier run were deleted.
    case orphansRemoved(files: Int)
    /// Writing fails; the store continues to read and retries writing.
    case degraded(String)
    /// Writing works again.
    case recovered
    /// The database is beyond repair; it was renamed, and replaced by an empty one.
    case setAside(path: String, reason: String)
    /// The database was deleted or replaced while it was in use; an empty one was created.
    case databaseLost
    /// The database's log was deleted or replaced while it was in use; what was in it is in the database now.
    case logLost
    /// A stored entity was damaged; it has been removed.
    case damagedEntity(url: String, reason: String)
    /// Stored content was damaged; it has been removed.
    case damagedContent(digest: StoredDigest, reason: String)
    /// Rows with numbers that are never written were removed.
    case impossibleRows
    /// The secret that verifies stored content is gone: stored content can no longer be read.
    case keyLost
    /// The disk is full of pinned entities; some were evicted.
    case pinsYielded
    /// A read failed; it counted as a miss.
    case readFailed(String)
    /// An entity could not be stored.
    case writeDropped(url: String, reason: String)
}

extension StoreEvent: CustomStringConvertible {
    /// A sentence for a log. Queries, which may contain secrets, are removed from URLs.
    package var description: String {
        switch self {
        case .migrated(let steps): "The database was brought up to date: \(steps.joined(separator: ", "))."
        case .keysLoaded(let count): "The keys of \(count) entities were read."
        case .orphansRemoved(let files): "\(files) files that an earlier run left over were deleted."
        case .degraded(let reason): "Writing fails: \(reason)"
        case .recovered: "Writing works again."
        case .setAside(let path, let reason): "The database was set aside as \(path): \(reason)"
        case .databaseLost: "The database was deleted or replaced by someone else; another was begun."
        case .logLost: "The database's log was deleted or replaced by someone else; its content was kept."
        case .damagedEntity(let url, let reason):
            "The entity of \(StoreEvent.shown(url)) was damaged and was removed: \(reason)"
        case .damagedContent(let digest, let reason): "The content \(digest) was damaged and was removed: \(reason)"
        case .impossibleRows: "Damaged rows with impossible numbers were removed."
        case .keyLost:
            "The key by which stored content is checked was lost or damaged; what was stored before is not used any more."
        case .pinsYielded: "The disk is full of pinned entities, and some of them were evicted."
        case .readFailed(let reason): "Reading failed: \(reason)"
        case .writeDropped(let url, let reason): "\(StoreEvent.shown(url)) was not stored: \(reason)"
        }
    }

    private static func shown(_ url: String) -> Substring { url.prefix { $0 != "?" } }
}

/// The contents and health of a store.
package struct StoreStatistics: Sendable {
    package enum State: Hashable, Sendable {
        case open
        /// Reading where possible, not writing.
        case degraded(String)
        case closed
    }

    package var state: State
    package var entries: Int
    /// Everything in the directory: database, log, index of the log, files, and databases set aside.
    package var bytesOnDisk: Int64
    /// The limit on that: as configured, or lower since the disk turned out to be smaller.
    package var limit: Int64
    /// The limit as configured.
    package var configuredLimit: Int64
    /// Operations that are accepted and not yet committed.
    package var pendingOperations: Int
    /// Bytes of content in memory that wait to be written.
    package var pendingBytes: Int
    package var evictions: Int
    package var droppedWrites: Int
    package var damaged: Int
    /// Keys whose entities are not evicted.
    package var pinned = 0
    /// The duration of the longest transaction since the store was opened. Readers do not wait for one, but writes do.
    package var longestTransaction = Duration.zero
    /// The longest time that a checkpoint of the log blocked the writer.
    package var longestCheckpoint = Duration.zero
}
