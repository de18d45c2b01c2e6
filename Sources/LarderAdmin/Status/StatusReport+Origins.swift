// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderUpstream

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
