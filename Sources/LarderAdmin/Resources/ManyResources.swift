// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderStores

/// Changes to all resources that a filter accepts, however many there are: memory is walked on a thread that serves
/// nobody, the disk in slices.
struct ManyResources {
    let proxy: Proxy
    let filter: ResourceFilter
    let walkers: WorkerPool

    struct Counts {
        var memory = 0
        var disk = 0
    }

    /// Has every use validated first. Counts resources in memory and variants on disk.
    func invalidate() async throws -> Counts {
        let proxy = proxy
        var counts = Counts()
        counts.memory = try await walk { resource, service in proxy.markStale(resource, service: service) > 0 }
        guard let storing = proxy.storing else { return counts }
        let table = proxy.configuration.router.table
        var row: Int64?
        while true {
            // The list has what is committed; and changes wait in memory until they are.
            await storing.store.flush()
            let slice = await storing.store.list(after: row, limit: 500, where: filter.match)
            var seen: Set<EntityKey> = []
            for entry in slice where seen.insert(entry.key).inserted {
                guard let url = ResourceURL(entry.key.url).target else { continue }
                let policy = table.serving(entry.key.service).configuration(for: url, method: .get).policy
                counts.disk += await storing.markStale(entry.key, policy: policy)
            }
            guard slice.count == 500 else { return counts }
            row = slice.last?.row
        }
    }

    /// Empties memory and, unless `keepsStored`, the store. Counts resources in memory and variants on disk.
    func wipe(keepsStored: Bool) async throws -> Counts {
        let proxy = proxy
        var counts = Counts()
        // The store first: whoever reads it now finds nothing that could come back into memory.
        if !keepsStored, let storing = proxy.storing {
            counts.disk = await storing.store.removeAll(where: filter.match)
        }
        counts.memory = try await walk { resource, _ in
            let snapshot = resource.memory.snapshot
            proxy.wipe(resource)
            return !snapshot.variants.isEmpty || snapshot.failure != nil
        }
        return counts
    }

    /// Calls `change` for each resource in memory that the filter accepts, and counts those for which it is true.
    private func walk(_ change: @escaping @Sendable (Resource, RoutedService) -> Bool) async throws -> Int {
        let (proxy, filter) = (proxy, filter)
        let services = proxy.configuration.router.table.byNumber
        return try await walkers.run {
            var count = 0
            proxy.registry.forEach { resource in
                guard let service = services[resource.key.serviceNumber],
                    filter.accepts(resource.url, service: service.name)
                else { return }
                if change(resource, service) { count += 1 }
            }
            return count
        }
    }
}
