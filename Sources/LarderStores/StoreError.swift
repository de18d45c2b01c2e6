// SPDX-License-Identifier: Apache-2.0

/// Why a store could not be opened. Everything that goes wrong later is a `StoreEvent`.
public struct StoreError: Error, Hashable, Sendable {
    /// The kind of reason.
    public enum Code: Hashable, Sendable {
        /// Another process, or another store of this one, has the directory.
        case inUse
        /// The directory cannot be made or written.
        case unusableDirectory
        /// A setting is out of bounds.
        case invalidSettings
    }

    /// The kind of reason.
    public var code: Code
    /// What was expected, what was found, and what to do about it.
    public var message: String
}

extension StoreError: CustomStringConvertible {
    /// The message.
    public var description: String { message }
}

/// What happened in a store that someone may want to read in a log. Reported from the store's own threads.
package enum StoreEvent: Hashable, Sendable {
    /// These steps brought an older database up to date.
    case migrated([String])
    /// From now on a miss is known without asking the disk.
    case keysLoaded(count: Int)
    /// Left-overs of an earlier run were deleted.
    case orphansRemoved(files: Int)
    /// Writing fails; the store goes on reading and tries again.
    case degraded(String)
    /// Writing works again.
    case recovered
    /// The database is beyond repair, is kept under another name, and was replaced by an empty one.
    case setAside(path: String, reason: String)
    /// Someone deleted or replaced the database while it was used; an empty one was begun.
    case databaseLost
    /// A stored entity was not what had been written; it has been removed.
    case damagedEntity(url: String, reason: String)
    /// Stored content was not what had been written; it has been removed.
    case damagedContent(digest: ContentDigest, reason: String)
    /// Rows with numbers that are never written were removed.
    case impossibleRows
    /// A read failed; it counted as a miss.
    case readFailed(String)
    /// An entity that was to be stored was not.
    case writeDropped(url: String, reason: String)
}

extension StoreEvent: CustomStringConvertible {
    /// A sentence for a log. Queries, which may hold secrets, are left out of URLs.
    package var description: String {
        switch self {
        case .migrated(let steps): "The database was brought up to date: \(steps.joined(separator: ", "))."
        case .keysLoaded(let count): "The keys of \(count) entities were read."
        case .orphansRemoved(let files): "\(files) files that an earlier run left over were deleted."
        case .degraded(let reason): "Writing fails: \(reason)"
        case .recovered: "Writing works again."
        case .setAside(let path, let reason): "The database was set aside as \(path): \(reason)"
        case .databaseLost: "The database was deleted or replaced by someone else; another was begun."
        case .damagedEntity(let url, let reason):
            "The entity of \(StoreEvent.shown(url)) was damaged and was removed: \(reason)"
        case .damagedContent(let digest, let reason): "The content \(digest) was damaged and was removed: \(reason)"
        case .impossibleRows: "Damaged rows with impossible numbers were removed."
        case .readFailed(let reason): "Reading failed: \(reason)"
        case .writeDropped(let url, let reason): "\(StoreEvent.shown(url)) was not stored: \(reason)"
        }
    }

    private static func shown(_ url: String) -> Substring { url.prefix { $0 != "?" } }
}

/// What a store holds and how it is doing.
package struct StoreStatistics: Sendable {
    package enum State: Hashable, Sendable {
        case open
        /// Reading where possible, not writing.
        case degraded(String)
        case closed
    }

    package var state: State
    package var entries: Int
    /// Everything in the directory: database, log, index of the log, files, and what was set aside.
    package var bytesOnDisk: Int64
    /// The most it may be: what was set, or less since the disk turned out to be smaller.
    package var limit: Int64
    /// Operations that were accepted and are not yet committed.
    package var pendingOperations: Int
    /// Octets of content in memory that wait to be written.
    package var pendingBytes: Int
    package var evictions: Int
    package var droppedWrites: Int
    package var damaged: Int
    /// The longest that a transaction of the writer took since the store was opened. Readers do not wait for one,
    /// but writes do.
    package var longestTransaction = Duration.zero
    /// The longest time that writing the log back to the database kept the writer from anything else.
    package var longestCheckpoint = Duration.zero
}
