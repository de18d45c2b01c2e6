// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
import LarderRules
import LarderStores

/// A stored or superseded response, as the origin sent it.
package struct ResponseVersion: Sendable {
    /// Names it for good. Grows with the time of writing.
    package let number: Int64
    package let variant: Variant
    /// When this content was first stored, without other content in between.
    package let since: Timestamp
    package let isCurrent: Bool
    /// Equal for equal content.
    package let digest: String

    /// When the origin sent it last, or said that it had not changed.
    package var lastSeen: Timestamp { variant.stored.responseTime }
}

extension DiskTier {
    /// How many responses `versions` has for each of these resources.
    package func versionCounts(
        of resources: [(url: String, partition: Larder.Partition, service: String)]
    ) async -> [Int] {
        await store.versionCounts(
            resources.map {
                EntityKey(service: $0.service, partition: $0.partition.name, stage: DiskTier.stage, url: $0.url)
            })
    }

    /// The responses stored under a URL and the responses that they superseded, the latest first.
    ///
    /// - Parameter number: the version whose content can be read; the content of other versions cannot.
    package func versions(
        of url: String, partition: Larder.Partition, service: String, _ configuration: EffectiveConfiguration,
        readable number: Int64? = nil
    ) async -> [ResponseVersion] {
        let key = EntityKey(service: service, partition: partition.name, stage: DiskTier.stage, url: url)
        return await store.versions(key, openable: number).compactMap { version in
            guard let variant = variant(of: version.record, policy: configuration.policy) else { return nil }
            return ResponseVersion(
                number: version.number, variant: variant, since: version.since, isCurrent: version.isCurrent,
                digest: version.record.content.digest.hexadecimal)
        }
    }
}
