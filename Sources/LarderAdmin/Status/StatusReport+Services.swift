// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderUpstream

/// Metrics of services: those with most requests, so that thousands of them do not make the response endless.
extension StatusReport {
    private static let serviceLimit = 100

    private var busiest: [(name: String, totals: ServiceCounters.Totals)] {
        let all = services.map { ($0.name, $0.totals) } + [("-", unclaimed)]
        guard all.count > StatusReport.serviceLimit else { return all }
        return Array(
            all.sorted { ($1.1.requests, $0.0) < ($0.1.requests, $1.0) }.prefix(StatusReport.serviceLimit))
    }

    func writeServices(_ text: inout MetricsText) {
        let lines = busiest
        let kinds = LoopCounters.Kind.allCases.filter { $0 != .own && $0 != .tunnel }
        text.counter(
            "larder_service_requests", "Requests to services, by what became of them; `-` is what no service claims.",
            lines.flatMap { line in
                kinds.map { ([("service", line.name), ("outcome", "\($0)")], Double(line.totals.count($0))) }
            })
        text.counter(
            "larder_service_sent_bytes", "Octets of content sent to clients, by service.",
            lines.map { ([("service", $0.name)], Double($0.totals.sent)) })
        text.counter(
            "larder_service_saved_bytes", "Octets of content that clients got out of the cache, by service.",
            lines.map { ([("service", $0.name)], Double($0.totals.saved)) })
        let sources: [(source: ServiceCounters.Source, name: String)] = [(.cache, "cache"), (.origin, "origin")]
        text.histogram(
            "larder_service_request_duration_seconds",
            "From the request head to the last octet of the response, by service and where the answer came from.",
            lines.flatMap { line in
                sources.map { source in
                    let counts = line.totals.latencies(source.source)
                    return MetricsText.Histogram(
                        labels: [("service", line.name), ("from", source.name)],
                        buckets: StatusReport.buckets(counts, each: 4), count: counts.reduce(0, +),
                        sum: Double(line.totals.latencySum(source.source)) / 1e9)
                }
            })
    }

    /// Counts on `LatencyScale` up to and with bounds between a microsecond and a minute.
    ///
    /// - Parameter step: how many buckets of the scale, four of which double a latency, are combined.
    static func buckets(_ counts: [UInt64], each step: Int) -> [(bound: Double, count: UInt64)] {
        var total: UInt64 = 0
        var buckets: [(bound: Double, count: UInt64)] = []
        for (bucket, count) in counts.enumerated() {
            total += count
            let bound = LatencyScale.upperBound(of: bucket)
            if bucket % step == step - 1 || bucket == 0 || bucket == 1, bound < 70 { buckets.append((bound, total)) }
        }
        return buckets
    }
}

/// Status and metrics of origins in backoff.
extension StatusReport {
    func json(of line: UpstreamStatistics) -> JSONValue {
        let trouble = troubledOrigins[line.origin]
        // The error and its time are of one failure.
        let (lastError, since) =
            trouble?.lastError.map { ($0, trouble?.sinceLastError) } ?? (line.lastError, line.sinceLastError)
        func time(_ remaining: Duration?) -> JSONValue { remaining.map { .time(now + $0) } ?? .null }
        return [
            "origin": .string(line.origin), "active": .integer(line.active), "idle": .integer(line.idle),
            "waiting": .integer(line.waiting), "requests": .integer(line.requests),
            "failures": .integer(line.failures), "serverErrors": .integer(line.serverErrors),
            "lastError": lastError.map { .string($0) } ?? .null,
            "lastErrorAt": since.map { .time(now - $0) } ?? .null,
            "state": .string((trouble?.state ?? .closed).rawValue), "openUntil": time(trouble?.openFor),
            "retryAfterUntil": time(trouble?.pausedFor),
            "consecutiveFailures": .integer(trouble?.consecutiveFailures ?? 0),
        ]
    }

    func writeTroubledOrigins(_ text: inout MetricsText) {
        text.counter(
            "larder_upstream_held", "Requests that were not sent because their origin is left alone.",
            sum(.upstreamHeld))
        text.gauge(
            "larder_service_offline", "Whether a service does not ask its origin.",
            offline.lines.map { ([("service", $0.name)], $0.isOffline ? 1 : 0) })
        text.gauge("larder_network_lost", "Whether no origin can be reached.", offline.isNetworkLost ? 1 : 0)
        let lines = troubledOrigins.values.sorted { $0.origin < $1.origin }.prefix(100)
        text.gauge(
            "larder_origin_circuit_open",
            "Whether an origin failed and has not answered since; those without trouble are left out.",
            lines.map { ([("origin", $0.origin)], $0.state == .open || $0.state == .halfOpen ? 1 : 0) })
        text.gauge(
            "larder_origin_retry_after_seconds",
            "How long an origin in trouble is still left alone because it asked for it.",
            lines.map { ([("origin", $0.origin)], ($0.pausedFor ?? .zero).inSeconds) })
    }
}
