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
        policy.ignoredRequest = ignoreRequest
        var ignored = ignoreResponse
        ignored.isForEveryone = everyone
        if ignored != IgnoredResponse() { policy.ignoredResponse = ignored }
        policy.storesAuthorized = privacy == .partitioned
        return policy
    }

    /// How a program without a daemon would have a plain request for its resource answered.
    package func plan(for machine: ResourceMachine, at now: Timestamp) -> Plan {
        Plan.decide(
            data: machine.latestData.map(stored), failure: machine.latestError.map(recent),
            isInvalidated: machine.isInvalidated, policy: cachePolicy, now: now)
    }

    /// True if the last error is to be waited out.
    func isWaiting(_ machine: ResourceMachine, at now: Timestamp) -> Bool {
        guard let error = machine.latestError, !machine.isInvalidated else { return false }
        return recent(error).isRecent(at: now)
    }

    /// Data as a stored response. In `override` mode, and for data that came from no origin, it has no fields: only
    /// `expirationTime` counts, from the data's timestamp, and the age on arrival is ignored. In the other modes the
    /// origin's fields count (RFC 9111 §4.2), and so does that age.
    private func stored(_ entity: AnyEntity) -> StoredResponse {
        // An error that the pipeline has turned into data counts as data, and a part is all that was requested.
        let status = entity.status.isError ? 200 : entity.status
        if expirationMode != .override, let responseTime = entity.responseTime {
            // A program is one user.
            var fields = entity.fields
            fields.remove(.setCookie)
            return StoredResponse(
                status: status, fields: fields, requestTime: entity.requestTime ?? responseTime,
                responseTime: responseTime, extent: .whole, policy: cachePolicy)
        }
        var policy = cachePolicy
        policy.expirationMode = .override
        policy.expirationTime = expirationTime
        return StoredResponse(
            status: status, fields: Fields(), requestTime: entity.timestamp, responseTime: entity.timestamp,
            extent: .whole, policy: policy)
    }

    private func recent(_ error: RequestError) -> RecentFailure {
        let wait = max(retryTime, error.retryAfter ?? .zero)
        return RecentFailure(at: error.timestamp, retryAt: error.timestamp + wait, failure: .disconnected)
    }
}
