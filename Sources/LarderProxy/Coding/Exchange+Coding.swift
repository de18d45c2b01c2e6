// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// Stored content for clients that accept other codings than the stored one.
extension Exchange {
    /// Answers with a stored variant in the coding negotiated for the request.
    func serve(
        _ variant: Variant, in forms: CodedForms, _ use: StoredUse, _ retrieval: Retrieval
    ) async throws -> Bool {
        guard let recoding = variant.served.recoding else { return try await serveAsIs(variant, use, retrieval) }
        let decision = recoding.decide(
            head.fields, eTag: variant.served.facts.eTag, length: variant.content.length)
        if decision.coding != recoding.stored, let form = await form(decision.coding, of: variant, forms, retrieval) {
            return try await serveAsIs(form, use, retrieval, ignoringRange: decision.ignoresRange)
        }
        guard accepts(recoding.stored, variant.stored) else {
            var retrieval = retrieval
            try await bypass(&retrieval, reason: .varyMiss)
            return true
        }
        return try await serveAsIs(forms.asItCame(variant), use, retrieval)
    }

    private func form(
        _ coding: ServedCoding, of variant: Variant, _ forms: CodedForms, _ retrieval: Retrieval
    ) async -> Variant? {
        var isNew = false
        let form = await forms.form(coding, of: variant) {
            isNew = true
            return await ContentRecoder(context.proxy, limit: context.memoryObjectLimit).make(coding, of: variant, uri)
        }
        if isNew { chargeRegistry(for: retrieval.resource) }
        return form
    }

    /// Whether the client can get content in its stored coding: the client accepts that, or the origin sent it in
    /// response to a request like this one.
    private func accepts(_ coding: ServedCoding, _ stored: StoredResponse) -> Bool {
        AcceptedCodings(head.fields).weight(of: coding) > 0
            || stored.variance.spanningCodings(false).matches(head.fields)
    }

    /// Whether the response of a flight has a coding that this client accepts.
    func accepts(_ response: ResponseHead, _ stored: StoredResponse?, of flight: Flight) -> Bool {
        guard let coding = ServedCoding(of: response.fields) else { return true }
        if let stored { return !stored.variance.spansCodings || accepts(coding, stored) }
        // A validation is sent with the `Accept-Encoding` of the first request.
        return flight.request.fields[.acceptEncoding] == head.fields[.acceptEncoding]
            || AcceptedCodings(head.fields).weight(of: coding) > 0
    }

    /// Waits until a shareable response is complete, to be sent in another coding then. False: the caller decides anew.
    func passOver(_ content: ResponseContent, isKept: Bool, _ retrieval: inout Retrieval) async throws -> Bool {
        guard isKept else {
            retrieval.asksAlone = true
            return false
        }
        reading: while true {
            switch await content.next() {
            case .chunks, .spooled: continue
            case .end: break reading
            case .failed(let error): throw error
            case .interrupted: throw ClientGone()
            }
        }
        retrieval.passedOver = content.flight
        return false
    }

    /// Adds the fields that the stored form of a relayed response will have.
    func noteForms(in fields: inout Fields, of response: ResponseHead, _ policy: CachePolicy) {
        guard !policy.codings.isEmpty else { return }
        if response.status == 304 { CodedTag.translate(&fields, askedWith: head.fields) }
        let stored = StoredResponse(
            status: response.status, fields: response.fields, requestTime: context.now(), responseTime: context.now(),
            policy: policy)
        if stored.recoding != nil { CodedForms.noteForms(in: &fields) }
    }
}

extension StoredResponse {
    /// The `Accept-Encoding` of the request for this response, where the response varies by it.
    var acceptEncodingSentFor: Variance.Selector? {
        guard variance.spansCodings else { return nil }
        return variance.selectors.first { $0.name == .acceptEncoding }
    }
}
