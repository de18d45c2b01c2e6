// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderIO

/// The overridden resources, to limit the memory that is exempt from eviction.
final class Overrides: Sendable {
    private let places = Lock<[ResourceKey: Int]>([:])
    private let limit: Int

    init(limit: Int = 1_024) { self.limit = limit }

    /// Overrides a resource. False when there are too many overrides, or all of them would exceed a quarter of the
    /// memory.
    ///
    /// - Parameters:
    ///   - entity: the data for programs; by default the bytes for clients.
    ///   - generation: how many wipes of the resource there may have been.
    func place(
        _ variant: Variant, in resource: Resource, of registry: Registry, entity: AnyEntity? = nil,
        since generation: UInt64? = nil
    ) -> Bool {
        places.withLock { places in
            places = places.filter { key, _ in
                key != resource.key && registry.resource(for: key)?.memory.isOverridden == true
            }
            let octets = places.values.reduce(variant.cost, +)
            guard places.count < limit, octets <= registry.limit / 4 else { return false }
            guard resource.memory.override(with: variant, entity: entity, since: generation) else { return false }
            places[resource.key.compact] = variant.cost
            registry.charge(resource)
            return true
        }
    }
}
