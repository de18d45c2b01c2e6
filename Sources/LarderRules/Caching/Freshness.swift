// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// How long a response may be used without asking the origin (RFC 9111 §4.2).
package enum Freshness {
    /// The origin of a lifetime; the raw values are the words used in explanations and logs.
    package enum Source: String, Sendable, Hashable, CaseIterable {
        case sMaxage = "s-maxage"
        case maxAge = "max-age"
        case expires = "Expires"
        /// A fraction of the time since `Last-Modified` (§4.2.2).
        case heuristic
        /// `expirationTime` of the configuration.
        case expirationTime
        /// `retryTime` of the configuration, for errors.
        case retryTime
        /// Neither the origin nor the configuration names one, and no heuristic applies.
        case none
    }

    /// A freshness lifetime with its evidence.
    package struct Lifetime: Sendable, Hashable {
        package var duration: Duration
        package var source: Source
        /// True if the source was present but unusable, so that the response counts as stale.
        package var isInvalid = false

        package init(_ duration: Duration, _ source: Source, isInvalid: Bool = false) {
            self.duration = duration
            self.source = source
            self.isInvalid = isInvalid
        }
    }

    /// The lifetime of a response under `policy`.
    ///
    /// - Parameter date: the value of `Date`, if there is a valid one; else the time of receipt is used.
    package static func lifetime(
        status: Status, fields: Fields, directives: CacheControl.Response, date: Timestamp?, responseTime: Timestamp,
        policy: CachePolicy
    ) -> Lifetime {
        let configured = policy.expirationTime(for: status)?.clampedToRFC9111()
        // Only errors with a configured lifetime have one of this kind.
        let isNamed = policy.expirationTimes[status] != nil
        let isError = status.isError && !isNamed
        if policy.expirationMode == .override, let configured {
            return isError
                ? Lifetime(retryTime(status, fields, responseTime, policy), .retryTime)
                : Lifetime(configured, .expirationTime)
        }
        if let explicit = explicit(fields, directives, date: date, responseTime: responseTime, policy: policy) {
            guard let configured else { return explicit }
            switch policy.expirationMode {
            case .cap where configured < explicit.duration: return Lifetime(configured, .expirationTime)
            case .floor where configured > explicit.duration && !isError:
                return Lifetime(configured, .expirationTime)
            case .cap, .floor, .fallback, .override: return explicit
            }
        }
        if isNamed, let configured { return Lifetime(configured, .expirationTime) }
        guard allowsHeuristic(status: status, fields: fields, directives: directives, policy: policy) else {
            return Lifetime(.zero, .none)
        }
        if let configured, !status.isError { return Lifetime(configured, .expirationTime) }
        let heuristic = heuristic(fields, date: date ?? responseTime, now: responseTime)
        if let heuristic { return heuristic }
        return status.isError && policy.retryTime > .zero
            ? Lifetime(retryTime(status, fields, responseTime, policy), .retryTime) : Lifetime(.zero, .none)
    }

    /// The origin's lifetime (RFC 9111 §4.2.1): the first of `s-maxage` (in a shared cache), `max-age` and `Expires`.
    /// Nil when there is none of them.
    package static func explicit(
        _ fields: Fields, _ directives: CacheControl.Response, date: Timestamp?, responseTime: Timestamp,
        policy: CachePolicy
    ) -> Lifetime? {
        if policy.role == .shared, let sMaxage = directives.sMaxage { return lifetime(sMaxage, .sMaxage) }
        if let maxAge = directives.maxAge { return lifetime(maxAge, .maxAge) }
        guard !directives.isTargeted, fields.contains(.expires) else { return nil }
        guard let expires = fields.date(.expires, now: responseTime) else {
            return Lifetime(.zero, .expires, isInvalid: true)
        }
        return Lifetime((expires - (date ?? responseTime)).clampedToRFC9111(), .expires)
    }

    /// True if a response without a lifetime may get a heuristic one (RFC 9111 §4.2.2): its status is defined as
    /// heuristically cacheable, or it is marked as cacheable. `Pragma: no-cache` of an origin that knows nothing else
    /// is respected this far (§5.4 gives it no meaning).
    package static func allowsHeuristic(
        status: Status, fields: Fields, directives: CacheControl.Response, policy: CachePolicy
    ) -> Bool {
        guard
            isHeuristicallyCacheable(status) || directives.flags.contains(.isPublic)
                || (policy.role == .private && directives.flags.contains(.isPrivate))
        else { return false }
        var hasPragmaNoCache = false
        fields.forEach(.pragma) { line in
            DirectiveScanner.scan(line) { name, _ in
                if name.isFolded("no-cache") { hasPragmaNoCache = true }
            }
        }
        return !hasPragmaNoCache
    }

    /// RFC 9110 §15.1.
    package static func isHeuristicallyCacheable(_ status: Status) -> Bool {
        switch status.rawValue {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// Whether `stored` is fresh at `now`: response_is_fresh of RFC 9111 §4.2.
    /// It is stale as soon as its age equals its lifetime.
    @inlinable
    package static func isFresh(_ stored: StoredResponse, at now: Timestamp) -> Bool {
        now < stored.facts.freshUntil && now >= stored.facts.usableFrom
    }

    /// How long `stored` stays fresh from `now` on; negative once it is stale. This is the `ttl` of RFC 9211 §2.4.
    @inlinable
    package static func remaining(_ stored: StoredResponse, at now: Timestamp) -> Duration {
        stored.facts.lifetime.duration - Age.currentAge(stored.facts, at: now)
    }

    private static func lifetime(_ delta: DeltaSeconds, _ source: Source) -> Lifetime {
        delta.duration.map { Lifetime($0, source) } ?? Lifetime(.zero, source, isInvalid: true)
    }

    /// `retryTime`, or longer where an overloaded origin asks for it.
    private static func retryTime(
        _ status: Status, _ fields: Fields, _ responseTime: Timestamp, _ policy: CachePolicy
    ) -> Duration {
        let asked = status == 429 || status == 503 ? RetryAfter.delay(fields, now: responseTime) : nil
        return max(policy.retryTime, min(asked ?? .zero, policy.retryAfterLimit)).clampedToRFC9111()
    }

    /// The heuristic lifetime as a fraction of the time since `Last-Modified` (RFC 9111 §4.2.2), and its maximum.
    package static let heuristicFraction = 0.1
    package static let heuristicMaximum = Duration.seconds(86_400)

    private static func heuristic(_ fields: Fields, date: Timestamp, now: Timestamp) -> Lifetime? {
        guard let lastModified = fields.date(.lastModified, now: now), lastModified < date else { return nil }
        let interval = (date - lastModified).clampedToRFC9111().wholeNanoseconds
        let share = (Double(interval) * heuristicFraction).rounded()
        return Lifetime(min(.nanoseconds(Int64(share)), heuristicMaximum), .heuristic)
    }
}
