// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

extension Plan {
    /// Decides whether a program that no daemon serves has to ask the origin for a resource: like a plain GET, by what
    /// it has of it.
    ///
    /// The model's rule is about which of that counts. Nothing does after an invalidation; after a failed load, only the
    /// failure: data that were fresh are not up to date again when `retryTime` has passed, because the program has asked
    /// for newer ones. (A client that did not ask is answered with what is fresh.) It is judged as for a client,
    /// `expirationTime` by `Freshness`, `retryTime` by `RecentFailure`, but for the last instant: an age that equals its
    /// limit is within it here, and over it by RFC 9111 §4.2.
    ///
    /// - Parameters:
    ///   - data: the latest data, as if stored.
    ///   - failure: why the last load failed, if it did.
    package static func decide(
        data: StoredResponse?, failure: RecentFailure?, isInvalidated: Bool, policy: CachePolicy, now: Timestamp
    ) -> Plan {
        let failure = isInvalidated ? nil : failure
        let counts = !isInvalidated && failure == nil
        // The instant before tells, unless the clock was set back to before what counts.
        let isAfter = now >= failure?.at ?? data?.responseTime ?? now
        let last = isAfter ? now - .nanoseconds(1) : now
        return decide(plainRequest, counts ? [data].compactMap { $0 } : [], policy: policy, now: last) {
            ProgramOutlook(failure: failure)
        }
    }

    private static let plainRequest = RequestHead(method: .get, target: "/")
}

/// Without a daemon, an origin's health is not watched.
private struct ProgramOutlook: OriginOutlook {
    let failure: RecentFailure?
    var standing: OriginStanding { .asked }
    var isProbeDue: Bool { false }
    var hold: OriginHold? { nil }
}
