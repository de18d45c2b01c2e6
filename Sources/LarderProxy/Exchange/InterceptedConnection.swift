// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderSettings
import LarderUpstream
import Logging

/// A connection on which Larder speaks TLS in the place of the authority. Confined to its loop.
struct InterceptedConnection: ExchangeStep {
    /// The tunnel that it becomes where it cannot be intercepted.
    let tunnel: ClientTunnel

    var exchange: Exchange { tunnel.exchange }
    private var key: RetreatTable.Key { tunnel.key }

    /// A failed handshake with a client.
    private struct HandshakeFailure: Error { let error: IOError }

    /// Answers CONNECT and examines the first bytes of the client. Afterwards the connection carries requests for the
    /// authority, is a blind tunnel, or has ended.
    func open() async throws {
        writer.record.kind = .own
        writer.writeHead(switching: 200)
        try await writer.sendHead()
        let patience = context.configuration.settings.timeouts.head
        guard try await hasSpoken(within: min(InterceptedConnection.silence, patience)) else {
            return try await passThrough(.otherProtocol)
        }
        stream.setDeadline(after: patience)
        let first = try await firstOctets()
        guard first != .incomplete else { return }
        switch InterceptionRules.verdict(on: first, for: key.authority) {
        case .tunnel(let reason): try await passThrough(reason)
        case .open:
            do {
                let identity = try await context.proxy.interception.identity(
                    for: key.authority.host.withoutBrackets, now: context.now())
                try await agree(identity.context, identity.leaf)
            } catch let failure as HandshakeFailure {
                noteFailure(failure.error)
            } catch {
                let proxy = context.proxy
                proxy.interception.logger(proxy.logger, about: .noCertificate, at: proxy.time.monotonic())?.warning(
                    "no certificate for a host could be made; its https passes unseen",
                    metadata: ["host": "\(key.authority)", "error": "\(error)"])
                try await passThrough(.noCertificate)
            }
        }
    }

    /// A client of TLS speaks first, and does so at once. One that is silent for longer may wait for the server, as SSH
    /// and mail do.
    private static let silence = Duration.seconds(1)

    /// Waits for the client's first bytes, or its end; false if there are none until then.
    private func hasSpoken(within patience: Duration) async throws(IOError) -> Bool {
        guard connection.buffer.isEmpty else { return true }
        connection.buffer.releaseIfEmpty()
        stream.setDeadline(after: patience)
        do throws(IOError) {
            try await stream.waitReadable()
            return true
        } catch {
            guard error.code == .timedOut else { throw error }
            return false
        }
    }

    /// Waits for enough bytes to tell TLS from other protocols; `.incomplete` if the client leaves before.
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

    private func agree(_ context: TLSServerContext, _ leaf: LeafCertificate) async throws(HandshakeFailure) {
        let early = Array(connection.buffer.readable)
        connection.buffer.consume(early.count)
        connection.buffer.releaseIfEmpty()
        do throws(IOError) {
            try await stream.startTLS(server: context, leaf: leaf, early: early)
        } catch {
            throw HandshakeFailure(error: error)
        }
        self.context.proxy.interception.opened(key)
        connection.enter(key.authority, lane: request.lane)
        writer.isPersistent = true
    }

    private func noteFailure(_ error: IOError) {
        // The client still has to read our alert.
        writer.mustLinger = true
        let retreat = context.configuration.settings.intercept.retreat
        let now = context.loop.time.monotonic()
        guard context.proxy.interception.failed(error, of: key, now: now, for: retreat) else { return }
        context.proxy.logger.notice(
            "a client does not trust the local CA; what it asks of this host passes unseen for a while",
            metadata: ["client": "\(key.shown)", "host": "\(key.authority)", "seconds": "\(retreat.wholeSeconds)"])
    }

    /// Connects the client, whose CONNECT has been answered, to the authority after all.
    private func passThrough(_ reason: TunnelReason) async throws {
        writer.record.kind = .tunnel
        guard !request.isLaneOffline, !tunnel.isOffline, (try? request.takeOriginPlace()) != nil, tunnel.takePlace()
        else { return }
        defer { context.proxy.releaseTunnel() }
        try await tunnel.shown(as: reason) {
            stream.setDeadline(after: nil)
            // The tunnel was announced to the client; only the end of the connection can tell it that there is none.
            // One that has ended its side is still to be answered.
            guard let upstream = try? await tunnel.connect(watchingClient: false) else { return 0 }
            return await relayOctets(
                to: upstream, early: [], patience: context.configuration.settings.timeouts.head)
        }
    }
}
