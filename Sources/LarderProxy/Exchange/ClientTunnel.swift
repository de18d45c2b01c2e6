// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings
import LarderUpstream

/// A tunnel from a client to an authority, uninspected (RFC 9110 §9.3.6). Confined to its loop.
struct ClientTunnel: ExchangeStep {
    let exchange: Exchange
    private(set) var key: RetreatTable.Key

    /// The same tunnel, with the user of this machine who owns the client's end in its key.
    func identified() async -> ClientTunnel {
        guard request.lane == nil, stream.peerAddress.isLoopback else { return self }
        let (client, ours) = (stream.peerAddress, stream.localAddress)
        var tunnel = self
        tunnel.key.owner = try? await context.proxy.walkers.run { try SocketOwner.user(of: client, to: ours) }
        return tunnel
    }

    /// True if tunnels are not made at present.
    var isOffline: Bool {
        let unclaimed = context.configuration.router.table.unclaimed
        return context.proxy.offline.mode(of: unclaimed.name, configured: unclaimed.settings.offline ?? .off) == .on
    }

    /// Acquires one of the places for tunnels, which the caller releases. False where all of them are in use.
    func takePlace() -> Bool {
        context.proxy.admitTunnel(limit: context.configuration.settings.limits.tunnels)
    }

    /// Shows the tunnel to observers while `body` runs, which returns the bytes relayed.
    func shown(as reason: TunnelReason, _ body: () async throws -> Int) async throws {
        let (interception, lane) = (context.proxy.interception, request.lane)
        var octets = 0
        interception.tunnelBegan(key.authority, reason, client: key.shown, at: context.now())
        lane?.tunnelBegan(key.authority, reason, client: key.shown, at: context.now())
        defer {
            interception.tunnelEnded(key.authority, reason, octets: octets)
            lane?.tunnelEnded(key.authority, reason, octets: octets)
        }
        octets = try await body()
    }

    /// Connects to the authority.
    ///
    /// - Parameter watchingClient: whether a client that ends its side counts as gone: before it is answered.
    /// - Throws: `ClientGone` when the client left meanwhile.
    func connect(watchingClient: Bool = true) async throws -> ByteStream {
        let router = context.configuration.router
        let parent = router.table.unclaimed.parent(try TargetURI("https://\(key.authority)/"))
        let (network, reachesMachine) = (request.network, router.tunnelsToLoopback)
        let abort = UpstreamAbort()
        defer { watch.stop() }
        if watchingClient { try watch.start(whileAwaiting: .origin(abort)) }
        do {
            return try await context.upstream.connectTunnel(
                to: key.authority, parent: parent, abort: abort,
                // Tested by address, as any name may resolve to one.
                allows: { network.allows($0) && (reachesMachine || !$0.isOwn) })
        } catch {
            if abort.isAborted { throw ClientGone() }
            throw error
        }
    }
}

extension ExchangeStep {
    /// Relays bytes both ways until both sides have ended, or the idle time has passed. Returns the number of relayed
    /// bytes; the record counts the bytes sent to the client.
    ///
    /// Bytes after the client's head are sent first, and `early`, the bytes after the other side's head.
    ///
    /// - Parameter patience: how long both sides may be silent before one of them has sent a byte; nil for the idle
    ///   time.
    func relayOctets(to upstream: ByteStream, early: [UInt8], patience: Duration? = nil) async -> Int {
        connection.isRelay = true
        let idle = context.configuration.settings.timeouts.tunnelIdle
        let relay = TunnelRelay(
            client: stream, upstream: upstream, idle: idle, patience: patience ?? idle,
            counters: context.counters, buffers: context.buffers)
        var sent = Array(connection.buffer.readable)
        connection.buffer.consume(sent.count)
        swap(&sent, &relay.clientEarly)
        relay.upstreamEarly = early
        await relay.run(on: context.loop)
        upstream.close()
        stream.close()
        writer.record.relayed = Int64(relay.sentToClient)
        return relay.sentToClient + relay.sentUpstream
    }
}

extension RetreatTable.Key {
    /// The client for people.
    package var shown: String { agent.isEmpty ? client : "\(client) (\(agent))" }
}
