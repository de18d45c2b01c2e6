// SPDX-License-Identifier: Apache-2.0

import LarderIO
package import LarderRules

/// The names of some groups, which become more while others look.
final class GroupNames: Sendable {
    private let names = Lock<Set<String>>([])

    func insert(_ name: String) { _ = names.withLock { $0.insert(name) } }

    func contains(oneOf others: [String]) -> Bool {
        !others.isEmpty && names.withLock { names in others.contains(where: names.contains) }
    }
}

/// Responses that are void because of a wipe or an invalidation since their loads began.
extension ResourceMemory {
    /// How many wipes and invalidations there were when something began that is to be stored: a load, a read of the
    /// store, a write. If one of them concerns it, it is not stored (B-05, B-12).
    package struct Mark: Sendable {
        /// Those of the Resource.
        let generation: UInt64
        /// Those of scopes, as `Invalidations` counts them; nil where a response's groups do not matter.
        let invalidationSequence: UInt64?
        /// The groups of which a response is void all the same.
        var voidGroups: GroupNames?

        /// For the state that a write leaves, which may have invalidated a group of its own.
        package var exceptGroups: Mark { Mark(generation: generation, invalidationSequence: nil) }
    }

    /// The mark of what begins now.
    package var mark: Mark {
        state.withLock { state in
            catchUp(&state)
            return Mark(generation: state.generation, invalidationSequence: state.checked)
        }
    }

    /// True if the Resource was wiped or invalidated since `mark`.
    package func hasChanged(since mark: Mark) -> Bool { self.mark.generation != mark.generation }

    /// True if `land` would find a response superseded whose load began at `mark`.
    package func isSuperseded(_ stored: StoredResponse, since mark: Mark, at now: Timestamp) -> Bool {
        state.withLock { state in
            catchUp(&state)
            return isVoid(stored, since: mark, state) || state.hasLater(than: stored, at: now)
        }
    }

    /// True if the Resource was wiped or invalidated since `mark`, or a group that the response belongs to.
    func isVoid(_ stored: StoredResponse, since mark: Mark, _ state: State) -> Bool {
        mark.generation != state.generation || isInvalid(stored, since: mark)
    }

    /// True if a group that the response belongs to was invalidated since `mark`.
    func isInvalid(_ stored: StoredResponse, since mark: Mark) -> Bool {
        if let groups = mark.voidGroups, groups.contains(oneOf: stored.facts.groups) { return true }
        return mark.invalidationSequence.map { isInvalid(stored, since: $0) } ?? false
    }

    private func isInvalid(_ stored: StoredResponse, since sequence: UInt64) -> Bool {
        guard let reach, !stored.facts.groups.isEmpty, reach.invalidations.latest != sequence else { return false }
        return reach.invalidations.isInvalid(groups: stored.facts.groups, at: reach.origin, since: sequence)
    }

    /// The invalidations of scopes so far, this Resource's or not.
    package var invalidationSequence: UInt64 { invalidations?.latest ?? 0 }

    // MARK: Invalidation from afar

    /// Drops variants invalidated by scopes since the last check; usually that is one comparison.
    func catchUp(_ state: inout State) {
        guard let invalidations, invalidations.latest != state.checked else { return }
        catchUpFurther(&state)
    }

    private func catchUpFurther(_ state: inout State) {
        guard let reach else { return }
        let since = state.checked
        // Before the check: invalidations meanwhile are found the next time.
        state.checked = reach.invalidations.latest
        if let scope = reach.scope, reach.invalidations.isInvalid(scope, since: since) {
            _ = empty(&state, storeIsEmpty: false, isInvalidation: true)
        } else if state.snapshot.hasGroups {
            let kept = state.snapshot.variants.filter { !isInvalid($0.stored, since: since) }
            guard kept.count < state.snapshot.variants.count else { return }
            // The variants still in the store were not affected.
            state.snapshot = Snapshot(variants: kept, failure: state.snapshot.failure)
            tell(.newData(.wipe), &state)
            invalidateForProgram(&state)
        }
    }
}
