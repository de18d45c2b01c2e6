// SPDX-License-Identifier: Apache-2.0
import CLibevent
import Glibc

/// Opens connections from one loop, to the first of a host's addresses to answer. Confined to that loop.
package final class Connector {
    /// How long to wait for an address before the next is tried as well (RFC 8305 §5).
    package static let pause = Duration.milliseconds(250)
    /// How long to wait for the addresses of the slower family if the addresses of the other family fail.
    private static let patience = Duration.seconds(3)

    package let resolver: Resolver
    private let executor: LoopExecutor

    package init(on loop: isolated EventLoop, resolver: Resolver) {
        self.resolver = resolver
        executor = loop.executor
    }

    /// Makes a connector with its own resolver, which uses the system's files.
    package convenience init(on loop: isolated EventLoop) {
        self.init(on: loop, resolver: Resolver(on: loop))
    }

    /// Connects to a host by name or numeric address; `timeout` covers both look-up and connection.
    ///
    /// `allow` is called for each address right before it is used, so that the check applies to the very address of the
    /// connection. If it allows none, this throws `.permissionDenied`.
    package func connect(
        to host: String, port: UInt16, timeout: Duration, abort: ConnectAbort? = nil,
        allow: (SocketAddress) -> Bool = { _ in true }
    ) async throws(IOError) -> ByteStream {
        let deadline = executor.monotonicNow().advanced(by: timeout)
        let first = try await resolver.addresses(of: host, port: port, until: deadline, abort: abort)
        do throws(IOError) {
            return try await race(to: first.addresses, of: host, allow, deadline: deadline, abort)
        } catch  where !first.areAll && error.code != .permissionDenied && abort?.isAborted != true {
            // A machine may reach the addresses of one family alone, which is the slower one to become known here.
            let patience = min(deadline, executor.monotonicNow().advanced(by: Self.patience))
            let all = try? await resolver.addresses(
                of: host, port: port, needsAll: true, until: patience, abort: abort)
            let others = all?.addresses.filter { !first.addresses.contains($0) } ?? []
            guard !others.isEmpty else { throw error }
            return try await race(to: others, of: host, allow, deadline: deadline, abort)
        }
    }

    /// Connects to the first of those addresses of `host` that are allowed.
    private func race(
        to found: [SocketAddress], of host: String, _ allow: (SocketAddress) -> Bool, deadline: Int64,
        _ abort: ConnectAbort?
    ) async throws(IOError) -> ByteStream {
        let allowed = found.filter(allow)
        guard !allowed.isEmpty else {
            throw IOError(
                .permissionDenied, operation: "connect to \(host):\(found.first?.port ?? 0)",
                detail: "the rules allow none of its addresses (\(found.map(\.host).joined(separator: ", ")))")
        }
        return try await race(to: allowed, deadline: deadline, abort)
    }

    /// Connects to the first of `addresses` that answers.
    package func connect(addresses: [SocketAddress], timeout: Duration) async throws(IOError) -> ByteStream {
        try await race(to: addresses, deadline: executor.monotonicNow().advanced(by: timeout), nil)
    }

    /// Connects to a Unix socket.
    package func connect(unixPath path: String, timeout: Duration) async throws(IOError) -> ByteStream {
        guard !path.isEmpty, path.utf8.count <= SocketAddress.unixPathLimit else {
            throw IOError(errno: ENAMETOOLONG, operation: "connect to unix:\(path)")
        }
        return try await connect(addresses: [SocketAddress(unixPath: path)], timeout: timeout)
    }

    private func race(
        to addresses: [SocketAddress], deadline: Int64, _ abort: ConnectAbort?
    ) async throws(IOError) -> ByteStream {
        guard !addresses.isEmpty else {
            throw IOError(.unreachable, operation: "connect", detail: "there is no address to connect to")
        }
        let dialling = Dialling(addresses, on: executor, deadline: deadline)
        abort?.onAbort { [weak dialling] in dialling?.abort() }
        let (descriptor, peer) = try await dialling.result().get()
        return try ByteStream(adopting: descriptor, on: executor, peer: peer, isNonBlocking: true)
    }
}

/// Carries out one race.
private final class Dialling {
    typealias Outcome = Result<(Int32, SocketAddress), IOError>

    private var race: ConnectRace
    private let executor: LoopExecutor
    private let deadline: Int64
    private var attempts: [Attempt] = []
    private var continuation: UnsafeContinuation<Outcome, Never>?
    private var pauseTimer: Timer?
    private var deadlineTimer: Timer?
    private var isAborted = false

    init(_ addresses: [SocketAddress], on executor: LoopExecutor, deadline: Int64) {
        race = ConnectRace(addresses)
        self.executor = executor
        self.deadline = deadline
    }

    func result() async -> Outcome {
        await withUnsafeContinuation { continuation in
            self.continuation = continuation
            let deadlineTimer = Timer(on: executor) { [weak self] in self?.timedOut() }
            self.deadlineTimer = deadlineTimer
            deadlineTimer.arm(at: deadline)
            if isAborted { abort() } else { perform(race.start()) }
        }
    }

    func abort() {
        isAborted = true
        end(.failure(ConnectAbort.error("connect to \(race.addresses.map(\.description).joined(separator: ", "))")))
    }

    private func perform(_ actions: [ConnectRace.Action]) {
        for action in actions {
            switch action {
            case .dial(let index): dial(index)
            case .pause: pause()
            case .win(let index): end(.success((index, race.addresses[index])))
            case .fail(let error): end(.failure(isAboutIPv6(error) ? withoutIPv6(error) : error))
            }
        }
    }

    /// True if the machine may have a network, though no way to these addresses.
    private func isAboutIPv6(_ error: IOError) -> Bool {
        error.errno == ENETUNREACH && race.addresses.allSatisfy(\.isIPv6)
    }

    private func withoutIPv6(_ error: IOError) -> IOError {
        IOError(
            error.code, errno: EAFNOSUPPORT, operation: error.operation, detail: "this machine has no way to IPv6")
    }

    private func dial(_ index: Int) {
        // Holds: attempts are its own, and cancelled when the race ends.
        let attempt = Attempt(index, to: race.addresses[index], on: executor) { [unowned self] index, error in
            if let error { perform(race.failed(index, with: error)) } else { perform(race.connected(index)) }
        }
        attempts.append(attempt)
        attempt.start()
    }

    private func pause() {
        guard continuation != nil else { return }
        let timer = pauseTimer ?? Timer(on: executor) { [weak self] in self?.pauseEnded() }
        pauseTimer = timer
        timer.arm(after: Connector.pause)
    }

    private func pauseEnded() { perform(race.pauseEnded()) }

    private func timedOut() {
        let list = race.addresses.map(\.description).joined(separator: ", ")
        end(.failure(IOError(.timedOut, operation: "connect to \(list)", detail: "no answer in time")))
    }

    private func end(_ result: Result<(Int, SocketAddress), IOError>) {
        guard let continuation = continuation.take() else { return }
        pauseTimer?.cancel()
        deadlineTimer?.cancel()
        let outcome = result.map { index, address in
            (attempts.first { $0.index == index }?.giveUpDescriptor() ?? -1, address)
        }
        for attempt in attempts { attempt.close() }
        attempts = []
        continuation.resume(returning: outcome)
    }
}

/// A connection attempt to one address.
private final class Attempt {
    let index: Int
    private let address: SocketAddress
    private let executor: LoopExecutor
    private let ended: (Int, IOError?) -> Void
    private var descriptor: Int32 = -1
    private var event: OpaquePointer?

    init(
        _ index: Int, to address: SocketAddress, on executor: LoopExecutor, ended: @escaping (Int, IOError?) -> Void
    ) {
        self.index = index
        self.address = address
        self.executor = executor
        self.ended = ended
    }

    deinit { close() }

    func start() {
        let kind = SocketKind.stream | SocketKind.ownAndNonBlocking
        descriptor = socket(address.family, kind, 0)
        guard descriptor >= 0 else { return fail(errno) }
        if address.connect(descriptor) == 0 { return succeed() }
        guard errno == EINPROGRESS else { return fail(errno) }
        event = event_new(
            executor.base, descriptor, Int16(EV_WRITE), attemptChanged, Unmanaged.passUnretained(self).toOpaque())
        if event == nil || event_add(event, nil) != 0 { fail(ENOMEM) }
    }

    fileprivate func changed() {
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length)
        if error == 0 { succeed() } else { fail(error) }
    }

    private func succeed() {
        // On this machine, the system may choose the unused port that we connect to for our own end. TCP then connects
        // the socket to itself.
        if address.isLoopback, !address.isUnix, SocketAddress.of(descriptor, ask: getsockname) == address {
            return fail(ECONNREFUSED)
        }
        ended(index, nil)
    }

    private func fail(_ number: Int32) {
        close()
        let operation = "connect to \(address)"
        switch number {
        case EAGAIN where address.isUnix:
            let detail = "its queue of connections is full"
            ended(index, IOError(.overloaded, errno: number, operation: operation, detail: detail))
        case ENOENT where address.isUnix:
            let detail = "nobody listens there; start the service or correct the path"
            ended(index, IOError(.refused, errno: number, operation: operation, detail: detail))
        default: ended(index, IOError(errno: number, operation: operation))
        }
    }

    /// The connected socket, which the caller closes from now on.
    func giveUpDescriptor() -> Int32 {
        freeEvent()
        defer { descriptor = -1 }
        return descriptor
    }

    func close() {
        freeEvent()
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }

    private func freeEvent() {
        if let event { event_free(event) }
        event = nil
    }
}

private func attemptChanged(_: Int32, _: Int16, _ argument: UnsafeMutableRawPointer?) {
    guard let argument else { return }
    Unmanaged<Attempt>.fromOpaque(argument).takeUnretainedValue().changed()
}

extension EventLoop {
    /// Makes a connector with its own resolver.
    // Holds: see `timerHere`.
    package nonisolated func makeConnectorHere() -> Connector { assumeIsolated { Confined(Connector(on: $0)) }.value }
}
