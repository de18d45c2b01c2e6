// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
import LarderIO
import LarderRules
package import LarderSettings
package import LarderUpstream
import Synchronization

/// A service of the model as used by requests: its place in Larder's URL space, and the partitions of its resources.
package final class RoutedService: Sendable {
    package let service: Service
    /// Distinguishes services in keys; a reload keeps the number of a name.
    package let number: UInt32
    package let settings: ServiceSettings
    /// The prefix of the service's URLs; nil for unclaimed traffic.
    package let base: TargetURI?
    /// The gateway path, with slashes at both ends.
    package let mount: [UInt8]
    /// The rewriting of URLs; nil without any.
    package let routes: RouteRules?
    let tls: UpstreamTLS?
    private let findParent: @Sendable (TargetURI) -> ParentAddress?
    /// The proxy through which the origin of the base URL is reached.
    private let parentOfBase: ParentAddress?
    /// Nil where no request is refused.
    let denials: DenialRules?
    /// Limits the repetitions of requests to the origin.
    let retryBudget = RetryBudget()
    /// The stages of the features that it uses.
    let stages: Stages
    /// The values of variables used here. When one changes, another `RoutedService` replaces this one; requests that
    /// began with this one end with it (B-09).
    let variables: VariableValues
    /// The configuration blocks, with those values filled in.
    private let configurations: ConfigurationSet
    /// Their results for the proxy, one for each frozen configuration in use.
    private let effective = OnceMap<Frozen, EffectiveConfiguration>()
    /// The values of variables in the service's own credentials, which are part of every identity (T-03).
    let configuredCredentials: [UInt8]?
    private let headerCredentials: HeaderCredentials
    /// Its stored responses go with these: the service's own credentials, above all.
    package let ownCredentials: [UInt8]?
    /// Identifies the user whom `ownCredentials` are of, without telling them; empty without any.
    package let owner: String
    private let usesVariables: Bool
    /// The parts of a request that identify a client; nil where users are not separated.
    let identity: Identity?
    /// True if a program decides for some of its URLs whether users are separated.
    private let saysPrivacyByURL: Bool
    /// True if caches of the program's own may be used at all.
    private let mayHaveOwnCaches: Bool
    /// True if the bytes of a request and the kind of its client determine the partition.
    let isKeyedByHead: Bool
    private let targets: [FieldName]
    private let retryAfterLimit: Duration
    let identities: IdentityDigest
    /// True if the configuration pins the service's origin, so that clients elsewhere may be connected to it even
    /// inside this machine or its network, and share stored responses with those on this machine.
    ///
    /// Either the base URL has the address itself or a name of this machine's, or the origin proves its identity by a
    /// certificate. Any other name may resolve to another address tomorrow, chosen by the operator of its DNS.
    package let pinsOrigin: Bool
    /// Invalidations, shared by all services of a process.
    package let invalidations: Invalidations
    private let surrogateKey: SurrogateKey?
    /// True once `invalidations` knows that there are resources in partitions.
    private let hasNotedPartitions = Atomic<Bool>(false)
    /// The invalidation scopes of nearly all Resources beside their own: for the shared ones at the base URL's origin.
    private let reachAtBase: ResourceMemory.Reach?

    package var name: String { settings.name }
    /// Identifies an installation without revealing its secret: another installation's partitions match no client here.
    var installation: String {
        String(identities.partition(of: Array("installation".utf8)).name.prefix(16))
    }

    /// - Parameters:
    ///   - targets: the targeted cache control fields in use (RFC 9213).
    ///   - retryAfterLimit: how long an origin's `Retry-After` counts at most.
    ///   - invalidations: outlives reloads, as stored responses do.
    ///   - surrogateKey: the field with further groups.
    ///   - stages: the stages of the features that the service uses.
    package init(
        _ service: Service, number: UInt32, settings: ServiceSettings, targets: [FieldName],
        retryAfterLimit: Duration = .seconds(60), identities: IdentityDigest,
        invalidations: Invalidations = Invalidations(),
        surrogateKey: SurrogateKey? = nil, stages: Stages = Stages(),
        variables: VariableValues = VariableValues(), tls: UpstreamTLS? = nil,
        parent: @escaping @Sendable (TargetURI) -> ParentAddress?
    ) {
        self.service = service
        self.number = number
        self.settings = settings
        self.variables = variables
        configurations = service.configurationSet
        let declared = settings.declare == nil ? [] : service.declaredEntries
        // The settings' own say about the whole service is not the program's.
        saysPrivacyByURL = declared.contains(where: \.saysPrivacy)
        identity = settings.privacy == .partitioned || saysPrivacyByURL ? Identity(settings.identity) : nil
        isKeyedByHead = identity?.parts?.contains { $0 == .client || $0 == .user } != true
        denials = DenialRules(settings.configure, relativeTo: service.baseURL)
        usesVariables = !settings.usedVariables.isEmpty
        hasBlocks = !settings.configure.isEmpty || declared.contains { $0.matches != nil || $0.changesRequests }
        ownCredentials = settings.credentials(
            variables, certificate: tls?.certificate, programmed: declared.flatMap(\.lastingCredentials),
            saysPrivacyByURL: saysPrivacyByURL)
        owner = ownCredentials.map { identities.partition(of: $0).name } ?? ""
        mayHaveOwnCaches =
            settings.declare != nil && !usesVariables
            && !settings.hasCredentials(certificate: tls?.certificate, saysPrivacyByURL: saysPrivacyByURL)
        configuredCredentials = variables.identity(of: settings.variablesInFields)
        headerCredentials = HeaderCredentials(settings, variables)
        self.targets = targets
        self.retryAfterLimit = retryAfterLimit
        self.identities = identities
        self.invalidations = invalidations
        self.surrogateKey = surrogateKey
        self.stages = stages
        findParent = parent
        self.tls = tls
        base = service.baseURL
        parentOfBase = service.baseURL.flatMap(parent)
        reachAtBase = service.baseURL.map { ResourceMemory.Reach(invalidations, scope: nil, origin: $0.origin) }
        pinsOrigin =
            service.baseURL.map { base in
                base.scheme == .https || Router.isLoopbackName(base.host)
                    || SocketAddress(host: base.host, port: 0) != nil
            } ?? false
        routes = service.baseURL.flatMap { RouteRules(settings.routes, base: $0) }
        mount = service.baseURL == nil ? [] : Array(settings.effectiveMount.utf8)
    }

    /// True if `uri` lies under the base URL, which ends at a segment boundary.
    func covers(_ uri: TargetURI) -> Bool {
        guard let base else { return false }
        return uri.withBytes { candidate in
            base.withBytes(of: 0..<base.pathRange.upperBound) { prefix in
                if candidate.count >= prefix.count { return candidate.prefix(prefix.count).elementsEqual(prefix) }
                // `https://host/v1` means the base `https://host/v1/` itself.
                return candidate.count == prefix.count - 1 && prefix.dropLast().elementsEqual(candidate)
            }
        }
    }

    /// True if resources of this service may be at `uri`: on the base URL's origin, or on a host that the
    /// configuration lists. Unclaimed traffic may go anywhere.
    package func allows(_ uri: TargetURI) -> Bool {
        guard let base else { return true }
        return uri.hasSameOrigin(as: base)
            || settings.allowHosts.contains { $0.matches(host: uri.host, port: uri.port) }
    }

    /// The proxy through which a URI is reached.
    func parent(_ uri: TargetURI) -> ParentAddress? {
        if let base, uri.hasSameOrigin(as: base) { return parentOfBase }
        return findParent(uri)
    }

    /// The special TLS settings for the origin of a URI; only the origin of the base URL may have such settings.
    func tls(for uri: TargetURI) -> UpstreamTLS? {
        guard let tls, let base, uri.hasSameOrigin(as: base) else { return nil }
        return tls
    }

    /// The addresses to which a client may be connected for `uri`.
    func allowedAddresses(for uri: TargetURI, from reach: ClientNetwork) -> (SocketAddress) -> Bool {
        // Closures without captures need no allocation per request.
        if reach == .machine { return { ClientNetwork.machine.allows($0) } }
        // The host of the base URL is the only host in the configuration that may be pinned.
        let isNamed = pinsOrigin && base.map { uri.hasSameOrigin(as: $0) } ?? false
        return isNamed ? { ClientNetwork.network.allows($0, isNamed: true) } : { ClientNetwork.network.allows($0) }
    }

    // MARK: Partitions

    /// The partition of a request (T-03), and whether the request may have come from inside this machine or its
    /// network.
    ///
    /// - Parameters:
    ///   - client: its address; nil for requests of operators.
    ///   - user: the user that it has proved to be.
    package func partition(
        of fields: Fields, for uri: TargetURI, from reach: ClientNetwork, client: String? = nil, user: String? = nil
    ) -> Larder.Partition {
        let privacy = privacy(for: uri)
        let own = privacy == .partitioned ? partition(of: fields, client, user) : .shared
        // The one user of a private service is on this machine.
        return reach == .network && (!pinsOrigin || privacy == .private) ? own.acrossNetwork : own
    }

    private func partition(of fields: Fields, _ client: String?, _ user: String?) -> Larder.Partition {
        guard let identity else { return .shared }
        let own = identity.octets(of: fields, client: client, user: user)
        guard let configuredCredentials else { return own.isEmpty ? .shared : identities.partition(of: own) }
        // The service's own credentials separate responses fetched before and after they changed. They belong to no
        // user.
        let partition = identities.partition(of: own, with: configuredCredentials)
        return own.isEmpty ? partition.ofNobody : partition
    }

    /// True if the fields of a request alone say which partition is its user's.
    package var isIdentifiedByFields: Bool { identity?.parts?.isEmpty == false && isKeyedByHead }

    /// The identity that leads to a partition, if the fields of a request alone make it, and all credentials of the
    /// request are part of it; else nil. It contains secrets.
    ///
    /// - Parameter partition: the Resource's partition, which must be the partition of this identity alone.
    package func identity(of fields: Fields, in partition: Larder.Partition) -> [UInt8]? {
        guard isIdentifiedByFields, configuredCredentials == nil, let identity,
            identity.unnamedCredential(in: fields) == nil
        else { return nil }
        let octets = identity.octets(of: fields, client: nil)
        guard !octets.isEmpty, identities.partition(of: octets) == partition else { return nil }
        return octets
    }

    /// The clients that may get the stored responses of a URL.
    package func privacy(for uri: TargetURI) -> ServicePrivacy {
        guard saysPrivacyByURL else { return settings.privacy }
        let configuration = configurations.configuration(for: ResourceURL(uri), method: .get).configuration
        return ServicePrivacy(rawValue: configuration.privacy.rawValue) ?? settings.privacy
    }

    /// The identifying parts of a request, by name.
    package func identification(in fields: Fields, user: String? = nil) -> [String] {
        identity?.named(in: fields, user: user) ?? []
    }

    /// True if resources of the service were stored in partitions since the start.
    package var hasPartitions: Bool {
        settings.privacy == .partitioned || saysPrivacyByURL || invalidations.hasPartitions(number)
    }

    // MARK: Configuration

    /// The version of the blocks; the model's own differs once this service has been replaced.
    var configurationVersion: UInt64 { configurations.version }

    /// True if any setting applies to some of the service's URLs only.
    let hasBlocks: Bool

    /// True if a block makes content part of the key of some requests.
    var keysByContent: Bool { settings.configure.contains { $0.keyedByContent == true } }

    /// True if caches of the program's own may contain responses for a URL. Those of a service that sends credentials of
    /// the configuration file would outlive them.
    func hasOwnCaches(for url: TargetURI) -> Bool {
        mayHaveOwnCaches && configuration(for: url, method: .get).hasOwnCaches
    }

    /// - Parameter isStoreRead: whether the store is known not to contain it.
    func makeResource(
        key: ResourceKey, partition: Larder.Partition, url: TargetURI, isStoreRead: Bool = false
    ) -> Resource {
        Resource(
            service: service, url: ResourceURL(url.compact), partition: partition, key: key.compact,
            reach: reach(of: key, partition, url), isStoreRead: isStoreRead)
    }

    private func reach(
        of key: ResourceKey, _ partition: Larder.Partition, _ url: TargetURI
    ) -> ResourceMemory.Reach {
        var scope: Invalidations.Scope?
        // Responses stored for one content, or for one spelling, are invalidated with the URL, like those stored for
        // one user.
        if partition != .shared || key.hasMark || !key.isFor(url) {
            if !hasNotedPartitions.exchange(true, ordering: .relaxed) { invalidations.notePartitions(of: number) }
            scope = .resource(service: number, url: url.string)
        }
        if scope == nil, let reachAtBase, let base, url.hasSameOrigin(as: base) { return reachAtBase }
        return ResourceMemory.Reach(invalidations, scope: scope, origin: url.origin)
    }

    /// The configuration of a GET of `resource`, or of the method in its key: computed once for each generation of the
    /// configuration, by which the variants in memory are then judged too.
    func configuration(for resource: Resource) -> EffectiveConfiguration {
        resource.memory.configuration(version: configurations.version, keepingIf: \.frozen.isWhole) {
            let method = resource.key.mark?.method ?? .get
            let made = effective(
                configurations.configuration(for: resource.url, method: method), for: method,
                in: resource.partition)
            if made.frozen.isWhole { resource.memory.judge(by: made.policy) }
            return made
        }
    }

    /// - Parameter partition: of the Resource. An anonymous one has the stricter rules.
    package func configuration(
        for url: TargetURI, method: Method, in partition: Larder.Partition = .shared
    ) -> EffectiveConfiguration {
        effective(
            configurations.configuration(for: ResourceURL(url), method: method), for: method,
            in: partition)
    }

    /// True if requests to the origin may carry credentials that the client did not send.
    package func addsCredentials(to url: TargetURI, method: LarderHTTP.Method) -> Bool {
        configuration(for: url, method: method).policy.addsCredentials
    }

    private func addsCredentials(_ configuration: Configuration) -> Bool {
        settings.tls.certificate != nil || headerCredentials.mayBeSent(by: configuration) || configuration.isProgrammed
            || (configuration.attachment as? Decorators)?.refresh != nil
    }

    /// A configuration, and whether it is for a method whose content can be part of the key.
    private struct Frozen: Hashable, Sendable {
        let configuration: ObjectIdentifier
        let isOfContent: Bool
        /// True if it is for the partition of one user.
        let isOfUser: Bool
        let isAcrossNetwork: Bool
    }

    private func effective(
        _ frozen: FrozenConfiguration, for method: LarderHTTP.Method, in partition: Larder.Partition
    ) -> EffectiveConfiguration {
        let key = Frozen(
            configuration: ObjectIdentifier(frozen), isOfContent: method == .post || method == .query,
            isOfUser: partition.isOfUser, isAcrossNetwork: partition.isAcrossNetwork)
        func made() -> EffectiveConfiguration {
            EffectiveConfiguration(frozen, policy: policy(frozen.configuration, key))
        }
        // It retains its source, so no other configuration can get the same identity.
        return frozen.isWhole ? effective.value(for: key, make: made) : made()
    }

    private func policy(_ configuration: Configuration, _ key: Frozen) -> CachePolicy {
        var policy = configuration.cachePolicy
        // Without a configured API, RFC 9111 alone decides.
        if base == nil {
            policy.retryTime = .zero
            policy.staleIfError = .zero
        }
        policy.keyedByContent = configuration.keyedByContent && key.isOfContent
        policy.targets = targets
        policy.retryAfterLimit = retryAfterLimit
        policy.surrogateKey = surrogateKey?.field
        policy.hidesSurrogateKey = surrogateKey?.isHidden ?? false
        // In files this is a setting of the service, not of a block.
        let privacy = configuration.privacy
        let isForOne = privacy == .private && !key.isAcrossNetwork || privacy == .partitioned && key.isOfUser
        policy.role = isForOne ? .private : .shared
        policy.storesAuthorized = false
        policy.addsCredentials = addsCredentials(configuration)
        if var identity, privacy == .partitioned {
            let fields = configuration.fields
            identity.replaced = fields.removed
            fields.set.forEachLine { _, spelling, _ in identity.replaced.insert(FieldName(token: spelling)) }
            policy.identity = identity
        }
        return policy
    }
}

/// The field with which origins name groups, and whether clients get it.
package struct SurrogateKey: Sendable {
    package let field: FieldName
    package let isHidden: Bool

    package init(_ field: FieldName, isHidden: Bool) {
        self.field = field
        self.isHidden = isHidden
    }
}

// MARK: Variables

extension RoutedService {
    /// True if the service's configuration depends on one of these variables.
    package func uses(_ names: some Collection<String>) -> Bool {
        !settings.usedVariables.isDisjoint(with: names)
    }

    /// The service's replacement in `table`, if variables used by this one have other values there.
    func successor(in table: ServiceTable) -> RoutedService? {
        guard usesVariables, let current = table.named(name), current !== self else { return nil }
        let names = settings.usedVariables
        return current.variables.generation(of: names) == variables.generation(of: names) ? nil : current
    }

    /// The configured fields that contain one of these variables.
    func fieldsUsing(_ names: [String]) -> Set<FieldName> {
        Set(
            settings.configure.flatMap(\.headers).filter { edit in
                edit.value?.variables.contains { names.contains($0) } == true
            }.map(\.name))
    }
}
