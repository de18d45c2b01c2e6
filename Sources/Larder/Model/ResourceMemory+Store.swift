// SPDX-License-Identifier: Apache-2.0

import LarderIO
package import LarderRules

/// Reading a Resource's variants from the store.
extension ResourceMemory {
    /// Records that the store has nothing.
    ///
    /// - Parameter mark: that of the look-up.
    package func storeHasNothing(since mark: Mark) {
        state.withLock { state in
            guard mark.generation == state.generation else { return }
            state.snapshot = Snapshot(
                variants: state.snapshot.variants, failure: state.snapshot.failure, isStoreRead: true)
        }
    }

    /// Makes the store be read again: a variant that is too large for memory is there now, replacing the one with the
    /// same variance. Nothing happens when the Resource was wiped, invalidated or overridden since `mark`.
    package func forgetStoreRead(_ stored: StoredResponse, since mark: Mark) {
        state.withLock { state in
            guard mark.generation == state.generation else { return }
            state.snapshot = Snapshot(
                variants: state.snapshot.variants.filter { $0.stored.variance != stored.variance }, isStoreRead: false)
            state.noteStoredAlone(stored)
            state.unstored = nil
        }
    }

    package enum StoreRead: Sendable {
        /// The caller reads the store and then calls `storeWasRead`.
        case begin
        /// Another caller did, earlier or while this one waited.
        case done
    }

    /// Makes sure the store is read once, however many callers there are at the same time.
    package func beginStoreRead() async -> StoreRead {
        let isMine = state.withLock { state -> Bool? in
            if state.snapshot.isStoreRead { return false }
            if state.readers == nil {
                state.readers = []
                state.removalCount = invalidations?.removalCount ?? 0
                return true
            }
            return nil
        }
        if let isMine { return isMine ? .begin : .done }
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let isDone = state.withLock { state in
                guard state.readers != nil else { return true }
                state.readers?.append(continuation)
                return false
            }
            if isDone { continuation.resume() }
        }
        return .done
    }

    /// True if there is something here that was read from the store, or is being read, since before the last removal.
    package var isOfBeforeRemoval: Bool {
        guard let invalidations else { return true }
        return state.withLock { state in
            state.removalCount < invalidations.removalCount
                && (state.readers != nil || state.snapshot.isStoreRead || !state.snapshot.variants.isEmpty)
        }
    }

    /// Ends the read that `beginStoreRead` began: `found`, newest first, is added to the variants in memory, which are
    /// newer.
    ///
    /// - Parameters:
    ///   - found: nil when the store could not be read: the next request reads it again. Those that waited do not, as they
    ///     would one after the other.
    ///   - mark: that of before the read.
    package func storeWasRead(_ found: [Variant]?, since mark: Mark) {
        let waiting = state.withLock { state -> [UnsafeContinuation<Void, Never>] in
            defer { state.readers = nil }
            catchUp(&state)
            guard let found else { return state.readers ?? [] }
            let current = state.snapshot
            let isCurrent = mark.generation == state.generation
            let added =
                !isCurrent
                ? []
                : found.filter { variant in
                    !isInvalid(variant.stored, since: mark)
                        && !current.variants.contains { $0.stored.variance == variant.stored.variance }
                }
            state.snapshot = Snapshot(
                variants: Array((current.variants + added).prefix(ResourceMemory.variantLimit)),
                failure: current.failure, isStoreRead: isCurrent || current.isStoreRead)
            if !added.isEmpty { tell(.newData(.cache), &state) }
            return state.readers ?? []
        }
        for continuation in waiting { continuation.resume() }
    }
}
