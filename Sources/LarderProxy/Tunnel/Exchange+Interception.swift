// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderSettings
import LarderUpstream
import Logging

extension Exchange {
    /// Handles CONNECT: intercepts the configured connections, and tunnels all others.
    func connect(to authority: Authority) async throws {
        let interception = context.proxy.interception
        let key = RetreatTable.Key(
            client: stream.peerAddress.host, agent: head.fields[.userAgent] ?? "", lane: lane?.id ?? "",
            authority: authority)
        switch context.configuration.interception.verdict(on: authority, opensAll: lane?.options.opensAll ?? false) {
        case .tunnel(let reason): try await tunnel(to: authority, reason, of: key)
        case .open where stream.isSecure: try await tunnel(to: authority, .overTLS, of: key)
        case .open:
            if let reason = interception.exception(for: key, now: context.loop.time.monotonic()) {
                try await tunnel(to: authority, reason, of: key)
            } else {
                guard content == nil else { throw Problem.badRequest("A CONNECT request has no content.") }
                try await open(key)
            }
        }
    }

    private func tunnel(to authority: Authority, _ reason: TunnelReason, of key: RetreatTable.Key) async throws {
        let interception = context.proxy.interception
        interception.tunnelBegan(authority, reason, client: key.shown, at: context.now())
        lane?.tunnelBegan(authority, reason, client: key.shown, at: context.now())
        passed = 0
        defer {
            interception.tunnelEnded(authority, reason, octets: passed)
            lane?.tunnelEnded(authority, reason, octets: passed)
        }
        if isLaneOffline { throw Problem.offline(.connect, to: "\(authority)", isLaneOffline: true) }
        try await tunnel(to: authority)
    }

    // MARK: Opening

    /// Answers CONNECT and examines the first octets of the client. Afterwards the connection carries requests for the
    /// authority, is a blind tunnel, or has ended.
    private func open(_ key: RetreatTable.Key) async throws {
        record.kind = .own
        record.status = 200
        out.removeAll(keepingCapacity: true)
        PreparedHead.appendStatusLine(200, to: &out)
        PreparedHead.appendLineEnd(to: &out)
        isPersistent = false
        try await sendHead()
        stream.setDeadline(after: context.configuration.settings.timeouts.head)
        let first = try await firstOctets()
        guard first != .incomplete else { return }
        switch InterceptionRules.verdict(on: first, for: key.authority) {
        case .tunnel(let reason): try await passThrough(key, reason)
        case .open:
            let interception = context.proxy.interception
            do {
                let identity = try await interception.identity(for: key.authority.bareHost, now: context.now())
                try await agree(identity.context, identity.leaf, key)
            } catch let failure as HandshakeFailure {
                noteFailure(failure.error, of: key)
            } catch {
                context.proxy.logger.warning(
                    "no certificate for a host could be made; its https passes unseen",
                    metadata: ["host": "\(key.authority)", "error": "\(error)"])
                try await passThrough(key, .noCertificate)
            }
        }
    }

    /// A failed handshake with a client.
    private struct HandshakeFailure: Error { let error: IOError }

    /// Waits for enough octets to tell TLS from other protocols; `.incomplete` if the client leaves before.
    private func firstOctets() async throws(IOError) -> ClientHello.Reader.Outcome {
        let buffer = connection.buffer
        var reader = ClientHello.Reader()
        while true {
            if buffer.isEmpty {
                buffer.releaseIfEmpty()
                try await stream.waitReadable()
            } else {
                let outcome = reader.read(buffer.readable)
                if outcome != .incomplete { return outcome }
            }
            let count = try await stream.read(into: buffer.writable(minimum: 4096))
            if count == 0 { return .incomplete }
            buffer.wrote(count)
        }
    }

    private func agree(
        _ context: TLSServerContext, _ leaf: LeafCertificate, _ key: RetreatTable.Key
    ) async throws(HandshakeFailure) {
        let early = Array(connection.buffer.readable)
        connection.buffer.consume(early.count)
        connection.buffer.releaseIfEmpty()
        do throws(IOError) {
            try await stream.startTLS(server: context, leaf: leaf, early: early)
        } catch {
            throw HandshakeFailure(error: error)
        }
        self.context.proxy.interception.opened(key)
        connection.enter(key.authority, lane: lane)
        isPersistent = true
    }

    private func noteFailure(_ error: IOError, of key: RetreatTable.Key) {
        // The client still has to read our alert.
        mustLinger = true
        let retreat = context.configuration.settings.intercept.retreat
        let now = context.loop.time.monotonic()
        guard context.proxy.interception.failed(error, of: key, now: now, for: retreat) else { return }
        context.proxy.logger.notice(
            "a client does not trust the local CA; what it asks of this host passes unseen for a while",
            metadata: ["client": "\(key.shown)", "host": "\(key.authority)", "seconds": "\(retreat.wholeSeconds)"])
    }

    // MARK: Passing on

    /// Connects the client, whose CONNECT has been answered, to the authority after all.
    private func passThrough(_ key: RetreatTable.Key, _ reason: TunnelReason) async throws {
        let interception = context.proxy.interception
        record.kind = .tunnel
        if isLaneOffline { return }
        let unclaimed = context.configuration.router.table.unclaimed
        guard context.proxy.offline.mode(of: unclaimed.name, configured: unclaimed.settings.offline ?? .off) != .on,
            context.proxy.admitTunnel(limit: context.configuration.settings.limits.tunnels)
        else { return }
        defer { context.proxy.releaseTunnel() }
        interception.tunnelBegan(key.authority, reason, client: key.shown, at: context.now())
        lane?.tunnelBegan(key.authority, reason, client: key.shown, at: context.now())
        passed = 0
        defer {
            interception.tunnelEnded(key.authority, reason, octets: passed)
            lane?.tunnelEnded(key.authority, reason, octets: passed)
        }
        stream.setDeadline(after: nil)
        let abort = UpstreamAbort()
        stream.onPeerClosed = { abort.abort() }
        let (reach, reachesMachine) = (reach, context.configuration.router.tunnelsToLoopback)
        let upstream: ByteStream
        do {
            upstream = try await context.upstream.connectTunnel(
                to: key.authority, parent: unclaimed.parent(try TargetURI("https://\(key.authority)/")), abort: abort,
                allows: { reach.allows($0) && (reachesMachine || !$0.isOwn) })
        } catch {
            // The tunnel was announced to the client; only the end of the connection can tell it that there is none.
            stream.onPeerClosed = nil
            return
        }
        stream.onPeerClosed = nil
        await relayTunnel(to: upstream, early: [])
    }
}

extension Exchange {
    /// Finds the lane named by the request. Lanes are for clients on this machine: interception for a lane is for
    /// nobody else.
    func findLane() {
        guard connection.client.isLoopback, let found = context.proxy.lanes.lane(of: head.fields) else { return }
        lane = found
        // Cached replies do not depend on the lane.
        received.removeAll(keepingCapacity: true)
    }

    /// Whether the lane is limited to stored responses.
    var isLaneOffline: Bool { lane?.options.isOffline ?? false }

    /// Whether origins are asked, according to the lane, an operator or the configuration.
    func offlineMode(_ service: RoutedService, _ configuration: EffectiveConfiguration) -> OfflineMode {
        isLaneOffline ? .on : context.proxy.offlineMode(service, configuration)
    }
}

extension RetreatTable.Key {
    /// The client for people.
    package var shown: String { agent.isEmpty ? client : "\(client) (\(agent))" }
}
