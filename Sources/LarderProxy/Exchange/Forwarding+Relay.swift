// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderUpstream

extension Forwarding {
    /// Relays a response as it came.
    ///
    /// - Parameters:
    ///   - early: content that was read already.
    ///   - sender: the sender of the request, where it was not sent unchanged.
    func relay(
        _ response: UpstreamResponse, _ received: ResponseHead, after early: [ContentChunk], _ status: CacheStatus,
        _ promotion: Promotion?, by sender: InboundSender?
    ) async throws {
        let isHead = request.traits.method == .head
        var received = received
        if let lookup, isHead {
            if sender?.isForAnotherPartition != true { freshen(lookup, with: received, from: sender?.place) }
            lookup.hideOriginalOctets(of: &received)
        }
        var fields = request.mapped(received.fields, by: service)
        if let lookup {
            request.noteForms(in: &fields, of: received, lookup.policy)
            writer.links = lookup.mapsLinks ? lookup.links.begin(in: &fields, of: received.status) : nil
        }
        writer.startHead(status: received.status, fields: fields)
        if isHead, writer.links == nil, let length = received.fields[first: .contentLength].flatMap({ Int64($0) }) {
            writer.appendLength(length)
        }
        writer.finishHead(
            length: isHead ? nil : response.contentLength, cacheStatus: status,
            proxyStatus: ProxyStatus(receivedStatus: received.status))
        // With the content in one write if it has been received; but an event stream may not begin for long.
        if early.isEmpty, !response.isContentAtHand { try await writer.sendHead() }
        for chunk in early {
            promotion?.append(chunk)
            try await writer.sendContent([chunk])
        }
        while let chunk = try await response.nextChunk() {
            context.counters.add(.received, chunk.count)
            promotion?.append(chunk)
            try await writer.sendContent([chunk])
        }
        promotion?.finish()
        try await writer.endContent(trailers: response.trailers)
    }

    /// A 200 to HEAD has the fields of the GET response: stored variants that agree are freshened, others become stale
    /// (RFC 9111 §4.3.5).
    ///
    /// - Parameter place: the URL that redirects have led to; nil for none.
    private func freshen(_ lookup: CacheLookup, with response: ResponseHead, from place: String?) {
        guard let (began, mark) = beginning, !context.hasOtherCredentials(than: service) else { return }
        let now = context.now()
        let (head, resource) = (request.head, lookup.resource)
        let policy = lookup.policy.narrowed(for: head.fields)
        let own =
            lookup.configuration.hasOwnCaches
            ? OwnCaches(resource, service, lookup.configuration, context.proxy) : nil
        for variant in resource.memory.snapshot.variants
        where isConcerned(variant, by: head, sentAt: began)
            && variant.stored.place == place
        {
            var update = policy.update(of: response.fields)
            let decision = Freshening.freshenByHead(
                variant.stored, with: response, to: head, requestTime: began, responseTime: now, policy: policy)
            if case .confirmed(_, let shared, _) = decision { update = shared }
            switch decision {
            case .updated(let stored), .stale(let stored, _), .confirmed(let stored, _, _):
                let changed = variant.with(stored, via: ProxyConfiguration.via)
                guard resource.memory.replace(variant, by: changed, since: mark) else { continue }
                context.registry.charge(resource)
                context.diskTier?.update(changed, of: resource, service: service, policy: policy)
                if stored.standing == .asReceived { own?.freshen(by: update, at: now) } else { own?.expire() }
                for point in service.stages.onResponse { point(.freshened(lookup, changed)) }
            case .discard:
                resource.memory.removeVariants { $0 === variant }
                context.diskTier?.remove(variant, of: resource, service: service)
                own?.empty()
            case .unstored, .untouched:
                break
            }
        }
    }

    /// True if the answer to a HEAD describes a variant. False for a variant that was requested later, or that an
    /// operator stored.
    private func isConcerned(_ variant: Variant, by head: RequestHead, sentAt began: Timestamp) -> Bool {
        !variant.isOverride && variant.stored.variance.matches(head.fields) && variant.stored.requestTime <= began
    }

    /// After a 101 both sides speak another protocol: bytes are relayed unchanged until one side ends.
    func upgrade(_ response: UpstreamResponse) async throws {
        guard request.traits.wantsUpgrade, RequestTraits.hasWebSocket(response.head.fields) else {
            response.abort()
            throw Problem(
                status: 502, title: "Bad gateway", proxyError: .httpProtocolError,
                detail: "The origin switched to a protocol that it was not asked for.",
                advice: "Report it to the origin's owner.")
        }
        guard let (upstream, early) = response.takeStream() else {
            throw UpstreamError(.protocolError, "A decorator switched protocols, with nobody to talk to.")
        }
        var fields = response.head.fields
        HopByHop.strip(&fields, for: .forwardResponse)
        watch.stop()
        try await exchange.asPrincipal {
            // Its user may have been removed while the origin was asked; from here on, that ends the connection.
            guard !connection.isRevoked, context.configuration.users?.admits(request.principal) ?? true else {
                upstream.close()
                throw ClientGone()
            }
            writer.writeHead(
                switching: 101, fields: request.mapped(fields, by: service), to: RequestTraits.webSocket)
            writer.record.kind = .tunnel
            try await writer.sendHead()
            _ = await relayOctets(to: upstream, early: early)
        }
    }
}
