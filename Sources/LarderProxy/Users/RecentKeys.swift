// SPDX-License-Identifier: Apache-2.0

/// Keys of recent events. Bounded: when it is full, the older half is removed, so that this happens rarely.
struct RecentKeys<Key: Hashable & Sendable>: Sendable {
    private var until: [Key: Int64] = [:]
    private let limit: Int
    private let lifetime: Int64

    /// - Parameter lifetime: in nanoseconds.
    init(limit: Int, lifetime: Int64) {
        self.limit = limit
        self.lifetime = lifetime
    }

    var count: Int { until.count }

    /// - Parameter now: in monotonic nanoseconds.
    func contains(_ key: Key, at now: Int64) -> Bool { until[key].map { now < $0 } ?? false }

    mutating func insert(_ key: Key, at now: Int64) {
        if until[key] == nil, until.count >= limit { until.makeRoom(at: now, limit: limit) { $0 } }
        until[key] = now + lifetime
    }

    /// Returns whether it was there.
    @discardableResult
    mutating func remove(_ key: Key) -> Bool { until.removeValue(forKey: key) != nil }
}
