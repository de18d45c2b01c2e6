// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderAdmin
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import Logging

/// Runs the daemon from its start until it is stopped and has ended in good order.
///
/// SIGTERM and SIGINT let running exchanges end, and a second one does not wait for that. SIGHUP reloads the
/// configuration.
enum DaemonRunner {
    static func run(loader: SettingsLoader) async throws {
        let notifier = ServiceNotifier(socket: loader.environment["NOTIFY_SOCKET"])
        let inherited = InheritedSockets.descriptors(environment: loader.environment)
        InheritedSockets.forgetVariables()

        // Signals, watchdog and reloading have a loop of their own: their handlers may take a while.
        let control = try EventLoop(name: "larder-control")
        try control.start()
        defer { control.stop() }
        let signals = try await SignalStream(on: control)

        let (daemon, log, accessOutput) = try await start(loader, inherited: inherited)
        defer { log.close() }
        let logger = log.logger
        keepHistory(of: daemon, on: control)
        if let watchdog = Watchdog(environment: loader.environment) {
            keepAlive(daemon.proxy, by: watchdog, notifier, on: control)
        }
        releaseMemory(after: daemon.proxy, on: control)
        notifier.send(.ready, .status(Reloader.serving(daemon.proxy.configuration.settings)))

        let reloader = Reloader(
            loader: loader, daemon: daemon, log: log, accessOutput: accessOutput, notifier: notifier)
        daemon.proxy.reloading.attach { await reloader.reload() }
        for await signal in signals.received {
            guard signal == .hangUp else { break }
            _ = await daemon.proxy.reloading.reload()
        }

        let patience = daemon.proxy.configuration.settings.timeouts.drain
        notifier.send(
            .stopping, .status("Waiting for running responses to end."), .extendTimeout(patience + .seconds(30)))
        logger.notice("stopping", metadata: ["connections": "\(daemon.proxy.openConnections)"])
        await daemon.keepStatistics()
        await daemon.proxy.drain()
        await daemon.keepStatistics()
        ChildProcess.killAll()
        logger.notice("stopped")
        // Until here a second signal is handled.
        withExtendedLifetime(signals) {}
    }

    /// Keeps no reference to the loaded configuration: the daemon releases it, with its programs, at a reload.
    private static func start(
        _ loader: SettingsLoader, inherited: [Int32]
    ) async throws -> (Daemon, DaemonLog, AccessOutput) {
        // Before the store and the loops have taken the descriptors that it needs.
        await DefaultExecutor.begin()
        let loaded = try loader.load()
        let log = DaemonLog(loaded.settings.log, environment: loader.environment)
        do {
            for note in loaded.notes { log.logger.notice("\(note)") }
            for warning in loaded.warnings { log.logger.warning("\(warning)") }
            raiseFileLimit(for: loaded.settings.limits, log.logger)
            let daemon = try await start(loaded, inherited: inherited, log)
            let accessOutput = AccessOutput(log: log)
            accessOutput.use(try accessOutput.opened(loaded.settings.log), loaded.settings.log, in: daemon.proxy)
            return (daemon, log, accessOutput)
        } catch {
            log.close()
            throw error
        }
    }

    private static func raiseFileLimit(for limits: Settings.Limits, _ logger: Logger) {
        let files = OpenFiles.raiseLimit()
        guard let shortage = OpenFiles.shortage(limit: files, connections: limits.connections) else { return }
        // The default limit is no operator's choice: many machines allow fewer files, and few have that many clients.
        let isDefault = limits.connections == Settings().limits.connections
        logger.log(level: isDefault ? .debug : .notice, "\(shortage)")
    }

    private static func start(
        _ loaded: SettingsLoader.Loaded, inherited: [Int32], _ log: DaemonLog
    ) async throws -> Daemon {
        let settings = loaded.settings
        let logger = log.logger
        do {
            if let path = settings.cache.path.path { try makeDirectory(for: path) }
            if let path = settings.admin.socket.path {
                // Same as the package's unit: the modes of the sockets define who may use them.
                try makeDirectory(for: path, isForAll: path == DefaultPaths.systemSocket && settings.admin.lanes)
                try DefaultPaths(environment: [:]).checkTemporary(socket: path)
            }
            let socket = try settings.admin.socket.path.map { path in
                AdminSocket(
                    path: path, mode: settings.admin.socketMode,
                    group: try settings.admin.socketGroup.map(UserGroup.number))
            }
            let daemon = try Daemon(settings: settings, logger: logger, recent: log.recent)
            let clients = try await daemon.proxy.start(inherited: inherited, admin: socket)
            await openLanes(settings.admin, of: daemon.proxy, logger)
            let addresses = clients + daemon.proxy.tlsAddresses + daemon.proxy.adminAddresses
            logger.notice(
                "serving",
                metadata: [
                    "version": "\(LarderVersion.description)",
                    "addresses": "\(addresses.map(String.init(describing:)).joined(separator: " "))",
                    "cache": "\(settings.cache.path.path ?? "none")", "configuration": "\(loaded.file ?? "none")",
                ])
            return daemon
        } catch {
            throw StartFailure.explained(error, settings)
        }
    }

    /// Without the socket for lanes the daemon does everything else.
    private static func openLanes(_ admin: Settings.Admin, of proxy: Proxy, _ logger: Logger) async {
        guard admin.lanes, let socket = admin.socket.path else { return }
        do {
            try await proxy.listenForLanes(onSocketAt: DefaultPaths.lanes(beside: socket))
        } catch {
            logger.warning("other users cannot open lanes", metadata: ["error": "\(error)"])
        }
    }

    private static func makeDirectory(for path: String, isForAll: Bool = false) throws {
        do {
            try DefaultPaths.makeDirectory(for: path, isForAll: isForAll)
        } catch {
            throw CommandFailure(
                "\(error)",
                advice: "make it, or name another place in `cache.path` or `admin.socket`")
        }
    }

    /// Samples the history, and keeps it for the next run once a minute.
    private static func keepHistory(of daemon: Daemon, on control: EventLoop) {
        control.spawn { loop in
            while true {
                for _ in 0..<12 {
                    await loop.sleep(for: History.interval)
                    daemon.history.sample(daemon.proxy)
                }
                await daemon.keepStatistics()
            }
        }
    }

    /// Returns memory to the system whenever there is little load.
    private static func releaseMemory(after proxy: Proxy, on control: EventLoop) {
        control.spawn { loop in
            var release = MemoryRelease()
            while true {
                await loop.sleep(for: MemoryRelease.interval)
                let turns = proxy.loopStatistics.reduce(0) { $0 + $1.turns }
                if release.isDue(turns: turns, resident: MemoryRelease.resident) { release.perform() }
            }
        }
    }

    /// Reports to the service manager that the daemon works, while all its loops make progress.
    private static func keepAlive(
        _ proxy: Proxy, by watchdog: Watchdog, _ notifier: ServiceNotifier, on control: EventLoop
    ) {
        control.spawn { loop in
            while true {
                await loop.sleep(for: watchdog.interval)
                if watchdog.isSatisfied(by: proxy.loopStatistics) { notifier.send(.watchdog) }
            }
        }
    }
}

/// The received signals. The second request to stop is executed at once.
private struct SignalStream {
    let received: AsyncStream<ProcessSignal>
    private let source: Confined<SignalSource>

    init(on loop: EventLoop) async throws {
        let waiting = WaitingSignals()
        received = waiting.stream
        source = try await loop.perform { loop in
            var isEnding = false
            return Confined(
                try SignalSource([.terminate, .interrupt, .hangUp], on: loop) { signal in
                    if signal != .hangUp {
                        // Responses queued for the store may be lost, as after a kill; nothing else is.
                        if isEnding {
                            ChildProcess.killAll()
                            _exit(EXIT_FAILURE)
                        }
                        isEnding = true
                    }
                    waiting.add(signal)
                })
        }
    }
}

/// The signals that wait for the one before them: several reloads are one, and a request to stop comes before it.
struct WaitingSignals: Sendable {
    let stream: AsyncStream<ProcessSignal>
    private let continuation: AsyncStream<ProcessSignal>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func add(_ signal: ProcessSignal) {
        continuation.yield(signal)
        if signal != .hangUp { continuation.finish() }
    }
}

extension SettingsProblems {
    var count: Int { problems.count + omitted }
}
