// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// Who serves a service's resources to others, and so holds more of them than the service does: the daemon.
///
/// What is said to a service about all of its resources is said to its host too. Each call does at once what can be done
/// in memory; what is returned does the rest, and its end can be waited for (`Service.finishCacheWork`).
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
    /// Has what is said about all resources reach `host` too, from now on.
    package func attach(_ host: any ServiceHost) { self.host.withLock { $0 = host } }

    func tellHost(_ tell: (any ServiceHost) -> ServiceHost.Rest?) {
        // The host may look at this service while it is told.
        guard let host = host.withLock({ $0 }), let rest = tell(host) else { return }
        cacheWork.perform(rest)
    }
}
