// SPDX-License-Identifier: Apache-2.0

package import Larder
import LarderHTTP
import LarderIO
package import LarderRules
import LarderSettings
import LarderStores
import Logging

/// The operations of a program on one Resource of its service, from which clients are served as well.
extension Proxy {
    /// Loads a Resource as a client without credentials would; nil if its responses are not kept for clients. A request
    /// that the configuration denies or answers is not sent.
    package func load(
        _ resource: Resource, as id: LoadID?, within work: DecoratorsWork, onlyIfNeeded: Bool,
        validating basis: AnyEntity?, began: @escaping @Sendable (ActiveLoad, Int) -> Void
    ) async -> ResponseInfo? {
        guard let (service, uri) = place(of: resource) else { return nil }
        do {
            return try await anyContext().run { context in
                try await ProgramRequest(service: service, resource: resource, uri: uri, context: context)
                    .load(as: id, within: work, onlyIfNeeded: onlyIfNeeded, validating: basis, began)
            }
        } catch {
            return ResponseInfo(.failure(resource.failure(error, at: now)))
        }
    }

    /// The plan for such a client's request, by what is in memory; nil where no service has the Resource.
    package func plan(for resource: Resource, by snapshot: ResourceMemory.Snapshot) -> Plan? {
        guard let (service, uri) = place(of: resource) else { return nil }
        let subject = ResourceSubject(service: service, uri: uri)
        return plan(
            for: .ofProgram(uri), of: subject, service.configuration(for: resource), by: snapshot.candidates,
            failure: snapshot.failure, now: now)
    }

    /// The data that the pipeline makes of what is stored for such a client.
    package func content(of resource: Resource) async -> AnyEntity? {
        guard let (service, uri) = place(of: resource) else { return nil }
        return try? await anyContext().run { context in
            try await ProgramRequest(service: service, resource: resource, uri: uri, context: context).content()
        }
    }

    /// Overrides a Resource; false where clients cannot get this content.
    package func override(_ resource: Resource, with entity: AnyEntity, since generation: UInt64?) -> Bool {
        guard let (service, uri) = place(of: resource), let wire = try? entity.encodedForWire(),
            let type = MediaType(wire.contentType)
        else { return false }
        let configuration = service.configuration(for: resource)
        guard configuration.caches, wire.content.count <= self.configuration.memoryObjectLimit else { return false }
        let subject = ResourceSubject(service: service, uri: uri)
        let variant = variant(of: Override(content: wire.content, type: type), for: subject, configuration)
        guard overrides.place(variant, in: resource, of: registry, entity: entity, since: generation) else {
            return false
        }
        diskTier?.removeAll(of: resource, service: service, because: .superseded)
        emptyOwnCaches(of: resource, service)
        return true
    }

    /// Has what clients get validated first.
    package func invalidate(_ resource: Resource) {
        guard let (service, _) = place(of: resource) else { return }
        _ = markStale(resource, service: service, noting: .forClients)
    }

    /// The same for what is on disk alone and was received by then.
    package func invalidateStored(_ resource: Resource, until moment: Timestamp) async {
        guard let diskTier, let (service, _) = place(of: resource) else { return }
        do {
            _ = try await diskTier.markStale(
                diskTier.key(of: resource, service), policy: service.configuration(for: resource).policy,
                where: { $0.responseTime <= moment })
        } catch {
            logger.warning("\(error); some on disk stays up to date", metadata: ["service": "\(service.name)"])
        }
    }

    /// Empties a Resource for clients: in memory, and with `memoryAndCaches` on disk.
    package func wipe(_ resource: Resource, _ scope: Resource.WipeScope) {
        wipe(resource)
        guard scope == .memoryAndCaches, let (service, _) = place(of: resource) else { return }
        diskTier?.removeAll(of: resource, service: service, because: .wiped)
        invalidations.noteRemoval()
        emptyOwnCaches(of: resource, service)
        // Repeated, for what was read from the store in between.
        if resource.memory.isOfBeforeRemoval { wipe(resource) }
    }

    private func place(of resource: Resource) -> (service: RoutedService, uri: TargetURI)? {
        guard !resource.key.hasMark, let uri = resource.url.target,
            let service = configuration.router.table.numbered(resource.key.serviceNumber)
        else { return nil }
        return (service, uri)
    }
}

extension RequestHead {
    fileprivate static func ofProgram(_ uri: TargetURI) -> RequestHead {
        RequestHead(
            method: .get, target: uri.pathAndQuery,
            fields: ["Host": uri.authority, "Accept": "*/*", "User-Agent": "larder/\(LarderVersion.current)"])
    }
}

/// A program's request for a Resource, on a loop.
private struct ProgramRequest {
    let service: RoutedService
    let resource: Resource
    let uri: TargetURI
    let context: LoopContext

    private var head: RequestHead { .ofProgram(uri) }

    // MARK: Loading

    func load(
        as id: LoadID?, within work: DecoratorsWork, onlyIfNeeded: Bool, validating basis: AnyEntity?,
        _ began: (ActiveLoad, Int) -> Void
    ) async throws -> ResponseInfo? {
        if let answer = context.configuration.router.table.hardWiredAnswer(toLoadOf: uri, of: service) {
            throw AnsweredByConfiguration(description: Problem.hardWired(answer).detail)
        }
        let version = service.configurationVersion
        let configuration = service.configuration(for: resource)
        guard configuration.caches, service.allows(uri) else { return nil }
        await readStore(configuration)
        let memory = resource.memory
        let subject = ResourceSubject(service: service, uri: uri)
        func wish(onlyIfNeeded: Bool) -> LoadWish {
            LoadWish(
                subject: subject, resource: resource, configuration: configuration, head: head, network: .machine,
                onlyIfNeeded: onlyIfNeeded)
        }
        var course: LoadCourse?
        repeat {
            course = wish(onlyIfNeeded: onlyIfNeeded).course(by: memory.snapshot, on: context)
            if case .answered = course, onlyIfNeeded {
                if let entity = try await content() {
                    // The program has not seen it yet: it was on disk, or has just been loaded.
                    var info = ResponseInfo(.success(entity))
                    info.isInMemory = true
                    return info
                }
                // Nothing can be made of it.
                course = wish(onlyIfNeeded: false).course(by: memory.snapshot, on: context)
            }
        } while course == nil
        switch course {
        case .held(let error): throw error
        case .answered, .refused: throw ServiceOffline()
        case .asks, nil: break
        }
        let load = Load(
            subject, resource: resource, head: head, configuration: configuration, version: version,
            validating: basis.flatMap { selected(configuration, validatedBy: $0) }, completing: nil, context: context,
            network: .machine)
        load.bypassesBackoff = !onlyIfNeeded
        load.listed.forPrograms.isOwn = true
        load.listed.forPrograms.work = work
        load.listed.forPrograms.id = id
        guard case .started(let listed) = memory.join(where: { _ in false }, orStart: { load.listed }) else {
            return nil
        }
        load.start()
        let reader = listed.share().read()
        defer { listed.leave(reader) }
        began(listed, reader)
        return await outcome(of: listed, for: reader, basis)
    }

    private func outcome(of load: ActiveLoad, for reader: Int, _ basis: AnyEntity?) async -> ResponseInfo {
        var info = ResponseInfo(.failure(failure(RequestCancelled())))
        info.isInMemory = true
        while let event = await load.share().nextEvent(for: reader) {
            guard case .answer(let answer) = event else { continue }
            switch answer {
            case .settled: confirm(&info, load, basis)
            case .failed(let error): info.response = result(of: load, else: error)
            case .response:
                info.response = await response(of: load, for: reader)
                // A 304 to a condition of the program's own.
                if load.forPrograms.confirmation != nil { confirm(&info, load, basis) }
            }
            break
        }
        return info
    }

    private func confirm(_ info: inout ResponseInfo, _ load: ActiveLoad, _ basis: AnyEntity?) {
        let confirmed = basis.flatMap { load.forPrograms.confirmation?.freshened($0) }
        info.isNew = confirmed == nil
        info.response = confirmed.map { .success($0) } ?? .failure(failure(NoLocalDataFor304()))
    }

    private func response(of load: ActiveLoad, for reader: Int) async -> Response {
        while true {
            switch await load.share().next(for: reader) {
            case .chunks, .spooled: continue
            case .end: return result(of: load, else: RequestCancelled())
            case .failed(let error): return result(of: load, else: error)
            case .interrupted: return .failure(failure(RequestCancelled()))
            }
        }
    }

    private func result(of load: ActiveLoad, else error: any Error) -> Response {
        load.forPrograms.outcome ?? .failure(failure(error))
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
            let content = try await CollectedContent.read(
                variant.content, in: context.proxy.transforming, for: service)
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
        context.registry.charge(resource)
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
        guard let diskTier = context.diskTier else { return nil }
        let records = try? await diskTier.store.read(diskTier.key(of: resource, service))
        return records?
            .filter { $0.storedAt == variant.storedAt }
            .compactMap { diskTier.variant(of: $0, policy: configuration.policy) }
            .first { $0.stored.variance == variant.stored.variance }
    }
}

/// The configuration denies or answers requests for the URL: programs get no further than clients.
struct AnsweredByConfiguration: Error, CustomStringConvertible {
    let description: String
}
