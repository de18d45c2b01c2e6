// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
import LarderStores

/// What a write makes unusable (RFC 9111 §4.4, RFC 9875). Costs the same whatever it concerns: nothing is walked.
extension Proxy {
    package var invalidations: Invalidations { configuration.router.table.unclaimed.invalidations }

    /// Makes everything stored for `uri` unusable, in every partition of its service.
    ///
    /// - Parameter spelling: path and query as a client wrote them, where that is not the normal form.
    package func invalidate(_ uri: TargetURI, spelling: [UInt8] = [], service: RoutedService) {
        var key = ResourceKey()
        key.set(service: service.number, partition: .shared, url: uri, spelling: spelling)
        if let resource = registry.resource(for: key) { wipe(resource) }
        storing?.removeAll(of: key.url, partition: .shared, service: service)
        invalidatePartitions(of: key.url, service: service)
    }

    /// The same for the partitions alone.
    func invalidatePartitions(of url: String, service: RoutedService) {
        // Memory first: what the store gives to those who ask it now is dropped when it gets there.
        if service.hasPartitions { service.invalidations.invalidate([.resource(service: service.number, url: url)]) }
        storing?.removePartitions(of: url, service: service.name)
    }

    /// Makes the members of groups unusable, at one origin or, where that is nil, at all.
    package func invalidate(groups: [String], origin: String?) {
        invalidations.invalidate(groups.map { .group($0, origin: origin) })
        for group in groups { storing?.removeAll(inGroup: group, origin: origin) }
    }
}
