// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
import LarderIO
import LarderRules
package import LarderUpstream
import Synchronization

/// A service of the model as requests find it: its place in Larder's URL space, and whose its resources are.
package final class RoutedService: Sendable {
    package let service: Service
    /// Distinguishes services in keys; a reload keeps the number of a name.
    package let number: UInt32
    package let settings: ServiceSettings
    /// What the service's URLs begin with; nil for unclaimed traffic.
    package let base: TargetURI?
    /// The gateway path, with slashes at both ends.
    package let mount: [UInt8]
    /// Which URLs stand for others; nil when none do.
    package let routes: RouteRules?
    private let tls: UpstreamTLS?
    private let findParent: @Sendable (TargetURI) -> ParentAddress?
    /// Through which proxy the origin of the base URL is reached.
    private let parentOfBase: ParentAddress?
    /// How often requests to the origin may be repeated.
    let retryBudget = RetryBudget()
    /// The values of variables that this is made with. When one changes, another `RoutedService` takes this one's
    /// place; requests that began with this one end with it (B-09).
    let variables: VariableValues
    /// What the blocks say, with those values in it.
    private let configurations: ConfigurationSet
    /// What they come to here, one for each that was asked for.
    private let effective = OnceMap<Frozen, EffectiveConfiguration>()
    /// The values of variables in the service's own credentials, which are part of everybody's identity (T-03).
    private let configuredCredentials: [UInt8]?
    private let usesVariables: Bool
    /// What says who asks; nil where users are not kept apart.
    private let identity: Identity?
    /// Whether a program says for some of its URLs whether users are kept apart.
    private let saysPrivacyByURL: Bool
    /// Whether the octets of a request and the kind of its client say whose Resource it is about.
    let isKeyedByHead: Bool
    private let targets: [FieldName]
    private let identities: IdentityDigest
    /// Whether the configuration leaves no doubt which place the service is at, so that clients elsewhere may be
    /// connected to it even inside this machine or its network, and share what is stored with those on this machine.
    ///
    /// Either the base URL has the address itself or a name of this machine's, or the origin proves by its certificate
    /// that it is meant. Behind any other name there may be another address tomorrow, chosen by who serves the name.
    package let namesItsPlace: Bool
    /// What is invalidated together; one for all services of a process.
    package let invalidations: Invalidations
    private let surrogateKey: SurrogateKey?
    /// Whether `invalidations` knows that there are resources in partitions.
    private let hasNotedPartitions = Atomic<Bool>(false)
    /// What concerns nearly all Resources besides themselves: those at the origin of the base URL that all share.
    private let reachAtBase: ResourceMemory.Reach?

    package var name: String { settings.name }

    /// - Parameters:
    ///   - targets: the targeted cache control fields that are obeyed (RFC 9213).
    ///   - invalidations: outlives reloads as what is stored does.
    ///   - surrogateKey: the field that names further groups.
    package init(
        _ service: Service, number: UInt32, settings: ServiceSettings, targets: [FieldName],
        identities: IdentityDigest, invalidations: Invalidations = Invalidations(),
        surrogateKey: SurrogateKey? = nil,
        variables: VariableValues = VariableValues(), tls: UpstreamTLS? = nil,
        parent: @escaping @Sendable (TargetURI) -> ParentAddress?
    ) {
        self.service = service
        self.number = number
        self.settings = settings
        self.variables = variables
        configurations = service.configurationSet
        saysPrivacyByURL = settings.declare != nil && configurations.entries.contains(where: \.saysPrivacy)
        identity = settings.privacy == .partitioned || saysPrivacyByURL ? Identity(settings.identity) : nil
        isKeyedByHead = identity?.parts?.contains(.client) != true
        usesVariables = !settings.usedVariables.isEmpty
        configuredCredentials = variables.octets(of: settings.variablesInFields)
        self.targets = targets
        self.identities = identities
        self.invalidations = invalidations
        self.surrogateKey = surrogateKey
        findParent = parent
        self.tls = tls
        base = service.baseURL
        parentOfBase = service.baseURL.flatMap(parent)
        reachAtBase = service.baseURL.map { ResourceMemory.Reach(invalidations, scope: nil, origin: $0.origin) }
        namesItsPlace =
            service.baseURL.map { base in
                base.scheme == .https || Router.isLoopbackName(base.host)
                    || SocketAddress(host: base.host, port: 0) != nil
            } ?? false
        routes = service.baseURL.flatMap { RouteRules(settings.routes, base: $0) }
        mount = service.baseURL == nil ? [] : Array(settings.effectiveMount.utf8)
    }

    /// Whether `uri` lies under the base URL, which ends at a segment's border.
    func covers(_ uri: TargetURI) -> Bool {
        guard let base else { return false }
        return uri.withBytes { candidate in
            base.withBytes(of: 0..<base.pathRange.upperBound) { prefix in
                if candidate.count >= prefix.count { return candidate.prefix(prefix.count).elementsEqual(prefix) }
                // `https://host/v1` is the base `https://host/v1/` itself.
                return candidate.count == prefix.count - 1 && prefix.dropLast().elementsEqual(candidate)
            }
        }
    }

    /// Whether resources of this service may be at `uri`: on the base URL's origin, or on a host that the
    /// configuration lists. Unclaimed traffic may go anywhere.
    package func allows(_ uri: TargetURI) -> Bool {
        guard let base else { return true }
        return uri.hasSameOrigin(as: base)
            || settings.allowHosts.contains { $0.matches(host: uri.host, port: uri.port) }
    }

    /// Through which proxy a URI is reached.
    func parent(_ uri: TargetURI) -> ParentAddress? {
        if let base, uri.hasSameOrigin(as: base) { return parentOfBase }
        return findParent(uri)
    }

    /// How TLS is spoken with the origin of a URI, where not as with all: only that of the base URL is meant.
    func tls(for uri: TargetURI) -> UpstreamTLS? {
        guard let tls, let base, uri.hasSameOrigin(as: base) else { return nil }
        return tls
    }

    /// Which addresses a client may be connected to for `uri`.
    func allowedAddresses(for uri: TargetURI, from reach: Reach) -> (SocketAddress) -> Bool {
        // Functions that capture nothing: making one for each request takes no memory.
        if reach == .machine { return { Reach.machine.allows($0) } }
        // Of the hosts the configuration lists besides, only the base URL's is named beyond doubt.
        let isNamed = namesItsPlace && base.map { uri.hasSameOrigin(as: $0) } ?? false
        return isNamed ? { Reach.network.allows($0, isNamed: true) } : { Reach.network.allows($0) }
    }

    // MARK: Partitions

    /// Whose Resource a request is about (T-03), and whether it may have come from inside this machine or its network.
    ///
    /// - Parameter client: the address it came from; nil where it came from none, as what operators ask for.
    package func partition(
        of fields: Fields, for uri: TargetURI, from reach: Reach, client: String? = nil
    ) -> Larder.Partition {
        let own = privacy(for: uri) == .partitioned ? partition(of: fields, client) : .shared
        return reach == .network && !namesItsPlace ? own.acrossNetwork : own
    }

    private func partition(of fields: Fields, _ client: String?) -> Larder.Partition {
        guard let identity else { return .shared }
        let own = identity.octets(of: fields, client: client)
        guard let configuredCredentials else { return own.isEmpty ? .shared : identities.partition(of: own) }
        // The service's own credentials tell apart what was got before and after they changed. They are nobody's.
        let partition = identities.partition(of: own, with: configuredCredentials)
        return own.isEmpty ? partition.ofNobody : partition
    }

    /// Who may be answered from what is stored of a URL.
    package func privacy(for uri: TargetURI) -> ServicePrivacy {
        guard saysPrivacyByURL else { return settings.privacy }
        let configuration = configurations.configuration(for: ResourceURL(uri), method: .get).configuration
        return ServicePrivacy(rawValue: configuration.privacy.rawValue) ?? settings.privacy
    }

    /// What of a request says who asks, by name.
    package func identification(in fields: Fields) -> [String] { identity?.named(in: fields) ?? [] }

    /// Whether resources of the service were kept in partitions since the start.
    package var hasPartitions: Bool {
        settings.privacy == .partitioned || saysPrivacyByURL || invalidations.hasPartitions(number)
    }

    // MARK: Configuration

    /// The version of what the blocks say; the model's own is another one once this service has been replaced.
    var configurationVersion: UInt64 { configurations.version }

    /// Whether anything holds for some of the service's URLs and not for others.
    var hasBlocks: Bool { !settings.configure.isEmpty }

    /// Whether a block says that content is part of what some requests ask for.
    var keysByContent: Bool { settings.configure.contains { $0.keyedByContent == true } }

    /// - Parameter isStoreRead: whether the store is known to have nothing of it.
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
        // What is kept for one content, or for one spelling, goes with the URL, like what is kept for one user.
        if partition != .shared || key.hasMark || !key.isFor(url) {
            if !hasNotedPartitions.exchange(true, ordering: .relaxed) { invalidations.notePartitions(of: number) }
            scope = .resource(service: number, url: url.string)
        }
        if scope == nil, let reachAtBase, let base, url.hasSameOrigin(as: base) { return reachAtBase }
        return ResourceMemory.Reach(invalidations, scope: scope, origin: url.origin)
    }

    /// What applies to a GET of `resource`, or to the method that its key names: computed once for each generation of
    /// the configuration, by which the variants in memory are then judged too.
    func configuration(for resource: Resource) -> EffectiveConfiguration {
        resource.memory.configuration(version: configurations.version) {
            let method = resource.key.mark?.method ?? .get
            let made = effective(
                configurations.configuration(for: resource.url, method: method), for: method,
                isOfUser: resource.partition.isOfUser)
            resource.memory.judge(by: made.policy)
            return made
        }
    }

    /// - Parameter partition: whose Resource it is about. Nobody's is the one with the stricter rules.
    package func configuration(
        for url: TargetURI, method: Method, in partition: Larder.Partition = .shared
    ) -> EffectiveConfiguration {
        effective(
            configurations.configuration(for: ResourceURL(url), method: method), for: method,
            isOfUser: partition.isOfUser)
    }

    /// A configuration, and whether it is for a method whose content can be part of what is asked for.
    private struct Frozen: Hashable, Sendable {
        let configuration: ObjectIdentifier
        let isOfContent: Bool
        /// Whether it is for what one user has.
        let isOfUser: Bool
    }

    private func effective(
        _ frozen: FrozenConfiguration, for method: LarderHTTP.Method, isOfUser: Bool
    ) -> EffectiveConfiguration {
        let key = Frozen(
            configuration: ObjectIdentifier(frozen), isOfContent: method == .post || method == .query,
            isOfUser: isOfUser)
        return effective.value(for: key) {
            // It holds what it was made from, so no other can be taken for that.
            EffectiveConfiguration(frozen, policy: policy(frozen.configuration, key))
        }
    }

    private func policy(_ configuration: Configuration, _ key: Frozen) -> CachePolicy {
        var policy = configuration.cachePolicy
        // Where nobody described an API, RFC 9111 alone decides.
        if base == nil {
            policy.retryTime = .zero
            policy.staleIfError = .zero
        }
        policy.keyedByContent = configuration.isKeyedByContent && key.isOfContent
        policy.targets = targets
        policy.setCookie = .withheld
        policy.surrogateKey = surrogateKey?.field
        policy.hidesSurrogateKey = surrogateKey?.isHidden ?? false
        // In files that is the service's to say, not a block's.
        let privacy = configuration.privacy
        policy.role = privacy == .private || privacy == .partitioned && key.isOfUser ? .private : .shared
        policy.storesAuthorized = false
        if var identity, privacy == .partitioned {
            let fields = configuration.fields
            identity.replaced = fields.removed
            fields.set.forEachLine { _, spelling, _ in identity.replaced.insert(FieldName(token: spelling)) }
            policy.identity = identity
        }
        return policy
    }
}

/// The field in which origins name groups their own way, and whether clients see it.
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
    /// Whether what the service does depends on one of these variables.
    package func uses(_ names: some Collection<String>) -> Bool {
        !settings.usedVariables.isDisjoint(with: names)
    }

    /// How many values the variables that `rule` renews have had.
    func generation(of rule: RefreshRule) -> UInt64 { variables.generation(of: rule.variables) }

    /// The service in its place in `table`, if variables that this one was made with have other values there.
    func successor(in table: ServiceTable) -> RoutedService? {
        guard usesVariables, let current = table.named(name), current !== self else { return nil }
        let names = settings.usedVariables
        return current.variables.generation(of: names) == variables.generation(of: names) ? nil : current
    }

    /// The configured fields that one of these variables is in.
    func fieldsUsing(_ names: [String]) -> Set<FieldName> {
        Set(
            settings.configure.flatMap(\.headers).filter { edit in
                edit.value?.variables.contains { names.contains($0) } == true
            }.map(\.name))
    }
}

extension ConfigurationEntry {
    /// Whether it says something of privacy, whatever was said before.
    fileprivate var saysPrivacy: Bool {
        var (shared, own) = (Configuration(), Configuration())
        (shared.privacy, own.privacy) = (.shared, .private)
        apply(&shared)
        apply(&own)
        return shared.privacy == own.privacy
    }
}

extension ServiceSettings {
    /// The variables in fields of requests, in the order of their names.
    fileprivate var variablesInFields: [String] {
        Set(configure.flatMap(\.headers).flatMap { $0.value?.variables ?? [] }).sorted()
    }

    fileprivate var usedVariables: Set<String> {
        var names = Set(variablesInFields)
        for block in configure {
            if let rule = block.decorate.refresh?.value {
                names.formUnion(rule.variables)
                let secrets = (rule.json + rule.form).map(\.value) + rule.headers.compactMap(\.value)
                names.formUnion(secrets.flatMap(\.variables))
            }
            if let rule = block.decorate.respond?.value {
                let secrets = [rule.body] + rule.fields.compactMap(\.value)
                names.formUnion(secrets.flatMap(\.variables))
            }
        }
        return names
    }
}
