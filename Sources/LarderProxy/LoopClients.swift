// SPDX-License-Identifier: Apache-2.0

import LarderIO

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
