// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
import LarderIO
import LarderShared
import LarderStores
import Logging

/// The keys of what is shared with other daemons, and the invalidations that they tell of.
extension Proxy {
    /// The key in the engine of what is shared for a URL. Nil where nothing is shared with other daemons, and
    /// `.some(nil)` where this URL is not.
    package func sharedKey(
        of uri: TargetURI, in partition: Larder.Partition, for fields: Fields, _ service: RoutedService,
        _ configuration: EffectiveConfiguration
    ) -> String?? {
        guard let sharing else { return nil }
        let key = sharing.rules.key(of: uri, in: partition, for: fields, service, configuration, sharing.state)
        return .some(key.map { String(decoding: sharing.state.keys.index($0), as: UTF8.self) })
    }

    // MARK: Being told

    /// Follows the log of invalidations from one of the loops.
    func follow(_ sharing: Sharing, on contexts: [LoopBound<LoopContext>]) async {
        guard let context = contexts.first else { return }
        let log = try? await context.perform { context in
            let connector = context.loop.makeConnectorHere()
            let effects = SharedLog.Effects(
                obey: { [weak self] in await self?.obey($0) },
                forgetAll: { [weak self] in await self?.forgetShared() },
                reached: { [weak self, loop = context.loop] place in
                    guard let self else { return }
                    sharing.reached(place, on: loop, writers: walkers) { [weak self] in
                        guard let store = self?.diskTier?.store else { return false }
                        await store.flush()
                        return await store.removalsEnd() && store.statistics.state == .open
                    }
                })
            let log = SharedLog(
                sharing.state, on: context.loop,
                reader: sharing.makeEngine(on: context.loop, connector, logger: context.proxy.logger),
                writer: sharing.makeEngine(on: context.loop, connector), from: sharing.place,
                effects: effects)
            log.start()
            return LoopBound(log, on: context.loop)
        }
        guard let log else { return }
        sharing.attach(
            Sharing.LogAccess(send: { log.execute { $0.send() } }, close: { log.execute { $0.close() } }))
    }

    private func obey(_ subject: LogMessage.Subject) async {
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
                    // Of URLs that no service claims, a relative pattern is about each host.
                    let base =
                        service.base ?? (glob.isAbsolute ? nil : url.target.flatMap { try? TargetURI($0.origin + "/") })
                    return glob.predicate(relativeTo: base)(url)
                }
            }
        }
    }

    /// Drops what is shared from memory, and uses nothing of it that the disk has: an invalidation may have been
    /// missed.
    private func forgetShared() async {
        guard let sharing else { return }
        sharing.forget(storedBefore: now)
        let table = configuration.router.table
        let numbers = Set(table.all.filter { sharing.rules.allows($0) }.map(\.number))
        try? await walkers.run { [self] in
            registry.forEach { resource in
                if numbers.contains(resource.key.serviceNumber) { wipe(resource, isInvalidation: true) }
            }
        }
    }
}
