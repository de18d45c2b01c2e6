// SPDX-License-Identifier: Apache-2.0

/// A property that several entities share and are found by: a URL in many partitions, a group. Two labels may share a
/// hash, so operations by label also check the entities' keys.
package struct EntityLabel: Hashable, Sendable {
    /// The first eight bytes of the SHA-256 of the label.
    package let hash: UInt64

    /// Entities of one service, stage and URL in partitions.
    package static func url(_ url: String, service: String, stage: String) -> EntityLabel {
        EntityLabel(["url", service, stage, url])
    }

    /// Entities of one service and stage whose URLs are equivalent to this one but spelled differently.
    package static func spelling(of url: String, service: String, stage: String) -> EntityLabel {
        EntityLabel(["spelling", service, stage, url])
    }

    /// Members of the group with that name, at any origin.
    package static func group(_ name: String) -> EntityLabel { EntityLabel(["group", name]) }

    /// The label of an entity in a partition; nil for shared ones.
    package static func partitioned(_ key: EntityKey) -> EntityLabel? {
        key.partition.isEmpty ? nil : .url(key.url, service: key.service, stage: key.stage)
    }

    /// A label as the store has it.
    init(hash: UInt64) { self.hash = hash }

    private init(_ parts: [String]) {
        var bytes: [UInt8] = []
        for part in parts {
            bytes.append(contentsOf: part.utf8)
            bytes.append(0)
        }
        hash = ContentDigest(of: bytes).prefix
    }
}
