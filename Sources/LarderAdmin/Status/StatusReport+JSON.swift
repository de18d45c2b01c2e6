// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderIO
import LarderProxy
import LarderRules
import LarderSettings
import LarderSharing
import LarderStores
import LarderUpstream

/// The names of `/-/status`. Suites and scripts rely on them: add, never rename.
extension StatusReport {
    var json: JSONValue {
        [
            "version": .string(version),
            "state": .string(phaseText),
            "uptimeSeconds": .integer(uptime.wholeSeconds),
            "startedAt": .time(startedAt),
            "addresses": .strings(addresses),
            "tlsAddresses": .strings(tlsAddresses),
            "adminAddresses": .strings(adminAddresses),
            "anyHost": ["gateway": .bool(gatewayToAnyHost), "forward": .bool(forwardsToAnyHost)],
            "requests": requestsJSON,
            "hitRatio": .decimal(hitRatio, places: 4),
            "byteHitRatio": .decimal(byteHitRatio, places: 4),
            "allTime": allTime.map(json(of:)) ?? .null,
            "memory": json(of: memory),
            "disk": diskJSON,
            "resources": .integer(resources),
            "storedResponses": store.map { .integer($0.entries) } ?? .null,
            "evictedFromMemory": .integer(evictedFromMemory),
            "bytes": [
                "sent": .integer(sent), "received": .integer(sum(.received)), "saved": .integer(sum(.saved)),
                "tunnelled": .integer(sum(.tunnelled)),
            ],
            "connections": connectionsJSON,
            "latencyMilliseconds": [
                "p50": milliseconds(latency(0.5)), "p90": milliseconds(latency(0.9)),
                "p99": milliseconds(latency(0.99)), "p999": milliseconds(latency(0.999)),
                "hits": latencies(.cache), "loads": latencies(.origin),
            ],
            "store": storeJSON,
            "sharedCache": sharing.map(json(of:)) ?? .null,
            "offline": [
                "mode": .string((offline.chosen ?? offline.configured).rawValue),
                "networkLost": .bool(offline.isNetworkLost),
            ],
            "interception": interception.json,
            "quotas": .array(quotas.prefix(100).map(json(of:))),
            "savings": .array(savings.map(json(of:))),
            "services": .array(services.map(json(of:))),
            "otherHosts": .object(StatusReport.counts(unclaimed)),
            "configuration": reload.json,
            "upstream": [
                "requests": .integer(sum(.upstreamRequests)), "errors": .integer(sum(.upstreamErrors)),
                "held": .integer(sum(.upstreamHeld)),
            ],
            "refreshAhead": refreshAheadJSON,
            "changes": [
                "told": .integer(changes.told), "failed": .integer(changes.failed),
                "dropped": .integer(changes.dropped), "waiting": .integer(changes.waiting),
            ],
            "upstreams": .array(
                busiestUpstreams(limit: 100).map(json(of:))),
            "process": [
                "residentBytes": process.residentBytes.map { .integer($0) } ?? .null,
                "processorSeconds": .decimal(process.processorSeconds, places: 2),
            ],
            "loops": loopsJSON,
        ]
    }

    private var connectionsJSON: JSONValue {
        [
            "open": .integer(openConnections), "tunnels": .integer(openTunnels),
            "accepted": .integer(sum(.connectionsAccepted)), "refused": .integer(sum(.connectionsRefused)),
            "refusedByClient": .integer(sum(.connectionsRefusedByClient)),
            "requestsRefusedByClient": .integer(sum(.requestsRefusedByClient)),
            "malformed": .integer(sum(.malformedRequests)),
        ]
    }

    private var refreshAheadJSON: JSONValue {
        [
            "validated": .integer(ahead.validated), "replaced": .integer(ahead.replaced),
            "failed": .integer(ahead.failed), "held": .integer(ahead.held), "waiting": .integer(ahead.waiting),
        ]
    }

    private var loopsJSON: JSONValue {
        .array(
            loops.map { loop in
                [
                    "name": .string(loop.name), "turns": .integer(loop.statistics.turns),
                    "longestTurnSeconds": .decimal(loop.statistics.longestTurn.inSeconds, places: 6),
                ]
            })
    }

    /// The origins in trouble and those with most requests, so that a scan over many hosts does not make the response
    /// endless.
    func busiestUpstreams(limit: Int) -> [UpstreamStatistics] {
        guard upstreams.count > limit else { return upstreams }
        func isBefore(_ a: UpstreamStatistics, _ b: UpstreamStatistics) -> Bool {
            let (troubled, other) = (troubledOrigins[a.origin] != nil, troubledOrigins[b.origin] != nil)
            return troubled != other ? troubled : (b.requests, a.origin) < (a.requests, b.origin)
        }
        return Array(upstreams.sorted(by: isBefore).prefix(limit))
    }

    private var phaseText: String {
        switch phase {
        case .new: "starting"
        case .serving: "serving"
        case .draining: "stopping"
        }
    }

    private var requestsJSON: JSONValue {
        var object = JSONObject()
        for kind in LoopCounters.Kind.allCases { object["\(kind)"] = .integer(count(kind)) }
        return .object(object)
    }

    private var diskJSON: JSONValue {
        [
            "bytes": .integer(store?.bytesOnDisk ?? 0), "limit": .integer(store?.limit ?? 0),
            "configuredLimit": .integer(store?.configuredLimit ?? 0),
        ]
    }

    private func json(of tier: Tier) -> JSONValue { ["bytes": .integer(tier.bytes), "limit": .integer(tier.limit)] }

    private func json(of service: ServiceLine) -> JSONValue {
        var object: JSONObject = [
            "name": .string(service.name), "baseURL": .string(service.baseURL), "mount": .string(service.mount),
            "offline": .bool(service.isOffline), "offlineMode": .string(service.offlineMode.rawValue),
        ]
        let counts = StatusReport.counts(service.totals)
        for name in counts.names { object[name] = counts[name] }
        return .object(object)
    }

    /// The counters of a service.
    static func counts(_ totals: ServiceCounters.Totals) -> JSONObject {
        var requests = JSONObject()
        for kind in LoopCounters.Kind.allCases where kind != .own && kind != .tunnel {
            requests["\(kind)"] = .integer(totals.count(kind))
        }
        func latency(_ source: ServiceCounters.Source, _ quantile: Double) -> JSONValue {
            .decimal(LatencyScale.quantile(quantile, of: totals.latencies(source)) * 1_000, places: 3)
        }
        return [
            "requests": .object(requests), "hitRatio": .decimal(totals.hitRatio, places: 4),
            "bytes": ["sent": .integer(totals.sent), "saved": .integer(totals.saved)],
            "latencyMilliseconds": [
                "hits": ["p50": latency(.cache, 0.5), "p99": latency(.cache, 0.99)],
                "loads": ["p50": latency(.origin, 0.5), "p99": latency(.origin, 0.99)],
            ],
        ]
    }

    private func json(of allTime: KeptStatistics.AllTime) -> JSONValue {
        var object = StatusReport.counts(allTime.totals)
        object["since"] = .time(allTime.since)
        object["secondsSaved"] = .seconds(allTime.timeSaved)
        return .object(object)
    }

    private func json(of quota: QuotaTable.Line) -> JSONValue {
        [
            "service": .string(quota.service),
            "credential": .string(String(quota.credential & 0xFFFF_FFFF, radix: 16)),
            "remaining": .integer(quota.left.remaining),
            "limit": quota.left.limit.map { .integer($0) } ?? .null,
            "resetSeconds": .integer(quota.left.reset.components.seconds),
            "quota": quota.left.name.isEmpty ? .null : .string(quota.left.name),
        ]
    }

    private func json(of line: SavingsTable.Line) -> JSONValue {
        var object: JSONObject = [
            "service": .string(line.service), "model": .string(line.model), "answers": .integer(line.answers),
            "inputTokens": .integer(line.input), "outputTokens": .integer(line.output),
        ]
        if let price = prices[line.service]?.price(of: line.model) {
            let money = Double(line.input) * price.input + Double(line.output) * price.output
            object["money"] = .decimal(money / 1_000_000, places: 6)
        }
        return .object(object)
    }

    private var storeJSON: JSONValue {
        guard let store else { return ["state": "none: nothing is kept on disk"] }
        return [
            "state": .string(store.state.words), "path": storePath.map { .string($0) } ?? .null,
            "entries": .integer(store.entries), "pendingWrites": .integer(store.pendingOperations),
            "pendingBytes": .integer(store.pendingBytes), "evicted": .integer(store.evictions),
            "droppedWrites": .integer(store.droppedWrites), "damaged": .integer(store.damaged),
            "pinned": .integer(store.pinned),
        ]
    }

    private func json(of sharing: Sharing.Report) -> JSONValue {
        var object: JSONObject = [
            "url": .string(sharing.url), "namespace": .string(sharing.namespace), "state": .string(sharing.state),
        ]
        for count in sharing.counts { object[count.name] = .integer(count.value) }
        return .object(object)
    }

    private func latencies(_ source: ServiceCounters.Source) -> JSONValue {
        let counts = latenciesBySource[source.rawValue]
        return [
            "p50": milliseconds(LatencyScale.quantile(0.5, of: counts)),
            "p99": milliseconds(LatencyScale.quantile(0.99, of: counts)),
        ]
    }

    private func milliseconds(_ seconds: Double) -> JSONValue { .decimal(seconds * 1_000, places: 3) }
}

extension Sharing.Report {
    /// A description of the tier's state, for people.
    fileprivate var state: String {
        if let trouble { return "in trouble: \(trouble)" }
        return isFollowed ? "working" : "not used: the log of invalidations is not heard"
    }
}

extension StoreStatistics.State {
    /// The state for people.
    var words: String {
        switch self {
        case .open: "working"
        case .degraded(let reason): "reading only: \(reason)"
        case .closed: "closed"
        }
    }
}
