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

    private struct State {
        /// The last mark of each scope, by its hash. Two scopes with the same hash are invalidated together, which
        /// costs no more than a load; the hash is keyed in each process, so that collisions cannot be constructed.
        var sequences: [Int: UInt64] = [:]
        /// Everything older counts as invalidated: the scopes are forgotten.
        var floor: UInt64 = 0
        var partitioned: Set<UInt32> = []
    }

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
            for scope in scopes { state.sequences[scope.hashValue] = invalidationSequence }
            if state.sequences.count > limit {
                state.sequences = [:]
                state.floor = invalidationSequence
            }
            // The scope's mark is visible before its number.
            last.store(invalidationSequence, ordering: .releasing)
        }
    }

    /// Whether `scope` was invalidated after `mark`.
    package func isInvalid(_ scope: Scope, since invalidationSequence: UInt64) -> Bool {
        state.withLock { max($0.sequences[scope.hashValue] ?? 0, $0.floor) > invalidationSequence }
    }

    /// Whether a member of one of the groups, at `origin`, was invalidated after `mark`.
    package func isInvalid(groups: [String], at origin: String, since invalidationSequence: UInt64) -> Bool {
        groups.contains { group in
            isInvalid(.group(group, origin: origin), since: invalidationSequence)
                || isInvalid(.group(group, origin: nil), since: invalidationSequence)
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
