// SPDX-License-Identifier: Apache-2.0

import LarderIO
package import LarderRules

/// The host of a service, which serves its resources to others and has more of their state than the service: the
/// daemon.
///
/// Operations on all resources of a service are passed to its host too. Each call performs the part in memory at once;
/// the returned operation does the rest, and can be awaited (`Service.finishCacheWork`).
package protocol ServiceHost: Sendable {
    typealias Rest = @Sendable () async -> Void

    func wipe(
        _ service: Service, _ scope: Resource.WipeScope, where isMatch: @escaping @Sendable (Resource) -> Bool
    ) -> Rest?
    func invalidate(_ service: Service, matching pattern: GlobPattern) -> Rest?
    func reloadAfterRecovery(_ service: Service) -> Rest?
    func configurationIsInvalid(of service: Service) -> Rest?

    // MARK: One resource

    /// The plan for the request of a client for a resource that would be asked for by `load`; nil where no client gets
    /// anything. Called without the resource's lock.
    ///
    /// - Parameter snapshot: what is in memory for clients.
    func plan(for resource: Resource, by snapshot: ResourceMemory.Snapshot) -> Plan?
    /// Loads a resource as its clients would; nil where they would get nothing that is kept. The outcome is in memory
    /// for them by then.
    ///
    /// - Parameters:
    ///   - id: the load in the Resource's state, which ends with the load; nil for one that is not in it.
    ///   - work: the work of decorators that asks for the load.
    ///   - onlyIfNeeded: whether it is decided like a plain request of a client, or else like one with `no-cache`.
    ///   - basis: the data to validate.
    ///   - began: receives the load, and the number of the caller as its reader, to follow or interrupt.
    func load(
        _ resource: Resource, as id: LoadID?, within work: DecoratorsWork, onlyIfNeeded: Bool,
        validating basis: AnyEntity?,
        began: @escaping @Sendable (ActiveLoad, Int) -> Void
    ) async -> ResponseInfo?
    /// The data that is made of what clients get from memory or store; nil if there is none, or it cannot be made.
    func content(of resource: Resource) async -> AnyEntity?
    /// Gives clients this content; false when they cannot get it, or there were more wipes than `generation` says.
    func override(_ resource: Resource, with entity: AnyEntity, since generation: UInt64?) -> Bool
    func invalidate(_ resource: Resource)
    func wipe(_ resource: Resource, _ scope: Resource.WipeScope)
}

extension Service {
    /// Performs work of the host that `finishCacheWork` waits for.
    package func whileHosted(_ work: @escaping ServiceHost.Rest) { cacheWork.perform(work) }

    /// Passes operations on all resources to `host` too, from now on.
    package func attach(_ host: any ServiceHost) { self.host.withLock { $0 = host } }

    func tellHost(_ tell: (any ServiceHost) -> ServiceHost.Rest?) {
        // The host may access this service during the call.
        guard let host = host.withLock({ $0 }), let rest = tell(host) else { return }
        cacheWork.perform(rest)
    }
}
