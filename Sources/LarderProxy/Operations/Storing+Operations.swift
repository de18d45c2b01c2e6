// SPDX-License-Identifier: Apache-2.0

package import Larder
import LarderHTTP
package import LarderRules
package import LarderStores

/// What operators ask of the store, beside the requests of clients.
extension Storing {
    package static let stage = "rawData"

    /// What is stored for a URL, newest first, without bringing it into memory.
    package func peek(
        _ url: String, partition: Larder.Partition, service: String, policy: CachePolicy
    ) async -> [Variant] {
        let key = EntityKey(service: service, partition: partition.name, stage: Storing.stage, url: url)
        return await store.read(key).compactMap { variant(of: $0, policy: policy) }
    }

    package func mayContain(_ url: String, partition: Larder.Partition, service: String) -> Bool {
        store.mayContain(EntityKey(service: service, partition: partition.name, stage: Storing.stage, url: url))
    }

    /// Has every use of what is stored under `key` validated first. Returns how many variants changed.
    package func markStale(
        _ key: EntityKey, policy: CachePolicy, where isMeant: (StoredResponse) -> Bool = { _ in true }
    ) async -> Int {
        var changed = 0
        for record in await store.read(key) {
            guard let variant = variant(of: record, policy: policy), variant.stored.standing == .asReceived,
                isMeant(variant.stored)
            else {
                continue
            }
            let stale = variant.stored.marked(.stale, policy: policy)
            store.updateHead(
                key, variant: record.variant,
                head: StoredResponseCoding.encode(stale, normalises: policy.normalisedVary),
                requestTime: record.requestTime, responseTime: record.responseTime, expires: record.expires,
                ifStoredAt: record.storedAt)
            changed += 1
        }
        return changed
    }
}
