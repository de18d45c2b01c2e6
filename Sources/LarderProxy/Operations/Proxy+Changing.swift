// SPDX-License-Identifier: Apache-2.0

package import Larder
import LarderHTTP
package import LarderRules
import LarderStores

/// The loads, reads and programs that an invalidation of a Resource concerns, besides its variants.
package enum InvalidationNote: Sendable {
    /// Loads and reads of the disk under way, and programs that look at it.
    case forAll
    /// Loads and reads of the disk under way, without programs, which know already.
    case forClients
    /// Reads of the disk under way.
    case forReads
    /// Equals `forAll` if a stored response is meant; else reads of the disk, and loads of responses of this group.
    case forGroup(String)
}

/// Changes by operators, to one resource in the shared partition. Other partitions are changed through lists of
/// resources.
extension Proxy {
    /// Marks a resource in memory out of date, and with it what loads and reads of the disk under way bring, as far as
    /// `noting` says. Returns how many variants changed.
    package func markStale(
        _ resource: Resource, service: RoutedService, noting: InvalidationNote = .forAll,
        where isMeant: (StoredResponse) -> Bool = { _ in true }
    ) -> Int {
        switch noting {
        case .forAll: resource.memory.noteInvalidation()
        case .forClients: resource.memory.noteInvalidation(isForPrograms: false)
        case .forReads: resource.memory.noteInvalidationOfReads()
        case .forGroup(let group):
            if resource.memory.snapshot.variants.contains(where: { isMeant($0.stored) }) {
                resource.memory.noteInvalidation()
            } else {
                resource.memory.noteInvalidation(ofGroup: group)
                resource.memory.noteInvalidationOfReads()
            }
        }
        let policy = service.configuration(for: resource).policy
        var changed = 0
        for variant in resource.memory.snapshot.variants
        where variant.stored.standing == .asReceived && isMeant(variant.stored) {
            let stale = variant.with(variant.stored.marked(.stale, policy: policy), via: ProxyConfiguration.via)
            if resource.memory.replace(variant, by: stale) { changed += 1 }
        }
        if changed > 0 || resource.memory.snapshot.variants.isEmpty { ownCaches(of: resource, service)?.expire() }
        return changed
    }

    /// Requires validation before each use of the stored responses for `subject`; they are still served when the origin
    /// fails. Returns how many variants changed.
    package func invalidate(_ subject: ResourceSubject) async throws(StoreUnavailable) -> Int {
        let service = subject.service
        let policy = service.configuration(for: subject.uri, method: subject.method).policy
        let key = subject.key(in: .shared)
        announce(.url(subject.uri, service))
        ownCaches(of: subject.uri, service)?.expire()
        let inMemory = registry.resource(for: key).map { markStale($0, service: service) } ?? 0
        let entity = EntityKey(
            service: service.name, partition: Larder.Partition.shared.name, stage: DiskTier.stage, url: key.url)
        let onDisk = try await diskTier?.markStale(entity, policy: policy) ?? 0
        // Repeated, for responses read from the store in between.
        if onDisk > 0 { _ = registry.resource(for: key).map { markStale($0, service: service, noting: .forClients) } }
        await diskTier?.store.flush()
        return max(inMemory, onDisk)
    }

    /// True if what is stored for a resource is kept from eviction.
    package func isPinned(_ subject: ResourceSubject, in partition: Larder.Partition) -> Bool {
        guard let diskTier, diskTier.store.hasPins else { return false }
        return diskTier.isPinned(
            EntityKey(
                service: subject.service.name, partition: partition.name, stage: DiskTier.stage, url: subject.url))
    }

    /// Removes the pins of a resource in all partitions.
    package func unpin(_ subject: ResourceSubject) async {
        guard let diskTier, diskTier.store.hasPins, let pins = await diskTier.store.pins() else { return }
        let keys = pins.map(\.key).filter { $0.service == subject.service.name && $0.url == subject.url }
        _ = await diskTier.store.unpin(keys)
    }

    /// Empties a resource: in memory, and in the store unless `keepsStored`. Returns how many variants there were.
    package func wipe(_ subject: ResourceSubject, keepsStored: Bool) async -> Int {
        let service = subject.service
        let configuration = service.configuration(for: subject.uri, method: subject.method)
        let key = subject.key(in: .shared)
        if !keepsStored { announce(.url(subject.uri, service)) }
        var count = registry.resource(for: key)?.memory.snapshot.variants.count ?? 0
        if let resource = registry.resource(for: key) { wipe(resource) }
        registry.forgetUnstored(for: key)
        if !keepsStored, let diskTier {
            count = max(
                count,
                await diskTier.peek(key.url, partition: .shared, service: service.name, configuration).count)
            if count == 0, configuration.history > 0 {
                // Superseded versions may be all there is.
                let versions = await diskTier.versions(
                    of: key.url, partition: .shared, service: service.name, configuration)
                count = min(versions.count, 1)
            }
            diskTier.removeAll(of: key.url, partition: .shared, service: service, because: .wiped)
            await diskTier.store.flush()
        }
        if !keepsStored { ownCaches(of: subject.uri, service)?.empty() }
        // Repeated, for responses read from the store in between.
        if let resource = registry.resource(for: key) { wipe(resource) }
        return count
    }

    /// Cancels the loads under way of a resource; waiting clients get an error. Returns how many there were.
    package func cancelLoads(of subject: ResourceSubject) -> Int {
        let loads = registry.resource(for: subject.key(in: .shared))?.memory.loads ?? []
        for load in loads { load.cancel() }
        return loads.count
    }
}
