// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings

/// The state of https interception: the local CA, intercepted connections, and tunnels with their reasons.
struct InterceptionReport: Sendable {
    struct Authority: Sendable {
        var name, fingerprint: String
        var notAfter: Timestamp
        var endsSoon: Bool
    }

    struct Tunnel: Sendable {
        var line: TunnelTable.Line
        /// True if it would be tunnelled again under the current configuration.
        var lasts: Bool
    }

    var authority: Authority?
    var opened: UInt64
    var certificates: Int
    var tunnels: [Tunnel]
    var totals: [TunnelReason: (requests: UInt64, octets: UInt64)]
    var retreats: [(client: String, host: String, left: Duration)]
    /// The gateway's authority for clients on this machine; nil where it does not lead to any host.
    var gateway: String?

    /// The most hosts listed.
    static let limit = 100

    init(of proxy: Proxy) {
        let interception = proxy.interception
        let now = proxy.now
        authority = interception.authority.map { authority in
            let end = Timestamp(nanoseconds: authority.notAfter * 1_000_000_000)
            return Authority(
                name: authority.name, fingerprint: authority.fingerprint, notAfter: end,
                endsSoon: end < now + Interception.notice)
        }
        opened = interception.opened
        certificates = interception.leavesMade
        let table = interception.tunnelTable
        let rules = proxy.configuration.interception
        tunnels = table.lines.prefix(InterceptionReport.limit).map {
            Tunnel(line: $0, lasts: rules.holds($0.reason, for: $0.authority))
        }
        totals = table.totals
        retreats = interception.retreats(now: proxy.monotonicNow).prefix(InterceptionReport.limit)
            .map { ($0.key.shown, "\($0.key.authority)", $0.left) }.sorted { ($0.1, $0.0) < ($1.1, $1.0) }
        if proxy.configuration.settings.gateway.anyHost {
            gateway = proxy.addresses.first { !$0.isUnix }.map { "localhost:\($0.port)" } ?? "localhost:3128"
        }
    }

    var json: JSONValue {
        [
            "authority": authority.map { authority in
                [
                    "name": .string(authority.name), "fingerprint": .string(authority.fingerprint),
                    "notAfter": .time(authority.notAfter), "endsSoon": .bool(authority.endsSoon),
                ]
            } ?? .null,
            "opened": .integer(opened), "certificates": .integer(certificates),
            "tunnels": .array(tunnels.map(json(of:))),
            "retreats": .array(
                retreats.map { retreat in
                    [
                        "client": .string(retreat.client), "host": .string(retreat.host),
                        "seconds": .seconds(retreat.left),
                        "cure":
                            "have the client trust the local CA: larder trust; what trusts it by now is tried again after larder reload",
                    ]
                }),
        ]
    }

    private func json(of tunnel: Tunnel) -> JSONValue {
        let line = tunnel.line
        return [
            "host": .string("\(line.authority)"), "requests": .integer(line.requests),
            "bytes": .integer(line.octets), "reason": .string(line.reason.rawValue), "why": .string(line.reason.words),
            "lasts": .bool(tunnel.lasts), "client": .string(line.client), "lastAt": .time(line.last),
            "toChangeThat": .strings(waysOut(of: line)),
        ]
    }

    /// Settings that make the host's responses cacheable, ready to be pasted.
    private func waysOut(of line: TunnelTable.Line) -> [String] {
        let host = line.authority.port == 443 ? line.authority.host : "\(line.authority)"
        let base = gateway.map { ["http://\($0)/https/\(host)/"] } ?? []
        switch line.reason {
        case .notListed: return ["intercept: { hosts: [\"\(host)\"] }"] + base
        case .excluded, .overTLS: return base
        case .refused: return ["larder trust", "larder reload"] + base
        case .noCertificate: return ["larder trust"] + base
        case .clientHTTP2: return ["have the client offer HTTP/1.1 as well, as curl does with --http1.1"]
        case .originHTTP2: return ["ask the origin's owner for HTTP/1.1: Larder asks origins in nothing else"]
        case .otherProtocol, .clientCertificate: return []
        }
    }

    func write(_ text: inout MetricsText) {
        text.counter("larder_intercepted_connections", "Connections whose https was opened.", opened)
        text.counter("larder_intercept_certificates", "Certificates that were made for hosts.", certificates)
        text.counter(
            "larder_tunnel_requests", "CONNECT requests that passed unseen, by why.",
            TunnelReason.allCases.map { ([("reason", $0.rawValue)], Double(totals[$0]?.requests ?? 0)) })
        text.counter(
            "larder_tunnel_bytes", "Octets through tunnels that have ended, both ways, by why they passed unseen.",
            TunnelReason.allCases.map { ([("reason", $0.rawValue)], Double(totals[$0]?.octets ?? 0)) })
        if let authority {
            text.gauge(
                "larder_intercept_ca_end_time_seconds", "When the local CA ends, in seconds since 1970.",
                authority.notAfter.seconds)
        }
    }
}
