// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
package import LarderStores

/// The pipeline's output for stored responses, stored beside them so that no response is transformed twice.
///
/// A rendition belongs to the response that was stored at the same instant and is selected by the same requests. A
/// rendition made by another configuration, or whose response has been replaced, is ignored.
extension DiskTier {
    package static let servedStage = "served"

    /// The renditions of the stored responses that `match` selects.
    package static func renditions(of match: EntityMatch) -> EntityMatch {
        var renditions = match
        renditions.stage = servedStage
        if let url = match.urlPrefix, let service = match.service,
            match.label == .url(url, service: service, stage: stage)
        {
            renditions.label = .url(url, service: service, stage: servedStage)
        }
        return renditions
    }

    /// Stored responses, and their renditions.
    static func withRenditions(_ match: EntityMatch) -> [EntityMatch] { [match, renditions(of: match)] }

    func keepRendition(of variant: Variant, _ resource: Resource, service: RoutedService) {
        guard let head = RenditionCoding.encode(variant), case .memory(let chunks, let length) = variant.content else {
            return
        }
        let stored = variant.stored
        let writer = store.beginWrite(
            key(of: resource, service, stage: DiskTier.servedStage),
            variant: StoredResponseCoding.variantKey(stored.variance), head: head, requestTime: stored.requestTime,
            responseTime: stored.responseTime, storedAt: variant.storedAt, expires: stored.facts.freshUntil,
            expectedLength: Int64(length),
            labels: labels(of: stored, key(of: resource, service, stage: DiskTier.servedStage), resource))
        chunks.forEach(writer.append)
        writer.finish()
    }

    func updateRendition(of variant: Variant, _ resource: Resource, service: RoutedService) {
        guard let head = RenditionCoding.encode(variant) else { return }
        let stored = variant.stored
        store.updateHead(
            key(of: resource, service, stage: DiskTier.servedStage),
            variant: StoredResponseCoding.variantKey(stored.variance), head: head, requestTime: stored.requestTime,
            responseTime: stored.responseTime, expires: stored.facts.freshUntil, ifStoredAt: variant.storedAt,
            labels: labels(of: stored, key(of: resource, service, stage: DiskTier.servedStage), resource))
    }

    /// The variants stored under one URL, as clients get them. Those that still have to be transformed have no
    /// fingerprint.
    func variants(
        of records: [EntityRecord], renditions: [EntityRecord], _ configuration: EffectiveConfiguration
    ) -> [Variant] {
        records.compactMap { record in
            guard let variant = variant(of: record, policy: configuration.policy) else { return nil }
            let match = renditions.first { $0.variant == record.variant && $0.storedAt == record.storedAt }
            guard let match, configuration.mayTransform,
                let rendition = RenditionCoding.decode(match.head, madeBy: configuration.fingerprint)
            else { return variant }
            return Variant(
                stored: rendition.isPromoted
                    ? variant.stored.counting(as: 200, policy: configuration.policy) : variant.stored,
                content: content(of: match), storedAt: record.storedAt, via: via,
                fingerprint: configuration.fingerprint, rendition: rendition)
        }
    }
}
