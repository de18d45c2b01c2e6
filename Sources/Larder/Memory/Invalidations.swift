// SPDX-License-Identifier: Apache-2.0

import LarderIO
import Synchronization

/// Invalidations and their order, for scopes whose members cannot be listed: every partition of a URL, every response
/// of a group.
///
/// Each invalidation gets a mark, counted upward. A response that was valid up to a mark checks for invalidations since
/// then; so the cost of invalidating does not depend on the number of members, and a load that began before does not
/// restore an invalidated response.
package final class Invalidations: Sendable {
    package enum Scope: Hashable, Sendable {
        /// A URL of the service with that number, in every partition.
        case resource(service: UInt32, url: String)
        /// The members of a group, at one origin or at all (RFC 9875).
        case group(String, origin: String?)
    }

    /// The marks of some scopes, by their hashes. Two scopes with the same hash are invalidated together, which costs no
    /// more than a load; the hash is keyed in each process, so that collisions cannot be constructed.
    private struct Marks {
        var sequences: [Int: UInt64] = [:]
        /// Everything older counts as invalidated: the scopes are forgotten.
        var floor: UInt64 = 0

        func latest(_ hash: Int) -> UInt64 { max(sequences[hash] ?? 0, floor) }

        mutating func forgetScopes(at invalidationSequence: UInt64) {
            sequences = [:]
            floor = invalidationSequence
        }
    }

    private struct State {
        var marks = Marks()
        /// The groups of each origin. An origin that names many loses its own members alone.
        var origins: [String: Marks] = [:]
        /// The scopes that are remembered.
        var count = 0
        var partitioned: Set<UInt32> = []

        mutating func set(_ scope: Scope, to invalidationSequence: UInt64) {
            guard case .group(let group, let origin?) = scope else {
                if marks.sequences.updateValue(invalidationSequence, forKey: scope.hashValue) == nil { count += 1 }
                return
            }
            var groups = origins.removeValue(forKey: origin) ?? Marks()
            if groups.sequences.updateValue(invalidationSequence, forKey: group.hashValue) == nil { count += 1 }
            if groups.sequences.count > Invalidations.originLimit {
                count -= groups.sequences.count
                groups.forgetScopes(at: invalidationSequence)
            }
            origins[origin] = groups
        }

        func latest(_ scope: Scope) -> UInt64 {
            guard case .group(let group, let origin?) = scope else { return marks.latest(scope.hashValue) }
            return max(origins[origin]?.latest(group.hashValue) ?? 0, marks.floor)
        }
    }

    /// The most groups of an origin that are remembered. With more of them, all groups of the origin count as
    /// invalidated.
    static let originLimit = 4_096

    private let state = Lock(State())
    private let last = Atomic<UInt64>(0)
    private let removals = Atomic<UInt64>(0)
    private let limit: Int

    /// - Parameter limit: how many scopes are remembered. When there are more, all of them count as invalidated.
    package init(limit: Int = 65_536) { self.limit = limit }

    /// The mark of the last invalidation.
    package var latest: UInt64 { last.load(ordering: .acquiring) }

    package func invalidate(_ scopes: [Scope]) {
        guard !scopes.isEmpty else { return }
        state.withLock { state in
            let invalidationSequence = last.load(ordering: .relaxed) + 1
            for scope in scopes { state.set(scope, to: invalidationSequence) }
            // An origin whose groups are forgotten has its mark here.
            if state.count + state.origins.count > limit {
                state.marks.forgetScopes(at: invalidationSequence)
                state.origins = [:]
                state.count = 0
            }
            // The scope's mark is visible before its number.
            last.store(invalidationSequence, ordering: .releasing)
        }
    }

    /// True if `scope` was invalidated after `mark`.
    package func isInvalid(_ scope: Scope, since invalidationSequence: UInt64) -> Bool {
        state.withLock { $0.latest(scope) > invalidationSequence }
    }

    /// True if a member of one of the groups, at `origin`, was invalidated after `mark`.
    package func isInvalid(groups: [String], at origin: String, since invalidationSequence: UInt64) -> Bool {
        state.withLock { state in
            let own = state.origins[origin]
            return groups.contains { group in
                max(own?.latest(group.hashValue) ?? 0, state.latest(.group(group, origin: nil))) > invalidationSequence
            }
        }
    }

    // MARK: Removals from the store

    /// How often the store was emptied of a service's resources, or of some of them.
    package var removalCount: UInt64 { removals.load(ordering: .acquiring) }

    /// Counts a removal, from which on nothing of them is read from the store.
    package func noteRemoval() { removals.add(1, ordering: .acquiringAndReleasing) }

    // MARK: Partitions

    /// Records that the service with that number has resources in partitions; they stay when the configuration changes.
    package func notePartitions(of service: UInt32) { _ = state.withLock { $0.partitioned.insert(service) } }

    package func hasPartitions(_ service: UInt32) -> Bool { state.withLock { $0.partitioned.contains(service) } }
}
