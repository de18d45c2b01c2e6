// SPDX-License-Identifier: Apache-2.0

package import Larder
import LarderHTTP
package import LarderRules
package import LarderStores

/// Operators' access to the store.
extension DiskTier {
    /// The responses stored for a URL, newest first, without loading them into memory.
    package func peek(
        _ url: String, partition: Larder.Partition, service: String, _ configuration: EffectiveConfiguration
    ) async -> [Variant] {
        func records(_ stage: String) async -> [EntityRecord] {
            let key = EntityKey(service: service, partition: partition.name, stage: stage, url: url)
            return (try? await store.read(key)) ?? []
        }
        let renditions = configuration.mayTransform ? await records(DiskTier.servedStage) : []
        return variants(of: await records(DiskTier.stage), renditions: renditions, configuration)
    }

    package func mayContain(_ url: String, partition: Larder.Partition, service: String) -> Bool {
        store.mayContain(EntityKey(service: service, partition: partition.name, stage: DiskTier.stage, url: url))
    }

    /// True if what is stored for a resource is kept from eviction.
    package func isPinned(_ resource: Resource, service: RoutedService) -> Bool {
        store.hasPins && store.isPinned(key(of: resource, service))
    }

    /// The same by the key of any of its stages.
    package func isPinned(_ key: EntityKey) -> Bool {
        guard key.stage != DiskTier.stage else { return store.isPinned(key) }
        return store.isPinned(
            EntityKey(service: key.service, partition: key.partition, stage: DiskTier.stage, url: key.url))
    }

    /// Requires validation before each use of the responses stored under `key`. Returns how many variants changed.
    package func markStale(
        _ key: EntityKey, policy: CachePolicy, where isMeant: (StoredResponse) -> Bool = { _ in true }
    ) async throws(StoreUnavailable) -> Int {
        var changed = 0
        for record in try await store.read(key) {
            guard let variant = variant(of: record, policy: policy), variant.stored.standing == .asReceived,
                isMeant(variant.stored)
            else {
                continue
            }
            let stale = variant.stored.marked(.stale, policy: policy)
            store.updateHead(
                key, variant: record.variant,
                head: StoredResponseCoding.encode(stale, pace: variant.pace),
                requestTime: record.requestTime, responseTime: record.responseTime, expires: record.expires,
                ifStoredAt: record.storedAt)
            changed += 1
        }
        return changed
    }
}
