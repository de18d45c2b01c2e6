// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderShared

/// The lookup for a GET or HEAD, or for a request with its content in the key: its Resource, and the configuration of
/// that.
struct Retrieval {
    let service: RoutedService
    let way: Way
    let resource: Resource
    let configuration: EffectiveConfiguration
    /// The version of the service's configuration that `configuration` was made from.
    let version: UInt64
    var policy: CachePolicy { configuration.policy }
    /// The content sent upstream where it is part of the key.
    let content: ContentChunk?
    /// The flight whose answer did not match this request; it is not joined again.
    var passedOver: Flight?
    /// Whether collapsing was tried and the response was not shareable.
    var asksAlone = false
    /// The memory's state at the time of the decision.
    var snapshot: ResourceMemory.Snapshot?
    /// Whether other daemons' responses were looked for.
    var isSharedRead = false
    /// The responses found then.
    var sharedLook: SharedLook?
    /// Whether there was no answer in time: it is not waited for twice.
    var isSharedSilent = false
    /// Whether the content of what was found did not come: it is not waited for twice either.
    var isSharedLost = false
    /// The variant that came from there.
    var sharedVariant: Variant?
}

extension Exchange {
    /// Answers a GET or HEAD, or a request keyed by its content, from the cache or from upstream, as the rules decide.
    func retrieve(_ service: RoutedService, _ way: Way, keyed: KeyedContent? = nil) async throws {
        let partition = partition(in: service)
        key.set(
            service: service.number, partition: partition, url: uri, spelling: spelling, content: keyed?.mark)
        let registry = context.registry
        let resource =
            registry.resource(for: key)
            ?? registry.resource(for: key) { key in
                // Checked here, where no other Resource of this key can be created meanwhile.
                let mayBeStored =
                    (context.storing?.mayContain(key, partition, service) ?? true) || service.hasOwnCaches(for: uri)
                return service.makeResource(
                    key: key, partition: partition, url: uri, isStoreRead: !mayBeStored)
            }
        // The version first: if the configuration changes meanwhile, the version is the old one, so the result is never
        // mistaken for the new.
        let version = service.configurationVersion
        var retrieval = Retrieval(
            service: service, way: way, resource: resource, configuration: service.configuration(for: resource),
            version: version, content: keyed?.content)
        if let answer = hardWiredAnswer(of: service, retrieval.configuration) {
            return try await respond(answer, by: service)
        }
        if mapsLinks(retrieval) { prepareLinks(service, way) }
        if traits.has(.cacheControl) { heedLess(retrieval.policy.ignoredRequest) }
        guard retrieval.configuration.caches else { return try await bypass(&retrieval, reason: .bypass) }
        // A request is decided again when the load it waited for did not match it, which can happen once for each load.
        for _ in 0..<8 {
            if try await step(&retrieval) { return }
        }
        try await bypass(&retrieval, reason: .miss)
    }

    /// Removes the fields and parameters that the configuration ignores from the request, for both the cache and the
    /// origin.
    private func heedLess(_ ignored: IgnoredRequest) {
        guard !ignored.isEmpty, !ignored.remove(from: &head.fields).isEmpty else { return }
        if !head.fields.contains(.cacheControl), !head.fields.contains(.pragma) {
            traits.presence.remove(.cacheControl)
        }
    }

    /// Makes one decision and carries it out. False when the situation changed and must be decided anew.
    private func step(_ retrieval: inout Retrieval) async throws -> Bool {
        let memory = retrieval.resource.memory
        var snapshot = memory.snapshot
        // Whether the response was just read from the store, so that this is its first use.
        var isNew = false
        if !snapshot.isStoreRead, context.storing != nil || retrieval.configuration.hasOwnCaches {
            await context.readStored(retrieval.resource, retrieval.service, retrieval.configuration)
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
            var use = StoredUse(selection)
            if snapshot.variants[selection.index] === retrieval.sharedVariant {
                use.status.note(SharingRules.detail)
                repeatable = nil
            }
            return try await serve(snapshot.variants[selection.index], use, retrieval)
        case .answerStale(let selection, let reason):
            if !isNew { memory.touch() }
            memory.count(hits: 1)
            record.kind = .stale
            let variant = snapshot.variants[selection.index]
            if plan.refreshes { refresh(variant, in: snapshot, retrieval) }
            return try await serve(variant, StoredUse(selection, detail: reason), retrieval)
        case .validate(let selection, let reason):
            if await readShared(&retrieval, snapshot) { return false }
            try takeOriginPlace()
            return try await fetch(&retrieval, reason: reason, validating: snapshot.variants[selection.index])
        case .forward(let reason, let fallback):
            if await readShared(&retrieval, snapshot) { return false }
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
        case .overtaken, .unshared: return
        case .joined(let flight): flight.leave(flight.read())
        case .started: load.start()
        }
    }

    func chargeRegistry(for resource: Resource) {
        context.registry.charge(resource, content: resource.memory.cost)
    }
}
