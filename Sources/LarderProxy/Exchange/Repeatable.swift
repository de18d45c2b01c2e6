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
    init?(_ snapshot: ResourceMemory.Snapshot, of request: ClientRequest) {
        guard !request.received.isEmpty, let client = request.connection.kind,
            request.traits.version == .http11, request.span == nil, Reuse.isPlain(request.head),
            // After a reload, octets that had been admitted are nobody's until they are admitted again.
            request.users === request.context.configuration.users
        else { return nil }
        self.snapshot = snapshot
        self.client = client
        generation = request.context.requestCache.generation
    }
}
