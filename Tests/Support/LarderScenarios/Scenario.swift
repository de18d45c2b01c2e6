// SPDX-License-Identifier: Apache-2.0
import LarderAdmin
package import LarderIO
package import LarderPeers
package import LarderProxy
package import LarderSettings
package import LarderTesting
import Logging

/// A real daemon between clients and an origin that a test scripts, with a clock that the test moves.
///
/// Everything is as in production but three things: time stands still until `advance`, both neighbours are on
/// loopback and do what they are told, and log lines are kept. Each scenario has ports and a directory of its own.
package final class Scenario: Sendable {
    private struct State {
        var daemon: Daemon
        var address: SocketAddress
        var clients: [Wire] = []
    }

    package let origin: ScriptedOrigin
    package let time: ManualTime
    /// Every line that was logged, with its metadata.
    package let log: Recorder<String>
    /// Where the store is, if there is one.
    package let directory: FreshDirectory?
    private let settings: Lock<Settings>
    private let state: Lock<State>

    private init(
        origin: ScriptedOrigin, time: ManualTime, log: Recorder<String>, directory: FreshDirectory?, settings: Settings,
        daemon: Daemon, address: SocketAddress
    ) {
        self.origin = origin
        self.time = time
        self.log = log
        self.directory = directory
        self.settings = Lock(settings)
        state = Lock(State(daemon: daemon, address: address))
    }

    /// Runs a scenario from start to drain.
    ///
    /// - Parameters:
    ///   - onDisk: whether there is a store.
    ///   - start: the wall clock's time in nanoseconds since 1970, where it matters.
    ///   - configure: changes the settings, given the origin.
    package static func run(
        onDisk: Bool = false, startingAt start: Int64? = nil,
        _ configure: (inout Settings, ScriptedOrigin) -> Void = { _, _ in },
        _ body: (Scenario) async throws -> Void
    ) async throws {
        guard let loop = Peers.loop else { throw ScenarioFailure("the scenarios' loop did not start") }
        let origin = try await ScriptedOrigin.start(on: loop)
        let directory = onDisk ? FreshDirectory() : nil
        var settings = Settings()
        settings.listen = [.loopback(port: 0)]
        settings.threads = 2
        settings.cache.path = directory.map { .path($0.path) } ?? .none
        settings.admin.socket = .none
        settings.upstream.parent = .none
        // The scenario's clock stands still unless it is moved.
        settings.timeouts.upstreamRest = .zero
        configure(&settings, origin)
        let log = Recorder<String>()
        let time = start.map { ManualTime(startingAt: $0) } ?? ManualTime()
        let daemon = try Daemon(settings: settings, logger: .recording(into: log), time: time)
        let addresses = try await daemon.proxy.start()
        let scenario = Scenario(
            origin: origin, time: time, log: log, directory: directory, settings: settings, daemon: daemon,
            address: addresses[0])
        do {
            try await body(scenario)
        } catch {
            await scenario.stop()
            throw error
        }
        await scenario.stop()
        guard scenario.proxy.openConnections == 0 else {
            throw ScenarioFailure("\(scenario.proxy.openConnections) connections are left over")
        }
        // The loops release what they had when they end.
        let start = ContinuousClock.now
        while scenario.proxy.existingConnections > 0, start.duration(to: .now) < .seconds(30) { await Task.yield() }
        guard scenario.proxy.existingConnections == 0 else {
            throw ScenarioFailure("\(scenario.proxy.existingConnections) closed connections are still in memory")
        }
    }

    /// Where clients connect to.
    package var address: SocketAddress { state.withLock { $0.address } }

    package var proxy: Proxy { state.withLock { $0.daemon }.proxy }

    /// The port clients connect to.
    package var port: UInt16 { state.withLock { $0.address }.port }

    /// An absolute URL at the origin.
    package func url(_ path: String) -> String { origin.url(path) }

    /// The sum over all loops' counters.
    package func count(_ kind: LoopCounters.Kind) -> UInt64 { proxy.total(kind) }
    package func count(_ amount: LoopCounters.Amount) -> UInt64 { proxy.total(amount) }

    // MARK: Clients

    /// A new client.
    ///
    /// - Parameter isHeld: whether it takes nothing from the network until released.
    package func client(_ name: String = "the client", isHeld: Bool = false) async throws -> Wire {
        try await connect(to: state.withLock { $0.address }, name, isHeld: isHeld)
    }

    /// A new client that the daemon sees at another address than its own.
    package func client(from peer: SocketAddress) async throws -> Wire {
        let door = try Door()
        let wire = try await connect(to: door.address, "the client at \(peer.host)")
        try await proxy.serve(try door.accept(), from: peer)
        return wire
    }

    /// A connection to somewhere else than the proxy.
    ///
    /// - Parameter prepare: what is done before the test has it.
    package func connect(
        to address: SocketAddress, _ name: String, isHeld: Bool = false,
        _ prepare: @escaping @Sendable (ByteStream) async throws -> Void = { _ in }
    ) async throws -> Wire {
        guard let loop = Peers.loop else { throw ScenarioFailure("the scenarios' loop did not start") }
        return try await loop.run { loop in
            let connector = Connector(on: loop)
            let stream = try await connector.connect(
                to: address.host, port: address.port, timeout: Wire.patience, allow: { _ in true })
            try await prepare(stream)
            let wire = Wire(stream, on: loop, name: name, isHeld: isHeld)
            self.state.withLock { $0.clients.append(wire) }
            return wire
        }
    }

    /// A GET by a new client, as to a forward proxy.
    package func get(_ path: String, _ lines: String...) async throws -> WireMessage { try await get(path, lines) }

    package func get(_ path: String, _ lines: [String]) async throws -> WireMessage {
        let client = try await client()
        try await client.get(url(path), lines)
        let response = try await client.response()
        await client.close()
        return response
    }

    // MARK: Time

    /// Lets time pass for the daemon.
    package func advance(_ duration: Duration) { time.advance(by: duration) }

    /// Lets time pass until `body` has what it waits for, and fails unless that is when `limit` has been reached: not
    /// before, and before three times as much. Time goes on while `body` notices, so it cannot be told more exactly.
    package func lettingTimePass<Value>(
        reaching limit: Duration, until body: () async throws -> Value
    ) async throws -> Value {
        try await lettingTimePass(within: limit...limit * 3, until: body)
    }

    /// Lets time pass until `body` has what it waits for, and fails unless that is after a time within `bounds`. The
    /// upper one has to leave room: time goes on while `body` notices.
    package func lettingTimePass<Value>(
        within bounds: ClosedRange<Duration>, until body: () async throws -> Value
    ) async throws -> Value {
        await proxy.settle()
        let start = time.monotonic()
        let step = (bounds.upperBound - bounds.lowerBound) / 40
        // Where the machine is slow, time is.
        let value = try await lettingTimePass(step, after: { await self.proxy.settle() }, until: body)
        let passed = Duration.nanoseconds(time.monotonic() - start)
        guard bounds.contains(passed) else {
            throw ScenarioFailure("it took \(passed), not \(bounds.lowerBound) to \(bounds.upperBound)")
        }
        return value
    }

    /// Lets time pass, a step every few milliseconds and after `pause`, until `body` has what it waits for.
    package func lettingTimePass<Value>(
        _ step: Duration, after pause: @escaping @Sendable () async -> Void = {},
        until body: () async throws -> Value
    ) async throws -> Value {
        let time = time
        // Once this has returned, time stands still again.
        let isOver = Lock(false)
        let ticker = Task.detached {
            while !Task.isCancelled {
                isOver.withLock { isOver in if !isOver { time.advance(by: step) } }
                await pause()
                await Peers.sleep(for: .milliseconds(5))
            }
        }
        defer {
            isOver.withLock { $0 = true }
            ticker.cancel()
        }
        return try await body()
    }

    // MARK: Life

    /// Serves by changed settings from now on, on each loop.
    package func reload(_ change: (inout Settings) -> Void) async throws {
        let settings = settings.withLock { settings in
            change(&settings)
            return settings
        }
        try state.withLock { $0.daemon }.reload(settings)
        await proxy.settle()
    }

    /// Changes the settings of the daemon that is started next.
    package func change(_ change: (inout Settings) -> Void) { settings.withLock { change(&$0) } }

    /// Stops the daemon and starts another with the same settings and store, at another port.
    ///
    /// - Parameter meanwhile: what happens to the store between the two.
    package func restart(_ meanwhile: (FreshDirectory) throws -> Void = { _ in }) async throws {
        await disconnect()
        await state.withLock { $0.daemon }.proxy.drain()
        if let directory { try meanwhile(directory) }
        let daemon = try Daemon(
            settings: settings.withLock { $0 }, logger: .recording(into: log), time: time)
        let address = try await daemon.proxy.start()[0]
        state.withLock { state in
            state.daemon = daemon
            state.address = address
        }
    }

    private func disconnect() async {
        let clients = state.withLock { state in
            defer { state.clients = [] }
            return state.clients
        }
        for client in clients { await client.close() }
    }

    private func stop() async {
        await disconnect()
        await origin.stop()
        let proxy = proxy
        _ = try? await lettingTimePass(.milliseconds(100)) { await proxy.drain() }
    }
}

extension Wire {
    /// Sends a GET for an absolute URL.
    package func get(_ url: String, _ lines: [String] = []) async throws {
        let rest = url.drop { $0 != "/" }.dropFirst(2)
        let host = rest.prefix { $0 != "/" }
        let all = ["GET \(url) HTTP/1.1", "Host: \(host)"] + lines
        try await write(all.map { $0 + "\r\n" }.joined() + "\r\n")
    }

    package func get(_ url: String, _ lines: String...) async throws { try await get(url, lines) }
}
