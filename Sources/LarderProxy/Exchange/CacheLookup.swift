// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// The lookup for a GET or HEAD, or for a request with its content in the key: it decides between cache and upstream,
/// and executes the decision. Confined to its loop.
struct CacheLookup: ExchangeStep {
    let exchange: Exchange
    let service: RoutedService
    let resource: Resource
    let configuration: EffectiveConfiguration
    /// The version of the service's configuration that `configuration` was made from.
    let version: UInt64
    /// The content sent upstream where it is part of the key.
    let keyed: KeyedContent?
    /// The load whose answer did not match this request; it is not joined again.
    var passedOver: ActiveLoad?
    /// True if collapsing was tried and the response was not shareable.
    var asksAlone = false
    /// True if a load failed, perhaps because of the request that led it: only loads of an equal request are joined.
    var isWary = false
    /// True if the stored response that would have been the answer could not be read.
    var isUnread = false
    /// The memory's state at the time of the decision.
    var snapshot: ResourceMemory.Snapshot?
    /// True if the stages were asked for a stored response.
    var hasAskedStages = false
    var states = StageStates()

    var policy: CachePolicy { configuration.policy }
    /// True if links in this client's response are mapped, as far as the request tells.
    var mapsLinks: Bool { request.form.isGateway && configuration.mapsLinks }
    /// The mapping of these links.
    var links: GatewayLinks { GatewayLinks(request: request, service: service) }

    init(for exchange: Exchange, _ service: RoutedService, keyed: KeyedContent?) {
        let (request, context) = (exchange.request, exchange.context)
        let partition = request.partition(in: service)
        request.key.set(
            service: service.number, partition: partition, url: request.uri, spelling: request.spelling,
            content: keyed?.mark)
        let registry = context.registry
        resource =
            registry.resource(for: request.key)
            ?? registry.resource(for: request.key) { key in
                // Checked here, where no other Resource of this key can be created meanwhile.
                let mayBeStored =
                    (context.diskTier?.mayContain(key, partition, service) ?? true)
                    || service.hasOwnCaches(for: request.uri)
                return service.makeResource(
                    key: key, partition: partition, url: request.uri, isStoreRead: !mayBeStored)
            }
        // The version first: if the configuration changes meanwhile, the version is the old one, so the result is never
        // mistaken for the new.
        version = service.configurationVersion
        configuration = service.configuration(for: resource)
        self.exchange = exchange
        self.service = service
        self.keyed = keyed
    }

    /// Answers the request.
    mutating func run() async throws {
        if let answer = request.hardWiredAnswer(of: service, configuration) {
            return try await writer.respond(answer, by: service)
        }
        if mapsLinks { links.prepare() }
        if request.traits.has(.cacheControl) { removeIgnored(policy.ignoredRequest) }
        guard configuration.caches else {
            context.registry.pass(resource)
            return try await bypass(reason: .bypass)
        }
        // A request is decided again when the load it waited for did not match it, which can happen once for each load.
        for _ in 0..<8 {
            if try await step() { return }
            // Its client left while the load was awaited that decided nothing.
            guard !exchange.isEnded else { throw ClientGone() }
        }
        try await bypass(reason: .miss)
    }

    /// Removes the fields and parameters that the configuration ignores from the request, for both the cache and the
    /// origin.
    private func removeIgnored(_ ignored: IgnoredRequest) {
        guard !ignored.isEmpty, !request.editHead({ ignored.remove(from: &$0.fields) }).isEmpty else { return }
        request.traits.asksNotToStore = CacheControl.Request(request.head.fields).noStore
        if !request.head.fields.contains(.cacheControl), !request.head.fields.contains(.pragma) {
            request.traits.presence.remove(.cacheControl)
        }
    }

    /// Makes one decision and carries it out. False when the situation changed and must be decided anew.
    private mutating func step() async throws -> Bool {
        let memory = resource.memory
        var snapshot = memory.snapshot
        // True if the response was just read from the store, so that this is its first use.
        var isNew = false
        if !snapshot.isStoreRead, context.diskTier != nil || configuration.hasOwnCaches {
            await context.readStored(resource, service, configuration)
            snapshot = memory.snapshot
            if !snapshot.variants.isEmpty { context.registry.charge(resource) }
            isNew = true
        }
        if !snapshot.variants.isEmpty, snapshot.fingerprint != configuration.fingerprint,
            let variant = outdated(in: snapshot)
        {
            return try await retransform(variant)
        }
        self.snapshot = snapshot
        let plan = Plan.decide(request.head, snapshot.candidates, policy: policy, now: context.now()) { outlook }
        return try await carryOut(plan, snapshot, isNew: isNew)
    }

    /// - Parameter isNew: whether the response was just read from the store.
    mutating func carryOut(
        _ plan: Plan, _ snapshot: ResourceMemory.Snapshot, isNew: Bool
    ) async throws -> Bool {
        let memory = resource.memory
        if let wait = plan.wait { return try await serveMeanwhile(wait, plan, snapshot) }
        switch plan.action {
        case .answer(let selection):
            return try await answer(snapshot, selection, isNew: isNew)
        case .answerStale(let selection, let reason):
            if !isNew { memory.touch() }
            memory.count(hits: 1)
            writer.record.kind = .stale
            let variant = snapshot.variants[selection.index]
            if plan.refreshes { refresh(variant, in: snapshot) }
            return try await serve(variant, StoredUse(selection, detail: reason))
        case .validate(let selection, let reason):
            if !service.stages.onLookup.isEmpty, await askStages() { return false }
            try request.takeOriginPlace()
            return try await fetch(reason: reason, validating: snapshot.variants[selection.index])
        case .forward(let reason, let fallback):
            if !service.stages.onLookup.isEmpty, await askStages() { return false }
            try request.takeOriginPlace()
            return try await fetch(
                reason: reason, validating: nil, fallback: fallback.map { snapshot.variants[$0.index] },
                completing: plan.parts.map { snapshot.variants[$0] })
        case .refuse(.offline):
            throw await offlineProblem
        case .refuse(let reason):
            throw Problem.notStored(reason, uri: request.uri)
        }
    }

    /// Answers with a fresh stored variant.
    private func answer(
        _ snapshot: ResourceMemory.Snapshot, _ selection: ReuseDecision.Selection, isNew: Bool
    ) async throws -> Bool {
        let variant = snapshot.variants[selection.index]
        if !isNew { resource.memory.touch() }
        resource.memory.count(hits: 1)
        writer.record.kind = .hit
        if keyed != nil { countSavings(variant) }
        var use = StoredUse(selection)
        if let supply = states[StageSupply.self], supply.variant === variant {
            use.status.note(supply.detail)
            return try await serve(variant, use)
        }
        return try await serve(variant, use, Repeatable(snapshot, of: request))
    }

    /// Answers with a stored variant. False when its content turned out to be gone: to be decided anew.
    func serve(_ variant: Variant, _ use: StoredUse, _ repeatable: Repeatable? = nil) async throws -> Bool {
        var answer = StoredAnswer(lookup: self, variant: variant, use: use, repeatable: repeatable)
        return try await answer.send()
    }

    /// Answers from upstream without a cache lookup.
    mutating func bypass(reason: ForwardReason) async throws {
        let forwarding = Forwarding(exchange, service, reason: reason, lookup: self)
        if reason == .bypass { try forwarding.checkPassing(configuration) } else { try await checkAsking() }
        guard configuration.mayTransform, request.traits.method == .get else { return try await forwarding.run() }
        asksAlone = true
        try request.takeOriginPlace()
        // A load whose response this client cannot have decides nothing.
        if try await !fetch(reason: reason, validating: nil), !writer.hasResponded { try await forwarding.run() }
    }

    /// Starts a validation in the background, unless one is under way or has just ended, or the client has no place for
    /// it: then a later request does.
    private func refresh(_ variant: Variant, in snapshot: ResourceMemory.Snapshot) {
        guard successor == nil, let release = request.takeBackgroundPlace() else { return }
        let load = Load(for: self, validating: variant, isBackground: true)
        let joining = resource.memory.join(since: snapshot, where: { $0.isValidation }, orStart: { load.listed })
        switch joining {
        case .overtaken, .unshared: release()
        case .joined(let load):
            release()
            load.leave(load.share().read())
        case .started:
            load.whenEnded = release
            load.start()
        }
    }

    /// Counts the tokens that a model would have read and written for the stored response.
    private func countSavings(_ variant: Variant) {
        guard case .memory(let chunks, let length) = variant.content, length <= CacheLookup.savingsLimit,
            variant.served.status.isSuccess
        else { return }
        let octets = chunks.count == 1 ? Array(chunks[0].bytes) : chunks.flatMap(\.bytes)
        guard let usage = octets.withUnsafeBytes({ ModelUsage(in: $0) }) else { return }
        context.proxy.savings.add(usage, of: service.name)
    }

    /// Longer responses are not read for their cost, as other clients of the loop wait meanwhile.
    private static let savingsLimit = 1 << 20
}
