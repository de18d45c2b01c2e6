// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderUpstream

/// Loads that validate a stored response (RFC 9111 §4.3).
extension Load {
    /// A 304 to our own conditional request freshens the variant it selects, and the readers get that variant. Nil when
    /// it selects none: the request must be sent again without conditions (B-03).
    func settle(
        _ variant: Variant, by response: UpstreamResponse, _ times: ReceivedResponse.Times
    ) async throws -> Variant? {
        while try await response.nextChunk() != nil {}
        let memory = resource.memory
        let variants = memory.snapshot.variants
        guard let validated = variants.firstIndex(where: { $0 === variant }) else { return nil }
        let match = Validation.match(
            response.head.fields, request: clientHead.fields, candidates: variants.map(\.stored),
            validated: validated)
        guard case .update(let indexes, _) = match else { return nil }
        var answer: Variant?
        for index in indexes {
            if let fresh = freshen(variants[index], with: response.head, times), index == validated || answer == nil {
                answer = fresh
            }
        }
        guard let answer else { return nil }
        // A response for one client is not stored; that client gets it all the same.
        if !answer.stored.fields.contains(.setCookie) { cookies = response.head.fields[all: .setCookie] }
        if shown != nil {
            listed.forPrograms.confirmation = ProgramLoad.Confirmation(
                response.head, of: variant.stored.fields, requestTime: times.request, responseTime: times.response)
        }
        memory.retire(listed, as: .notModified)
        listed.shared?.conclude(.settled(answer), remarks)
        if !remarks.isForOne { share(answer) }
        return answer
    }

    /// The variant with the fields of the 304, in memory and store; nil when it could not be replaced.
    private func freshen(_ variant: Variant, with response: ResponseHead, _ times: ReceivedResponse.Times) -> Variant? {
        guard !variant.isOverride else { return nil }
        let memory = resource.memory
        let decision = Freshening.freshen(
            variant.stored, with: response, to: clientHead, requestTime: times.request,
            responseTime: times.response, policy: policy)
        switch decision {
        case .updated(let stored):
            let fresh = variant.with(stored, via: ProxyConfiguration.via, freshenedBy: response.fields)
            guard memory.replace(variant, by: fresh, since: listed.mark) else { return nil }
            context.registry.charge(resource, content: memory.cost)
            context.diskTier?.update(fresh, of: resource, service: service, policy: policy)
            ownCaches?.freshen(by: response.fields, at: times.response)
            noteAhead(fresh)
            return fresh
        case .discard(let stored, _):
            memory.removeVariants { $0 === variant }
            context.diskTier?.remove(variant, of: resource, service: service)
            ownCaches?.empty()
            return variant.with(stored, via: ProxyConfiguration.via)
        case .unstored(let stored):
            remarks.isForOne = true
            return variant.with(stored, via: ProxyConfiguration.via)
        case .stale, .untouched:
            return nil
        }
    }

    func unconditional(_ request: RequestHead) -> RequestHead {
        var request = request
        // With a range, `If-Range` is the client's own.
        for name in [FieldName.ifNoneMatch, .ifModifiedSince] { request.fields.remove(name) }
        return request
    }
}
