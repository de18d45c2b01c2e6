// SPDX-License-Identifier: Apache-2.0

import LarderIO
import Synchronization

/// What was invalidated, and when, of things whose members nobody can list: every partition of a URL, every response
/// of a group.
///
/// Each invalidation gets a mark, counted upward. What knows the mark up to which it is good asks what has been
/// invalidated since; so invalidating costs the same however many it concerns, and a load that began before does not
/// bring back what was invalidated meanwhile.
package final class Invalidations: Sendable {
    package enum Scope: Hashable, Sendable {
        /// A URL of the service of that number, in every partition.
        case resource(service: UInt32, url: String)
        /// The members of a group, at one origin or at all (RFC 9875).
        case group(String, origin: String?)
    }

    private struct State {
        /// The last mark of each scope, by its hash. Two scopes that share one are invalidated together, which costs
        /// a load and no more; the hash is keyed anew in each process, so nobody can choose them.
        var marks: [Int: UInt64] = [:]
        /// Everything older counts as invalidated: which scopes were meant is forgotten.
        var floor: UInt64 = 0
        var partitioned: Set<UInt32> = []
    }

    private let state = Lock(State())
    private let last = Atomic<UInt64>(0)
    private let limit: Int

    /// - Parameter limit: how many scopes are remembered. When there are more, all of them count as invalidated.
    package init(limit: Int = 65_536) { self.limit = limit }

    /// The mark of the last invalidation.
    package var latest: UInt64 { last.load(ordering: .acquiring) }

    package func invalidate(_ scopes: [Scope]) {
        guard !scopes.isEmpty else { return }
        state.withLock { state in
            let mark = last.load(ordering: .relaxed) + 1
            for scope in scopes { state.marks[scope.hashValue] = mark }
            if state.marks.count > limit {
                state.marks = [:]
                state.floor = mark
            }
            // What it is about is there before anyone asks for it.
            last.store(mark, ordering: .releasing)
        }
    }

    /// Whether `scope` was invalidated after `mark`.
    package func isInvalid(_ scope: Scope, since mark: UInt64) -> Bool {
        state.withLock { max($0.marks[scope.hashValue] ?? 0, $0.floor) > mark }
    }

    /// Whether a member of one of the groups, at `origin`, was invalidated after `mark`.
    package func isInvalid(groups: [String], at origin: String, since mark: UInt64) -> Bool {
        groups.contains { group in
            isInvalid(.group(group, origin: origin), since: mark) || isInvalid(.group(group, origin: nil), since: mark)
        }
    }

    // MARK: Partitions

    /// Notes that the service of that number has resources in partitions; they stay when the configuration changes.
    package func notePartitions(of service: UInt32) { _ = state.withLock { $0.partitioned.insert(service) } }

    package func hasPartitions(_ service: UInt32) -> Bool { state.withLock { $0.partitioned.contains(service) } }
}
