// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

/// A change to the entities of one key, from its acceptance until it is committed or dropped.
// @unchecked: mutable state is accessed only with the lock of the `WriteQueue` held, except that the writing thread
// reads `change` and `isInFile` while it is `committing`, when they do not change.
final class Operation: @unchecked Sendable {
    enum Change: Sendable {
        /// `blocks` are there if the content is a file.
        case write(EntityRecord, blocks: BlockDigests?)
        case updateHead(HeadUpdate)
        /// Without a variant: removes all variants. With a time: removes only the entity that was stored then.
        case remove(variant: [UInt8]?, because: RemovalReason, ifStoredAt: Timestamp? = nil)
    }

    /// → `queued` → `committing` → gone; a large write begins as `spooling`; each can become `dropped`.
    enum Progress {
        /// Accepted and visible, its content is still being written to its file.
        case spooling
        case queued
        case committing
        /// Superseded by a later operation, or given up.
        case dropped
    }

    let key: EntityKey
    var change: Change
    var progress: Progress
    /// The bytes of content that it has in memory.
    var cost: Int
    /// True if it writes content that is in its file.
    var isInFile = false
    /// Hidden, while it was being committed, by an operation on many entities that was accepted after it.
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
        case .remove(let variant, _, _): variant
        }
    }

    /// True if it is to be committed in any case: what supersedes it for `reason` makes a version of what it writes, or
    /// leaves versions that it wipes.
    func stays(because reason: RemovalReason) -> Bool {
        // Others could be committed after what supersedes them.
        guard progress == .queued else { return false }
        return switch change {
        case .write(let record, _): reason == .superseded && record.history.isKept
        case .updateHead: reason == .superseded
        case .remove(_, let own, _): own == .wiped && reason != .wiped
        }
    }

    /// Why it removes earlier entities.
    var reason: RemovalReason {
        switch change {
        case .write(let record, _): record.history.limit > 0 ? .superseded : .wiped
        case .updateHead: .unusable
        case .remove(_, let reason, _): reason
        }
    }

    /// The labels that the operation sets for its entity.
    var labels: [EntityLabel] {
        switch change {
        case .write(let record, _): record.labels
        case .updateHead(let update): update.labels ?? []
        case .remove: []
        }
    }

    /// The content that it has in a file; nil for most.
    var file: ContentReference? {
        guard isInFile, case .write(let record, _) = change else { return nil }
        return record.content
    }

    var isWrite: Bool {
        if case .write = change { true } else { false }
    }

    var isRemoval: Bool {
        if case .remove = change { true } else { false }
    }
}

/// Any other request to the writing thread, in the order of the requests.
enum Command: Sendable {
    /// A damaged row.
    case discardEntity(id: Int64)
    /// Damaged content, or content without its file.
    case discardContent(StoredDigest)
    /// A file that no row seemed to refer to.
    case checkOrphan(StoredDigest)
    /// A reader found the database damaged; `generation` identifies it.
    case reportCorruption(generation: Int, failure: SQLiteFailure)
    case removeAll(Removal)
    case wipe(Removal)
    case flush(UnsafeContinuation<Void, Never>)
    case pin(PinChange)
}
