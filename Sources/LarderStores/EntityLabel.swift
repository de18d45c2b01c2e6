// SPDX-License-Identifier: Apache-2.0

/// Something that several entities have in common and are found by together: a URL that many partitions hold, a
/// group. Two labels may share a hash, so whoever acts on one says besides where its entities are.
package struct EntityLabel: Hashable, Sendable {
    /// The first eight octets of the SHA-256 of what the label says.
    package let hash: UInt64

    /// Entities of one service, stage and URL in partitions.
    package static func url(_ url: String, service: String, stage: String) -> EntityLabel {
        EntityLabel(["url", service, stage, url])
    }

    /// Entities of one service and stage whose URLs mean that one and are written in another way.
    package static func spelling(of url: String, service: String, stage: String) -> EntityLabel {
        EntityLabel(["spelling", service, stage, url])
    }

    /// Members of the group of that name, at any origin.
    package static func group(_ name: String) -> EntityLabel { EntityLabel(["group", name]) }

    /// The label of what lies in a partition; nil for what everyone shares.
    package static func partitioned(_ key: EntityKey) -> EntityLabel? {
        key.partition.isEmpty ? nil : .url(key.url, service: key.service, stage: key.stage)
    }

    private init(_ parts: [String]) {
        var bytes: [UInt8] = []
        for part in parts {
            bytes.append(contentsOf: part.utf8)
            bytes.append(0)
        }
        hash = ContentDigest(of: bytes).prefix
    }
}
