// SPDX-License-Identifier: Apache-2.0

import LarderSettings

/// The credentials that were right not long ago, by a digest of them. They are remembered while they are used, for a
/// bounded time. Bounded in number too: when it is full, those are dropped that would be forgotten first.
struct RememberedUsers<Digest: Hashable & Sendable>: Sendable {
    private struct Memory {
        let user: UserTable.User
        /// They are forgotten then, however much they are used.
        let end: Int64
        var until: Int64
    }

    private var memories: [Digest: Memory] = [:]
    private let limit: Int
    private let idleLifetime: Int64
    private let lifetime: Int64

    /// - Parameters:
    ///   - idleLifetime: how long they are remembered unused, in nanoseconds.
    ///   - lifetime: how long at most.
    init(limit: Int, idleLifetime: Int64, lifetime: Int64) {
        self.limit = limit
        self.idleLifetime = idleLifetime
        self.lifetime = lifetime
    }

    var count: Int { memories.count }

    /// The user of the credentials, which are used now.
    ///
    /// - Parameter now: in monotonic nanoseconds.
    mutating func user(of digest: Digest, at now: Int64) -> UserTable.User? {
        guard let memory = memories[digest], now < memory.until else { return nil }
        memories[digest]?.until = min(now + idleLifetime, memory.end)
        return memory.user
    }

    mutating func remember(_ user: UserTable.User, by digest: Digest, at now: Int64) {
        if memories[digest] == nil, memories.count >= limit {
            memories.makeRoom(at: now, limit: limit, until: \.until)
        }
        let end = now + lifetime
        memories[digest] = Memory(user: user, end: end, until: min(now + idleLifetime, end))
    }

    /// A copy without the credentials of users that are no longer in `table`.
    func keeping(_ table: UserTable) -> RememberedUsers {
        var kept = self
        kept.memories = memories.filter { table.holds($0.value.user) }
        return kept
    }
}
