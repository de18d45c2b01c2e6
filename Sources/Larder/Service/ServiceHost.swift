// SPDX-License-Identifier: Apache-2.0

import LarderIO

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
}

extension Service {
    /// Passes operations on all resources to `host` too, from now on.
    package func attach(_ host: any ServiceHost) { self.host.withLock { $0 = host } }

    func tellHost(_ tell: (any ServiceHost) -> ServiceHost.Rest?) {
        // The host may access this service during the call.
        guard let host = host.withLock({ $0 }), let rest = tell(host) else { return }
        cacheWork.perform(rest)
    }
}
