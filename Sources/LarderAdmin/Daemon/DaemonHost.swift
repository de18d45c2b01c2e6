// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderIO
import LarderProxy
import LarderRules
import LarderStores
import Logging

/// Forwards a program's operations on its services to the daemon.
///
/// A program refers to a service by the value it configures, and gets a new value each time the configuration is read.
/// All of these values represent the current service of that name.
final class DaemonHost: ServiceHost {
    private let daemon = Expected<Daemon>()
    private let walkers = Lock<WorkerPool?>(nil)

    /// Services are created before the daemon that serves them, which then does what they have asked for.
    func attach(_ daemon: Daemon) { self.daemon.fulfil(daemon) }

    /// There will be no daemon: what has been asked for is not done.
    func giveUp() { daemon.giveUp() }

    /// True if the daemon is there; if not, it does `operation` later.
    private func isThere(orLater operation: @escaping @Sendable () -> Rest?, of service: Service) -> Bool {
        if daemon.value != nil { return true }
        daemon.whenThere { _ in if let rest = operation() { service.whileHosted(rest) } }
        return false
    }

    func wipe(
        _ service: Service, _ scope: Resource.WipeScope, where isMatch: @escaping @Sendable (Resource) -> Bool
    ) -> Rest? {
        guard isThere(orLater: { self.wipe(service, scope, where: isMatch) }, of: service),
            let (proxy, routed) = place(of: service)
        else { return nil }
        guard scope == .memoryAndCaches else {
            proxy.wipeInMemory(routed, where: isMatch)
            return nil
        }
        proxy.wipe(routed, where: isMatch)
        return { await proxy.diskTier?.store.flush() }
    }

    func invalidate(_ service: Service, matching pattern: GlobPattern) -> Rest? {
        guard isThere(orLater: { self.invalidate(service, matching: pattern) }, of: service),
            let (proxy, routed) = place(of: service)
        else { return nil }
        proxy.markStaleInMemory(routed, matching: pattern)
        let filter = ResourceFilter(pattern, service: routed.name, table: proxy.configuration.router.table)
        let many = ManyResources(proxy: proxy, selection: .matching(filter), walkers: walker())
        many.selection.tell(proxy)
        let now = proxy.now
        return {
            do {
                _ = try await many.invalidateStored(until: now)
            } catch {
                proxy.logger.warning(
                    "some on disk stays up to date: \(error)",
                    metadata: ["service": "\(routed.name)"])
            }
        }
    }

    func reloadAfterRecovery(_ service: Service) -> Rest? {
        guard let (proxy, routed) = place(of: service) else { return nil }
        return { await proxy.reloadFailed(of: routed) }
    }

    /// Deferred if it is called while the configuration is being made.
    func configurationIsInvalid(of service: Service) -> Rest? {
        guard let daemon = daemon.value else { return nil }
        let name = service.name
        let isDeferred = daemon.isConfiguring
        if !isDeferred { daemon.configureAgain(name) }
        return {
            if isDeferred { daemon.configureAgain(name) }
            await daemon.proxy.settle()
        }
    }

    // MARK: One resource

    private var proxy: Proxy? { daemon.value?.proxy }

    private func whenThere(_ operation: @escaping @Sendable (Proxy) -> Void) {
        daemon.whenThere { operation($0.proxy) }
    }

    func plan(for resource: Resource, by snapshot: ResourceMemory.Snapshot) -> Plan? {
        proxy?.plan(for: resource, by: snapshot)
    }

    func load(
        _ resource: Resource, as id: LoadID?, within work: DecoratorsWork, onlyIfNeeded: Bool,
        validating basis: AnyEntity?, began: @escaping @Sendable (ActiveLoad, Int) -> Void
    ) async -> ResponseInfo? {
        await daemon.wait()?.proxy.running.wait()?.load(
            resource, as: id, within: work, onlyIfNeeded: onlyIfNeeded, validating: basis, began: began)
    }

    func content(of resource: Resource) async -> AnyEntity? { await proxy?.content(of: resource) }

    func override(_ resource: Resource, with entity: AnyEntity, since generation: UInt64?) -> Bool {
        guard daemon.value != nil else {
            whenThere { _ = $0.override(resource, with: entity, since: generation) }
            return false
        }
        return proxy?.override(resource, with: entity, since: generation) ?? false
    }

    func invalidate(_ resource: Resource) {
        whenThere { proxy in
            proxy.invalidate(resource)
            let now = proxy.now
            resource.service.whileHosted { await proxy.invalidateStored(resource, until: now) }
        }
    }

    func wipe(_ resource: Resource, _ scope: Resource.WipeScope) { whenThere { $0.wipe(resource, scope) } }

    private func place(of service: Service) -> (proxy: Proxy, service: RoutedService)? {
        guard let proxy, let routed = proxy.configuration.router.table.named(service.name) else { return nil }
        return (proxy, routed)
    }

    private func walker() -> WorkerPool {
        walkers.withLock { pool in
            if let pool { return pool }
            let made = WorkerPool(name: "larder-host", threads: 1, queueLimit: 32)
            pool = made
            return made
        }
    }
}
