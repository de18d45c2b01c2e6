// SPDX-License-Identifier: Apache-2.0

import Glibc
import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import LarderSharing
import LarderStores
import LarderUpstream

/// The totals since the start and the current state: `/-/status` and `/-/metrics` are two formats of it.
struct StatusReport: Sendable {
    struct Tier: Sendable {
        var bytes, limit: Int64
    }

    struct ServiceLine: Sendable {
        var name, baseURL, mount: String
        var isOffline: Bool
        var offlineMode: OfflineMode
        var totals: ServiceCounters.Totals
    }

    struct LoopLine: Sendable {
        var name: String
        var statistics: LoopStatistics
    }

    var version = LarderVersion.current
    var startedAt: Timestamp
    var uptime: Duration
    var now: Timestamp
    var phase: Proxy.Phase
    /// True if clients of the gateway, and of the forward proxy, may name hosts without a service.
    var gatewayToAnyHost, forwardsToAnyHost: Bool
    /// Exchanges by their outcome.
    var requests: [LoopCounters.Kind: UInt64]
    var amounts: [LoopCounters.Amount: UInt64]
    /// Bytes of content sent for clients' requests, without Larder's own pages.
    var sent: UInt64
    var reasons: [LoopCounters.Reason: UInt64]
    /// Exchanges by their duration, on `LatencyScale`.
    var latencies: [UInt64]
    /// In nanoseconds.
    var latencySum: UInt64
    var memory: Tier
    var resources, evictedFromMemory: Int
    /// Nil without a disk store.
    var store: StoreStatistics?
    var storePath: String?
    var openConnections, openTunnels: Int
    var addresses, tlsAddresses, adminAddresses: [String]
    var services: [ServiceLine]
    /// The same for services and unclaimed URLs, by the source of the response.
    var latenciesBySource: [[UInt64]]
    /// The totals of unclaimed URLs.
    var unclaimed: ServiceCounters.Totals
    var reload: ReloadReport
    var offline: OfflineReport
    var savings: [SavingsTable.Line]
    var quotas: [QuotaTable.Line]
    var prices: [String: [ModelPrice]]
    var interception: InterceptionReport
    var traces: TraceExporter.Counts
    var changes: ChangeNotifier.Counts
    var ahead: AheadRefresher.Counts
    /// Nil without a shared tier.
    var sharing: Sharing.Report?
    var upstreams: [UpstreamStatistics]
    /// The origins with a problem.
    var troubledOrigins: [String: OriginReport]
    var loops: [LoopLine]
    var process: ProcessUsage
    /// The counts of all runs of the daemon; nil where statistics are not kept.
    var allTime: KeptStatistics.AllTime?

    init(of proxy: Proxy) async {
        let settings = proxy.configuration.settings
        startedAt = proxy.startedAt
        uptime = proxy.uptime
        now = proxy.now
        phase = proxy.phase
        gatewayToAnyHost = settings.gateway.anyHost
        forwardsToAnyHost = settings.forward.anyHost
        requests = LoopCounters.Kind.allCases.reduce(into: [:]) { $0[$1] = proxy.total($1) }
        amounts = LoopCounters.Amount.allCases.reduce(into: [:]) { $0[$1] = proxy.total($1) }
        reasons = LoopCounters.Reason.all.reduce(into: [:]) { $0[$1] = proxy.total($1) }
        let counts = proxy.counters.map { $0.latencies() }
        latencies = (0..<LatencyScale.buckets).map { bucket in counts.reduce(0) { $0 + $1[bucket] } }
        latencySum = proxy.counters.reduce(0) { $0 + $1.latencySum }
        memory = Tier(bytes: Int64(proxy.registry.bytes), limit: Int64(proxy.registry.limit))
        resources = proxy.registry.keeping
        evictedFromMemory = proxy.registry.evicted
        store = proxy.diskTier?.store.statistics
        storePath = proxy.diskTier?.store.directory
        openConnections = proxy.openConnections
        openTunnels = proxy.openTunnels
        addresses = proxy.addresses.map(\.description)
        tlsAddresses = proxy.tlsAddresses.map(\.description)
        adminAddresses = proxy.adminAddresses.map(\.description)
        let offline = OfflineReport(of: proxy)
        self.offline = offline
        let totals = proxy.serviceTotals()
        latenciesBySource = ServiceCounters.Source.allCases.map { source in
            totals.values.reduce(into: [UInt64](repeating: 0, count: LatencyScale.buckets)) { sums, total in
                for (bucket, count) in total.latencies(source).enumerated() { sums[bucket] += count }
            }
        }
        sent = totals.values.reduce(0) { $0 + $1.sent }
        unclaimed = totals["-"] ?? ServiceCounters.Totals()
        reload = ReloadReport(proxy.reloading)
        services = settings.services.map { service in
            let line = offline.lines.first { $0.name == service.name }
            return ServiceLine(
                name: service.name, baseURL: service.baseURL.shown, mount: service.effectiveMount,
                isOffline: line?.isOffline ?? false, offlineMode: line?.mode ?? .off,
                totals: totals[service.name] ?? ServiceCounters.Totals())
        }
        savings = proxy.savings.all
        quotas = proxy.quotaReport
        prices = Dictionary(settings.services.map { ($0.name, $0.prices) }) { first, _ in first }
        interception = InterceptionReport(of: proxy)
        traces = proxy.traces.counts
        changes = proxy.changes.counts
        ahead = proxy.ahead.counts
        sharing = proxy.sharing?.report(at: proxy.monotonicNow)
        loops = proxy.loopStatistics.enumerated().map { LoopLine(name: "larder-\($0)", statistics: $1) }
        process = ProcessUsage()
        troubledOrigins = Dictionary(proxy.originReports().map { ($0.origin, $0) }) { first, _ in first }
        upstreams = await proxy.upstreamStatistics()
        // An origin in trouble is included even if no loop uses it any more.
        let known = Set(upstreams.map(\.origin))
        upstreams += troubledOrigins.keys.filter { !known.contains($0) }.sorted().map { UpstreamStatistics(origin: $0) }
    }

    /// The report without the hosts that clients visit, but for the services' own.
    func leavingOutVisits(but services: ServiceTable) -> StatusReport {
        let named = Set(services.all.compactMap { $0.base.map { "\(Origin($0))" } })
        var report = self
        report.upstreams.removeAll { !named.contains($0.origin) }
        report.troubledOrigins = troubledOrigins.filter { named.contains($0.key) }
        report.interception.tunnels = []
        report.interception.retreats = []
        return report
    }

    func count(_ kind: LoopCounters.Kind) -> UInt64 { requests[kind] ?? 0 }
    func count(_ reason: LoopCounters.Reason) -> UInt64 { reasons[reason] ?? 0 }
    func sum(_ amount: LoopCounters.Amount) -> UInt64 { amounts[amount] ?? 0 }

    /// The share of cacheable requests that no upstream had to answer in full; 0 before there were any. Failures are
    /// no hits.
    var hitRatio: Double {
        let answered = count(.hit) + count(.stale) + count(.validated) + count(.collapsed)
        let cacheable = answered + count(.miss) + count(.error)
        return cacheable == 0 ? 0 : Double(answered) / Double(cacheable)
    }

    /// The share of the content sent to clients that no upstream had to send; 0 before there was any.
    var byteHitRatio: Double { sent == 0 ? 0 : min(1, Double(sum(.saved)) / Double(sent)) }

    func latency(_ quantile: Double) -> Double { LatencyScale.quantile(quantile, of: latencies) }
}

/// This process's resource usage according to the kernel, read without disk access.
package struct ProcessUsage: Sendable {
    /// Bytes of memory in use; nil where the kernel does not report it.
    package var residentBytes: Int64?
    /// Processor time since the start, in seconds.
    var processorSeconds: Double

    package init() {
        residentBytes = ProcessUsage.pages().map { $0 * Int64(sysconf(Int32(_SC_PAGESIZE))) }
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        processorSeconds = ProcessUsage.seconds(usage.ru_utime) + ProcessUsage.seconds(usage.ru_stime)
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }

    /// The second number of `/proc/self/statm`.
    private static func pages() -> Int64? {
        let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = read(descriptor, &bytes, bytes.count)
        let numbers = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: " ")
        return numbers.count > 1 ? Int64(numbers[1]) : nil
    }
}
