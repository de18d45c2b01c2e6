// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
package import LarderIO
package import LarderProxy
package import LarderSettings
import LarderShared
import LarderStores
package import Logging

/// The shared tier as a feature of the daemon: its part in requests, its state of each loop, and what it tells other
/// daemons and hears from them.
extension Sharing: Feature {
    package func stage(for settings: ServiceSettings, isUnclaimed: Bool) -> Stage? {
        guard rules.mayAllow(settings, isUnclaimed: isUnclaimed) else { return nil }
        var stage = Stage()
        stage.floor = floor
        stage.onLookup = { lookup, states in
            guard let sharing = lookup.loop.states[LoopSharing.self] else { return false }
            return await SharedReading(lookup: lookup, sharing: sharing).find(&states)
        }
        stage.onSend = { load in
            guard let sharing = load.loop.states[LoopSharing.self] else { return nil }
            var asking = SharedAsking(load, sharing)
            return await asking.run().map { StageSupply($0, detail: SharingRules.detail) }
        }
        stage.onResponse = { SharedTurn.hear(of: $0) }
        stage.onEnd = { load in load.states[SharedTurn.self]?.giveUp() }
        return stage
    }

    package func loopBegins(_ loop: EventLoop, _ states: inout StageStates, _ logger: Logger) {
        states[LoopSharing.self] = LoopSharing(self, on: loop, loop.makeConnectorHere(), logger)
    }

    package func loopEnds(_ states: StageStates) { states[LoopSharing.self]?.close() }

    package func begin(on proxy: Proxy, _ loop: EventLoop) async { await follow(for: proxy, on: loop) }

    package func end() { detach() }

    /// Sends an invalidation to the other daemons.
    package func hear(_ invalidation: OwnInvalidation, at monotonicNow: Int64) {
        let subject: LogMessage.Subject
        switch invalidation {
        case .url(let uri, let service):
            guard rules.allows(service), service.base != nil || !SharingRules.isOwn(uri), !SharingRules.hasSecret(uri)
            else { return }
            let key = SharingRules.key(of: uri, service)
            subject = .url(key.url, service: key.service, base: key.base)
        case .group(let group, let origin): subject = .scope(.group(group, origin: origin), .random())
        case .patterns(let patterns, let service):
            guard rules.allows(service) else { return }
            let (name, base) = (service.name, service.base?.string ?? "")
            subject =
                patterns.map { .patterns($0.map(\.text), service: name, base: base, .random()) }
                ?? .scope(.service(name: name, base: base), .random())
        case .everything: subject = .scope(.everything, .random())
        }
        post(subject, at: monotonicNow)
    }
}

extension Proxy {
    /// This daemon's part in the shared tier; nil if it shares no responses with other daemons.
    package var sharing: Sharing? { feature(Sharing.self) }
}

/// The keys of what is shared with other daemons, and the invalidations that they tell of.
extension Proxy {
    /// The engine's key of the shared responses for a URL. Nil if this daemon shares no responses, and `.some(nil)` if
    /// it does not share this URL.
    package func sharedKey(
        of uri: TargetURI, in partition: Larder.Partition, for fields: Fields, _ service: RoutedService,
        _ configuration: EffectiveConfiguration
    ) -> String?? {
        guard let sharing else { return nil }
        let key = sharing.rules.key(of: uri, in: partition, for: fields, service, configuration, sharing.state)
        return .some(key.map { String(decoding: sharing.state.keys.index($0), as: UTF8.self) })
    }
}

/// Invalidations by other daemons.
extension Sharing {
    /// Follows the log of invalidations from one of the loops.
    private func follow(for proxy: Proxy, on loop: EventLoop) async {
        let log = await loop.perform { self.makeLog(for: proxy, on: $0) }
        attach(LogAccess(send: { log.execute { $0.send() } }, close: { log.execute { $0.close() } }))
    }

    private func makeLog(for proxy: Proxy, on loop: EventLoop) -> LoopBound<SharedLog> {
        let connector = loop.makeConnectorHere()
        let effects = SharedLog.Effects(
            obey: { [weak proxy] in await proxy?.obey($0) },
            forgetAll: { [weak proxy] in await proxy?.forgetShared() },
            reached: { [weak proxy] place in
                guard let proxy else { return }
                self.reached(place, on: loop, writers: proxy.walkers) { [weak proxy] in
                    guard let store = proxy?.diskTier?.store else { return false }
                    await store.flush()
                    return await store.removalsEnd() && store.statistics.state == .open
                }
            })
        let log = SharedLog(
            state, on: loop, reader: makeEngine(on: loop, connector, logger: proxy.logger),
            writer: makeEngine(on: loop, connector), from: place, effects: effects)
        log.start()
        return LoopBound(log, on: loop)
    }
}

extension Proxy {
    fileprivate func obey(_ subject: LogMessage.Subject) async {
        let table = configuration.router.table
        func service(_ name: String, _ base: String) -> RoutedService? {
            table.all.first { $0.name == name && ($0.base?.string ?? "") == base }
        }
        switch subject {
        case .beginning: break
        case .url(let url, let name, let base):
            guard let service = service(name, base), let uri = try? TargetURI(String(decoding: url, as: UTF8.self))
            else { return }
            invalidateHere(uri, service: service)
        case .scope(.group(let group, let origin), _): invalidateHere(groups: [group], origin: origin)
        case .scope(.service(let name, let base), _):
            if let service = service(name, base) { await forget(service) }
        case .scope(.everything, _): for service in table.all { await forget(service) }
        case .patterns(let patterns, let name, let base, _):
            guard let service = service(name, base) else { return }
            let globs = patterns.compactMap { try? GlobPattern($0) }
            guard globs.count == patterns.count else { return await forget(service) }
            await forget(service) { url in
                globs.contains { glob in
                    // For URLs that no service claims, a relative pattern applies to each host.
                    let base =
                        service.base ?? (glob.isAbsolute ? nil : url.target.flatMap { try? TargetURI($0.origin + "/") })
                    return glob.predicate(relativeTo: base)(url)
                }
            }
        }
    }

    /// Drops what is shared from memory, and uses nothing of it that the disk has: an invalidation may have been
    /// missed.
    fileprivate func forgetShared() async {
        guard let sharing else { return }
        sharing.floor.raise(to: now)
        let table = configuration.router.table
        let numbers = Set(table.all.filter { sharing.rules.allows($0) }.map(\.number))
        try? await walkers.run { [self] in
            registry.forEach { resource in
                if numbers.contains(resource.key.serviceNumber) { wipe(resource, isInvalidation: true) }
            }
        }
    }
}
