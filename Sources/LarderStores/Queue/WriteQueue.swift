// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
import Synchronization

/// The operations between their acceptance and their commit: their order, which of them no longer matter, and the view
/// of readers meanwhile. It decides; `StoreWriter` performs.
final class WriteQueue: Sendable {
    enum Item {
        case operation(Operation)
        case command(Command)
    }

    /// A group of items to be committed together.
    struct Batch {
        /// Operations are `committing`, so that they no longer change.
        var items: [Item] = []
        /// The bytes it will add to the database, roughly.
        var bytes = 0
        /// Content of writes that were dropped when their files were complete.
        var unwanted: [ContentReference] = []

        /// All content in files that has waited for this batch.
        var files: [ContentReference] { operations.compactMap(\.file) + unwanted }

        var operations: some Sequence<Operation> {
            items.lazy.compactMap { if case .operation(let operation) = $0 { operation } else { nil } }
        }
    }

    enum Work {
        case batch(Batch)
        case wipe(Removal)
        /// Nothing to commit; do maintenance, or, if writing failed before, retry.
        case idle
        case close
    }

    struct Queued {
        let item: Item
        let bytes: Int
    }

    let stripes = QueueStripes()
    let index: KeyIndex
    let labels: KeyIndex
    let commitInterval: Int64
    let groupBytes: Int
    /// Bytes of the queued items, and the time of the first of them, 0 for none.
    let queuedBytes = Atomic<Int>(0)
    let firstArrival = Atomic<Int64>(0)
    /// Bytes of content in memory, of operations and of writers that are not finished.
    private let heldBytes = Atomic<Int>(0)
    private let heldLimit: Int
    /// `acceptsWrites` and not `isRefusing` of the terms.
    let isWritable = Atomic<Bool>(true)

    static let groupCount = 4000
    private static let discardLimit = 10_000
    /// The cost of an operation besides its content: key, head, and modified pages.
    static let overhead = 1024

    init(settings: StoreSettings, index: KeyIndex, labels: KeyIndex) {
        (self.index, self.labels) = (index, labels)
        commitInterval = settings.commitInterval.wholeNanoseconds
        groupBytes = settings.groupBytes
        heldLimit = settings.queueLimit
    }

    // MARK: Content in memory

    var heldOctets: Int { heldBytes.load(ordering: .relaxed) }

    /// Reserves memory for bytes until they are written; false if there are too many.
    func hold(_ count: Int) -> Bool {
        if heldBytes.add(count, ordering: .relaxed).newValue <= heldLimit { return true }
        heldBytes.subtract(count, ordering: .relaxed)
        return false
    }

    func release(_ count: Int) {
        if count != 0 { heldBytes.subtract(count, ordering: .relaxed) }
    }

    // MARK: Accepting

    /// True if writes are accepted at the moment, without a lock; `accept` decides.
    var acceptsWrites: Bool { isWritable.load(ordering: .relaxed) }

    var pendingOperations: Int { stripes.withAll { $0.pendingCount } }

    /// Accepts an operation; from now on readers see its effect. False if it was refused: a write while none can be
    /// done, or an operation without effect.
    func accept(_ operation: Operation) -> Bool {
        let hash = operation.key.hash
        return stripes.withStripe(of: hash) { terms, stripe in
            guard !terms.isRefusing else { return false }
            switch operation.change {
            case .write:
                guard terms.acceptsWrites else { return false }
                overtake(by: operation, in: &stripe)
                index.insert(hash)
                for label in operation.labels { labels.insert(label.hash) }
            case .remove(_, _, let storedAt):
                guard index.mayContain(hash) else { return false }
                if merge(operation, in: &stripe) { return true }
                if let storedAt {
                    guard settle(operation, ifStoredAt: storedAt, in: &stripe) else { return false }
                } else {
                    overtake(by: operation, in: &stripe)
                }
            case .updateHead(let update):
                guard index.mayContain(hash) else { return false }
                for label in operation.labels { labels.insert(label.hash) }
                let isRemoving = !terms.removals.isEmpty
                if let merged = merge(update, of: operation.key, whileRemoving: isRemoving, in: &stripe) {
                    return merged
                }
            }
            append(operation, in: &stripe)
            return true
        }
    }

    /// The content of a large write is complete, in a file named by its digest. False if it no longer matters.
    func contentReady(_ operation: Operation, content: ContentReference, blocks: BlockDigests) -> Bool {
        let (isWanted, readers) = stripes.withStripe(of: operation.key.hash) { _, stripe in
            defer { operation.readers = [] }
            guard operation.progress == .spooling, case .write(var record, _) = operation.change else {
                return (false, operation.readers)
            }
            record.content = content
            operation.change = .write(record, blocks: blocks)
            operation.isInFile = true
            operation.progress = .queued
            enqueue(operation, bytes: 0, in: &stripe)
            return (true, operation.readers)
        }
        for reader in readers { reader.resume() }
        return isWanted
    }

    /// The content of a large write could not be written.
    func contentFailed(_ operation: Operation) {
        let readers = stripes.withStripe(of: operation.key.hash) { _, stripe in
            defer { operation.readers = [] }
            if operation.progress == .spooling { give(up: operation, in: &stripe) }
            return operation.readers
        }
        for reader in readers { reader.resume() }
    }

    /// False if the queue is full, or the store is closed; items that must not be lost are always accepted until then.
    @discardableResult
    func post(_ command: Command) -> Bool {
        stripes.withAll { state in
            guard !state.isClosed else { return false }
            state.collect()
            var command = command
            switch command {
            case .discardEntity, .discardContent, .checkOrphan, .reportCorruption:
                guard state.items.count < Self.discardLimit else { return false }
            case .removeAll(let removal), .wipe(let removal):
                // The twin that is already queued does the work of this removal.
                let hasTwin = state.terms.removals.hasTwin(of: removal)
                let isWide = !hasTwin && state.terms.removals.isFull(for: removal)
                hideOperations(of: removal, isQueued: hasTwin || isWide, hasLabels: !isWide, in: &state)
                guard !hasTwin else { return true }
                if isWide {
                    guard let wide = state.terms.removals.widen(by: removal) else { return true }
                    command = .removeAll(wide)
                } else {
                    state.terms.removals.insert(removal)
                }
                // In front of it are the removals that this was to be seen by.
                state.collect()
                state.isHurried = true
            case .flush, .pin:
                state.isHurried = true
            }
            enqueue(command, in: &state)
            return true
        }
    }

    func enqueue(_ command: Command, in state: inout QueueStripes.State) {
        state.items.append(Queued(item: .command(command), bytes: Self.overhead))
        let isDue = arrive(Self.overhead)
        if isDue || state.isHurried { state.wakesWriter = true }
    }

    private func append(_ operation: Operation, in stripe: inout QueueStripes.Stripe) {
        stripe.pending.append(operation)
        if operation.progress == .queued { enqueue(operation, bytes: operation.cost, in: &stripe) }
    }

    private func enqueue(_ operation: Operation, bytes: Int, in stripe: inout QueueStripes.Stripe) {
        let weight = bytes + Self.overhead
        stripe.items.append(Queued(item: .operation(operation), bytes: weight))
        if arrive(weight) { stripe.wakesWriter = true }
    }

    /// Counts an item that is queued. True if the writer must be woken: it waits for the first item, for the item that
    /// completes a group, or for the end of the interval.
    private func arrive(_ weight: Int) -> Bool {
        let bytes = queuedBytes.add(weight, ordering: .relaxed).newValue
        let isFirst =
            firstArrival.load(ordering: .relaxed) == 0
            && firstArrival.compareExchange(expected: 0, desired: monotonicNow(), ordering: .relaxed).exchanged
        return isFirst || bytes >= groupBytes && bytes - weight < groupBytes
    }

    /// Drops operations that a write or removal makes pointless. Operations being committed stay, writes that become
    /// versions, and wipes of versions.
    private func overtake(by operation: Operation, in stripe: inout QueueStripes.Stripe) {
        let variant = operation.variant
        for other in stripe.pending[operation.key.hash]
        where other.progress != .committing && other.key == operation.key {
            guard variant == nil || other.variant == variant else { continue }
            if !other.stays(because: operation.reason) { drop(other, in: &stripe) }
        }
    }

    private func last(of key: EntityKey, _ variant: [UInt8]?, in stripe: QueueStripes.Stripe) -> Operation? {
        stripe.pending[key.hash].last {
            $0.key == key && (variant == nil || $0.variant == nil || $0.variant == variant)
        }
    }

    /// Decides a removal of what was stored at an instant by what is not committed yet, if anything. False if that is
    /// something else.
    private func settle(
        _ removal: Operation, ifStoredAt storedAt: Timestamp, in stripe: inout QueueStripes.Stripe
    ) -> Bool {
        switch last(of: removal.key, removal.variant, in: stripe)?.change {
        case nil, .updateHead, .remove(_, _, ifStoredAt: .some): return true
        case .remove: return false
        case .write(let record, _):
            guard record.storedAt == storedAt else { return false }
            // The entity that the write replaces must not reappear.
            removal.change = .remove(variant: removal.variant, because: removal.reason)
            overtake(by: removal, in: &stripe)
            return true
        }
    }

    /// Updates the head of a write that is not committed yet. Nil if the update must be queued instead.
    ///
    /// - Parameter isRemoving: whether other labels stay behind a removal by those before.
    private func merge(
        _ update: HeadUpdate, of key: EntityKey, whileRemoving isRemoving: Bool, in stripe: inout QueueStripes.Stripe
    ) -> Bool? {
        guard let last = last(of: key, update.variant, in: stripe) else { return nil }
        switch last.change {
        case .remove(_, _, let storedAt): return storedAt.map { $0 == update.storedAt } ?? true ? false : nil
        case .updateHead(let earlier):
            // While nothing can be written, validations go on.
            guard last.progress == .queued, !last.isHidden, earlier.storedAt == update.storedAt,
                update.labels == nil || update.labels == earlier.labels || !isRemoving
            else { return nil }
            var update = update
            update.labels = update.labels ?? earlier.labels
            last.change = .updateHead(update)
            return true
        case .write(var record, let blocks):
            guard record.storedAt == update.storedAt else { return false }
            guard last.progress != .committing else { return nil }
            update.apply(to: &record)
            last.change = .write(record, blocks: blocks)
            return true
        }
    }

    /// True if the last operation removes what another removal would, and so does for both. While nothing can be written,
    /// each response that cannot be stored removes what it was to replace.
    private func merge(_ removal: Operation, in stripe: inout QueueStripes.Stripe) -> Bool {
        guard let last = last(of: removal.key, removal.variant, in: stripe), last.progress == .queued,
            case .remove(let variant, let reason, let storedAt) = last.change,
            case .remove(_, let laterReason, let laterTime) = removal.change,
            variant == nil || variant == removal.variant, storedAt == nil || storedAt == laterTime,
            reason == .wiped || laterReason != .wiped
        else { return false }
        if reason != .wiped, variant == removal.variant, storedAt == laterTime { last.change = removal.change }
        return true
    }

    /// The most labels of operations that one removal compares. It hides further operations without a comparison.
    private static let comparisonLimit = 20_000

    /// - Parameter hasLabels: false if all operations that match are meant, regardless of their labels.
    private func hideOperations(
        of removal: Removal, isQueued: Bool, hasLabels: Bool, in state: inout QueueStripes.State
    ) {
        let labels = hasLabels ? Set(removal.labels) : []
        var compared = 0
        let meant = state.pending { operation in
            guard !operation.isRemoval, removal.match.accepts(operation.key) else { return false }
            guard !labels.isEmpty else { return true }
            let its = operation.labels
            guard !its.isEmpty else { return false }
            compared += its.count
            return compared > Self.comparisonLimit || its.contains(where: labels.contains)
        }
        for operation in meant {
            let hash = operation.key.hash
            if !labels.isEmpty { removeAfter(operation, in: &state[hash]) }
            if operation.progress == .committing || !isQueued && operation.stays(because: removal.reason) {
                operation.isHidden = true
            } else {
                if operation.isWrite { removal.removed += 1 }
                drop(operation, in: &state[hash])
            }
        }
    }

    /// Removes the entity of an operation that is hidden for a label, regardless of the operation's outcome: the row
    /// that the operation changes may not have that label, and would be visible again.
    private func removeAfter(_ operation: Operation, in stripe: inout QueueStripes.Stripe) {
        guard last(of: operation.key, operation.variant, in: stripe) === operation else { return }
        var storedAt: Timestamp?
        if case .updateHead(let update) = operation.change { storedAt = update.storedAt }
        append(
            Operation(
                key: operation.key,
                change: .remove(variant: operation.variant, because: .superseded, ifStoredAt: storedAt)), in: &stripe)
    }

    /// Hides an operation; its owner finds it `dropped`.
    func drop(_ operation: Operation, in stripe: inout QueueStripes.Stripe) {
        operation.progress = .dropped
        forget(operation, in: &stripe)
    }

    func forget(_ operation: Operation, in stripe: inout QueueStripes.Stripe) {
        guard stripe.pending.remove(operation) else { return }
        release(operation.cost)
        operation.cost = 0
    }

    /// Gives up an operation. A write that cannot be stored still removes the entity that it was to replace, as that is
    /// out of date; a removal is kept until it can be done.
    func give(up operation: Operation, in stripe: inout QueueStripes.Stripe) {
        switch operation.change {
        case .updateHead: drop(operation, in: &stripe)
        case .remove: operation.progress = .queued
        case .write(let record, _):
            let isOvertaken = operation.isHidden
            drop(operation, in: &stripe)
            guard !isOvertaken else { return }
            append(
                Operation(key: operation.key, change: .remove(variant: record.variant, because: .superseded)),
                in: &stripe)
        }
    }
}
