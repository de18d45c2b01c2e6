// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderStores
import LarderUpstream

/// The load as stages see it, and the responses that they supply.
extension Load: StagedLoad {
    var head: RequestHead { clientHead }
    var loop: any StagedLoop { context }
    // Nil if the parts may belong to other requests, or if credentials may have been added to the client's.
    var soleRequest: RequestHead? { rangeFill == nil && !policy.addsCredentials ? clientHead : nil }

    /// Reports the use of the origin's response to the stages.
    func report(_ response: @autoclosure () -> StagedResponse) {
        guard !service.stages.onResponse.isEmpty else { return }
        let response = response()
        for point in service.stages.onResponse { point(response) }
    }

    func keep(
        _ stored: StoredResponse, _ durability: StorabilityDecision.Durability, _ chunks: [ContentChunk]
    ) -> Variant? {
        guard !isSuperseded(stored) else { return nil }
        let length = chunks.reduce(0) { $0 + Int64($1.count) }
        let writer = durability == .memory ? nil : beginWriting(stored, length: length)
        for chunk in chunks { writer?.append(chunk) }
        return land(stored, writer, chunks)
    }

    func keepOnDisk(
        _ stored: StoredResponse, length: Int64, by read: ((ContentChunk) async -> Bool) async -> Bool
    ) async -> Variant? {
        guard context.mayKeep(length), let diskTier = context.diskTier,
            let writer = beginWriting(stored, length: length)
        else { return nil }
        let isWhole = await read { chunk in
            guard !abort.isAborted, await diskTier.hasRoom(on: context), case .open = writer.state else { return false }
            writer.append(chunk)
            return true
        }
        guard isWhole, !isSuperseded(stored) else {
            writer.abort()
            return nil
        }
        land(stored, writer, nil)
        let found = await diskTier.variant(like: stored, of: resource, service, configuration)
        return isSuperseded(stored) ? nil : found
    }
}

extension DiskTier {
    /// Waits for the disk. False if it does not keep up.
    fileprivate func hasRoom(on context: LoopContext) async -> Bool {
        var patience = 200
        while isBehind, patience > 0 {
            patience -= 1
            await context.sleep(for: .milliseconds(5))
        }
        return !isBehind
    }

    /// A response as it was just stored.
    func variant(
        like stored: StoredResponse, of resource: Resource, _ service: RoutedService,
        _ configuration: EffectiveConfiguration
    ) async -> Variant? {
        let found = try? await variants(of: resource, service: service, configuration)
        return found?.first { $0.isLanded(stored) }
    }
}

extension Variant {
    /// True if it is that response, now with its content: whose length may have decided whether it is coded.
    func isLanded(_ response: StoredResponse) -> Bool {
        stored.responseTime == response.responseTime && stored.status == response.status
            && stored.isPartial == response.isPartial
            && stored.variance.spanningCodings(false) == response.variance.spanningCodings(false)
    }
}
