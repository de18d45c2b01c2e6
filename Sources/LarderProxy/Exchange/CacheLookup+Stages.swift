// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderStores

/// The look-up as stages see it, and the responses that they supply.
extension CacheLookup: StagedLookup {
    var uri: TargetURI { request.uri }
    var head: RequestHead { request.head }
    var loop: any StagedLoop { context }
    var candidates: [StoredResponse] { snapshot?.candidates ?? [] }

    /// Asks the stages for a stored response, once. True if the request must be decided again.
    mutating func askStages() async -> Bool {
        guard !hasAskedStages else { return false }
        hasAskedStages = true
        var states = states
        defer { self.states = states }
        return await service.stages.change(memoryFor: self, &states)
    }

    func keep(
        _ stored: StoredResponse, _ durability: StorabilityDecision.Durability, _ chunks: [ContentChunk],
        since mark: ResourceMemory.Mark
    ) -> Variant? {
        let length = chunks.reduce(0) { $0 + $1.count }
        let variant = Variant(
            stored: stored, content: .memory(chunks, length: length), storedAt: stored.responseTime,
            via: ProxyConfiguration.via, fingerprint: configuration.fingerprint)
        if stored.isPartial { return keepPart(variant, since: mark) }
        let isWritten = configuration.storesReceived && durability != .memory
        let diskTier = isWritten ? context.diskTier : nil
        let writer = diskTier?.begin(stored, of: resource, service: service, length: Int64(length), configuration)
        for chunk in chunks { writer?.append(chunk) }
        _ = writer?.finish(sharing: chunks)
        guard case .landed(let replaced) = resource.memory.land(variant, since: mark) else {
            diskTier?.remove(variant, of: resource, service: service)
            return nil
        }
        diskTier?.removeReplaced(replaced, by: variant, of: resource, service: service)
        context.registry.charge(resource)
        return variant
    }

    /// The same for a part, which is kept in memory alone and in the place of no other response than a part.
    private func keepPart(_ variant: Variant, since mark: ResourceMemory.Mark) -> Variant? {
        let memory = resource.memory
        let held = memory.snapshot.variants.first { $0.stored.variance == variant.stored.variance }
        guard held?.stored.isPartial ?? true,
            memory.landPart(variant, replacing: held, since: mark)
        else { return nil }
        context.registry.charge(resource)
        return variant
    }
}
