// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
package import LarderIO
import LarderSettings
import LarderStores
package import LarderUpstream
package import Logging
import Synchronization

/// The proxy: its loops with their listeners, their shared state, and its life from start to drain.
package final class Proxy: Sendable {
    /// This, while its loops run: requests that programs make before wait for it.
    package let running = Expected<Proxy>()
    package let registry: Registry
    /// The store on disk; nil without one.
    package let diskTier: DiskTier?
    /// The parts of the daemon beside the core.
    let features: [any Feature]
    package let counters: [LoopCounters]
    package let logger: Logger
    package let startedAt: Timestamp
    /// The start by the monotonic clock, in nanoseconds.
    let monotonicStart: Int64
    /// Answers requests addressed to Larder itself.
    package let pages: any OwnPages
    /// Reports the changes of resources to observers.
    package let events: EventHub
    /// Transforms responses.
    let transforming: TransformBudget
    package let accessLog: AccessLog
    /// The last requests of clients.
    package let requests = RequestLog()
    /// The state of the configuration.
    package let reloading = Reloading()
    /// The shared state of origins in trouble.
    package let origins: OriginWatch
    /// The operators' choices of offline mode since the start.
    package let offline = OfflineSwitch()
    let overrides = Overrides()
    /// For the caches of services in Swift.
    let cacheLog: ModelLog
    /// The remaining quotas of origins.
    package let quotas = QuotaTable()
    /// Validates what is stored before it is out of date.
    package let ahead = AheadRefresher()
    /// Tells of content that changes.
    package let changes = ChangeNotifier()
    /// Exports traces.
    package let traces = TraceExporter()
    /// The tokens of language models that were saved.
    package let savings = SavingsTable()
    /// The shared state of interception.
    package let interception: Interception
    /// The lanes of commands.
    package let lanes = LaneTable()
    /// The recordings of commands.
    package let recordings: RecordingTable
    private let nearestSearchers = Lock<WorkerPool?>(nil)
    private let contentReaders = Lock<WorkerPool?>(nil)
    /// For operations on all of memory.
    package let walkers = WorkerPool(name: "larder-walk", threads: 1, queueLimit: 256)
    let time: any TimeSource

    let work: ProxyWork
    private let loops: [EventLoop]
    private let state: Lock<State>
    /// The address of the configuration in `state`.
    private let latest: Atomic<UInt>
    /// Limits client connections.
    let admission = Admission()
    /// For content of requests that is kept until their end.
    let contentRoom = ContentRoom()
    /// Finds out whether users' passwords are right.
    let passwords: UserGate.Checks
    private let tunnels = Tally()

    private struct State {
        var configuration: ProxyConfiguration
        /// Each is used on its own loop only.
        var contexts: [LoopBound<LoopContext>] = []
        var phase = Phase.new
        /// Waits for the last connection to close.
        var drained: UnsafeContinuation<Void, Never>?
        var addresses = ListeningAddresses()
    }

    /// The phases of a proxy's life, in order.
    package enum Phase: Sendable {
        case new, serving, draining
    }

    init(
        configuration: ProxyConfiguration, diskTier: DiskTier?, pages: any OwnPages, logger: Logger,
        time: any TimeSource, interception: Interception, recordings: RecordingTable, registry: Registry?,
        features: [any Feature], work: ProxyWork
    ) throws(IOError) {
        let settings = configuration.settings
        self.work = work
        self.interception = interception
        self.recordings = recordings
        self.registry = registry ?? Registry(limit: settings.cache.memory.bytes)
        self.diskTier = diskTier
        self.features = features
        self.pages = pages
        self.logger = logger
        self.time = time
        passwords = PasswordChecks(time: time)
        startedAt = Timestamp(nanoseconds: time.now())
        monotonicStart = time.monotonic()
        accessLog = AccessLog(logger: logger)
        cacheLog = Proxy.cacheLog(to: logger, time)
        origins = OriginWatch { event in
            event.log(to: logger)
            work.hearOfOrigin(event)
        }
        events = EventHub(feed: self.registry.feed, time: time)
        let count = settings.threads ?? Self.processorCount
        var loops: [EventLoop] = []
        transforming = TransformBudget(threads: max(2, count), limit: settings.limits.transforming.bytes)
        for number in 0..<count { loops.append(try EventLoop(name: "larder-\(number)", time: time)) }
        self.loops = loops
        counters = loops.map { _ in LoopCounters() }
        state = Lock(State(configuration: configuration))
        latest = Atomic(configuration.address)
    }

    package var configuration: ProxyConfiguration { state.withLock { $0.configuration } }

    /// The configuration that was applied last, for a loop that has `known`. Usually that is `known`, which is returned
    /// without a lock.
    func configuration(orKnown known: ProxyConfiguration) -> ProxyConfiguration {
        // Both are alive, so equal addresses mean the same object.
        latest.load(ordering: .acquiring) == known.address ? known : configuration
    }
    package var now: Timestamp { Timestamp(nanoseconds: time.now()) }
    package var monotonicNow: Int64 { time.monotonic() }
    package var loopStatistics: [LoopStatistics] { loops.map(\.statistics) }
    package var openConnections: Int { admission.count }
    package var openTunnels: Int { tunnels.value }
    package var phase: Phase { state.withLock { $0.phase } }
    /// The addresses on which clients are accepted.
    package var addresses: [SocketAddress] { state.withLock { $0.addresses.clients } }
    /// The addresses on which clients are accepted over TLS.
    package var tlsAddresses: [SocketAddress] { state.withLock { $0.addresses.overTLS } }
    /// The addresses on which only the admin surface is served.
    package var adminAddresses: [SocketAddress] { state.withLock { $0.addresses.admin } }

    /// The loops' statistics of upstreams, added up for each origin and in the order of their names.
    package func upstreamStatistics() async -> [UpstreamStatistics] {
        var sums: [String: UpstreamStatistics] = [:]
        for context in contexts {
            let own = (try? await context.perform { $0.upstream.statistics }) ?? []
            for line in own { sums[line.origin] = sums[line.origin].map { $0.adding(line) } ?? line }
        }
        return sums.values.sorted { $0.origin < $1.origin }
    }

    /// The thread that searches for stored URLs, created on demand.
    func searchers() -> WorkerPool {
        pool(in: nearestSearchers, WorkerPool(name: "larder-nearest", threads: 1, queueLimit: 4))
    }

    /// The threads that parse long request content for its key, created on demand.
    func readers() -> WorkerPool {
        pool(in: contentReaders, WorkerPool(name: "larder-content", threads: 2, queueLimit: 256))
    }

    private func pool(in place: Lock<WorkerPool?>, _ make: @autoclosure () -> WorkerPool) -> WorkerPool {
        place.withLock { pool in
            if let pool { return pool }
            let made = make()
            pool = made
            return made
        }
    }

    /// One of the loops, in turn.
    func anyContext() throws -> LoopBound<LoopContext> {
        guard let context = contexts.randomElement() else {
            throw UpstreamError(.internalError, "Larder is not running.")
        }
        return context
    }

    /// Opens a port whose clients all belong to `lane`, for programs that cannot authenticate to a proxy. Only programs
    /// of `user` are served.
    package func openDoor(of lane: Lane, for user: UInt32) async throws -> SocketAddress {
        try await anyContext().perform { try $0.liveClients().openDoor(of: lane, for: user) }
    }

    /// Why the kernel does not say who owns a connection, so that a door would refuse all clients; nil if it does.
    package func doorObstacle() async -> String? {
        do {
            let nowhere = SocketAddress.loopback(port: 0)
            _ = try await walkers.run { try SocketOwner.user(of: nowhere, to: nowhere) }
            return nil
        } catch {
            return "\(error)"
        }
    }

    package func closeDoor(of lane: Lane) {
        for context in contexts { context.execute { $0.clients?.closeDoor(of: lane) } }
    }

    /// Has every loop report the progress of its loads: the first listener has been added.
    func tellProgress() {
        for context in contexts { context.execute { $0.ticker.wake() } }
    }

    // MARK: Life

    /// Starts the loops and listens. Returns the addresses of the client listeners, in the order of the configuration.
    /// When it throws, everything it started has ended.
    ///
    /// - Parameters:
    ///   - inherited: sockets opened by the service manager. TCP sockets replace the configured addresses; Unix sockets
    ///     serve the admin surface.
    ///   - admin: opened as well, unless the service manager has.
    package func start(inherited: [Int32] = [], admin: AdminSocket? = nil) async throws -> [SocketAddress] {
        do {
            await DefaultExecutor.begin()
            try await startLoops()
            // Programs may have invalidated stored responses while they configured services: clients must not get them.
            for service in configuration.router.table.services { await service.service.finishCacheWork() }
            let addresses = try await listen(inherited: inherited, admin: admin)
            state.withLock { state in
                state.addresses = addresses
                state.phase = .serving
            }
            scheduleStored()
            for feature in features { await feature.begin(on: self, loops[0]) }
            return addresses.clients
        } catch {
            await drain()
            throw error
        }
    }

    private func startLoops() async throws {
        let configuration = configuration
        for (loop, counters) in zip(loops, counters) {
            try loop.start()
            let context = await loop.perform { _ in
                LoopBound(
                    LoopContext(loop: loop, proxy: self, configuration: configuration, counters: counters), on: loop)
            }
            state.withLock { $0.contexts.append(context) }
        }
        running.fulfil(self)
    }

    var contexts: [LoopBound<LoopContext>] { state.withLock { $0.contexts } }

    /// Uses `configuration` from now on; running exchanges keep the old one.
    package func apply(_ configuration: ProxyConfiguration) {
        registry.limit = configuration.settings.cache.memory.bytes
        transforming.limit = configuration.settings.limits.transforming.bytes
        let contexts = state.withLock { state in
            state.configuration = configuration
            latest.store(configuration.address, ordering: .releasing)
            return state.contexts
        }
        for context in contexts { context.execute { $0.apply(configuration) } }
        scheduleStored()
        Task { await forgetFormerConfiguration() }
    }

    /// True if it has been asked to end.
    package var isDraining: Bool { state.withLock { $0.phase == .draining } }

    /// Stops accepting, lets running exchanges end within `timeouts.drain`, then ends the loops.
    package func drain() async {
        defer { running.giveUp() }
        let contexts = state.withLock { state in
            state.phase = .draining
            return state.contexts
        }
        guard !contexts.isEmpty else { return }
        for context in contexts { context.execute { $0.drain() } }
        contexts.first?.execute { [limit = configuration.settings.timeouts.drain] context in
            context.loop.timerHere(after: limit) { context.proxy.endDrain() }
            context.loop.timerHere(after: min(limit, UserGate.patience)) { context.proxy.passwords.close() }
        }
        await allConnectionsClosed()
        try? await contexts.first?.run { await $0.proxy.traces.finish(from: $0) }
        for feature in features { feature.end() }
        for context in contexts { context.execute { $0.closeAll() } }
        for context in contexts { await context.turn() }
        for loop in loops { loop.stop() }
        state.withLock { $0.contexts = [] }
        events.close()
        await diskTier?.store.close()
    }

    /// Waits until the last connection has closed, or `endDrain`.
    private func allConnectionsClosed() async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let mustWait = state.withLock { state in
                guard openConnections > 0 else { return false }
                state.drained = continuation
                return true
            }
            if !mustWait { continuation.resume() }
        }
    }

    /// Ends the wait for connections to close.
    private func endDrain() { state.withLock { $0.drained.take() }?.resume() }

    // MARK: Limits

    /// Releases the place of a client connection.
    func releaseConnection(_ place: Admission.Place) {
        if admission.release(place) == 0 { endDrain() }
    }
    /// A connection that was refused counted for a moment, in which the last other one may have closed.
    func connectionWasRefused() {
        if admission.count == 0 { endDrain() }
    }
    func admitTunnel(limit: Int) -> Bool { tunnels.take(limit: limit) }
    func releaseTunnel() { tunnels.add(-1) }
}
