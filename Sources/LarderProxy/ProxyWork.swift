// SPDX-License-Identifier: Apache-2.0

import LarderIO
import LarderUpstream

/// The parts of the proxy's work that are done in folders above it. They know the proxy, which knows them by this alone.
struct ProxyWork: Sendable {
    /// Makes the object that serves a loop's clients.
    let makeClients: @Sendable (LoopContext) -> any LoopClients
    /// Looks at a resource whose time to be refreshed ahead has come.
    let lookAhead: @Sendable (AheadQueue.Entry, LoopContext) async -> Void
    /// Follows what other daemons invalidate, from one of the loops.
    let follow: @Sendable (Proxy, Sharing, [LoopBound<LoopContext>]) async -> Void
    /// Hears of origins in trouble, and of their recovery.
    let hearOfOrigin: @Sendable (OriginWatch.Event) -> Void
}
