// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
import LarderIO
package import LarderRules
import LarderUpstream

/// What a proxy knows at the moment about the origin of a request.
package struct LiveOutlook: OriginOutlook {
    let proxy: Proxy
    let proxyConfiguration: ProxyConfiguration
    let service: RoutedService
    let configuration: EffectiveConfiguration
    let uri: TargetURI
    let way: Way
    let spelling: [UInt8]
    /// As the client sent it.
    let head: RequestHead
    let reach: Reach
    /// Whether it reads whatever its method is: its content is part of what it asks for.
    var isReadByContent = false
    /// What is known of the Resource; nil for a request that goes by it.
    var snapshot: ResourceMemory.Snapshot?
    /// Where the request would join a load under way, whose answer is for all who wait; nil when it would join none.
    var memory: ResourceMemory?
    /// A load that it would not join.
    var passedOver: Flight?
    /// Whether the request's lane does with what is stored.
    var isOffline = false
    /// Whether a probe that is due is sent by whoever asks.
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
            Origin(uri), parent: service.parent(uri), limits: proxyConfiguration.upstreamSettings.breaker,
            now: proxy.time.monotonic(), isTaken: takesProbe)
    }

    package var failure: RecentFailure? { snapshot?.failure.map(RecentFailure.init) }

    package var hold: OriginHold? { refusal?.hold }

    /// Whether the request would wait for a load under way.
    package var joinsLoad: Bool { memory?.flights.contains { $0.isJoinable && $0 !== passedOver } ?? false }

    /// The error of a request that is held back; nil for one that would be sent.
    var refusal: UpstreamError? {
        guard proxy.origins.hasTrouble || service.settings.quotaReserve != nil, !joinsLoad else { return nil }
        let forwarded = ForwardedRequest(
            uri: uri, way: way, via: proxyConfiguration.via(to: uri), configuration: configuration, spelling: spelling
        ).head(for: head)
        var request = UpstreamRequest(
            origin: Origin(uri), head: forwarded, parent: service.parent(uri),
            allowsAddress: service.allowedAddresses(for: uri, from: reach))
        request.describe(service, head, isReadByContent: isReadByContent)
        let now = proxy.time.monotonic()
        if let reserve = service.settings.quotaReserve, !request.bypassesBackoff,
            let pause = proxy.quotas.pause(reserve: reserve, for: forwarded.fields, of: service.name, at: now)
        {
            return .held(OriginHold(reason: .quota, remaining: pause, status: 429), from: Origin(uri), last: nil)
        }
        return proxy.origins.refusal(
            of: request, limits: proxyConfiguration.upstreamSettings.breaker, now: now)
    }
}

extension UpstreamRequest {
    /// Says what the origin's health depends on.
    ///
    /// - Parameter head: as the client sent it.
    mutating func describe(_ service: RoutedService, _ head: RequestHead, isReadByContent: Bool = false) {
        isDescribed = service.base != nil
        bypassesBackoff =
            !(head.method.isSafe || isReadByContent) || CacheControl.Request(head.fields).bypassesBackoff
    }
}

extension RecentFailure {
    package init(_ failure: LoadFailure) {
        self.init(
            retryAt: failure.retryAt, failure: failure.error is PipelineFailure ? .status(502) : .disconnected)
    }
}

extension RequestHead {
    /// Why the request goes by what is stored; nil for one that is answered from it if it can be.
    ///
    /// - Parameters:
    ///   - isReadByContent: whether its content is part of what it asks for.
    ///   - caches: whether anything is stored for its URL at all.
    package func passing(isReadByContent: Bool, caches: Bool) -> ForwardReason? {
        let traits = RequestTraits(of: self)
        let isRead = traits.method != .other && !Storability.hasContent(self) && !traits.wantsUpgrade
        if !isRead && !isReadByContent { return .method }
        return caches ? nil : .bypass
    }
}
