// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// The conditions of writes.
extension Forwarding {
    /// Puts the origin's entity tags in place of those that clients know: of content with mapped links, in another
    /// coding, or from a pipeline.
    func restoreConditions() async {
        if request.form.isGateway, configuration.mapsLinks {
            GatewayLinks(request: request, service: service).restoreConditions()
        }
        let partition = request.partition(in: service)
        let reading = service.configuration(for: request.uri, method: .get, in: partition)
        guard reading.mayTransform else { return }
        request.editHead { CodedTag.restoreConditions(in: &$0.fields) }
        let renditions = await variants(in: partition, reading).filter { $0.rendition != nil }
        for name in [FieldName.ifMatch, .ifNoneMatch] {
            request.editHead { head in
                head.fields.replaceEntityTags(name) { tag in
                    renditions.first { $0.served.facts.eTag == tag }?.stored.facts.eTag
                }
            }
        }
    }

    /// The stored responses to a GET.
    private func variants(in partition: Larder.Partition, _ reading: EffectiveConfiguration) async -> [Variant] {
        var key = ResourceKey()
        key.set(service: service.number, partition: partition, url: request.uri, spelling: request.spelling)
        let inMemory = context.registry.resource(for: key)?.memory.snapshot.variants ?? []
        guard inMemory.isEmpty, let diskTier = context.diskTier else { return inMemory }
        return await diskTier.peek(key.url, partition: partition, service: service.name, reading)
    }
}
