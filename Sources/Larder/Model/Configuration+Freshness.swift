// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
package import LarderRules

extension Configuration {
    /// This configuration in terms of the rules of RFC 9111.
    package var cachePolicy: CachePolicy {
        var policy = CachePolicy()
        policy.role = privacy == .private ? .private : .shared
        policy.expirationTime = expirationMode == .heuristic ? nil : expirationTime
        policy.expirationMode =
            switch expirationMode {
            case .fallback, .heuristic: .fallback
            case .cap: .cap
            case .floor: .floor
            case .override: .override
            }
        policy.retryTime = retryTime
        policy.staleWhileRevalidate = staleWhileRevalidate
        policy.staleIfError = staleIfError
        policy.offline = isOffline
        policy.codings = codings
        if !expirationTimes.isEmpty { policy.expirationTimes = expirationTimes }
        policy.ignoredRequest = ignoredRequest
        if ignoredResponse != IgnoredResponse() { policy.ignoredResponse = ignoredResponse }
        policy.storesAuthorized = privacy == .partitioned
        return policy
    }

    /// How long data may be used after its timestamp. In `override` mode that is `expirationTime`, whatever age the
    /// data had on arrival; in the other modes the origin has a say (RFC 9111 §4.2), and so has that age.
    func lifetime(of entity: AnyEntity) -> Duration {
        guard expirationMode != .override, let responseTime = entity.responseTime else { return expirationTime }
        let stored = StoredResponse(
            status: entity.status, fields: entity.fields, requestTime: entity.requestTime ?? responseTime,
            responseTime: responseTime, policy: cachePolicy)
        if stored.facts.validatesAlways { return .zero }
        // Data confirmed without a response of its own, or read from a cache, is as old as its timestamp.
        return Freshness.remaining(stored, at: responseTime) - (entity.timestamp - responseTime)
    }
}
