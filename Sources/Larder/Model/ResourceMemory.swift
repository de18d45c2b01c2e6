// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
package import LarderRules
import Synchronization

/// The state of a Resource: its stored variants, the loads under way, the last failure, whether the store was read, and,
/// once a program looks at it, what that sees.
///
/// Everything changes under one short lock; readers take an immutable snapshot and answer from that.
package final class ResourceMemory: Sendable {
    /// The immutable state for a reader, which stays the same while the Resource changes.
    package final class Snapshot: Sendable {
        /// The variants, newest first.
        package let variants: [Variant]
        /// The last failure of a load, until a load succeeds.
        package let failure: LoadFailure?
        /// True if the store was asked for variants since the Resource came to memory.
        package let isStoreRead: Bool
        /// True if a variant belongs to a group.
        let hasGroups: Bool
        /// The configuration all variants are what clients get by; nil when they differ in that, or there are none.
        package let fingerprint: UInt64?
        private let isOver = Atomic<Bool>(false)

        init(variants: [Variant] = [], failure: LoadFailure? = nil, isStoreRead: Bool = false) {
            self.variants = variants
            self.failure = failure
            self.isStoreRead = isStoreRead
            hasGroups = variants.contains { !$0.stored.facts.groups.isEmpty }
            let first = variants.first?.fingerprint
            fingerprint = variants.allSatisfy { $0.fingerprint == first } ? first : nil
        }

        /// `variants[n].stored` at index n: what the rules choose among.
        package var candidates: [StoredResponse] { variants.map(\.stored) }

        /// True if this is still what its Resource shows, and the Resource still the one of its key.
        package var isCurrent: Bool { !isOver.load(ordering: .acquiring) }

        fileprivate func end() { isOver.store(true, ordering: .releasing) }

        func with(_ failure: LoadFailure?) -> Snapshot {
            Snapshot(variants: variants, failure: failure, isStoreRead: isStoreRead)
        }
    }

    struct State {
        var snapshot: Snapshot { didSet { oldValue.end() } }
        var loads = ActiveLoads() { didSet { if loads.isEmpty { storedAlone = [] } } }
        /// Responses that went to the store alone while other loads are under way, which may be older: of as many as there
        /// may be variants, the latest.
        private(set) var storedAlone: [Outline] = []
        /// Callers that wait for a read of the store, while one is under way.
        var readers: [UnsafeContinuation<Void, Never>]?
        /// The removals from the store, as `Invalidations` counts them, when it was last read.
        var removalCount: UInt64 = 0
        /// Counts wipes, so that loads begun before one are not stored after it (B-12).
        var wipeGeneration: UInt64 = 0
        /// Counts invalidations of the Resource, for loads and reads begun before one (B-05).
        var invalidationGeneration: UInt64 = 0
        var generation: UInt64 { wipeGeneration &+ invalidationGeneration }
        /// The latest version that was seen, and what it is for this Resource, once that was asked for.
        var configuration: (version: UInt64, value: (any AnyObject & Sendable)?) = (0, nil)
        var unstored: UnstoredResponse?
        /// The mark of `invalidations` up to which everything here is good.
        var checked: UInt64 = 0
        var publisher: ChangePublisher?
        /// How many events there were.
        var sequence: UInt64 = 0
        /// Those who watch this Resource, which is interest in its loads.
        var observers = 0
        /// Set once a program looks at the Resource.
        var program: ProgramState?

        /// True if there is the response to a request of the same kind that was made later, however long either took. A
        /// clock that was set back makes none of what was stored before.
        func hasLater(than stored: StoredResponse, at now: Timestamp) -> Bool {
            let outline = Outline(of: stored)
            return snapshot.variants.contains {
                !$0.isOverride && Outline(of: $0.stored).isLater(than: outline, at: now)
            }
                || storedAlone.contains { $0.isLater(than: outline, at: now) }
        }

        /// `stored` is in the store alone.
        mutating func noteStoredAlone(_ stored: StoredResponse) {
            storedAlone.removeAll { $0.variance == stored.variance }
            guard !loads.isEmpty else { return }
            storedAlone.append(Outline(of: stored))
            if storedAlone.count > ResourceMemory.variantLimit { storedAlone.removeFirst() }
        }
    }

    /// The times by which the later of two responses to requests of the same kind is known.
    struct Outline {
        let variance: Variance
        let requestTime: Timestamp
        let responseTime: Timestamp

        init(of stored: StoredResponse) {
            (variance, requestTime, responseTime) = (stored.variance, stored.requestTime, stored.responseTime)
        }

        func isLater(than other: Outline, at now: Timestamp) -> Bool {
            variance == other.variance && requestTime > other.requestTime && responseTime <= now
        }
    }

    /// The invalidation scopes that include the Resource, besides its own.
    package struct Reach: Sendable {
        let invalidations: Invalidations
        /// Where it is reached together with the other partitions of its URL; nil for the shared one.
        let scope: Invalidations.Scope?
        /// The origin that its variants' groups belong to.
        let origin: String

        package init(_ invalidations: Invalidations, scope: Invalidations.Scope?, origin: String) {
            self.invalidations = invalidations
            self.scope = scope
            self.origin = origin
        }
    }

    let state: Lock<State>
    let visited = Atomic<Bool>(false)
    let followed = Atomic<Bool>(false)
    let answered = Atomic<UInt64>(0)
    let reach: Reach?
    let invalidations: Invalidations?

    /// - Parameter isStoreRead: whether the store is known to have nothing.
    package init(reach: Reach? = nil, isStoreRead: Bool = false) {
        self.reach = reach
        invalidations = reach?.invalidations
        state = Lock(
            State(
                snapshot: Snapshot(isStoreRead: isStoreRead), removalCount: reach?.invalidations.removalCount ?? 0,
                checked: reach?.invalidations.latest ?? 0))
    }

    /// Bytes that the variants take.
    package var cost: Int { snapshot.variants.reduce(0) { $0 + $1.cost } }

    package var snapshot: Snapshot {
        state.withLock { state in
            catchUp(&state)
            return state.snapshot
        }
    }

    /// Back to nothing. The result is to be ended after the lock is released.
    func empty(
        _ state: inout State, storeIsEmpty: Bool, isInvalidation: Bool, isTold: Bool = false
    ) -> ProgramState.Ended? {
        let wasBlank = state.snapshot.variants.isEmpty && state.snapshot.failure == nil && state.unstored == nil
        state.snapshot = Snapshot(isStoreRead: storeIsEmpty)
        state.wipeGeneration += 1
        state.unstored = nil
        let cancelled = Array(state.loads)
        endProgress(of: cancelled, &state)
        state.loads = ActiveLoads()
        // For a wipe of some partitions only, the others have nothing to report.
        if !wasBlank || !cancelled.isEmpty { tell(.newData(.wipe), &state) }
        for _ in cancelled { tell(.requestCancelled, &state) }
        guard isInvalidation else { return wipeForProgram(isTold: isTold, &state) }
        invalidateForProgram(ending: cancelled, &state)
        return nil
    }

    /// How many variants a Resource keeps; the oldest goes first, so that a `Vary` on something wild stays cheap.
    package static let variantLimit = 16

    /// The Resource leaves the registry: its snapshots must not be relied on any longer.
    func leave() { state.withLock { $0.snapshot.end() } }

    // MARK: Variants

    package enum Landing: Sendable {
        /// The variant is in; these were pushed out by it or replaced.
        case landed(replaced: [Variant])
        /// Nothing changed: it was wiped or invalidated after the load began, or a later load was answered before.
        case superseded
    }

    /// Puts `variant` first, in place of those that answer the same requests.
    ///
    /// - Parameters:
    ///   - mark: that of when the load began.
    ///   - load: the load, which ends with this, so that new requests find the stored response; and the time.
    @discardableResult
    package func land(
        _ variant: Variant, since mark: Mark? = nil, ending load: (ActiveLoad, at: Timestamp)? = nil
    ) -> Landing {
        state.withLock { state in
            catchUp(&state)
            if let mark, isInvalid(variant.stored, since: mark) {
                invalidateForProgram(&state)
                return .superseded
            }
            if let mark, mark.generation != state.generation { return .superseded }
            if let (load, now) = load {
                if state.hasLater(than: variant.stored, at: now) {
                    retire(load, as: .superseded, &state)
                    return .superseded
                }
                endProgress(of: [load], &state)
                state.loads.remove(load)
            }
            var kept: [Variant] = []
            var replaced: [Variant] = []
            for other in state.snapshot.variants {
                // The origin has spoken again, whatever it chooses by.
                let isSame =
                    other.stored.variance == variant.stored.variance
                    || other.isOverride && !variant.stored.status.isError
                if isSame || kept.count >= ResourceMemory.variantLimit - 1 {
                    replaced.append(other)
                } else {
                    kept.append(other)
                }
            }
            state.snapshot = Snapshot(variants: [variant] + kept, isStoreRead: state.snapshot.isStoreRead)
            state.unstored = nil
            tell(variant.stored.status.isError ? .error : .newData(.network), &state)
            landForProgram(load?.0, &state)
            return .landed(replaced: replaced)
        }
    }

    /// Puts `variant`, which has parts or was completed by one, in place of `old`, the only one with its variance; nil
    /// when there was none. False when that has changed: parts never replace a variant they were not compared with.
    package func landPart(_ variant: Variant, replacing old: Variant?, since mark: Mark) -> Bool {
        state.withLock { state in
            catchUp(&state)
            guard !isVoid(variant.stored, since: mark, state) else { return false }
            let variants = state.snapshot.variants
            guard variants.first(where: { $0.stored.variance == variant.stored.variance }) === old else { return false }
            let kept = variants.filter { $0 !== old }.prefix(ResourceMemory.variantLimit - 1)
            state.snapshot = Snapshot(variants: [variant] + kept, isStoreRead: state.snapshot.isStoreRead)
            // A load that programs see tells them itself.
            if !variant.stored.isPartial, state.loads.allSatisfy(\.asksForPart) { landForProgram(nil, &state) }
            return true
        }
    }

    /// Replaces `old`, if it is still there, by `new`: freshening, or content that moved between memory and store.
    ///
    /// - Parameter mark: that of when the load began which this comes from.
    package func replace(_ old: Variant, by new: Variant, since mark: Mark? = nil) -> Bool {
        state.withLock { state in
            catchUp(&state)
            if let mark, mark.generation != state.generation { return false }
            guard let index = state.snapshot.variants.firstIndex(where: { $0 === old }) else { return false }
            var variants = state.snapshot.variants
            variants[index] = new
            state.snapshot = Snapshot(variants: variants, isStoreRead: state.snapshot.isStoreRead)
            return true
        }
    }

    /// Drops the variants for which `isRemoved` is true; they are returned.
    @discardableResult
    package func removeVariants(where isRemoved: (Variant) -> Bool) -> [Variant] {
        state.withLock { state in
            let gone = state.snapshot.variants.filter(isRemoved)
            guard !gone.isEmpty else { return [] }
            state.snapshot = Snapshot(
                variants: state.snapshot.variants.filter { variant in !gone.contains { $0 === variant } },
                failure: state.snapshot.failure, isStoreRead: state.snapshot.isStoreRead)
            return gone
        }
    }

    /// Back to nothing: variants and failure go, loads under way no longer land, and the store counts as read
    /// only when it was emptied too.
    ///
    /// - Parameter isInvalidation: whether programs keep the data they have, as out of date.
    @discardableResult
    package func wipe(storeIsEmpty: Bool, isInvalidation: Bool = false) -> [Variant] {
        let (gone, ended, resource) = state.withLock { state in
            let gone = state.snapshot.variants
            let ended = empty(&state, storeIsEmpty: storeIsEmpty, isInvalidation: isInvalidation)
            return (gone, ended, state.program?.resource)
        }
        if let ended { resource?.turns.postLater { ended.end() } }
        // Of what is there no more.
        if !isInvalidation { answered.store(0, ordering: .relaxed) }
        return gone
    }

    /// Remembers why the last load failed, for as long as `retryTime` says.
    package func remember(_ failure: LoadFailure) {
        state.withLock { state in
            state.snapshot = Snapshot(
                variants: state.snapshot.variants, failure: failure, isStoreRead: state.snapshot.isStoreRead)
        }
    }

    /// The last response that was not kept, until one is.
    package var unstored: UnstoredResponse? {
        get { state.withLock { $0.unstored } }
        set { state.withLock { $0.unstored = newValue } }
    }

    // MARK: Loads under way

    package enum Joining: Sendable {
        /// This load is under way already; the caller reads along.
        case joined(ActiveLoad)
        /// There was none that fits; the caller has to run this one.
        case started(ActiveLoad)
        /// There is none, and the state has changed since the caller's look-up: a load has finished. The look-up is to
        /// be repeated.
        case overtaken
        /// This load is under way, but its response is probably for its own client alone, as the last one was.
        case unshared
    }

    /// Joins a load that `isJoinable` accepts, or registers the one that `make` returns.
    ///
    /// - Parameters:
    ///   - decided: what the caller saw when it found a load necessary. Without it one is started whatever has changed.
    ///   - moment: a response since then that was not stored makes the next one unlikely to be shared: the caller need
    ///     not wait for it. Responses with an error status do not count.
    package func join(
        since decided: Snapshot? = nil, expectingSharedUnlessSince moment: Timestamp? = nil,
        where isJoinable: (ActiveLoad) -> Bool, orStart make: () -> ActiveLoad
    ) -> Joining {
        // Nobody gets what was asked for before an invalidation and asks after it.
        func fits(_ load: ActiveLoad) -> Bool { !load.isOutdated && isJoinable(load) }
        return state.withLock { state in
            catchUp(&state)
            if let moment, let last = state.unstored, last.at >= moment, !last.status.isError,
                let load = state.loads.first(where: fits), !load.isAnswered
            {
                return .unshared
            }
            // One that has lost its beginning, and so cannot be joined, must not hide a later one.
            if let load = state.loads.first(where: { fits($0) && $0.retain() }) {
                return .joined(load)
            }
            if let decided, decided !== state.snapshot { return .overtaken }
            let load = make()
            load.begin(at: (state.generation, state.checked))
            state.loads.append(load)
            tell(.requested, &state)
            programSees(load, &state)
            return .started(load)
        }
    }

    /// Removes a load from the list, so that it is no longer joined. One that ended before, or that a wipe ended,
    /// changes nothing.
    package func retire(_ load: ActiveLoad, as end: LoadEnd = .passed) {
        state.withLock { retire(load, as: end, &$0) }
    }

    private func retire(_ load: ActiveLoad, as end: LoadEnd, _ state: inout State) {
        guard state.loads.contains(load) else { return }
        endProgress(of: [load], &state)
        state.loads.remove(load)
        let snapshot = state.snapshot
        switch end {
        case .passed:
            let isError = state.unstored?.status.isError == true
            if !isError { endOverride(&state) }
            let snapshot = state.snapshot
            if snapshot.failure != nil { state.snapshot = snapshot.with(nil) }
            tell(isError ? .error : .newData(.network), &state)
        case .notModified, .superseded: tell(.notModified, &state)
        case .cancelled: tell(.requestCancelled, &state)
        case .failed(let failure):
            // A longer backoff is kept.
            if snapshot.failure.map({ $0.at < failure.at }) ?? true { state.snapshot = snapshot.with(failure) }
            tell(.error, &state)
        }
        endForProgram(load, end, &state)
    }

    package var loads: [ActiveLoad] { state.withLock { Array($0.loads) } }
}
