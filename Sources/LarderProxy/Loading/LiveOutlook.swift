// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
import LarderIO
package import LarderRules
import LarderSettings
import LarderUpstream

/// The current state of a request's origin, as the proxy knows it.
package struct LiveOutlook: OriginOutlook {
    let proxy: Proxy
    let proxyConfiguration: ProxyConfiguration
    let service: RoutedService
    let configuration: EffectiveConfiguration
    let uri: TargetURI
    let form: RequestForm
    let spelling: [UInt8]
    /// The request head as the client sent it.
    let head: RequestHead
    let network: ClientNetwork
    /// The value of `UpstreamRequest.client`.
    var client = 0
    /// The value of `UpstreamRequest.lacksContent`.
    var lacksContent = false
    /// True if the request is a read with any method: its content is part of the key.
    var isReadByContent = false
    /// The state of the Resource; nil for a request that bypasses the cache.
    var snapshot: ResourceMemory.Snapshot?
    /// The memory with the loads that the request would join, whose answers are shared; nil when it would join none.
    var memory: ResourceMemory?
    /// A load that the request would not join.
    var passedOver: ActiveLoad?
    /// True if the request's lane is limited to stored responses.
    var isOffline = false
    /// True if a due probe is sent with this request.
    var takesProbe = true

    package var standing: OriginStanding {
        if isOffline { return .offline }
        return switch proxy.offlineMode(service, configuration) {
        case .off: .asked
        case .on: .offline
        case .auto: proxy.isOutOfReach(uri, service) ? .outOfReach : .asked
        }
    }

    package var isProbeDue: Bool {
        proxy.origins.isProbeDue(
            Origin(uri), parent: service.parent(uri), tls: service.tls(for: uri), of: inbound,
            now: proxy.time.monotonic(), isTaken: takesProbe)
    }

    package var failure: RecentFailure? { snapshot?.failure?.recent(for: head) }

    package var hold: OriginHold? { refusal?.hold }

    /// True if the request would wait for a load under way.
    package var joinsLoad: Bool {
        guard let loads = memory?.loads, !loads.isEmpty else { return false }
        let fields = snapshot?.selectingFields ?? []
        return loads.contains { load in
            load.isJoinable && load !== passedOver && load.version == service.configurationVersion
                && load.mayAnswer(head, by: fields, configuration.policy, at: proxy.now)
        }
    }

    /// The error if backoff or a quota holds the request back; nil if the request would be sent.
    var refusal: UpstreamError? {
        guard proxy.origins.hasTrouble || service.settings.quotaReserve != nil, !joinsLoad else { return nil }
        let request = inbound
        let now = proxy.time.monotonic()
        if let reserve = service.settings.quotaReserve, !request.bypassesBackoff,
            let pause = proxy.quotas.pause(
                reserve: reserve, for: request.head, of: service.name, at: now,
                limit: proxyConfiguration.upstreamSettings.retryAfterLimit)
        {
            return .held(OriginHold(reason: .quota, remaining: pause, status: 429), from: Origin(uri), last: nil)
        }
        return proxy.origins.refusal(
            of: request, limits: proxyConfiguration.upstreamSettings.breaker, now: now)
    }

    /// The request as it would be sent, but for its content.
    private var inbound: UpstreamRequest {
        let forwarded = ForwardedRequest(
            uri: uri, form: form, via: proxyConfiguration.via(to: uri), configuration: configuration, spelling: spelling
        ).head(for: head)
        var request = UpstreamRequest(
            origin: Origin(uri), head: forwarded, parent: service.parent(uri),
            allowsAddress: service.allowedAddresses(for: uri, from: network))
        request.describe(service, head, isReadByContent: isReadByContent)
        request.tls = service.tls(for: uri)
        request.client = client
        request.lacksContent = lacksContent
        return request
    }
}

extension UpstreamRequest {
    /// Sets the state that depends on the origin's health.
    ///
    /// - Parameter head: as the client sent it.
    mutating func describe(_ service: RoutedService, _ head: RequestHead, isReadByContent: Bool = false) {
        belongsToService = service.base != nil
        bypassesBackoff =
            !(head.method.isSafe || isReadByContent) || CacheControl.Request(head.fields).bypassesBackoff
    }
}

extension ActiveLoad {
    /// True if the load's response may answer a request, as far as that is known. Requests that wait for the response
    /// share it; a response that has begun answers only requests that it could answer from the cache (RFC 9111 §4).
    ///
    /// - Parameter fields: the selecting fields of the responses, as far as they are known from the stored variants.
    func mayAnswer(
        _ request: RequestHead, by fields: [FieldName], _ policy: CachePolicy, at now: Timestamp
    ) -> Bool {
        guard case .response(_, _, let stored) = shared?.currentAnswer else {
            return fields.allSatisfy { Variance.isSame($0, in: self.request.fields, and: request.fields) }
        }
        guard let stored else { return false }
        let decision = Reuse.decide(request: request, candidates: [stored], policy: policy, now: now)
        if case .answer = decision { return true }
        return false
    }
}

extension ResourceMemory.Snapshot {
    /// The fields by which requests get different ones of its variants.
    var selectingFields: [FieldName] {
        variants.isEmpty ? [] : Variance.selectingFields(variants.lazy.map(\.stored.variance))
    }
}

extension LoadFailure {
    /// The failure as it applies to a request; nil if the request would have got another response.
    package func recent(for head: RequestHead) -> RecentFailure? {
        guard variance.matches(head.fields) else { return nil }
        let status = (error as? PipelineFailure)?.status ?? (error as? OriginAnsweredError)?.status
        let failure: UpstreamFailure = status.map { .status($0) } ?? .disconnected
        return RecentFailure(at: at, retryAt: retryAt, failure: failure)
    }
}

extension RequestHead {
    /// True if the request may be answered by what is stored for its content.
    package var mayBeKeyedByContent: Bool { RequestTraits(of: self).mayBeKeyedByContent }

    /// The reason why the request bypasses the cache; nil if the cache answers the request where possible.
    ///
    /// - Parameters:
    ///   - isReadByContent: whether its content is part of the key.
    ///   - caches: whether anything is stored for its URL at all.
    package func passing(isReadByContent: Bool, caches: Bool) -> ForwardReason? {
        let traits = RequestTraits(of: self)
        let isRead = traits.method != .other && !Storability.hasContent(self) && !traits.wantsUpgrade
        if !isRead && !isReadByContent { return .method }
        return caches ? nil : .bypass
    }
}
