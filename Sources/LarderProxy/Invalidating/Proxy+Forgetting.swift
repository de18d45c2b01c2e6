// SPDX-License-Identifier: Apache-2.0

package import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderStores
import Logging

extension Proxy {
    /// Invalidates all stored responses that `patterns` match, in every partition of the service. Memory is searched on
    /// a background thread.
    func forget(_ patterns: [GlobPattern], of service: RoutedService) async {
        announce(.patterns(patterns, service))
        let predicates = patterns.map { $0.predicate(relativeTo: service.base) }
        await forget(service) { url in predicates.contains { $0(url) } }
    }

    /// The same for the URLs that `isMatch` accepts.
    package func forget(
        _ service: RoutedService, where isMatch: @escaping @Sendable (ResourceURL) -> Bool = { _ in true }
    ) async {
        // Memory first: loads under way are not stored after it. Then the store; and memory again, for responses read
        // from the store meanwhile.
        await forgetInMemory(service, isMatch)
        guard let diskTier else { return }
        _ = await diskTier.store.removeAll(
            where: EntityMatch(
                service: service.name, stage: DiskTier.stage, predicate: { isMatch(ResourceURL($0.url)) }),
            because: .superseded)
        await forgetInMemory(service, isMatch)
    }

    /// Empties a Resource's memory.
    ///
    /// - Parameter isInvalidation: whether programs that look at it keep their data, as out of date.
    package func wipe(_ resource: Resource, isInvalidation: Bool = false) {
        resource.memory.wipe(storeIsEmpty: false, isInvalidation: isInvalidation)
        registry.charge(resource, content: 0)
    }

    private func forgetInMemory(
        _ service: RoutedService, _ isMatch: @escaping @Sendable (ResourceURL) -> Bool
    ) async {
        let number = service.number
        do {
            try await walkers.run { [self] in
                registry.forEach { resource in
                    guard resource.key.serviceNumber == number, isMatch(resource.url) else { return }
                    wipe(resource, isInvalidation: true)
                }
            }
        } catch {
            logger.warning("too many walks through memory; some stays stored", metadata: ["service": "\(service.name)"])
        }
    }
}
