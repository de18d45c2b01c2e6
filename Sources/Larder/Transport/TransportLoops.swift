// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderHTTP
import LarderIO
import LarderUpstream

/// The loops of one transport and their connections. They start at the first use, and end with the transport or the
/// process; neither waits for them.
final class TransportLoops: Sendable {
    private let loops: [TransportLoop]
    let proxies: ProxyRules
    let time: any TimeSource

    init(_ options: TransportOptions, time: any TimeSource) throws(TransportError) {
        self.time = time
        proxies = try TransportLoops.proxies(options)
        do throws(IOError) {
            let tls = try TLSClientContext(
                trustsSystem: options.trustsSystem, authorityFiles: [options.caFile].compactMap(\.self))
            let settings = UpstreamSettings(options, tls: tls)
            // More of them would wait for the network, not for the processor.
            let count = max(1, min(4, sysconf(Int32(_SC_NPROCESSORS_ONLN)) / 2))
            var made: [TransportLoop] = []
            for number in 0..<count {
                made.append(try TransportLoop(number: number, settings: settings, time: time))
            }
            loops = made
        } catch {
            throw TransportError(.configuration, "The transport cannot be set up: \(error).")
        }
        LoopsAtExit.add(loops.map(\.loop))
    }

    deinit { for loop in loops { loop.loop.stop() } }

    /// The loop for an origin: always the same, so that its connections are shared by all its requests.
    func loop(for url: TargetURI) -> TransportLoop {
        var hasher = Hasher()
        hasher.combine(url.scheme)
        hasher.combine(url.authority)
        return loops[Int(UInt(bitPattern: hasher.finalize()) % UInt(loops.count))]
    }

    private static func proxies(_ options: TransportOptions) throws(TransportError) -> ProxyRules {
        switch options.proxy {
        case .none: ProxyRules()
        case .url(let url): try ProxyRules(url: url)
        case .environment: try ProxyRules { name in getenv(name).map { String(cString: $0) } }
        }
    }
}

extension UpstreamSettings {
    fileprivate init(_ options: TransportOptions, tls: TLSClientContext) {
        self.init(tls: tls)
        connectTimeout = options.connectTimeout
        silenceTimeout = options.silenceTimeout
        idleTimeout = options.idleTimeout
        connectionLimit = max(1, options.connectionLimit)
        idleLimit = connectionLimit
        // Waiters for a connection wait for requests that have time limits of their own.
        waitTimeout = .seconds(86_400)
        waiterLimit = .max
    }
}

/// One loop and its connections.
final class TransportLoop: Sendable {
    /// The objects that live on the loop.
    private final class Place {
        var pool: UpstreamPool?
    }

    let loop: EventLoop
    private let place = Confined(Place())
    private let settings: UpstreamSettings

    init(number: Int, settings: UpstreamSettings, time: any TimeSource) throws(IOError) {
        self.settings = settings
        loop = try EventLoop(name: "larder-net-\(number)", time: time)
        try loop.start()
    }

    /// Runs `job` as a task on the loop and waits for its result.
    func run<Result: Sendable>(
        _ job: @escaping @Sendable (UpstreamPool) async throws -> Result
    ) async throws -> Result {
        try await loop.run { _ in try await job(self.poolHere()) }
    }

    /// To be called on the loop.
    private func poolHere() -> UpstreamPool {
        if let pool = place.value.pool { return pool }
        let pool = UpstreamPool(loop: loop, connector: loop.makeConnectorHere(), settings: settings)
        place.value.pool = pool
        return pool
    }
}

/// Ends loops before the process does: OpenSSL cleans up at exit, and must not be in use then.
private enum LoopsAtExit {
    private struct Entry {
        weak var loop: EventLoop?
    }

    private static let entries = Lock<[Entry]>([])

    private static let isRegistered: Bool = atexit { LoopsAtExit.stopAll() } == 0

    static func add(_ loops: [EventLoop]) {
        _ = isRegistered
        entries.withLock { entries in
            entries.removeAll { $0.loop == nil }
            entries += loops.map { Entry(loop: $0) }
        }
    }

    private static func stopAll() {
        let loops = entries.withLock { $0.compactMap(\.loop) }
        for loop in loops { loop.stop() }
    }
}
