// SPDX-License-Identifier: Apache-2.0

import LarderSettings

/// The credentials that were right not long ago, by a digest of them. Bounded: when it is full, those are dropped that
/// would be forgotten first.
struct RememberedUsers<Digest: Hashable & Sendable>: Sendable {
    private struct Memory {
        let user: UserTable.User
        let until: Int64
    }

    private var memories: [Digest: Memory] = [:]
    private let limit: Int
    private let lifetime: Int64

    /// - Parameter lifetime: in nanoseconds.
    init(limit: Int, lifetime: Int64) {
        self.limit = limit
        self.lifetime = lifetime
    }

    var count: Int { memories.count }

    /// - Parameter now: in monotonic nanoseconds.
    func user(of digest: Digest, at now: Int64) -> UserTable.User? {
        guard let memory = memories[digest], now < memory.until else { return nil }
        return memory.user
    }

    mutating func remember(_ user: UserTable.User, by digest: Digest, at now: Int64) {
        if memories[digest] == nil, memories.count >= limit { makeRoom(at: now) }
        memories[digest] = Memory(user: user, until: now + lifetime)
    }

    /// Drops what is forgotten anyway, else the older half, so that this is done seldom.
    private mutating func makeRoom(at now: Int64) {
        memories = memories.filter { now < $0.value.until }
        guard memories.count >= limit else { return }
        let kept = memories.sorted { $0.value.until > $1.value.until }.prefix(limit / 2)
        memories = Dictionary(kept.map { ($0.key, $0.value) }) { first, _ in first }
    }
}
