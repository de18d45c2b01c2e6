// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderSettings
import LarderUpstream
import Logging

/// Everything one loop needs to serve. Confined to its loop.
final class LoopContext: StagedLoop {
    let loop: EventLoop
    // Holds: the proxy has the contexts until its loops have ended.
    unowned let proxy: Proxy
    let registry: Registry
    let diskTier: DiskTier?
    private(set) var configuration: ProxyConfiguration
    let upstream: UpstreamPool
    /// The states that features keep for the loop.
    private(set) var states = StageStates()
    var problemLog = ProblemLog()
    let counters: LoopCounters
    let buffers = BufferPool()
    let requestCache: RequestCache
    /// Records exchanges, and a limited number of hits in memory.
    let requests: RequestLog
    var noteBudget = NoteBudget(perSecond: 20)
    /// The same for requests that were not answered from memory; errors are all told of.
    var loadNoteBudget = NoteBudget(perSecond: 100)
    /// Records traces; nil where they are not exported.
    private(set) var tracer: Tracer?
    /// The counters of services, by their numbers.
    private var serviceCounters: [UInt32: ServiceCounters] = [:]
    /// The receive buffer for requests that are answered at once.
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: BufferPool.size, alignment: 16)
    /// The loads on this loop.
    let ticker: LoadTicker
    private(set) var isDraining = false
    /// The clients that this loop serves; nil once the loop has ended.
    private(set) var clients: (any LoopClients)?
    private var date: (second: Int64, text: String) = (.min, "")
    /// The last value of `Via`, and its origin.
    private var lastVia: (uri: TargetURI, value: String)?

    init(loop: EventLoop, proxy: Proxy, configuration: ProxyConfiguration, counters: LoopCounters) {
        self.loop = loop
        self.proxy = proxy
        registry = proxy.registry
        diskTier = proxy.diskTier
        requests = proxy.requests
        self.configuration = configuration
        self.counters = counters
        requestCache = RequestCache(limit: proxy.registry.limit / 8 / max(1, proxy.counters.count))
        upstream = UpstreamPool(
            loop: loop, connector: loop.makeConnectorHere(), settings: configuration.upstreamSettings)
        ticker = LoadTicker(loop: loop, feed: proxy.registry.feed)
        tracer = Tracer(configuration, self)
        for feature in proxy.features { feature.loopBegins(loop, &states, proxy.logger) }
        clients = proxy.work.makeClients(self)
        // Holds: the loop ends before its context goes.
        loop.onFaultHere { [unowned self] in _ = fault($0) }
    }

    /// Logs an internal fault, which costs one connection, and returns the error to throw.
    func fault(_ error: IOError) -> IOError {
        proxy.logger.error("internal fault", metadata: ["error": "\(error)"])
        return error
    }

    deinit { scratch.deallocate() }

    func counters(of service: RoutedService) -> ServiceCounters {
        if let known = serviceCounters[service.number] { return known }
        let counters = counters.counters(of: service.name)
        serviceCounters[service.number] = counters
        return counters
    }

    func now() -> Timestamp { Timestamp(nanoseconds: loop.wallClockHere()) }

    /// The current second as a `Date` field value, formatted once a second.
    func dateText() -> String {
        let now = now()
        if date.second != now.seconds { date = (now.seconds, HTTPDate.string(now)) }
        return date.text
    }

    /// The value of `Via` in a request to the origin of `uri`: usually the value of the previous request.
    func via(to uri: TargetURI) -> String {
        if let lastVia, lastVia.uri.hasSameOrigin(as: uri) { return lastVia.value }
        let value = configuration.via(to: uri)
        lastVia = (uri.compact, value)
        return value
    }

    /// Starts a task on this loop; it runs up to its first suspension before this returns.
    func spawn(_ body: @escaping () async -> Void) {
        loop.startHere(body)
    }

    func sleep(for duration: Duration) async { await loop.sleep(for: duration) }

    // MARK: Life

    /// - Throws: when the loop has ended.
    func liveClients() throws -> any LoopClients {
        guard let clients else { throw UpstreamError(.internalError, "Larder is not running.") }
        return clients
    }

    func apply(_ configuration: ProxyConfiguration) {
        let former = self.configuration
        self.configuration = configuration
        lastVia = nil
        serviceCounters = [:]
        tracer = Tracer(configuration, self)
        requestCache.removeAll()
        clients?.apply(configuration, after: former)
        upstream.apply(configuration.upstreamSettings)
    }

    /// Stops accepting, ends idle connections, and lets running exchanges end.
    func drain() {
        isDraining = true
        clients?.drain()
        upstream.drain()
    }

    /// Ends the remaining connections, and the loads that may still run in tasks of clients that have left.
    func closeAll() {
        clients?.closeAll()
        clients = nil
        ticker.cancelAll()
        for feature in proxy.features { feature.loopEnds(states) }
    }
}

/// Size limits from the loop's own configuration, read without synchronization.
extension LoopContext {
    var memoryObjectLimit: Int { configuration.memoryObjectLimit }

    var transformedContentLimit: Int { configuration.transformedContentLimit }

    /// The largest content that the store accepts.
    var storedObjectLimit: Int64 { diskTier?.maxObject ?? 0 }

    /// True if content of `length` bytes, or of unknown length, is kept in memory at first.
    func keepsInMemory(_ length: Int64?) -> Bool { (length ?? 0) <= Int64(memoryObjectLimit) }

    /// True if content of `length` bytes can be stored at all.
    func mayKeep(_ length: Int64?) -> Bool {
        keepsInMemory(length) || (length ?? 0) <= storedObjectLimit
    }
}
