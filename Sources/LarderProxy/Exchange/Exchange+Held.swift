// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderUpstream

extension Exchange {
    /// Answers a request whose origin is left alone with stored data, as stale as it may be. False when it may not.
    ///
    /// An origin that fails counts as one that cannot be reached. One that asked to be left alone could be: there the
    /// bounds of `stale-if-error` count (RFC 9111 §4.2.4, RFC 5861 §4).
    func serveHeld(_ variant: Variant, _ hold: OriginHold, _ retrieval: Retrieval) async throws -> Bool {
        let failure: UpstreamFailure = hold.reason == .circuitOpen ? .disconnected : .status(503)
        let decision = StaleUse.onError(
            variant.stored, failure: failure, request: head, policy: retrieval.policy, now: context.now())
        guard case .serve(let age, let ttl, _) = decision else { return false }
        record.kind = .stale
        let status = CacheStatus(.hit, ttl: ttl, detail: hold.reason.rawValue)
        return try await serve(variant, StoredUse(age: age, status: status), retrieval)
    }

    /// Counts a failure of a request that was passed through, or says why it was not sent.
    func noteFailure(_ error: UpstreamError, _ reason: ForwardReason) {
        guard let hold = error.hold else { return context.counters.add(.upstreamErrors) }
        record.cacheStatus = CacheStatus(.held, detail: hold.reason.rawValue)
    }
}
