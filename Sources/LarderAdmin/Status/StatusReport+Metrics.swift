// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
import LarderProxy
import LarderRules
import LarderSharing
import LarderStores
import LarderUpstream

/// The names of `/-/metrics`. Dashboards and alerts rely on them: add, never rename.
extension StatusReport {
    func metrics(isOpenMetrics: Bool) -> MetricsText {
        var text = MetricsText(isOpenMetrics: isOpenMetrics)
        text.gauge("larder_build_info", "Which Larder this is.", [([("version", version)], 1)])
        text.gauge(
            "larder_start_time_seconds", "When it was started, in seconds since 1970.",
            [([], Double(startedAt.nanoseconds) / 1e9)])
        text.gauge("larder_ready", "Whether it accepts requests.", phase == .serving ? 1 : 0)
        writeTraffic(&text)
        writeServices(&text)
        reload.write(&text)
        writeTiers(&text)
        writeUpstreams(&text)
        writeLoops(&text)
        text.finish()
        return text
    }

    private func writeTraffic(_ text: inout MetricsText) {
        text.counter(
            "larder_requests", "Requests by what became of them.",
            LoopCounters.Kind.allCases.map { ([("outcome", "\($0)")], Double(count($0))) })
        writeReasons(&text)
        text.histogram(
            "larder_request_duration_seconds",
            "From the request head to the last octet of the response, without Larder's own pages and tunnels.",
            buckets: StatusReport.buckets(latencies, each: 2), count: latencies.reduce(0, +),
            sum: Double(latencySum) / 1e9)
        text.counter("larder_sent_bytes", "Octets of content sent to clients, without Larder's own pages.", sent)
        text.counter("larder_received_bytes", "Octets of content received from origins.", sum(.received))
        text.counter("larder_saved_bytes", "Octets of content that no origin had to send.", sum(.saved))
        text.counter("larder_tunnelled_bytes", "Octets that went through tunnels, both ways.", sum(.tunnelled))
        text.gauge("larder_connections_open", "Client connections.", openConnections)
        text.counter("larder_connections_accepted", "Client connections accepted.", sum(.connectionsAccepted))
        text.counter(
            "larder_connections_refused", "Client connections refused: too many, or not allowed.",
            sum(.connectionsRefused))
        text.counter(
            "larder_connections_refused_by_client",
            "Of those, connections of clients that had as many as `limits.clientConnections` allows.",
            sum(.connectionsRefusedByClient))
        text.counter(
            "larder_requests_refused_by_client",
            "Requests of clients that had as many under way as `limits.clientRequests` allows.",
            sum(.requestsRefusedByClient))
        text.counter("larder_malformed_requests", "Requests that were not HTTP/1.1.", sum(.malformedRequests))
        text.gauge("larder_tunnels_open", "Tunnels.", openTunnels)
        interception.write(&text)
    }

    /// The reasons of outcomes, in the words of `Cache-Status` and `Proxy-Status`.
    private func writeReasons(_ text: inout MetricsText) {
        typealias Reason = LoopCounters.Reason
        func samples(_ words: [(reason: Reason, word: String)]) -> [(labels: MetricsText.Labels, value: Double)] {
            words.map { ([("reason", $0.word)], Double(count($0.reason))) }
        }
        text.counter(
            "larder_forwarded_requests", "Requests that went toward an origin, by why (RFC 9211).",
            samples(ForwardReason.allCases.map { (.forwarded($0), $0.rawValue) }))
        text.counter(
            "larder_stale_responses", "Stale responses that were used, by why.",
            samples(StaleReason.allCases.map { (.stale($0), $0.rawValue) }))
        text.counter(
            "larder_unstored_responses", "Responses that were not stored, by the condition that failed.",
            samples(UnstoredReason.all.map { (.unstored($0), $0.word) }))
        text.counter(
            "larder_problems", "Answers that Larder made itself because something was wrong, by what (RFC 9209).",
            samples(ProxyStatus.ErrorType.allCases.map { (.problem($0), $0.rawValue) }))
    }

    private func writeTiers(_ text: inout MetricsText) {
        text.gauge("larder_memory_bytes", "Octets that resources take in memory.", memory.bytes)
        text.gauge("larder_memory_limit_bytes", "The bound of that.", memory.limit)
        text.gauge("larder_resources", "Resources in memory that keep something.", resources)
        text.counter("larder_memory_evictions", "Resources dropped from memory for room.", evictedFromMemory)
        text.gauge("larder_disk_bytes", "Octets on disk.", store?.bytesOnDisk ?? 0)
        text.gauge("larder_disk_limit_bytes", "The bound of that.", store?.limit ?? 0)
        writeSharing(&text)
        guard let store else { return }
        text.gauge("larder_store_working", "Whether the cache on disk can be written.", store.state == .open ? 1 : 0)
        text.gauge("larder_store_entries", "Responses on disk.", store.entries)
        text.gauge("larder_store_pinned", "Resources that are kept from eviction.", store.pinned)
        text.gauge("larder_store_pending_operations", "Changes that wait to be committed.", store.pendingOperations)
        text.gauge("larder_store_pending_bytes", "Octets of content that wait to be written.", store.pendingBytes)
        text.counter("larder_store_evictions", "Responses removed from disk for room.", store.evictions)
        text.counter(
            "larder_store_dropped_writes", "Responses that were to be stored and were not.", store.droppedWrites)
        text.counter("larder_store_damaged", "Responses on disk found damaged.", store.damaged)
    }

    private func writeSharing(_ text: inout MetricsText) {
        guard let sharing else { return }
        text.gauge(
            "larder_shared_working", "Whether the shared tier is asked.",
            sharing.isFollowed && sharing.trouble == nil ? 1 : 0)
        text.counter(
            "larder_shared_events", "Events in the shared tier.",
            sharing.counts.map { ([("event", $0.name)], Double($0.value)) })
    }

    private func writeUpstreams(_ text: inout MetricsText) {
        text.counter("larder_upstream_requests", "Requests sent to origins.", sum(.upstreamRequests))
        text.counter("larder_upstream_errors", "Requests to origins that failed.", sum(.upstreamErrors))
        text.counter("larder_trace_spans_exported", "Spans that the collector took.", traces.exported)
        text.counter(
            "larder_trace_spans_dropped", "Spans that the collector did not take, or that had no room to wait.",
            traces.dropped)
        text.counter(
            "larder_refreshes_ahead", "Stored responses by what became of asking for them ahead (`refreshAhead`).",
            byOutcome: [
                "validated": ahead.validated, "replaced": ahead.replaced, "failed": ahead.failed, "held": ahead.held,
            ])
        text.counter(
            "larder_changes", "Changes of content by whether those who are to be told were (`onChange`).",
            byOutcome: ["told": changes.told, "failed": changes.failed, "dropped": changes.dropped])
        writeTroubledOrigins(&text)
        let lines = busiestUpstreams(limit: 100)
        text.gauge(
            "larder_upstream_connections", "Connections to the busiest origins.",
            lines.flatMap { line in
                [("active", line.active), ("idle", line.idle)].map { state, count in
                    ([("origin", line.origin), ("state", state)], Double(count))
                }
            })
        text.gauge(
            "larder_upstream_waiting", "Requests that wait for a connection to an origin.",
            lines.map { ([("origin", $0.origin)], Double($0.waiting)) })
        text.counter(
            "larder_origin_requests", "Requests sent to the busiest origins.",
            lines.map { ([("origin", $0.origin)], Double($0.requests)) })
        text.counter(
            "larder_origin_connection_failures", "Connections to the busiest origins that could not be made.",
            lines.map { ([("origin", $0.origin)], Double($0.failures)) })
        text.counter(
            "larder_origin_server_errors", "Answers of the busiest origins with a status of 500 or more.",
            lines.map { ([("origin", $0.origin)], Double($0.serverErrors)) })
    }

    private func writeLoops(_ text: inout MetricsText) {
        text.counter(
            "larder_loop_turns", "Times a loop woke up.",
            loops.map { ([("loop", $0.name)], Double($0.statistics.turns)) })
        text.gauge(
            "larder_loop_longest_turn_seconds", "The longest time a loop served nobody else.",
            loops.map { ([("loop", $0.name)], $0.statistics.longestTurn.inSeconds) })
        if let resident = process.residentBytes {
            text.gauge("process_resident_memory_bytes", "Memory in use.", resident)
        }
        text.counter("process_cpu_seconds", "Processor time.", [([], process.processorSeconds)])
    }
}
