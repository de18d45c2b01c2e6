// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
import LarderStores

/// Invalidation by writes (RFC 9111 §4.4, RFC 9875). The cost is constant: stored responses are not enumerated.
extension Proxy {
    package var invalidations: Invalidations { configuration.router.table.unclaimed.invalidations }

    /// Invalidates all responses stored for `uri`, in every partition of its service, and under all equivalent
    /// spellings (RFC 9110 §4.2.3).
    ///
    /// - Parameter spelling: path and query as a client wrote them, where that is not the normal form.
    package func invalidate(_ uri: TargetURI, spelling: [UInt8] = [], service: RoutedService) {
        // First, so that no stage supplies an older response meanwhile.
        announce(.url(uri, service))
        invalidateHere(uri, spelling: spelling, service: service)
    }

    /// Invalidates the responses in this daemon alone.
    package func invalidateHere(_ uri: TargetURI, spelling: [UInt8] = [], service: RoutedService) {
        var key = ResourceKey()
        key.set(service: service.number, partition: .shared, url: uri, spelling: spelling)
        // A load that ends in between is superseded; responses read from the store in between are wiped afterwards.
        if let resource = registry.resource(for: key) { wipe(resource, isInvalidation: true) }
        if let own = ownCaches(of: uri, service) {
            own.empty()
            if let resource = registry.resource(for: key) { wipe(resource, isInvalidation: true) }
        }
        if let diskTier {
            diskTier.removeAll(of: key.url, partition: .shared, service: service, because: .superseded)
            if let resource = registry.resource(for: key) { wipe(resource, isInvalidation: true) }
        }
        let scopes: [Invalidations.Scope] =
            service.hasPartitions ? [.resource(service: service.number, url: uri.string)] : []
        invalidate(scopes) { diskTier in
            diskTier.removePartitions(of: key.url, service: service.name)
            diskTier.removeSpellings(of: uri, service: service.name)
        }
    }

    /// Invalidates the members of groups, at one origin or, where that is nil, at all.
    package func invalidate(groups: [String], origin: String?) {
        for group in groups { announce(.group(group, origin: origin)) }
        invalidateHere(groups: groups, origin: origin)
    }

    /// The same in this daemon alone.
    package func invalidateHere(groups: [String], origin: String?) {
        invalidate(groups.map { .group($0, origin: origin) }) { diskTier in
            diskTier.removeAll(inGroups: groups, origin: origin)
        }
    }

    /// Before and after the store: a load that ends in between is superseded, and responses read from the store in
    /// between are removed afterwards.
    private func invalidate(_ scopes: [Invalidations.Scope], inStore remove: (DiskTier) -> Void) {
        invalidations.invalidate(scopes)
        guard let diskTier else { return }
        remove(diskTier)
        invalidations.invalidate(scopes)
    }
}
