// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import LarderUpstream

/// Everything an explanation depends on, as it was at one moment: a value, so that explaining is a function.
struct Situation: Sendable {
    var service: RoutedService
    var way: Way
    var uri: TargetURI
    /// The URL as it is forwarded and stored.
    var url: String
    /// The request that is imagined.
    var request: RequestHead
    /// What of its wishes the configuration says not to heed.
    var ignoredWishes: [String] = []
    /// The request content that is part of the key.
    var content: ContentMark?
    var partition: Larder.Partition
    /// Newest first.
    var variants: [Variant] = []
    var isInMemory = false
    var failure: LoadFailure?
    /// Whether a load is under way that the request would join.
    var isLoading = false
    /// Whether origins are asked at the moment, where that is not what the configuration says.
    var standing: OriginStanding?
    /// Whether the request would find out if an origin out of reach is back.
    var isProbeDue = false
    /// Why the request would not be sent at the moment.
    var hold: OriginHold?
    var unstored: UnstoredResponse?
    /// What a route made of the URL that was named.
    var rewriting: RouteRewriting?
    var now: Timestamp

    /// Where the client of the request that is imagined is.
    static let client = "127.0.0.1"

    init(
        service: RoutedService, way: Way, uri: TargetURI, url: String? = nil, method: LarderHTTP.Method = .get,
        fields: Fields = Fields(), now: Timestamp
    ) {
        self.service = service
        self.way = way
        self.uri = uri
        self.url = url ?? uri.string
        var head = RequestHead(method: method, target: uri.pathAndQuery, fields: fields)
        head.fields[.host] = uri.authority
        request = head
        partition = service.partition(of: head.fields, for: uri, from: .machine, client: Situation.client)
        self.now = now
        if isRead { ignoredWishes = configuration.policy.ignoredRequest.remove(from: &request.fields) }
    }

    /// Looks into memory and store, changes neither, and asks nobody else.
    init(_ subject: ResourceSubject, method: LarderHTTP.Method, fields: Fields, in proxy: Proxy) async {
        self.init(
            service: subject.service, way: subject.way, uri: subject.uri, url: subject.url, method: method,
            fields: fields, now: proxy.now)
        content = subject.content
        rewriting = subject.rewriting
        let key = subject.key(in: partition)
        let memory = proxy.registry.resource(for: key)?.memory
        let outlook = proxy.outlook(on: subject, method: method, fields: request.fields, memory)
        standing = outlook.standing
        isProbeDue = standing == .outOfReach && outlook.isProbeDue
        hold = outlook.hold
        isLoading = outlook.joinsLoad
        if let memory {
            let snapshot = memory.snapshot
            variants = snapshot.variants
            failure = snapshot.failure
            unstored = memory.unstored
            isInMemory = !snapshot.variants.isEmpty
        }
        if variants.isEmpty, let storing = proxy.storing {
            variants = await storing.peek(key.url, partition: partition, service: service.name, configuration)
        }
    }

    var method: LarderHTTP.Method { request.method }
    /// Why the request goes by what is stored; nil for one that is answered from it if it can be.
    var passing: ForwardReason? {
        request.passing(isReadByContent: isKeyedByContent, caches: configuration.caches)
    }
    /// Whether the cache has a say at all.
    var isRead: Bool { passing != .method }
    /// Whether what is asked for is one content of a POST or QUERY.
    var isKeyedByContent: Bool { content?.method == method }
    /// The method whose configuration applies.
    var configuredMethod: LarderHTTP.Method { method == .head ? .get : method }
    /// Blocks for one method only may say something else of others.
    var configuration: EffectiveConfiguration {
        service.configuration(for: uri, method: configuredMethod, in: partition)
    }
    /// What every such request is answered, before anything is looked up.
    var hardWiredAnswer: HardWiredAnswer? { service.configuration(for: uri, method: method).decorators?.answer }
    /// What responses to this request are kept by.
    var keeping: CachePolicy { policy.narrowed(for: request.fields) }
    var policy: CachePolicy {
        var policy = configuration.policy
        if let standing { policy.offline = standing != .asked }
        return policy
    }

    /// What the request would come to, as if it were one of a client.
    var plan: Plan {
        let outlook = RecordedOutlook(
            standing: standing ?? (policy.offline ? .offline : .asked), isProbeDue: isProbeDue,
            failure: failure.map(RecentFailure.init), hold: hold)
        if let passing { return Plan.passing(passing, outlook: outlook) }
        return Plan.decide(request, variants.map(\.stored), policy: policy, now: now) { outlook }
    }
}

/// What was known of an origin.
private struct RecordedOutlook: OriginOutlook {
    let standing: OriginStanding
    let isProbeDue: Bool
    let failure: RecentFailure?
    let hold: OriginHold?
}
