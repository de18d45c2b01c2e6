// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings
import LarderUpstream

extension Exchange {
    /// Connects to `authority` and relays octets both ways, uninspected (RFC 9110 §9.3.6).
    func tunnel(to authority: Authority) async throws {
        record.kind = .tunnel
        guard content == nil else { throw Problem.badRequest("A CONNECT request has no content.") }
        let unclaimed = context.configuration.router.table.unclaimed
        guard context.proxy.offline.mode(of: unclaimed.name, configured: unclaimed.settings.offline ?? .off) != .on
        else {
            throw Problem.offline(.connect, to: "\(authority)", isLaneOffline: isLaneOffline)
        }
        try takeOriginPlace()
        guard context.proxy.admitTunnel(limit: context.configuration.settings.limits.tunnels) else {
            throw Problem.tunnelLimit
        }
        defer { context.proxy.releaseTunnel() }
        let abort = UpstreamAbort()
        stream.onPeerClosed = { abort.abort() }
        let origin = try TargetURI("https://\(authority)/")
        let parent = context.configuration.router.table.unclaimed.parent(origin)
        let upstream: ByteStream
        let (reach, reachesMachine) = (reach, context.configuration.router.tunnelsToLoopback)
        do {
            upstream = try await context.upstream.connectTunnel(
                to: authority, parent: parent, abort: abort,
                // Tested by address, as any name may resolve to one.
                allows: { reach.allows($0) && (reachesMachine || !$0.isOwn) })
        } catch {
            stream.onPeerClosed = nil
            if abort.isAborted { throw ClientGone() }
            throw error
        }
        stream.onPeerClosed = nil
        record.status = 200
        out.removeAll(keepingCapacity: true)
        PreparedHead.appendStatusLine(200, to: &out)
        PreparedHead.appendLineEnd(to: &out)
        isPersistent = false
        do {
            try await sendHead()
        } catch {
            upstream.close()
            throw error
        }
        await relayTunnel(to: upstream, early: [])
    }

    /// Relays octets both ways until both sides have ended, or the idle time has passed.
    ///
    /// The octets behind the client's head are sent first, and `early`, which the other side sent behind its own.
    func relayTunnel(to upstream: ByteStream, early: [UInt8]) async {
        connection.isRelay = true
        let relay = TunnelRelay(
            client: stream, upstream: upstream, idle: context.configuration.settings.timeouts.tunnelIdle,
            counters: context.counters, buffers: context.buffers)
        var sent = Array(connection.buffer.readable)
        connection.buffer.consume(sent.count)
        swap(&sent, &relay.clientEarly)
        relay.upstreamEarly = early
        await relay.run(on: context.loop)
        passed = relay.passed
        upstream.close()
        stream.close()
    }
}

/// Two streams connected to each other. Confined to their loop.
final class TunnelRelay {
    private let client: ByteStream
    private let upstream: ByteStream
    private let idle: Duration
    private let counters: LoopCounters
    private let buffers: BufferPool
    private static let bufferSize = 64 << 10
    var clientEarly: [UInt8] = []
    var upstreamEarly: [UInt8] = []
    /// Octets relayed, in both directions.
    private(set) var passed = 0
    private var running = 2
    private var whenDone: UnsafeContinuation<Void, Never>?

    init(client: ByteStream, upstream: ByteStream, idle: Duration, counters: LoopCounters, buffers: BufferPool) {
        self.client = client
        self.upstream = upstream
        self.idle = idle
        self.counters = counters
        self.buffers = buffers
    }

    func run(on loop: EventLoop) async {
        loop.startHere {
            await self.pass(self.clientEarly, from: self.client, to: self.upstream)
            self.ended()
        }
        loop.startHere {
            await self.pass(self.upstreamEarly, from: self.upstream, to: self.client)
            self.ended()
        }
        if running > 0 { await withUnsafeContinuation { whenDone = $0 } }
    }

    private func ended() {
        running -= 1
        if running == 0 { whenDone.take()?.resume() }
    }

    /// Relays one direction until its end, which is relayed too; a broken side breaks the other.
    private func pass(_ early: [UInt8], from source: ByteStream, to target: ByteStream) async {
        do {
            let buffer = try buffers.take(atLeast: TunnelRelay.bufferSize)
            defer { buffers.giveBack(buffer) }
            passed += early.count
            if !early.isEmpty { try await target.write(early) }
            while true {
                // Traffic in either direction keeps both alive.
                source.setDeadline(after: idle)
                target.setDeadline(after: idle)
                let count = try await source.read(into: buffer)
                guard count > 0 else { break }
                counters.add(.tunnelled, count)
                passed += count
                try await target.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
            target.shutdownWrite()
        } catch {
            source.close()
            target.close()
        }
    }
}
