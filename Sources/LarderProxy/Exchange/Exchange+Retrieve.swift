// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// What a GET or HEAD, or a request whose content is part of its key, is about: its Resource, and what the configuration says of it.
struct Retrieval {
    let service: RoutedService
    let way: Way
    let resource: Resource
    let configuration: EffectiveConfiguration
    /// The version of the service's configuration that `configuration` was made from.
    let version: UInt64
    var policy: CachePolicy { configuration.policy }
    /// What is sent upstream where the content is part of the key.
    let content: ContentChunk?
    /// The flight whose answer turned out not to be for this request; it is not joined again.
    var passedOver: Flight?
    /// Whether collapsing was tried and what came was not for sharing.
    var asksAlone = false
    /// What was in memory when it was decided what to do.
    var snapshot: ResourceMemory.Snapshot?
}

extension Exchange {
    /// Answers a GET or HEAD, or what is keyed by its content, from what is stored, or from upstream, as the rules
    /// decide.
    func retrieve(_ service: RoutedService, _ way: Way, keyed: KeyedContent? = nil) async throws {
        let partition = partition(in: service)
        key.set(
            service: service.number, partition: partition, url: uri, spelling: spelling, content: keyed?.mark)
        let registry = context.registry
        let resource =
            registry.resource(for: key)
            ?? registry.resource(for: key) { key in
                // Asked here, where no other Resource of this key can come to be.
                let mayBeStored = context.storing?.mayContain(key, partition, service) ?? true
                return service.makeResource(
                    key: key, partition: partition, url: uri, isStoreRead: !mayBeStored)
            }
        // The version first: of a configuration that changes meanwhile it is the old one, and so never taken for the new.
        let version = service.configurationVersion
        var retrieval = Retrieval(
            service: service, way: way, resource: resource, configuration: service.configuration(for: resource),
            version: version, content: keyed?.content)
        if let answer = hardWiredAnswer(retrieval) { return try await respond(answer, by: service) }
        if mapsLinks(retrieval) { prepareLinks(service, way) }
        if traits.has(.cacheControl) { heedLess(retrieval.policy.ignoredRequest) }
        guard retrieval.configuration.caches else { return try await bypass(&retrieval, reason: .bypass) }
        // A request is decided again when the load it waited for was not about it, which each load can be once.
        for _ in 0..<8 {
            if try await step(&retrieval) { return }
        }
        try await bypass(&retrieval, reason: .miss)
    }

    /// Takes off the request what the configuration says not to heed: neither the cache nor the origin hears of it.
    private func heedLess(_ ignored: IgnoredRequest) {
        guard !ignored.isEmpty, !ignored.remove(from: &head.fields).isEmpty else { return }
        if !head.fields.contains(.cacheControl), !head.fields.contains(.pragma) {
            traits.presence.remove(.cacheControl)
        }
    }

    /// What the configuration says to every request, by the method it has.
    private func hardWiredAnswer(_ retrieval: Retrieval) -> HardWiredAnswer? {
        guard traits.method == .head else { return retrieval.configuration.decorators?.answer }
        return retrieval.service.configuration(for: uri, method: .head).decorators?.answer
    }

    /// One decision and what follows from it. False when the situation changed and must be decided anew.
    private func step(_ retrieval: inout Retrieval) async throws -> Bool {
        let memory = retrieval.resource.memory
        var snapshot = memory.snapshot
        // What comes to memory for this request was not wanted twice yet.
        var isNew = false
        if !snapshot.isStoreRead, let storing = context.storing {
            await storing.load(retrieval.resource, service: retrieval.service, retrieval.configuration)
            snapshot = memory.snapshot
            if !snapshot.variants.isEmpty { chargeRegistry(for: retrieval.resource) }
            isNew = true
        }
        if !snapshot.variants.isEmpty, snapshot.fingerprint != retrieval.configuration.fingerprint,
            let variant = outdated(in: snapshot, retrieval)
        {
            return try await remake(variant, retrieval)
        }
        retrieval.snapshot = snapshot
        let plan = Plan.decide(head, snapshot.candidates, policy: retrieval.policy, now: context.now()) {
            outlook(of: retrieval)
        }
        if let wait = plan.wait { return try await serveMeanwhile(wait, plan, snapshot, retrieval) }
        switch plan.action {
        case .answer(let selection):
            if !isNew { memory.touch() }
            memory.count(hits: 1)
            record.kind = .hit
            if retrieval.content != nil { countSavings(snapshot.variants[selection.index], retrieval) }
            repeatable = Repeatable(snapshot, of: self)
            return try await serve(snapshot.variants[selection.index], StoredUse(selection), retrieval)
        case .answerStale(let selection, let reason):
            if !isNew { memory.touch() }
            memory.count(hits: 1)
            record.kind = .stale
            let variant = snapshot.variants[selection.index]
            if plan.refreshes { refresh(variant, in: snapshot, retrieval) }
            return try await serve(variant, StoredUse(selection, detail: reason), retrieval)
        case .validate(let selection, let reason):
            try takeOriginPlace()
            return try await fetch(&retrieval, reason: reason, validating: snapshot.variants[selection.index])
        case .forward(let reason, let fallback):
            try takeOriginPlace()
            return try await fetch(
                &retrieval, reason: reason, validating: nil, fallback: fallback.map { snapshot.variants[$0.index] },
                completing: plan.parts.map { snapshot.variants[$0] })
        case .refuse(.offline):
            throw await offlineProblem(retrieval)
        case .refuse(let reason):
            throw Problem.notStored(reason, uri: uri)
        }
    }

    /// Starts a validation in the background, unless one is under way or has just ended.
    func refresh(_ variant: Variant, in snapshot: ResourceMemory.Snapshot, _ retrieval: Retrieval) {
        guard retrieval.service.successor(in: context.configuration.router.table) == nil else { return }
        let load = Load(exchange: self, retrieval, validating: variant, isBackground: true)
        let joining = retrieval.resource.memory.join(
            since: snapshot, where: { $0.isValidation }, orStart: { load.flight })
        switch joining {
        case .overtaken: return
        case .joined(let flight): flight.leave(flight.read())
        case .started: load.start()
        }
    }

    func chargeRegistry(for resource: Resource) {
        context.registry.charge(resource, content: resource.memory.cost)
    }
}
