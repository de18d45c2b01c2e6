// SPDX-License-Identifier: Apache-2.0

/// Whether the leases of others are worth waiting for.
///
/// A client of the engine may keep a lease on each URL, or prevent that anybody takes one. So when all waits were in
/// vain for some time, leases are ignored for a while. Then one wait decides whether they are ignored for longer. Instants are monotonic nanoseconds.
package struct LeasePatience: Sendable, Equatable {
    /// The waits in vain since the last one that was worth it, together.
    private var lost = Duration.zero
    private var restsUntil: Int64?

    /// More than two waits that end with `SharedTier.waitLimit`.
    static let limit = Duration.seconds(5)
    static let rest = Duration.seconds(30)
    /// Waits that are shorter cost little, and responses that are not shared are common.
    static let shortest = Duration.milliseconds(500)

    package init() {}

    package func rests(at now: Int64) -> Bool { restsUntil.map { now < $0 } ?? false }

    /// Leases are about to be used. True if that is the first time after a rest.
    package mutating func resume(at now: Int64) -> Bool {
        guard restsUntil != nil, !rests(at: now) else { return false }
        restsUntil = nil
        return true
    }

    /// A wait ended with a response.
    package mutating func paidOff() { lost = .zero }

    /// A wait ended without. True if a rest begins.
    package mutating func waitedInVain(for time: Duration, at now: Int64) -> Bool {
        guard time >= LeasePatience.shortest, restsUntil == nil else { return false }
        lost += time
        guard lost >= LeasePatience.limit else { return false }
        restsUntil = now.advanced(by: LeasePatience.rest)
        // The next one that is not worth it is enough.
        lost = LeasePatience.limit - LeasePatience.shortest
        return true
    }
}
