// SPDX-License-Identifier: Apache-2.0

import DequeModule
import LarderIO
import Synchronization

/// The queue as the writing thread uses it: the next batch to commit, and the results.
extension WriteQueue {
    /// The next work; waits until a group is worth committing, or until `idleDeadline`.
    ///
    /// - Parameter isRemoving: true if removals are in progress. They alternate with the groups: on a slow disk, under
    ///   load, a group and a slice of the removals are due in turn.
    func next(idleDeadline: Int64, isRemoving: Bool = false) -> Work {
        stripes.wait { state in
            let now = monotonicNow()
            state.collect()
            if state.terms.acceptsWrites, !state.items.isEmpty {
                if isRemoving, state.isRemovalsTurn {
                    state.isRemovalsTurn = false
                    return .done(.idle)
                }
                let due = firstArrival.load(ordering: .relaxed) + commitInterval
                let isGroup = queuedBytes.load(ordering: .relaxed) >= groupBytes
                if state.isHurried || state.isClosing || isGroup || now >= due {
                    return .done(take(from: &state))
                }
                // Maintenance runs before a group that is not due: under load the queue may never be empty.
                return now >= idleDeadline ? .done(.idle) : .wait(until: min(due, idleDeadline))
            }
            // Their rows would be there again.
            if state.isClosing { return .done(isRemoving ? .idle : .close) }
            if now >= idleDeadline || state.isHurried {
                state.isHurried = false
                return .done(.idle)
            }
            return .wait(until: idleDeadline)
        }
    }

    private func take(from state: inout QueueStripes.State) -> Work {
        state.isRemovalsTurn = true
        var batch = Batch()
        while let queued = state.items.first, batch.bytes < groupBytes, batch.items.count < Self.groupCount {
            switch queued.item {
            case .operation(let operation):
                guard operation.progress == .queued else {
                    if let file = operation.file { batch.unwanted.append(file) }
                    break
                }
                operation.progress = .committing
                batch.bytes += queued.bytes
                batch.items.append(queued.item)
            case .command(.wipe(let removal)):
                guard batch.items.isEmpty, batch.unwanted.isEmpty else { return .batch(batch) }
                removal.isTaken = true
                advance(&state)
                return .wipe(removal)
            case .command(let command):
                if case .removeAll(let removal) = command { removal.isTaken = true }
                batch.items.append(queued.item)
            }
            advance(&state)
        }
        return .batch(batch)
    }

    private func advance(_ state: inout QueueStripes.State) {
        queuedBytes.subtract(state.items.removeFirst().bytes, ordering: .relaxed)
        guard state.items.isEmpty else { return }
        firstArrival.store(0, ordering: .relaxed)
        state.isHurried = false
    }

    /// The whole batch is in the database.
    func committed(_ batch: Batch) {
        for operation in batch.operations {
            stripes.withStripe(of: operation.key.hash) { _, stripe in forget(operation, in: &stripe) }
        }
    }

    /// Recounts the waiting items, all of them with the current time.
    private func restart(_ state: inout QueueStripes.State) {
        state.collect()
        queuedBytes.store(state.items.reduce(0) { $0 + $1.bytes }, ordering: .relaxed)
        firstArrival.store(state.items.isEmpty ? 0 : monotonicNow(), ordering: .relaxed)
    }

    /// The batch could not be written. No writes are accepted until `resume`.
    func failed(_ batch: Batch) {
        stripes.withAll { state in
            state.collect()
            state.terms.acceptsWrites = false
            isWritable.store(false, ordering: .relaxed)
            var kept: [Queued] = []
            for item in batch.items {
                switch item {
                case .operation(let operation):
                    give(up: operation, in: &state[operation.key.hash])
                    guard operation.progress == .queued else { continue }
                    kept.append(Queued(item: item, bytes: Self.overhead))
                case .command(.flush): kept.append(Queued(item: item, bytes: Self.overhead))
                case .command(.removeAll(let removal)):
                    removal.isTaken = false
                    kept.append(Queued(item: item, bytes: Self.overhead))
                case .command: continue
                }
            }
            for queued in state.items {
                guard case .operation(let operation) = queued.item, operation.progress == .queued else { continue }
                if operation.isWrite { give(up: operation, in: &state[operation.key.hash]) }
            }
            state.items.prepend(contentsOf: kept)
            restart(&state)
        }
    }

    func resume() {
        stripes.withAll { state in
            state.terms.acceptsWrites = true
            isWritable.store(!state.terms.isRefusing, ordering: .relaxed)
        }
    }

    /// Writing fails; no caller waits for it.
    func suspend() { failed(Batch()) }

    /// Writing fails: waiting callers are resumed. Entities to be removed stay hidden, and are removed in the end.
    func letGoOfWaiting() {
        let (flushes, pins, removals) = stripes.withAll { state in
            var flushes: [UnsafeContinuation<Void, Never>] = []
            var pins: [PinChange] = []
            state.items.removeAll { queued in
                switch queued.item {
                case .command(.flush(let continuation)): flushes.append(continuation)
                case .command(.pin(let change)): pins.append(change)
                default: return false
                }
                return true
            }
            restart(&state)
            let removals = state.terms.removals.all.values.map { removal in
                defer { removal.continuation = nil }
                return (removal.continuation, removal.removed)
            }
            return (flushes, pins, removals)
        }
        for flush in flushes { flush.resume() }
        for pin in pins { pin.end(isDone: false) }
        for (continuation, removed) in removals { continuation?.resume(returning: removed) }
    }

    /// From here on the removal applies to rows up to `lastID`.
    func begin(_ removal: Removal, lastID: Int64) {
        removal.lastID.store(lastID, ordering: .relaxed)
        removal.cursor = Removal.Cursor()
    }

    /// Hides the entities that removals of an earlier process did not reach from readers.
    func resume(_ removals: [Removal]) {
        stripes.withAll { state in for removal in removals { state.terms.removals.insert(removal) } }
    }

    /// Counts rows a removal deleted.
    func count(_ rows: Int, for removal: Removal) {
        stripes.withAll { _ in removal.removed += rows }
    }

    /// Readers need not check the rows of these removals any more: they are gone.
    func end(_ removals: [Removal]) {
        guard !removals.isEmpty else { return }
        let (waiting, settled) = stripes.withAll { state in
            for removal in removals {
                state.terms.removals.remove(removal)
                for number in state.settlements.indices {
                    state.settlements[number].removals.remove(ObjectIdentifier(removal))
                }
                guard let wide = state.terms.removals.releaseWide(after: removal) else { continue }
                state.isHurried = true
                enqueue(.removeAll(wide), in: &state)
            }
            let settled = state.settlements.filter(\.removals.isEmpty).map(\.continuation)
            if !settled.isEmpty { state.settlements.removeAll(where: \.removals.isEmpty) }
            let waiting = removals.map { removal in
                defer { removal.continuation = nil }
                return (removal.continuation, removal.removed)
            }
            return (waiting, settled)
        }
        for (continuation, removed) in waiting { continuation?.resume(returning: removed) }
        for continuation in settled { continuation.resume(returning: true) }
    }

    /// Returns when the removals accepted so far have ended, however long writing fails meanwhile. False when the store
    /// was closed before.
    func removalsEnd() async -> Bool {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Bool, Never>) in
            let outcome = stripes.withAll { state -> Bool? in
                if state.isClosed { return false }
                if state.terms.removals.isEmpty { return true }
                state.settlements.append(
                    QueueStripes.Settlement(
                        removals: Set(state.terms.removals.all.keys), continuation: continuation))
                return nil
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
    }

    /// Nothing with this hash is in the database any more; unless a write is pending, a miss is certain.
    func forgetKeys(_ hashes: [UInt64]) {
        for hash in hashes {
            stripes.withStripe(of: hash) { _, stripe in
                if !stripe.pending[hash].contains(where: \.isWrite) { index.remove(hash) }
            }
        }
    }

    /// Nothing at all is in the database any more.
    func forgetAllKeys() {
        stripes.withAll { state in
            index.removeAll()
            for operation in state.pending where operation.isWrite { index.insert(operation.key.hash) }
        }
        forgetAllLabels()
    }

    /// The database has some labels, and others come.
    func forgetAllLabels() {
        stripes.withAll { state in
            labels.removeAll()
            for operation in state.pending { for label in operation.labels { labels.insert(label.hash) } }
        }
    }

    /// Makes the writer do maintenance soon.
    func hurry() {
        stripes.withAll { state in
            state.isHurried = true
            state.wakesWriter = true
        }
    }

    // MARK: Closing

    /// Refuses further operations.
    func refuse() {
        stripes.withAll { state in
            state.terms.isRefusing = true
            isWritable.store(false, ordering: .relaxed)
        }
    }

    /// The writer completes the accepted operations, and then closes.
    func beginClosing() {
        stripes.withAll { state in
            state.isClosing = true
            state.wakesWriter = true
        }
    }

    /// After the writer has ended: no caller waits for it.
    func close() {
        let settlements = stripes.withAll { state in
            state.isClosed = true
            defer { state.settlements = [] }
            return state.settlements
        }
        for settlement in settlements { settlement.continuation.resume(returning: false) }
        letGoOfWaiting()
    }
}
