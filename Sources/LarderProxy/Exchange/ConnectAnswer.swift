// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderSettings
import LarderUpstream

/// The answer to CONNECT: the configured connections are intercepted, all others tunnelled. Confined to its loop.
struct ConnectAnswer: ExchangeStep {
    let exchange: Exchange
    private let authority: Authority
    private let tunnel: ClientTunnel

    init(_ exchange: Exchange, to authority: Authority) {
        self.exchange = exchange
        self.authority = authority
        let request = exchange.request
        tunnel = ClientTunnel(
            exchange: exchange,
            key: RetreatTable.Key(
                client: exchange.stream.peerAddress.host, agent: request.head.fields[.userAgent] ?? "",
                lane: request.lane?.id ?? "", authority: authority, user: request.principal.name))
    }

    func run() async throws {
        let opensAll = request.lane?.options.opensAll ?? false
        switch context.configuration.interception.verdict(on: authority, opensAll: opensAll) {
        case .tunnel(let reason): try await tunnel(because: reason)
        case .open where stream.isSecure: try await tunnel(because: .overTLS)
        case .open:
            let identified = await tunnel.identified()
            let now = context.loop.time.monotonic()
            if let reason = context.proxy.interception.exception(for: identified.key, now: now) {
                try await tunnel(because: reason)
            } else {
                guard request.content == nil else { throw ConnectAnswer.hasContent }
                try await InterceptedConnection(tunnel: identified).open()
            }
        }
    }

    private static var hasContent: Problem { .badRequest("A CONNECT request has no content.") }

    private func tunnel(because reason: TunnelReason) async throws {
        try await tunnel.shown(as: reason) {
            if request.isLaneOffline { throw Problem.offline(.connect, to: "\(authority)", isLaneOffline: true) }
            return try await connectAndRelay()
        }
    }

    private func connectAndRelay() async throws -> Int {
        writer.record.kind = .tunnel
        guard request.content == nil else { throw ConnectAnswer.hasContent }
        guard !tunnel.isOffline else {
            throw Problem.offline(.connect, to: "\(authority)", isLaneOffline: request.isLaneOffline)
        }
        try request.takeOriginPlace()
        guard tunnel.takePlace() else { throw Problem.tunnelLimit }
        defer { context.proxy.releaseTunnel() }
        let upstream = try await tunnel.connect()
        writer.writeHead(switching: 200)
        do {
            try await writer.sendHead()
        } catch {
            upstream.close()
            throw error
        }
        return await relayOctets(
            to: upstream, early: [], patience: context.configuration.settings.timeouts.head)
    }
}
