// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// The place of a service's Resources in a daemon: the table that its clients are served from.
package struct ResourceHome: Sendable {
    package let registry: Registry
    /// The service's number in keys.
    package let number: UInt32
    private let invalidations: Invalidations

    package init(_ registry: Registry, number: UInt32, invalidations: Invalidations) {
        self.registry = registry
        self.number = number
        self.invalidations = invalidations
    }

    /// The Resource of a URL, whose state follows what clients bring about from now on.
    func resource(for url: TargetURI, in partition: Partition, of service: Service) -> Resource {
        var key = ResourceKey()
        key.set(service: number, partition: partition, url: url)
        let resource =
            registry.resource(for: key)
            ?? registry.resource(for: key) { key in
                if partition != .shared { invalidations.notePartitions(of: number) }
                let scope: Invalidations.Scope? =
                    partition == .shared ? nil : .resource(service: number, url: url.string)
                return Resource(
                    service: service, url: ResourceURL(url.compact), partition: partition, key: key.compact,
                    reach: ResourceMemory.Reach(invalidations, scope: scope, origin: url.origin))
            }
        if !resource.memory.isFollowed {
            resource.withProgram { _ in }
            if registry.followers.note() { removeOrphans() }
        }
        return resource
    }

    /// Has Resources be kept no longer for observers whose owners are gone.
    private func removeOrphans() {
        let followed = followed { _ in true }
        for resource in followed { resource.removeOrphans() }
        registry.followers.looked(at: followed.count)
    }

    /// The Resources of a service that a program looks at.
    func resources(of service: Service) -> [Resource] { followed { $0.service === service } }

    private func followed(where isWanted: (Resource) -> Bool) -> [Resource] {
        var found: [Resource] = []
        registry.forEach { if $0.memory.isFollowed, isWanted($0) { found.append($0) } }
        return found
    }
}
