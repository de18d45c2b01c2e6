// SPDX-License-Identifier: Apache-2.0

import Foundation
import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderStores

/// What `/-/status` says: what happened since the start, and how things are now.
struct StatusReport: Encodable {
    struct Requests: Encodable {
        let hit, miss, stale, validated, collapsed, error, tunnel, pass, own: UInt64
    }

    struct Tier: Encodable {
        let bytes, limit: Int64
    }

    struct Store: Encodable {
        let state: String
        let path: String?
        let entries, pendingWrites, evicted: Int64
    }

    struct Bytes: Encodable {
        let sent, received, saved, tunnelled: UInt64
    }

    struct Connections: Encodable {
        let open, tunnels: Int
        let accepted, refused: UInt64
    }

    /// In seconds.
    struct Latency: Encodable {
        let p50, p90, p99: Double
    }

    struct Loop: Encodable {
        let name: String
        let turns: UInt64
        let longestTurnSeconds: Double
    }

    struct ServiceLine: Encodable {
        let name, baseURL, mount: String
        let offline: Bool
    }

    struct Upstream: Encodable {
        let origin: String
        let active, idle, waiting: Int
        let requests, failures: UInt64
        let lastError: String?
    }

    let version: String
    let uptimeSeconds: Int64
    let requests: Requests
    /// The share of cacheable requests that no upstream had to answer in full; 0 before there were any.
    let hitRatio: Double
    let memory, disk: Tier
    let resources, evictedFromMemory: Int
    let bytes: Bytes
    let connections: Connections
    let latency: Latency
    let store: Store
    let services: [ServiceLine]
    let upstreams: [Upstream]
    let loops: [Loop]

    func json() -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // Only numbers and strings, and no number that JSON lacks: nothing that encoding could refuse.
        return (try? encoder.encode(self)) ?? Data("{}".utf8)
    }
}

extension StatusReport {
    init(of proxy: Proxy, version: String) {
        self.version = version
        uptimeSeconds = (proxy.now - proxy.startedAt).wholeSeconds
        requests = Requests(
            hit: proxy.total(.hit), miss: proxy.total(.miss), stale: proxy.total(.stale),
            validated: proxy.total(.validated), collapsed: proxy.total(.collapsed), error: proxy.total(.error),
            tunnel: proxy.total(.tunnel), pass: proxy.total(.pass), own: proxy.total(.own))
        let answered = requests.hit + requests.stale + requests.validated + requests.collapsed
        let cacheable = answered + requests.miss
        hitRatio = cacheable == 0 ? 0 : Double(answered) / Double(cacheable)
        memory = Tier(bytes: Int64(proxy.registry.bytes), limit: Int64(proxy.registry.limit))
        resources = proxy.registry.count
        evictedFromMemory = proxy.registry.evicted
        bytes = Bytes(
            sent: proxy.total(.sent), received: proxy.total(.received), saved: proxy.total(.saved),
            tunnelled: proxy.total(.tunnelled))
        connections = Connections(
            open: proxy.openConnections, tunnels: proxy.openTunnels, accepted: proxy.total(.connectionsAccepted),
            refused: proxy.total(.connectionsRefused))
        let counts = proxy.counters.map { $0.latencies() }
        let merged = (0..<LatencyScale.buckets).map { bucket in counts.reduce(0) { $0 + $1[bucket] } }
        latency = Latency(
            p50: LatencyScale.quantile(0.5, of: merged), p90: LatencyScale.quantile(0.9, of: merged),
            p99: LatencyScale.quantile(0.99, of: merged))
        let statistics = proxy.storing?.store.statistics
        disk = Tier(bytes: statistics?.bytesOnDisk ?? 0, limit: statistics?.limit ?? 0)
        store = Store(
            state: statistics.map { "\($0.state)" } ?? "none", path: proxy.configuration.settings.cache.path.path,
            entries: Int64(statistics?.entries ?? 0), pendingWrites: Int64(statistics?.pendingOperations ?? 0),
            evicted: Int64(statistics?.evictions ?? 0))
        services = proxy.configuration.settings.services.map {
            ServiceLine(name: $0.name, baseURL: "\($0.baseURL)", mount: $0.effectiveMount, offline: $0.offline)
        }
        upstreams = []
        loops = proxy.loopStatistics.enumerated().map { index, loop in
            Loop(name: "larder-\(index)", turns: UInt64(loop.turns), longestTurnSeconds: Double(loop.longestTurn.wholeNanoseconds) / 1e9)
        }
    }
}
