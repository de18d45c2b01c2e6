// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

/// Requests for transformed responses.
extension Exchange {
    /// Answers from upstream without a cache lookup.
    func bypass(_ retrieval: inout Retrieval, reason: ForwardReason) async throws {
        if reason == .bypass { try checkPassing(reason, retrieval.service, retrieval.way, retrieval.configuration) }
        guard retrieval.configuration.mayTransform, traits.method == .get else {
            return try await forward(retrieval.service, retrieval.way, reason: reason, retrieval: retrieval)
        }
        retrieval.asksAlone = true
        _ = try await fetch(&retrieval, reason: reason, validating: nil)
    }

    /// A response to HEAD must not describe octets that a GET would not return.
    func hideOriginalOctets(of response: inout ResponseHead, _ retrieval: Retrieval) {
        let treatment = retrieval.configuration.treatment(
            of: response, length: nil, in: retrieval.resource, limit: context.transformedContentLimit)
        if treatment == .transformed { WireFields.removeThoseOfOriginalOctets(from: &response.fields) }
    }

    /// The selected variant, if it was not transformed by the current configuration.
    func outdated(in snapshot: ResourceMemory.Snapshot, _ retrieval: Retrieval) -> Variant? {
        guard let index = Reuse.select(head, snapshot.candidates, policy: retrieval.policy) else { return nil }
        let variant = snapshot.variants[index]
        // An operator's override is never transformed.
        return variant.isOverride || variant.fingerprint == retrieval.configuration.fingerprint ? nil : variant
    }

    /// Transforms a stored response again, once for all requests that need it, and then decides anew. Answers only when
    /// the pipeline refuses it.
    func remake(_ variant: Variant, _ retrieval: Retrieval) async throws -> Bool {
        let memory = retrieval.resource.memory
        if let failure = memory.snapshot.failure, failure.error is PipelineFailure, context.now() < failure.retryAt {
            throw Problem(upstream: failure.error, place: uri.authority)
        }
        let load = Load(exchange: self, retrieval, validating: nil, isBackground: false)
        load.remaking = variant
        let flight: Flight
        switch memory.join(where: { $0.isRemaking }, orStart: { load.flight }) {
        case .overtaken, .unshared: return false
        case .joined(let running): flight = running
        case .started(let own):
            flight = own
            load.start()
        }
        let reader = flight.read()
        defer {
            stopWatching()
            flight.leave(reader)
        }
        try watchClient(whileAwaiting: .flight(flight, reader: reader))
        switch try await answer(of: flight, for: reader) {
        case .settled:
            return false
        case .failed(let error):
            throw Problem(upstream: error, place: uri.authority)
        case .response(let response, let length, let stored):
            guard let stored, stored.variance.matches(head.fields) else { return false }
            record.kind = .hit
            let shared = ResponseHead(status: response.status, fields: stored.sharable(response.fields))
            try await relay(
                shared, length, ResponseContent(of: flight, for: reader), CacheStatus(.hit), retrieval, isShared: true)
            return true
        }
    }
}
