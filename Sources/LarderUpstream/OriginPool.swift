// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

/// The connections of one loop to one origin (through one parent), and the requests that wait for one. Carries out
/// what its state machine decides. Confined to its loop.
final class OriginPool {
    private typealias Outcome = Result<ConnectionLease, UpstreamError>

    private struct Waiting {
        let promise: Promise<Outcome>
        let request: UpstreamRequest
        /// The instant at which the request gives up, in monotonic nanoseconds.
        let deadline: Int64
        var timer: Timer?
    }

    let origin: Origin
    private let loop: EventLoop
    private let dialer: UpstreamDialer
    private(set) var settings: UpstreamSettings
    private var limits: OriginPoolStateMachine.Limits
    private var machine = OriginPoolStateMachine()
    private var connections: [Int: UpstreamConnection] = [:]
    private var waiting: [Int: Waiting] = [:]
    /// The attempts under way, by the requests they were begun for.
    private var attempts: [Int: ConnectAbort] = [:]
    private var lastNumber = 0
    private var requests: UInt64 = 0
    private var failures: UInt64 = 0
    private var serverErrors: UInt64 = 0
    private var lastError: (text: String, at: Int64)?
    /// True if an idle connection was found to have received unsolicited bytes.
    private var hasHeardUnasked = false

    init(origin: Origin, loop: EventLoop, dialer: UpstreamDialer, settings: UpstreamSettings) {
        self.origin = origin
        self.loop = loop
        self.dialer = dialer
        self.settings = settings
        limits = settings.poolLimits
    }

    var isUnused: Bool { machine.isUnused }

    var statistics: UpstreamStatistics {
        UpstreamStatistics(
            origin: "\(origin)", active: machine.activeCount, idle: machine.idleCount, waiting: machine.waitingCount,
            requests: requests, failures: failures, serverErrors: serverErrors, lastError: lastError?.text,
            sinceLastError: lastError.map { .nanoseconds(now - $0.at) })
    }

    // MARK: Requests

    /// A connection for `request`: one from before that is still good, unless only a fresh one will do, or a new one.
    ///
    /// - Parameter deadline: the instant in monotonic nanoseconds at which the request gives up.
    func connection(
        for request: UpstreamRequest, until deadline: Int64, freshOnly: Bool
    ) async throws(UpstreamError) -> ConnectionLease {
        guard !request.abort.isAborted else { throw .aborted }
        if !freshOnly {
            requests += 1
            if let lease = reuse(for: request) { return lease }
        }
        let number = nextNumber()
        let promise = Promise<Outcome>()
        waiting[number] = Waiting(promise: promise, request: request, deadline: deadline)
        // Until it is answered, which removes both.
        request.abort.onAbort { [self] in withdraw(number, .aborted) }
        perform(
            machine.requested(
                number, freshOnly: freshOnly, now: now, limits: limits,
                fitness: { self.fitness($0, request) }))
        // A connection attempt has a separate deadline, which is usually earlier.
        let left = deadline - now
        if left < settings.connectTimeout.wholeNanoseconds, waiting[number] != nil, waiting[number]?.timer == nil {
            waiting[number]?.timer = loop.timerHere(after: .nanoseconds(max(left, 0))) { [self] in
                withdraw(number, .silentWhileConnecting(origin))
            }
        }
        return try await promise.value().get()
    }

    /// An idle connection, available at once.
    private func reuse(for request: UpstreamRequest) -> ConnectionLease? {
        var useless: [OriginPoolStateMachine.Action] = []
        let number = machine.reused(now: now, fitness: { self.fitness($0, request) }, closing: &useless)
        if !useless.isEmpty { perform(useless) }
        guard let number, let connection = connections[number] else { return nil }
        connection.stream.unwatch()
        return ConnectionLease(connection: connection, pool: self, abort: request.abort)
    }

    /// Ends the wait of a request.
    private func withdraw(_ number: Int, _ error: UpstreamError) {
        guard machine.withdrawn(number) else { return }
        answer(number, .failure(error))
        abortUnwanted()
    }

    /// Ends attempts that are more than those who wait: clients that leave would else have any number of look-ups and
    /// connections made.
    private func abortUnwanted() {
        let underWay = attempts.filter { !$0.value.isAborted }
        var surplus = underWay.count - machine.waitingCount
        for (number, attempt) in underWay where surplus > 0 && waiting[number] == nil {
            attempt.abort()
            surplus -= 1
        }
    }

    private func answer(_ number: Int, _ outcome: Outcome) {
        guard let waiting = waiting.removeValue(forKey: number) else { return }
        waiting.timer?.cancel()
        if case .failure(let error) = outcome {
            waiting.request.abort.onAbort(nil)
            if error.code != .aborted { noteFailure(error) }
        }
        waiting.promise.fulfil(outcome)
    }

    func noteAnswer(_ status: Status) {
        if status.isServerError { serverErrors += 1 }
    }

    func noteFailure(_ error: UpstreamError) {
        noteFailure("\(error)")
    }

    private func noteFailure(_ text: String) {
        failures += 1
        lastError = (text, now)
    }

    // MARK: Connections

    func released(_ connection: UpstreamConnection, keepAlive: Duration?) {
        guard connection.seemsClean else {
            connection.stream.close()
            return ended(connection)
        }
        connection.stream.setDeadline(after: nil)
        let now = now
        let until = keepAlive.map(now.advanced(by:)) ?? .max
        if machine.parked(connection.number, now: now, until: until, limits: limits) { return watch(connection) }
        perform(machine.released(connection.number, now: now, until: until, limits: limits, fitness: fitness))
    }

    func ended(_ connection: UpstreamConnection) {
        hasHeardUnasked = hasHeardUnasked || connection.hasSpokenUnasked
        connections[connection.number] = nil
        perform(machine.ended(connection.number, limits: limits))
    }

    /// Records that the origin has sent bytes that belong to no request. Responses on a reused connection might also
    /// belong to another request, so for a while each request gets a new connection.
    private func distrust() {
        hasHeardUnasked = false
        noteFailure(
            "\(origin) sent a response that answers no request; for now, each request gets its own connection")
        perform(machine.distrusted(now: now, limits: limits))
    }

    /// Has an idle connection checked as soon as something happens on it, usually its end.
    private func watch(_ connection: UpstreamConnection) {
        // Pending TLS records without content are processed first.
        guard connection.seemsClean else { return perform(machine.idleEnded(connection.number)) }
        let isWatched = connection.stream.watch(connection.onIdleInput)
        if !isWatched { perform(machine.idleEnded(connection.number)) }
    }

    /// Closes idle connections that have waited too long, or that are not clean any more.
    func sweep() {
        perform(machine.swept(now: now) { connections[$0]?.isClean == true ? .fit : .broken })
    }

    var idleSince: [Int64] { machine.idleSince }

    /// Closes the idle connections that are there since an instant or longer.
    func trim(through instant: Int64) { perform(machine.trimmed(through: instant)) }

    func drain() { perform(machine.drained()) }

    func apply(_ settings: UpstreamSettings) {
        // Connections made with other trust settings must not be used again.
        if settings.tls !== self.settings.tls { perform(machine.discardIdle()) }
        self.settings = settings
        limits = settings.poolLimits
        perform(machine.limited(limits))
    }

    // MARK: Carrying out

    private func perform(_ actions: [OriginPoolStateMachine.Action]) {
        defer { if hasHeardUnasked { distrust() } }
        for action in actions {
            switch action {
            case .lease(let connection, let request): lease(connection, to: request)
            case .connect(let request): connect(for: request)
            case .wait(let request):
                let left = Duration.nanoseconds(max(0, (waiting[request]?.deadline ?? now) - now))
                waiting[request]?.timer = loop.timerHere(after: min(settings.waitTimeout, left)) { [self] in
                    withdraw(request, .waitedTooLong(for: origin))
                }
            case .refuse(let request): answer(request, .failure(.tooManyWait(for: origin)))
            case .fail: break  // The dialer reports its own error.
            case .park(let connection):
                guard let connection = connections[connection] else { break }
                watch(connection)
            case .close(let connection):
                guard let connection = connections.removeValue(forKey: connection) else { break }
                hasHeardUnasked = hasHeardUnasked || connection.hasSpokenUnasked
                connection.stream.close()
            }
        }
    }

    private func lease(_ number: Int, to request: Int) {
        guard let connection = connections[number], let abort = waiting[request]?.request.abort else { return }
        connection.stream.unwatch()
        answer(request, .success(ConnectionLease(connection: connection, pool: self, abort: abort)))
    }

    /// Connects by the rules of a request; to its end, even if that one does not wait for it any more, but others do.
    private func connect(for request: Int) {
        guard let rules = waiting[request]?.request else { return }
        let settings = settings
        let abort = ConnectAbort()
        attempts[request] = abort
        loop.startHere { [self] in
            defer { attempts[request] = nil }
            do throws(UpstreamError) {
                let stream = try await dialer.open(
                    origin, parent: rules.parent, settings: settings, abort: abort, allows: rules.allowsAddress)
                // A parent is not the origin.
                if rules.parent == nil || origin.scheme == .https { rules.whenConnected?() }
                let connection = UpstreamConnection(
                    number: nextNumber(), stream: stream, origin: origin, parent: rules.parent, tls: settings.tls,
                    scratch: dialer.scratch, limits: settings.parseLimits)
                connection.onIdleInput = { [weak self, number = connection.number] hasInput in
                    if hasInput, let self, let connection = connections[number] { watch(connection) }
                }
                connections[connection.number] = connection
                perform(
                    machine.connected(connection.number, for: request, now: now, limits: limits, fitness: fitness))
            } catch {
                let actions = machine.connectFailed(for: request, limits: limits)
                if actions.contains(.fail(request)) {
                    answer(request, .failure(error))
                } else if !abort.isAborted {
                    noteFailure(error)
                }
                perform(actions)
            }
        }
    }

    private func fitness(_ connection: Int, _ request: Int) -> OriginPoolStateMachine.Fitness {
        guard let request = waiting[request]?.request else { return .forbidden }
        return fitness(connection, request)
    }

    private func fitness(_ number: Int, _ request: UpstreamRequest) -> OriginPoolStateMachine.Fitness {
        guard let connection = connections[number], connection.tls === settings.tls else { return .broken }
        guard connection.isClean(thoroughly: connection.exchanges > 0) else { return .broken }
        let isAllowed =
            request.parent != nil
            ? origin.allowsLiteral(request.allowsAddress) : request.allowsAddress(connection.stream.peerAddress)
        return isAllowed ? .fit : .forbidden
    }

    private var now: Int64 { loop.time.monotonic() }

    private func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }
}
