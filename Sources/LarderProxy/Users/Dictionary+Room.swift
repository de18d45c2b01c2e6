// SPDX-License-Identifier: Apache-2.0

extension Dictionary {
    /// Makes room in a table of `limit` entries with a limited life: expired entries are removed or, if there are none,
    /// the half that expires first, so that this happens rarely.
    ///
    /// - Parameters:
    ///   - now: in monotonic nanoseconds.
    ///   - end: until when a value counts.
    mutating func makeRoom(at now: Int64, limit: Int, until end: (Value) -> Int64) {
        self = filter { now < end($0.value) }
        guard count >= limit else { return }
        let kept = sorted { end($0.value) > end($1.value) }.prefix(limit / 2)
        self = Dictionary(kept.map { ($0.key, $0.value) }) { first, _ in first }
    }
}
