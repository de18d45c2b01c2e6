// SPDX-License-Identifier: Apache-2.0

package import Larder
import LarderCodings
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings
import LarderStores
import LarderUpstream

/// The operations of a program on one Resource of its own service, which clients are served from as well.
extension Proxy {
    /// Loads a Resource as a client without credentials would; nil where nothing is kept for clients. A request
    /// that the configuration denies or answers itself loads nothing.
    package func load(
        _ resource: Resource, validating basis: AnyEntity?, began: @escaping @Sendable (Flight, Int) -> Void
    ) async -> HostedOutcome? {
        guard let (service, uri) = place(of: resource) else { return nil }
        do {
            return try await anyContext().run { context in
                try await ProgramRequest(service: service, resource: resource, uri: uri, context: context)
                    .load(validating: basis, began)
            }
        } catch {
            return .response(.failure(resource.failure(error, at: now)))
        }
    }

    /// The data that the pipeline makes of what is stored for such a client.
    package func content(of resource: Resource) async -> AnyEntity? {
        guard let (service, uri) = place(of: resource) else { return nil }
        return try? await anyContext().run { context in
            try await ProgramRequest(service: service, resource: resource, uri: uri, context: context).content()
        }
    }

    /// Overrides a Resource; false where clients cannot get this content.
    package func override(_ resource: Resource, with entity: AnyEntity) -> Bool {
        guard let (service, uri) = place(of: resource), let wire = try? entity.encodedForWire(),
            let type = MediaType(wire.contentType)
        else { return false }
        let configuration = service.configuration(for: resource)
        guard configuration.caches, wire.content.count <= self.configuration.memoryObjectLimit else { return false }
        let subject = ResourceSubject(service: service, way: .forward, uri: uri, spelling: [])
        let variant = variant(of: Override(content: wire.content, type: type), for: subject, configuration)
        guard overrides.place(variant, in: resource, of: registry, entity: entity) else { return false }
        storing?.removeAll(of: resource, service: service, because: .superseded)
        emptyOwnCaches(of: resource, service)
        return true
    }

    /// Has what clients get validated first.
    package func invalidate(_ resource: Resource) {
        guard let (service, _) = place(of: resource) else { return }
        _ = markStale(resource, service: service, isNoted: true)
    }

    /// The same for what is on disk alone.
    package func invalidateStored(_ resource: Resource) async {
        guard let storing, let (service, _) = place(of: resource) else { return }
        _ = await storing.markStale(
            storing.key(of: resource, service), policy: service.configuration(for: resource).policy)
    }

    /// Empties a Resource for clients: in memory, and with `memoryAndCaches` on disk.
    package func wipe(_ resource: Resource, _ scope: Resource.WipeScope) {
        wipe(resource)
        guard scope == .memoryAndCaches, let (service, _) = place(of: resource) else { return }
        storing?.removeAll(of: resource, service: service, because: .wiped)
        emptyOwnCaches(of: resource, service)
        // Repeated, for what was read from the store in between.
        wipe(resource)
    }

    private func place(of resource: Resource) -> (service: RoutedService, uri: TargetURI)? {
        guard !resource.key.hasMark, let uri = resource.url.target,
            let service = configuration.router.table.numbered(resource.key.serviceNumber)
        else { return nil }
        return (service, uri)
    }
}

/// A program's request for a Resource, on a loop.
private struct ProgramRequest {
    let service: RoutedService
    let resource: Resource
    let uri: TargetURI
    let context: LoopContext

    private var head: RequestHead {
        RequestHead(
            method: .get, target: uri.pathAndQuery,
            fields: ["Host": uri.authority, "Accept": "*/*", "User-Agent": "larder/\(LarderVersion.current)"])
    }

    // MARK: Loading

    func load(
        validating basis: AnyEntity?, _ began: (Flight, Int) -> Void
    ) async throws -> HostedOutcome? {
        if let answer = context.configuration.router.table.hardWiredAnswer(toLoadOf: uri, of: service) {
            throw AnsweredByConfiguration(description: Problem.hardWired(answer).detail)
        }
        let version = service.configurationVersion
        let configuration = service.configuration(for: resource)
        guard configuration.caches, service.allows(uri) else { return nil }
        guard context.proxy.offlineMode(service, configuration) != .on else { throw ServiceOffline() }
        await readStore(configuration)
        let (head, memory) = (head, resource.memory)
        let load = Load(
            ResourceSubject(service: service, way: .forward, uri: uri, spelling: []), resource: resource, head: head,
            configuration: configuration, version: version,
            validating: basis.flatMap { selected(configuration, validatedBy: $0) }, completing: nil, context: context,
            reach: .machine)
        load.flight.forPrograms.isOwn = true
        let epoch = memory.epoch
        guard case .started(let flight) = memory.join(where: { _ in false }, orStart: { load.flight }) else {
            return nil
        }
        load.start()
        let reader = flight.read()
        defer { flight.leave(reader) }
        began(flight, reader)
        let outcome = await outcome(of: flight, for: reader, basis)
        guard memory.epoch == epoch else { return .superseded(outcome.response) }
        return outcome
    }

    private func outcome(of flight: Flight, for reader: Int, _ basis: AnyEntity?) async -> HostedOutcome {
        while let word = await flight.word(for: reader) {
            guard case .answer(let answer) = word else { continue }
            if case .settled = answer {
                let confirmed = basis.flatMap { flight.forPrograms.confirmation?.freshened($0) }
                return confirmed.map { .confirmed($0) } ?? .response(.failure(failure(NoLocalDataFor304())))
            }
            if case .failed(let error) = answer { return .response(result(of: flight, else: error)) }
            while true {
                switch await flight.next(for: reader) {
                case .chunks, .spooled: continue
                case .end: return .response(result(of: flight, else: RequestCancelled()))
                case .failed(let error): return .response(result(of: flight, else: error))
                case .interrupted: return .response(.failure(failure(RequestCancelled())))
                }
            }
        }
        return .response(.failure(failure(RequestCancelled())))
    }

    private func result(of flight: Flight, else error: any Error) -> Response {
        flight.forPrograms.outcome ?? .failure(failure(error))
    }

    private func failure(_ error: any Error) -> RequestError { resource.failure(error, at: context.now()) }

    // MARK: Stored content

    func content() async throws -> AnyEntity? {
        let configuration = service.configuration(for: resource)
        guard configuration.caches else { return nil }
        await readStore(configuration)
        guard var variant = selected(configuration), !variant.stored.isPartial else { return nil }
        if variant.rendition != nil, !variant.isOverride {
            guard let original = await original(of: variant, configuration) else { return nil }
            variant = original
        }
        guard variant.content.length <= Int64(context.memoryObjectLimit),
            let content = try await CollectedContent.read(variant.content, in: context.proxy.transforming)
        else { return nil }
        let stored = variant.stored
        // Data that has to be validated is as old as can be.
        let time = stored.standing == .asReceived ? stored.responseTime : Timestamp(seconds: 0)
        let entity = Entity(
            content: content.joined(), fields: stored.fields, status: stored.status, timestamp: time,
            requestTime: stored.requestTime, responseTime: stored.responseTime)
        if variant.isOverride { return entity.erased }
        let limit = context.memoryObjectLimit
        let result = await resource.transform(
            configuration.frozen.configuration, on: context.proxy.transforming.threads, clock: LoopClock(context.loop)
        ) { entity.decoded(limit: limit) }
        return try? result.response.get()
    }

    private func readStore(_ configuration: EffectiveConfiguration) async {
        guard !resource.memory.snapshot.isStoreRead else { return }
        await context.readStored(resource, service, configuration)
        context.registry.charge(resource, content: resource.memory.cost)
    }

    /// The stored response for the program's request.
    ///
    /// - Parameter basis: data that must have been made of it.
    private func selected(_ configuration: EffectiveConfiguration, validatedBy basis: AnyEntity? = nil) -> Variant? {
        let snapshot = resource.memory.snapshot
        let index = Reuse.select(head, snapshot.candidates, policy: configuration.policy)
        guard let variant = index.map({ snapshot.variants[$0] }) else { return nil }
        guard let basis else { return variant }
        let isSame = [FieldName.eTag, .lastModified].allSatisfy { basis.fields[$0] == variant.stored.fields[$0] }
        return isSame && variant.stored.facts.hasValidator && !variant.stored.isPartial ? variant : nil
    }

    /// The origin's response that a transformed one was made of: it is in the store, if anywhere.
    private func original(of variant: Variant, _ configuration: EffectiveConfiguration) async -> Variant? {
        guard let storing = context.storing else { return nil }
        return await storing.store.read(storing.key(of: resource, service))
            .filter { $0.storedAt == variant.storedAt }
            .compactMap { storing.variant(of: $0, policy: configuration.policy) }
            .first { $0.stored.variance == variant.stored.variance }
    }
}

/// The configuration denies or answers requests for the URL: programs get no further than clients.
struct AnsweredByConfiguration: Error, CustomStringConvertible {
    let description: String
}

extension HostedOutcome {
    fileprivate var response: Response {
        switch self {
        case .response(let response), .superseded(let response): response
        case .confirmed(let entity): .success(entity)
        }
    }
}

extension Resource {
    /// A failure as a program sees it.
    func failure(_ error: any Error, at now: Timestamp) -> RequestError {
        var made =
            switch error {
            case let error as RequestError: error
            case let error as PipelineFailure: error.cause
            case let error as UpstreamError: error.cause as? RequestError ?? RequestError(cause: error, timestamp: now)
            case is ClientGone: RequestError(cause: RequestCancelled(networkError: error), timestamp: now)
            default: RequestError(cause: error, timestamp: now)
            }
        made.url = url
        made.method = .get
        return made
    }
}

extension Entity<[UInt8]> {
    /// The entity without its content coding, where that is a known one.
    func decoded(limit: Int) -> Entity<[UInt8]> {
        guard let name = fields[.contentEncoding], let coding = ContentCoding(token: name),
            let octets = try? coding.decode(content, limit: limit)
        else { return self }
        var entity = withContent(octets)
        entity.fields.remove(.contentEncoding)
        return entity
    }
}
