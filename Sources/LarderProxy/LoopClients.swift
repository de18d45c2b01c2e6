// SPDX-License-Identifier: Apache-2.0

import LarderIO
import LarderUpstream

/// The clients of one loop, as far as its life and the proxy's are concerned; no request goes through here. Confined to
/// the loop. A protocol, so that the context of a loop need not know the folder `Exchange`, which knows the context.
protocol LoopClients: AnyObject {
    /// Accepts clients at a socket.
    func listen(on socket: ListeningSocket, isAdminOnly: Bool, overTLS: Bool, isForLanes: Bool) throws

    /// Serves a connection that was accepted elsewhere.
    func adopt(_ descriptor: Int32, from peer: SocketAddress) throws

    /// Opens a port on loopback whose clients all belong to `lane`, and to one user. It closes with the lane.
    func openDoor(of lane: Lane, for user: UInt32) throws -> SocketAddress

    func closeDoor(of lane: Lane)

    /// Ends the connections of those who are no users any more.
    func apply(_ configuration: ProxyConfiguration, after former: ProxyConfiguration)

    /// Stops accepting, and ends idle connections and streams of events.
    func drain()

    /// Ends the remaining connections.
    func closeAll()
}

/// The parts of the proxy's work that are done in folders above it. They know the proxy, which knows them by this alone.
struct ProxyWork: Sendable {
    /// Makes the object that serves a loop's clients.
    let makeClients: @Sendable (LoopContext) -> any LoopClients
    /// Looks at a resource whose time to be refreshed ahead has come.
    let lookAhead: @Sendable (AheadQueue.Entry, LoopContext) async -> Void
    /// Hears of origins in trouble, and of their recovery.
    let hearOfOrigin: @Sendable (OriginWatch.Event) -> Void
}
