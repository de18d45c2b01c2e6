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
        var freshened: Freshened?
        for index in indexes {
            if let fresh = freshen(variants[index], with: response.head, times), index == validated || freshened == nil
            {
                freshened = fresh
            }
        }
        guard let freshened else { return nil }
        let answer = freshened.own
        remarks.isForOne = freshened.shared == nil
        // A response for one client is not stored, but that client receives it.
        if !answer.stored.fields.contains(.setCookie) { cookies = response.head.fields[all: .setCookie] }
        if shown != nil { show(freshened.update, of: response.head, confirming: variant, times) }
        memory.retire(listed, as: .notModified)
        listed.shared?.conclude(.settled(freshened.shared ?? answer), remarks)
        if let shared = freshened.shared { report(.confirmed(self, shared)) }
        return answer
    }

    /// Shows a 304 to programs. If it is for its client alone, only `update` is shown, which concerns all clients.
    private func show(
        _ update: Fields?, of head: ResponseHead, confirming variant: Variant, _ times: ReceivedResponse.Times
    ) {
        var head = head
        if !listed.forPrograms.isOwn, !resource.partition.isOfUser {
            guard let update else { return listed.forPrograms.isForClientAlone = true }
            head.fields = update
        }
        listed.forPrograms.confirmation = ProgramLoad.Confirmation(
            head, of: variant.stored.fields, requestTime: times.request, responseTime: times.response)
    }

    /// A variant with the fields of a 304.
    private struct Freshened {
        /// For the client whose request it was.
        let own: Variant
        /// For those who wait with it, and the store; nil where there is nothing for them.
        let shared: Variant?
        /// The fields that are for all; nil where there are none.
        let update: Fields?
    }

    /// The variant with the fields of the 304, in memory and store; nil when it could not be replaced.
    private func freshen(
        _ variant: Variant, with response: ResponseHead, _ times: ReceivedResponse.Times
    ) -> Freshened? {
        guard !variant.isOverride else { return nil }
        let memory = resource.memory
        let decision = Freshening.freshen(
            variant.stored, with: response, to: clientHead, requestTime: times.request,
            responseTime: times.response, policy: policy)
        switch decision {
        case .updated(let stored):
            let update = policy.update(of: response.fields)
            return keep(stored, by: update, of: variant, times).map {
                Freshened(own: $0, shared: $0, update: update)
            }
        case .confirmed(let stored, let update, let own):
            guard let shared = keep(stored, by: update, of: variant, times) else { return nil }
            let whole = variant.with(own, via: ProxyConfiguration.via, freshenedBy: response.fields)
            return Freshened(own: whole, shared: shared, update: update)
        case .discard(let stored, _):
            memory.removeVariants { $0 === variant }
            context.diskTier?.remove(variant, of: resource, service: service)
            ownCaches?.empty()
            let own = variant.with(stored, via: ProxyConfiguration.via)
            return Freshened(own: own, shared: own, update: nil)
        case .unstored(let stored):
            return Freshened(own: variant.with(stored, via: ProxyConfiguration.via), shared: nil, update: nil)
        case .stale, .untouched:
            return nil
        }
    }

    /// Puts the freshened response in the place of the variant; nil when that is not there any more.
    private func keep(
        _ stored: StoredResponse, by update: Fields, of variant: Variant, _ times: ReceivedResponse.Times
    ) -> Variant? {
        let memory = resource.memory
        let fresh = variant.with(stored, via: ProxyConfiguration.via, freshenedBy: update)
        guard memory.replace(variant, by: fresh, since: listed.mark) else { return nil }
        context.registry.charge(resource)
        context.diskTier?.update(fresh, of: resource, service: service, policy: policy)
        ownCaches?.freshen(by: update, at: times.response)
        noteAhead(fresh)
        return fresh
    }

    func unconditional(_ request: RequestHead) -> RequestHead {
        var request = request
        // With a range, `If-Range` is the client's own.
        for name in [FieldName.ifNoneMatch, .ifModifiedSince] { request.fields.remove(name) }
        return request
    }
}
