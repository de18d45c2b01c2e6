// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// The inputs of a reply from memory, beside the octets of the request.
struct Repeatable {
    let snapshot: ResourceMemory.Snapshot
    let generation: Int
    let client: ClientKind

    /// Nil when another request with the same head may have to be answered differently.
    init?(_ snapshot: ResourceMemory.Snapshot, of exchange: Exchange) {
        guard !exchange.received.isEmpty, let client = exchange.connection.kind,
            exchange.traits.version == .http11, exchange.span == nil, Reuse.isPlain(exchange.head),
            // After a reload, octets that had been admitted are nobody's until they are admitted again.
            exchange.users === exchange.context.configuration.users
        else { return nil }
        self.snapshot = snapshot
        self.client = client
        generation = exchange.context.front.generation
    }
}

extension Exchange {
    /// Caches the reply for the same request. To be called when `out` contains the whole head.
    func keepInFront(_ variant: Variant, _ content: [ContentChunk], _ retrieval: Retrieval) {
        guard let repeatable, isPersistent == traits.isPersistent, record.cacheStatus?.outcome == .hit,
            let counters = record.counters, repeatable.generation == context.front.generation,
            retrieval.service.isKeyedByHead,
            variant.content.bytesInMemory <= LoopFront.contentLimit, !variant.isOverride
        else { return }
        context.front.keep(
            FrontAnswer(
                to: received, from: repeatable.client, with: variant, head: out[..<momentStart],
                content: content, of: retrieval.resource, retrieval.service.service, snapshot: repeatable.snapshot,
                version: retrieval.version, closes: !isPersistent, counters: counters,
                credentials: principal.name == nil ? nil : connection.proof?.credentials),
            to: received)
    }
}
