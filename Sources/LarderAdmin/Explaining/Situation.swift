// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import LarderSettings
import LarderSharing
import LarderUpstream

/// Everything an explanation depends on, at one moment: a value, so that explaining is a function.
struct Situation: Sendable {
    var service: RoutedService
    var form: RequestForm
    var uri: TargetURI
    /// The URL as it is forwarded and stored.
    var url: String
    /// The hypothetical request.
    var request: RequestHead
    /// The user who would ask, where that is part of the identity.
    var user: String?
    /// The request directives that the configuration ignores.
    var ignoredWishes: [String] = []
    /// The request content that is part of the key.
    var content: ContentMark?
    var partition: Larder.Partition
    /// Newest first.
    var variants: [Variant] = []
    var isInMemory = false
    /// True if what is stored is kept from eviction.
    var isPinned = false
    var failure: LoadFailure?
    /// True if a load is under way that the request would join.
    var isLoading = false
    /// The origin's state: asked, offline or unreachable; nil if it agrees with the configuration.
    var standing: OriginStanding?
    /// True if the request would probe an unreachable origin.
    var isProbeDue = false
    /// How long until it is decided whether the response is refreshed ahead; nil when that is not planned.
    var aheadWait: Duration?
    /// Why the request would not be sent at the moment.
    var hold: OriginHold?
    var unstored: UnstoredResponse?
    /// The key under which daemons share responses for the URL. Nil without a shared tier; `.some(nil)` if this URL is
    /// not shared.
    var sharedKey: String??
    /// The rewriting of the given URL by a route.
    var rewriting: RouteRewriting?
    /// All services of the configuration.
    var services: ServiceTable?
    var now: Timestamp
    /// The longest content that is kept.
    var contentLimit: Int64?

    /// The client address of the hypothetical request.
    static let client = "127.0.0.1"

    init(
        service: RoutedService, form: RequestForm, uri: TargetURI, url: String? = nil, method: LarderHTTP.Method = .get,
        fields: Fields = Fields(), user: String? = nil, now: Timestamp
    ) {
        self.service = service
        self.form = form
        self.uri = uri
        self.url = url ?? uri.string
        var head = RequestHead(method: method, target: uri.pathAndQuery, fields: fields)
        head.fields[.host] = uri.authority
        request = head
        partition = service.partition(
            of: head.fields, for: uri, from: .machine, client: Situation.client,
            user: user.map(UserTable.identity(ofUser:)))
        self.user = user
        self.now = now
        if isRead { ignoredWishes = configuration.policy.ignoredRequest.remove(from: &request.fields) }
    }

    /// Reads memory and store, changes neither, and sends nothing.
    init(
        _ subject: ResourceSubject, method: LarderHTTP.Method, fields: Fields, user: String? = nil, in proxy: Proxy
    ) async {
        self.init(
            service: subject.service, form: subject.form, uri: subject.uri, url: subject.url, method: method,
            fields: fields, user: user, now: proxy.now)
        services = proxy.configuration.router.table
        content = subject.content
        rewriting = subject.rewriting
        isPinned = proxy.isPinned(subject, in: partition)
        let key = subject.key(in: partition)
        aheadWait = proxy.ahead.wait(for: key, now: proxy.monotonicNow)
        let memory = proxy.registry.resource(for: key)?.memory
        let outlook = proxy.outlook(on: subject, method: method, fields: request.fields, memory)
        standing = outlook.standing
        isProbeDue = standing == .outOfReach && outlook.isProbeDue
        hold = outlook.hold
        isLoading = outlook.joinsLoad
        if method == .get {
            sharedKey = proxy.sharedKey(
                of: uri, in: partition, for: request.fields, service, configuration)
        }
        if let memory {
            let snapshot = memory.snapshot
            variants = snapshot.variants
            failure = snapshot.failure
            unstored = memory.unstored
            isInMemory = !snapshot.variants.isEmpty
        } else {
            unstored = proxy.registry.unstored(for: key)
        }
        contentLimit =
            proxy.diskTier?.maxObject
            ?? Int64(ProxyConfiguration.memoryObjectLimit(proxy.configuration.settings.cache))
        if variants.isEmpty, let diskTier = proxy.diskTier {
            variants = await diskTier.peek(key.url, partition: partition, service: service.name, configuration)
        }
    }

    var method: LarderHTTP.Method { request.method }
    /// The reason why the request bypasses the cache; nil if the cache is used for it.
    var passing: ForwardReason? {
        request.passing(isReadByContent: isKeyedByContent, caches: configuration.caches)
    }
    /// True if the cache is consulted at all.
    var isRead: Bool { passing != .method }
    /// True if the content of a POST or QUERY is part of the key.
    var isKeyedByContent: Bool { content?.method == method && request.mayBeKeyedByContent }
    /// The method whose configuration applies.
    var configuredMethod: LarderHTTP.Method { method == .head ? .get : method }
    /// Blocks for one method only may have other settings for others.
    var configuration: EffectiveConfiguration {
        service.configuration(for: uri, method: configuredMethod, in: partition)
    }
    /// The configured answer to every such request, before any lookup.
    var hardWiredAnswer: HardWiredAnswer? {
        let configuration = service.configuration(for: uri, method: method)
        guard let services else { return configuration.decorators?.answer }
        return services.hardWiredAnswer(to: uri, method: method, of: service, configuration)
    }
    /// The policy by which responses to this request are stored.
    var keeping: CachePolicy { policy.narrowed(for: request.fields) }
    var policy: CachePolicy {
        var policy = configuration.policy
        if let standing { policy.offline = standing != .asked }
        return policy
    }

    /// The plan for the request, as if a client had sent it.
    var plan: Plan {
        let outlook = RecordedOutlook(
            standing: standing ?? (policy.offline ? .offline : .asked), isProbeDue: isProbeDue,
            failure: failure?.recent(for: request), hold: hold)
        if let passing { return Plan.passing(passing, outlook: outlook) }
        return Plan.decide(request, variants.map(\.stored), policy: policy, now: now) { outlook }
    }
}

/// The state of an origin at that moment.
private struct RecordedOutlook: OriginOutlook {
    let standing: OriginStanding
    let isProbeDue: Bool
    let failure: RecentFailure?
    let hold: OriginHold?
}
