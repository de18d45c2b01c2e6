// SPDX-License-Identifier: Apache-2.0

package import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings

/// The caches that a service written in Swift has for the stages of its pipeline (`cacheUsing`), for one Resource of
/// clients: read when memory and store have nothing, and written with what loads bring.
///
/// An entity has no place for the request that it answers. So they contain only what anyone may get of a URL: nothing of
/// one user, for one content of requests or one spelling, of a group, or selected by other fields of requests than
/// `Accept-Encoding`.
struct OwnCaches {
    private let resource: Resource
    private let configuration: Configuration
    private let policy: CachePolicy
    private let uri: TargetURI
    private let log: ModelLog

    /// Nil where there are none.
    init?(_ resource: Resource, _ service: RoutedService, _ configuration: EffectiveConfiguration, _ proxy: Proxy) {
        guard configuration.hasOwnCaches, resource.partition == .shared, !resource.key.hasMark,
            let uri = resource.url.target, resource.key.isFor(uri), service.hasOwnCaches(for: uri)
        else { return nil }
        self.resource = resource
        self.configuration = configuration.frozen.configuration
        policy = configuration.policy
        self.uri = uri
        log = proxy.cacheLog
    }

    // MARK: Reading

    /// Loads stored responses into memory, once for any number of requests: from the store, else from these caches.
    func load(_ service: RoutedService, _ configuration: EffectiveConfiguration, _ context: LoopContext) async {
        let memory = resource.memory
        let mark = memory.mark
        guard await memory.beginStoreRead() == .begin else { return }
        var found: [Variant]? = []
        if let diskTier = context.diskTier {
            found = try? await diskTier.variants(of: resource, service: service, configuration)
        }
        if found?.isEmpty == true, let variant = await read(context, configuration.fingerprint) { found = [variant] }
        memory.storeWasRead(found, since: mark)
    }

    private func read(_ context: LoopContext, _ fingerprint: UInt64) async -> Variant? {
        let sealed = SealedContent()
        let mark = resource.memory.mark
        let found = await resource.readCaches(
            configuration, on: context.proxy.transforming.threads, clock: LoopClock(context.loop), log: log,
            sealing: { sealed.seal(&$0) })
        guard let found else { return nil }
        let chunks =
            found.isTransformed
            ? sealed.chunks : found.served.content.isEmpty ? [] : [ContentChunk(found.served.content)]
        let length = chunks.reduce(0) { $0 + $1.count }
        guard length <= context.memoryObjectLimit,
            let stored = storedResponse(of: found.stored, length: Int64(length), at: context.now())
        else { return nil }
        resource.fillCaches(from: found, log: log)
        // It was wiped meanwhile.
        if resource.memory.hasChanged(since: mark) { empty() }
        let isPromoted = found.stored.status.isError
        var rendition: Rendition?
        if found.isTransformed || isPromoted {
            let kept = StoredResponse(
                status: found.served.status, fields: found.served.fields, requestTime: stored.requestTime,
                responseTime: stored.responseTime, policy: policy)
            rendition = Rendition(
                status: found.served.status, fields: kept.fields, originStatus: found.stored.status,
                isPromoted: isPromoted)
        }
        return Variant(
            stored: stored, content: .memory(chunks, length: length), storedAt: stored.responseTime,
            via: ProxyConfiguration.via, fingerprint: fingerprint, rendition: rendition)
    }

    /// The entity as a stored response; nil if clients may not receive it, regardless of its writer.
    private func storedResponse(of entity: AnyEntity, length: Int64, at now: Timestamp) -> StoredResponse? {
        let request = RequestHead(method: .get, target: uri.pathAndQuery)
        // The entity is stored as data even if the origin's status is an error.
        let status = entity.status.isError ? 200 : entity.status
        let head = ResponseHead(status: status, fields: entity.fields)
        guard status != 206, OwnCaches.isForAll(entity.fields, policy),
            case .store = Storability.decide(
                request: request, target: uri, response: head, policy: policy, responseTime: entity.timestamp)
        else { return nil }
        // A timestamp later than the response time is the time of a 304.
        let isAsReceived = entity.responseTime == entity.timestamp
        // The age of an entity with a future timestamp is unknown.
        let isFromFuture = entity.timestamp > now + .seconds(1)
        let stored = StoredResponse(
            status: status, fields: entity.fields,
            requestTime: isAsReceived ? entity.requestTime ?? entity.timestamp : entity.timestamp,
            responseTime: entity.timestamp, contentLength: length, standing: isFromFuture ? .stale : .asReceived,
            policy: policy)
        return stored.facts.groups.isEmpty ? stored : nil
    }

    /// True if the response is the same for all requests that can be made for its URL.
    private static func isForAll(_ fields: Fields, _ policy: CachePolicy) -> Bool {
        let isDecoded = !fields.contains(.contentEncoding)
        let variance = policy.variance(of: fields, to: Fields())
        return !variance.matchesNothing && variance.selectors.allSatisfy { isDecoded && $0.name == .acceptEncoding }
    }

    // MARK: Writing

    /// Writes the stages' output for a response that was loaded. Empties the caches if they may not contain the
    /// response.
    func write(_ made: MadeResponse, of stored: StoredResponse) {
        guard mayContain(stored) else { return empty() }
        resource.writeCaches(made.result, octets: made.length, log: log, sharing: { stored.sharable($0) })
    }

    /// Writes a response that no transformer changes; `chunks` is nil for content that is too large for memory.
    func write(_ chunks: [ContentChunk]?, of stored: StoredResponse) {
        // Errors leave the caches as they are.
        if stored.status.isError { return }
        guard let chunks, mayContain(stored) else { return empty() }
        let length = chunks.reduce(0) { $0 + $1.count }
        resource.writeCaches(
            ResponseHead(status: stored.status, fields: stored.fields), configuration, octets: length, log: log
        ) {
            Entity(
                content: chunks.flatMap { $0.withBytes { Array($0) } }, fields: stored.fields, status: stored.status,
                timestamp: stored.responseTime, requestTime: stored.requestTime, responseTime: stored.responseTime)
        }
    }

    private func mayContain(_ stored: StoredResponse) -> Bool {
        !stored.isPartial && stored.place == nil && stored.facts.groups.isEmpty && !stored.facts.isPersonal
            && (!stored.requestWasAuthorized || stored.facts.allowsAuthorized)
            && stored.variance.selectors.allSatisfy { $0.name == .acceptEncoding }
    }

    /// A 304 with these fields confirmed the response.
    func freshen(by update: Fields, at now: Timestamp) {
        resource.freshenCaches(configuration, by: update, at: now, log: log)
    }

    /// Requires validation of the caches' entries.
    func expire() { resource.expireCaches(configuration, log: log) }

    /// Removes the caches' entries.
    func empty() { resource.emptyCaches(configuration, log: log) }
}

extension LoopContext {
    /// Loads stored responses of a Resource into memory, once for any number of requests.
    func readStored(_ resource: Resource, _ service: RoutedService, _ configuration: EffectiveConfiguration) async {
        if configuration.hasOwnCaches, let own = OwnCaches(resource, service, configuration, proxy) {
            await own.load(service, configuration, self)
        } else if let diskTier {
            let floors = service.stages.floors
            let now = now()
            await diskTier.load(resource, service: service, configuration) { storedAt in
                floors.contains { $0.excludes(storedAt, at: now) }
            }
        } else {
            resource.memory.storeHasNothing(since: resource.memory.mark)
        }
    }
}

extension Load {
    /// The program's own caches for what is loaded; nil without any.
    var ownCaches: OwnCaches? {
        configuration.hasOwnCaches ? OwnCaches(resource, service, configuration, context.proxy) : nil
    }
}

extension Proxy {
    /// The program's own caches for a Resource of a service; nil without any.
    func ownCaches(of resource: Resource, _ service: RoutedService) -> OwnCaches? {
        guard service.settings.declare != nil else { return nil }
        return OwnCaches(resource, service, service.configuration(for: resource), self)
    }

    /// The same for the Resource of a URL for all clients, whether or not it is in memory.
    func ownCaches(of uri: TargetURI, _ service: RoutedService) -> OwnCaches? {
        guard service.hasOwnCaches(for: uri) else { return nil }
        var key = ResourceKey()
        key.set(service: service.number, partition: .shared, url: uri, spelling: [])
        return ownCaches(of: service.makeResource(key: key, partition: .shared, url: uri), service)
    }

    /// Empties the program's own caches for a Resource of a service.
    package func emptyOwnCaches(of resource: Resource, _ service: RoutedService) {
        ownCaches(of: resource, service)?.empty()
    }
}
