// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

extension StoredResponse {
    /// Properties of a stored response under its policy, computed once so that a hit costs a few comparisons.
    package struct Facts: Sendable, Hashable {
        package let directives: CacheControl.Response
        /// The value of `Date`, or the second of receipt if it had none (RFC 9110 §6.6.1).
        package let date: Timestamp
        package let responseTime: Timestamp
        package let correctedInitialAge: Duration
        package let lifetime: Freshness.Lifetime
        /// The response is fresh before this instant, and from `usableFrom` on.
        package let freshUntil: Timestamp
        /// Just before receipt. Earlier, the clock has been set back (`Age.clockTolerance`).
        package let usableFrom: Timestamp
        /// True if each use needs validation: `no-cache`, or an invalidation.
        package let validatesAlways: Bool
        /// Why the response must not be used once it is stale; nil if it may.
        package let staleProhibition: StaleProhibition?
        /// How long past its lifetime the response may be used while it is validated (RFC 5861 §3).
        package let staleWhileRevalidate: Duration
        /// How long past its lifetime the origin allows the response instead of an error (RFC 5861 §4).
        package let staleIfError: Duration?
        /// The entity tag as received; nil when there is none, or more than one.
        package let eTag: EntityTag?
        package let lastModified: Timestamp?
        /// RFC 8246: the origin will not change the representation while it is fresh.
        package let isImmutable: Bool
        /// True if a shared cache may use it although the request carried `Authorization` (RFC 9111 §3.5).
        package let allowsAuthorized: Bool
        /// The groups the response belongs to, which are invalidated together (RFC 9875).
        package let groups: [String]
        /// A field that is stored but hidden from clients.
        package let hiddenField: FieldName?
        /// True if it answers a request with credentials that are not part of the key, in a cache of many.
        package let isPersonal: Bool
        /// True if nobody but its user may use it without asking, in a cache of many (`CachePolicy.mustBeAskedFor`).
        package let isForOne: Bool
        /// The origin's directives that the configuration ignores, in the words of `Cache-Status`.
        package let ignored: String?

        init(
            status: Status, fields: Fields, date: Timestamp, directives: CacheControl.Response,
            requestTime: Timestamp, responseTime: Timestamp, standing: Standing, traces: UserTraces,
            policy: CachePolicy
        ) {
            let isAskedWithCredential = traces.contains(.credentialBesideKey)
            ignored = policy.ignoredWords(of: fields, isPersonal: isAskedWithCredential)
            self.directives = directives
            self.responseTime = responseTime
            self.date = date
            let age = Age.correctedInitialAge(
                ageValue: Age.ageValue(fields), dateValue: date, requestTime: requestTime, responseTime: responseTime)
            isPersonal = policy.isPersonal(traces.intersection(.credentialBesideKey))
            let mayBeForOne = policy.isPersonal(traces)
            let explicit =
                mayBeForOne
                ? Freshness.explicit(fields, directives, date: date, responseTime: responseTime, policy: policy) : nil
            let isForOne = mayBeForOne && policy.mustBeAskedFor(directives, explicit, age: age)
            self.isForOne = isForOne
            let isOverridden =
                !isForOne && policy.expirationMode == .override && policy.expirationTime(for: status) != nil
            // In `override` mode the age counts from receipt, whatever age other caches added.
            correctedInitialAge = isOverridden ? .zero : age
            lifetime =
                isForOne
                ? explicit ?? Freshness.Lifetime(.zero, .none)
                : Freshness.lifetime(
                    status: status, fields: fields, directives: directives, date: date, responseTime: responseTime,
                    policy: policy)
            usableFrom = responseTime - Age.clockTolerance
            // A response that was stale on arrival is never fresh, not even after the clock was set back to before it.
            freshUntil =
                standing == .asReceived && lifetime.duration > correctedInitialAge
                ? responseTime + (lifetime.duration - correctedInitialAge) : Timestamp(nanoseconds: .min)
            // `no-cache="Set-Cookie"` says that the response is one client's; omitting the cookie is not enough.
            let setsOwnCookie =
                directives.noCacheFields.contains(.setCookie)
                && !policy.ignored(forPersonal: isAskedWithCredential).contains(.setCookie)
            let isNoCache = directives.flags.contains(.noCache) || setsOwnCookie
            // Stored when there was one user, or by a private cache: now it is another user's.
            let isAnothers = policy.role == .shared && directives.flags.contains(.isPrivate)
            validatesAlways = standing == .invalid || isAnothers || (isNoCache && !isOverridden)
            staleProhibition =
                Facts.prohibition(directives, standing, isNoCache: isNoCache, policy) ?? (isForOne ? .oneUsers : nil)
            let window = directives.staleWhileRevalidate.map { $0.duration ?? .zero } ?? policy.staleWhileRevalidate
            staleWhileRevalidate = staleProhibition == nil ? window.clampedToRFC9111() : .zero
            staleIfError = directives.staleIfError.map { $0.duration ?? .zero }
            eTag = fields.singleEntityTag
            lastModified = fields.date(.lastModified, now: responseTime)
            isImmutable = directives.flags.contains(.immutable)
            allowsAuthorized = Storability.allowsAuthorized(directives)
            groups = Invalidation.groups(of: fields, surrogateKey: policy.surrogateKey)
            hiddenField = policy.hidesSurrogateKey ? policy.surrogateKey : nil
        }

        /// RFC 9111 §4.2.4.
        private static func prohibition(
            _ directives: CacheControl.Response, _ standing: Standing, isNoCache: Bool, _ policy: CachePolicy
        ) -> StaleProhibition? {
            if standing == .invalid { return .invalidated }
            if isNoCache { return .noCache }
            if directives.flags.contains(.mustRevalidate), !policy.ignoredResponse.directives.contains(.mustRevalidate)
            {
                return .mustRevalidate
            }
            guard policy.role == .shared else { return nil }
            if directives.flags.contains(.isPrivate) { return .notPrivate }
            if directives.flags.contains(.proxyRevalidate) { return .proxyRevalidate }
            return directives.sMaxage != nil ? .sMaxage : nil
        }

        /// True if the origin can be asked if it has changed. The date of one user's representation says nothing of
        /// another's, which may be older.
        package var hasValidator: Bool { eTag != nil || validatesByDate }

        package var validatesByDate: Bool { lastModified != nil && !isForOne }
    }
}
