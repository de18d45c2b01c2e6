// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

/// A change to the entities of one key, from when it is accepted until it is committed or given up.
// @unchecked: everything that changes is reached only with the lock of the `WriteQueue` held, except that the writing
// thread reads `change` and `isInFile` while it is `committing`, when nobody changes them.
final class Operation: @unchecked Sendable {
    enum Change: Sendable {
        /// `blocks` are there if the content is a file.
        case write(EntityRecord, blocks: BlockDigests?)
        case updateHead(HeadUpdate)
        /// Nil: all variants.
        case remove(variant: [UInt8]?)
    }

    /// → `queued` → `committing` → gone; a large write begins as `spooling`; each can become `dropped`.
    enum Progress {
        /// Accepted and visible, its content is still being written to its file.
        case spooling
        case queued
        case committing
        /// Overtaken by a later operation, or given up.
        case dropped
    }

    let key: EntityKey
    var change: Change
    var progress: Progress
    /// The octets of content it holds in memory.
    var cost: Int
    /// Whether it writes content that is in its file.
    var isInFile = false
    /// Removed, while it was being committed, by an operation on many entities that was accepted after it.
    var isHidden = false
    /// Reads that wait for the end of `spooling`.
    var readers: [UnsafeContinuation<Void, Never>] = []

    init(key: EntityKey, change: Change, progress: Progress = .queued, cost: Int = 0) {
        self.key = key
        self.change = change
        self.progress = progress
        self.cost = cost
    }

    var variant: [UInt8]? {
        switch change {
        case .write(let record, _): record.variant
        case .updateHead(let update): update.variant
        case .remove(let variant): variant
        }
    }

    /// Whether it writes an entity with that label.
    func writes(_ label: EntityLabel) -> Bool {
        if case .write(let record, _) = change { record.labels.contains(label) } else { false }
    }

    /// The content that it has in a file; nil for most.
    var file: ContentReference? {
        guard isInFile, case .write(let record, _) = change else { return nil }
        return record.content
    }

    var isWrite: Bool {
        if case .write = change { true } else { false }
    }
}

/// What a validation changes (RFC 9111 §4.3.4).
struct HeadUpdate: Sendable {
    var variant: [UInt8]
    var head: [UInt8]
    var requestTime: Timestamp
    var responseTime: Timestamp
    var expires: Timestamp?
    /// Which version of the entity it is about.
    var storedAt: Timestamp
    /// In place of the labels it had; nil leaves them.
    var labels: [EntityLabel]?

    func apply(to record: inout EntityRecord) {
        record.head = head
        record.requestTime = requestTime
        record.responseTime = responseTime
        record.expires = expires
        if let labels { record.labels = labels }
    }
}

/// The removal of many entities, which takes several transactions. Until it is done, readers are shown none of
/// the entities that were there before it.
// @unchecked: everything that changes is reached only with the lock of the `WriteQueue` held, or, for `nextID`, by
// the thread that writes.
final class Removal: @unchecked Sendable {
    let match: EntityMatch
    /// Whether the writer has it: what is accepted now may be beyond it.
    var isTaken = false
    /// The last row that was written before; unknown until it begins.
    var lastID: Int64?
    var removed: Int
    /// Where the next slice begins.
    var nextID: Int64 = 0
    /// Who waits for the end; nobody any more if it cannot be done now.
    var continuation: UnsafeContinuation<Int, Never>?

    init(match: EntityMatch, removed: Int, continuation: UnsafeContinuation<Int, Never>?) {
        self.match = match
        self.removed = removed
        self.continuation = continuation
    }
}

/// Anything else the writing thread is asked to do, in the order of asking.
enum Command: Sendable {
    /// A row was not what had been written.
    case discardEntity(id: Int64)
    /// Content was not what had been written, or its file is gone.
    case discardContent(ContentDigest)
    /// A file that no row seemed to refer to.
    case checkOrphan(ContentDigest)
    /// A reader found the database damaged; `generation` says which.
    case reportCorruption(generation: Int, failure: SQLiteFailure)
    case removeAll(Removal)
    case wipe(Removal)
    case flush(UnsafeContinuation<Void, Never>)
}
