// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
package import LarderRules
package import LarderSettings

/// The proxy's view of a resource's frozen configuration, computed once for each.
package final class EffectiveConfiguration: Sendable {
    package let frozen: FrozenConfiguration
    package let policy: CachePolicy
    /// The configured offline mode, which determines if the origin is asked.
    package let offline: OfflineMode
    /// False when responses are not stored at all.
    package let caches: Bool
    /// True if origin responses are written to the store.
    let storesReceived: Bool
    /// How many superseded responses the store keeps of each variant.
    package let history: Int
    /// The decorators of requests; nil without any.
    package let decorators: Decorators?
    /// The longest content that can be part of a key.
    let keyedContentLimit: Int
    /// True if requests with `Authorization` may share a load: all requests for its Resource have the same credentials,
    /// or may share the response.
    let sharesAuthorized: Bool
    /// True if a program's mutators or decorators take part in requests.
    package let isProgrammed: Bool
    /// How long a load goes on without clients; nil for to its end. Read for each load, as `streamEnds`: a copy of the
    /// whole configuration costs more than the load's other decisions.
    let abandonDelay: Duration?
    /// The ends by which a stream of events is known to be whole.
    let streamEnds: [String]
    /// True if stored streams of events are sent at the pace at which they came.
    package let replaysPaced: Bool
    /// Which stored responses are validated before anyone asks for them.
    package let refreshAhead: RefreshAhead
    /// The rule for notifying listeners of changed content; nil without listeners.
    package let changeRule: ChangeRule?
    /// True if a stage of the pipeline has a cache of the program's own.
    package let hasOwnCaches: Bool
    /// True if redirects are followed for clients.
    let followsRedirects: Bool
    /// True if links in content are mapped for clients of the gateway.
    package let mapsLinks: Bool
    /// Identifies the transformation of responses: the configuration, and the program that transforms. 0 when clients
    /// get the origin's response.
    package let fingerprint: UInt64

    init(_ frozen: FrozenConfiguration, policy: CachePolicy) {
        self.frozen = frozen
        self.policy = policy
        let configuration = frozen.configuration
        offline = configuration.offline
        caches = frozen.configuration.caching != .none
        history = configuration.history
        decorators = frozen.configuration.attachment as? Decorators
        keyedContentLimit = configuration.keyedContentLimit
        storesReceived = configuration.pipeline[.rawData].isCached != false
        sharesAuthorized =
            policy.ignoredResponse.isForEveryone || policy.identity?.names(.authorization) == true
            || policy.identity == nil && policy.role == .private
        hasOwnCaches = configuration.caching != .none && configuration.pipeline.hasCaches
        followsRedirects = configuration.followRedirects
        abandonDelay = configuration.onAbandon.delay
        streamEnds = configuration.streamEnd
        replaysPaced = configuration.replay == .paced
        changeRule = configuration.changeRule
        refreshAhead = configuration.refreshAhead
        isProgrammed = configuration.isProgrammed
        mapsLinks = configuration.links
        fingerprint = frozen.fingerprint == 0 ? 0 : (frozen.fingerprint ^ ProgramIdentity.number) | 1
    }

    /// Sets and removes the configured fields of a request that is sent inbound.
    func apply(to fields: inout Fields) { frozen.configuration.fields.apply(to: &fields) }

    /// Removes the configured fields from a request: another origin must not see the operator's secrets.
    func removeConfigured(from fields: inout Fields) {
        frozen.configuration.fields.set.forEachLine { _, spelling, _ in fields.remove(FieldName(token: spelling)) }
    }
}

extension ConfigurationEntry {
    /// Converts a block of the configuration file to an entry of the model.
    package init(
        _ block: ConfigureBlock, relativeTo base: TargetURI?, variables: VariableValues = VariableValues()
    ) {
        self.init(
            description: block.title, methods: block.methods.map(Set.init),
            matches: block.pattern.predicate(relativeTo: base),
            apply: { configuration in
                block.apply(to: &configuration, variables)
                if block.decorate.isEmpty { return }
                var decorators = configuration.attachment as? Decorators ?? Decorators()
                decorators.apply(block.decorate)
                configuration.attachment = decorators
            })
    }
}
