// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import Logging

/// A resource whose time has come: what is stored of it, and by which request it would be validated.
struct AheadLook {
    let target: AheadTarget
    let resource: Resource
    let configuration: EffectiveConfiguration
    private let version: UInt64
    private let snapshot: ResourceMemory.Snapshot
    private let index: Int
    var variant: Variant { snapshot.variants[index] }
    private let head: RequestHead

    /// Nil when nothing of it can be validated without a client.
    init?(_ entry: AheadQueue.Entry, on context: LoopContext) async {
        guard let service = context.configuration.router.table.numbered(entry.target.key.serviceNumber),
            service.base != nil
        else { return nil }
        let target = entry.target.of(service)
        let uri = target.subject.uri
        let registry = context.registry
        // A schedule also covers resources in the store alone; other modes cover requested or observed resources.
        guard
            service.configuration(for: uri, method: .get).refreshAhead.isScheduled
                || registry.resource(for: target.key) != nil
        else { return nil }
        let resource = registry.resource(for: target.key) { key in
            service.makeResource(key: key, partition: Larder.Partition(key.partitionName), url: uri)
        }
        let version = service.configurationVersion
        let configuration = service.configuration(for: resource)
        guard configuration.caches, configuration.refreshAhead != .off, service.allows(uri),
            context.configuration.router.table.hardWiredAnswer(toLoadOf: uri, of: service) == nil
        else { return nil }
        if !resource.memory.snapshot.isStoreRead, context.diskTier != nil || configuration.hasOwnCaches {
            await context.readStored(resource, service, configuration)
            registry.charge(resource)
        }
        let snapshot = resource.memory.snapshot
        let found = snapshot.variants.indices.lazy.compactMap { index -> (index: Int, fields: Fields)? in
            let variant = snapshot.variants[index]
            let sent = variant.stored.responseTime == entry.vouched ? Fields() : nil
            guard case .eligible(let fields) = target.eligibility(of: variant, sent: sent, configuration) else {
                return nil
            }
            return (index, fields)
        }.first
        guard let found else { return nil }
        var head = RequestHead(method: .get, target: uri.pathAndQuery, fields: found.fields)
        head.fields[.host] = uri.authority
        self.target = target
        self.resource = resource
        self.configuration = configuration
        self.version = version
        self.snapshot = snapshot
        index = found.index
        self.head = head
    }

    /// True if the origin may not be asked at the moment: it is offline or in backoff, its quota is used up, or the
    /// last load has just failed.
    func isHeld(on context: LoopContext) -> Bool {
        var outlook = LiveOutlook(
            proxy: context.proxy, proxyConfiguration: context.configuration, service: target.subject.service,
            configuration: configuration, uri: target.subject.uri, form: target.subject.form,
            spelling: target.subject.spelling, head: head, network: .machine)
        outlook.snapshot = snapshot
        outlook.takesProbe = false
        let plan = Plan.refreshing(
            index, of: snapshot.candidates, for: head, policy: configuration.policy, now: context.now(),
            outlook: outlook)
        return !plan.asksOrigin
    }

    /// Asks the origin, in one load with clients that request this resource. Returns true if it sent another response.
    func refresh(on context: LoopContext) async throws -> Bool {
        let load = Load(
            target.subject, resource: resource, head: head, configuration: configuration, version: version,
            validating: variant.stored.facts.hasValidator ? variant : nil, completing: nil, context: context,
            network: .machine)
        let joining = resource.memory.join(since: snapshot, where: load.mayJoin, orStart: { load.listed })
        switch joining {
        // Someone else has just done it.
        case .overtaken, .unshared: return false
        case .joined(let running): return try await AheadLook.isReplaced(by: running)
        case .started(let listed):
            load.start()
            return try await AheadLook.isReplaced(by: listed)
        }
    }

    private static func isReplaced(by load: ActiveLoad) async throws -> Bool {
        guard case .loaded(let status, _, _) = try await load.loadOutcome() else { return false }
        guard !status.isError else { throw OriginAnsweredError(status: status) }
        return true
    }
}

extension AheadRefresher {
    /// Looks at a resource whose time has come, and asks its origin where that is due.
    func look(at entry: AheadQueue.Entry, on context: LoopContext) async {
        guard let found = await AheadLook(entry, on: context) else { return }
        let standing = AheadRefresher.standing(
            found.variant, isObserved: context.proxy.events.isWatched(found.resource),
            uses: AheadRefresher.uses(found.resource.memory, since: entry))
        guard
            let delay = AheadRefresher.delay(found.configuration.refreshAhead, standing, entry.jitter, on: context)
        else { return }
        func again(in delay: Duration) {
            add(found.target, in: delay, vouched: entry.vouched, uses: entry.uses, entry.jitter, on: context)
        }
        if delay > .zero { return again(in: delay) }
        guard !found.isHeld(on: context) else {
            state.withLock { $0.counts.held += 1 }
            return again(in: AheadRefresher.pause)
        }
        do {
            let isReplaced = try await found.refresh(on: context)
            state.withLock { state in
                if isReplaced { state.counts.replaced += 1 } else { state.counts.validated += 1 }
            }
        } catch {
            state.withLock { $0.counts.failed += 1 }
            context.proxy.logger.debug(
                "a resource could not be refreshed ahead",
                metadata: ["url": "\(SecretText.logged(url: found.resource.key.plainURL))", "error": "\(error)"])
        }
        // A load that has stored or confirmed something has noted it.
        if state.withLock({ $0.queue.due(found.target.key) == nil }) { again(in: AheadRefresher.pause) }
    }
}
