// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO
import LarderRules
import Synchronization

/// The shared state of all loops and clients about origins with problems: which of them are not asked, and until when.
/// Healthy origins are not in it, and while there are no others, a query costs one atomic load.
///
/// It is queried on the way upstream only. A shard's lock is held for a dictionary look-up.
package final class OriginWatch: Sendable {
    struct Key: Hashable {
        let origin: Origin
        let parent: ParentAddress?
        /// A failure under one trust, or with one certificate of a client, says nothing about others.
        let tls: UpstreamTLS?
        /// True if its clients may connect to addresses of this machine. The state of an origin as such clients see it
        /// reveals something about this machine's network, and is not for the others.
        let reachesLoopback: Bool

        init(_ origin: Origin, _ parent: ParentAddress?, _ tls: UpstreamTLS?, reachesLoopback: Bool) {
            (self.origin, self.parent, self.tls, self.reachesLoopback) = (origin, parent, tls, reachesLoopback)
        }

        init(_ request: UpstreamRequest) {
            self.init(
                request.origin, request.parent, request.tls,
                reachesLoopback: request.allowsAddress(.loopback(port: 0)))
        }
    }

    /// Returned by `admit`, and passed to `answered` or `failed`.
    package struct Ticket: Sendable {
        var probe: Int?

        package var isProbe: Bool { probe != nil }
    }

    /// An event for the log.
    package enum Event: Sendable, Equatable {
        /// The origin failed too often in a row and is not asked for now.
        case stopped(Origin, error: String)
        case recovered(Origin)
        /// Several resources of the origin asked for a pause.
        case paused(Origin, for: Duration, status: Status)
        /// No origin at all can be reached, or they can again.
        case networkLost(error: String)
        case networkBack
    }

    /// The most origins that are remembered.
    static let limit = 1024
    private static let shardCount = 16

    private let shards: [Lock<[Key: OriginHealth]>]
    private let noted = Atomic<Int>(0)
    private let network = Lock(NetworkHealth())
    private let isNetworkDoubtful = Atomic<Bool>(false)
    /// When an origin elsewhere answered last, to the second.
    private let lastAnswer = Atomic<Int64>(.min / 2)
    private let notify: @Sendable (Event) -> Void

    package init(notify: @escaping @Sendable (Event) -> Void = { _ in }) {
        shards = (0..<Self.shardCount).map { _ in Lock([:]) }
        self.notify = notify
    }

    // MARK: On the way upstream

    /// Admits a request, or throws why it is held back.
    package func admit(
        _ request: UpstreamRequest, limits: BreakerLimits, now: Int64
    ) throws(UpstreamError) -> Ticket {
        guard noted.load(ordering: .relaxed) > 0 else { return Ticket() }
        let ask = OriginHealth.Ask(request)
        let verdict = change(request) { health -> (OriginHealth.Verdict, UpstreamError?)? in
            guard let verdict = health?.admit(ask, now: now, limits: limits) else { return nil }
            return (verdict, health?.lastError)
        }
        guard let (verdict, lastError) = verdict else { return Ticket() }
        if case .probe(let number) = verdict { return Ticket(probe: number) }
        guard let hold = Self.hold(verdict, now: now) else { return Ticket() }
        throw .held(hold, from: request.origin, last: lastError)
    }

    /// True if any origin has problems.
    package var hasTrouble: Bool { noted.load(ordering: .relaxed) > 0 }

    /// A final response has begun.
    ///
    /// - Parameter pause: the pause that the origin asks for.
    package func answered(
        _ request: UpstreamRequest, status: Status, pause: Duration?, ticket: Ticket, limits: BreakerLimits, now: Int64
    ) {
        networkAnswered(request.origin, now: now)
        let isTrouble = pause == nil && (status == 502 || status == 503 || status == 504)
        guard isTrouble || pause != nil || noted.load(ordering: .relaxed) > 0 else { return }
        if isTrouble {
            return note(
                .troubled, request, ticket, limits, now, error: .answered(status, by: request.origin),
                creates: request.belongsToService)
        }
        note(pause == nil ? .answered : .refused, request, ticket, limits, now, error: nil, creates: false)
        guard let pause else { return }
        let ask = OriginHealth.Ask(request)
        let until = now.advanced(by: pause)
        let isNew = change(request, creatingAt: now) { health in
            health?.paused(ask, status: status, until: until, now: now, limits: limits) ?? false
        }
        if isNew { notify(.paused(request.origin, for: pause, status: status)) }
    }

    /// The request failed; `error` is nil when that is not the origin's fault.
    package func failed(
        _ request: UpstreamRequest, error: UpstreamError?, ticket: Ticket, limits: BreakerLimits, now: Int64
    ) {
        let outcome = error?.outcome ?? .unknown
        if outcome == .unreachable, let error { networkFailed(request.origin, error, now: now) }
        guard outcome == .unreachable || outcome == .troubled || noted.load(ordering: .relaxed) > 0 else { return }
        note(
            outcome, request, ticket, limits, now, error: error,
            creates: outcome == .unreachable || (outcome == .troubled && request.belongsToService))
    }

    private func note(
        _ outcome: OriginHealth.Outcome, _ request: UpstreamRequest, _ ticket: Ticket, _ limits: BreakerLimits,
        _ now: Int64, error: UpstreamError?, creates: Bool
    ) {
        let ask = OriginHealth.Ask(request)
        let changed = change(request, creatingAt: creates ? now : nil) { health -> Circuit.Change? in
            if let error, outcome == .unreachable || outcome == .troubled { health?.note(error, at: now) }
            let changed = health?.ended(outcome, ask, probe: ticket.probe, now: now, limits: limits)
            if health?.isForgettable(now: now) == true { health = nil }
            return changed ?? nil
        }
        switch changed {
        case .opened: notify(.stopped(request.origin, error: error.map { "\($0)" } ?? "-"))
        case .closed: notify(.recovered(request.origin))
        case nil: break
        }
    }

    // MARK: Looking

    /// The error, with its `hold`, that `admit` would throw at the moment; nil when a request would be admitted, if
    /// only as a probe.
    package func refusal(of request: UpstreamRequest, limits: BreakerLimits, now: Int64) -> UpstreamError? {
        guard hasTrouble else { return nil }
        let ask = OriginHealth.Ask(request)
        return change(request) { health -> UpstreamError? in
            guard let health, let hold = Self.hold(health.verdict(on: ask, now: now, limits: limits), now: now) else {
                return nil
            }
            return .held(hold, from: request.origin, last: health.lastError)
        }
    }

    /// True if the origin's circuit is not closed, or no origin can be reached.
    package func isOutOfReach(_ origin: Origin, parent: ParentAddress?, tls: UpstreamTLS? = nil) -> Bool {
        if isNetworkLost, !origin.isLoopback { return true }
        guard noted.load(ordering: .relaxed) > 0 else { return false }
        return [true, false].contains { reachesLoopback in
            let key = Key(origin, parent, tls, reachesLoopback: reachesLoopback)
            return shard(of: key).withLock { $0[key].map { !$0.circuit.isClosed } ?? false }
        }
    }

    /// True if no origin can be reached at the moment.
    package var isNetworkLost: Bool {
        isNetworkDoubtful.load(ordering: .relaxed) && network.withLock { $0.isLost }
    }

    /// Every origin with problems, in the order of their names.
    package func report(limits: BreakerLimits, now: Int64) -> [OriginReport] {
        var lines: [OriginReport] = []
        for shard in shards {
            lines += shard.withLock { healths in
                healths.compactMap { key, health in
                    health.isForgettable(now: now)
                        ? nil : OriginReport(origin: "\(key.origin)", health, limits: limits, now: now)
                }
            }
        }
        return lines.sorted { $0.origin < $1.origin }
    }

    private static func hold(_ verdict: OriginHealth.Verdict, now: Int64) -> OriginHold? {
        switch verdict {
        case .pass, .probe: nil
        case .paused(let pause):
            OriginHold(reason: .retryAfter, remaining: .nanoseconds(pause.until - now), status: pause.status)
        case .open(let until):
            OriginHold(reason: .circuitOpen, remaining: .nanoseconds(max(0, until - now)))
        }
    }

    // MARK: The network

    /// For how long an answer proves that the network works: a minute against hosts that do not answer, and seconds against
    /// signs that this machine has lost its network.
    private static func proof(against error: UpstreamError) -> Duration { .seconds(error.isLocal ? 5 : 60) }

    private func networkFailed(_ origin: Origin, _ error: UpstreamError, now: Int64) {
        // A refusal proves that the network works.
        guard !origin.isLoopback, !error.isAnswer,
            [.dnsError, .dnsTimeout, .destinationUnavailable, .connectionTimeout].contains(error.code),
            now >= lastAnswer.load(ordering: .relaxed).advanced(by: Self.proof(against: error))
        else { return }
        let changed = network.withLock { $0.failed(origin.host.hashValue, now: now) }
        isNetworkDoubtful.store(true, ordering: .relaxed)
        if changed == .opened { notify(.networkLost(error: "\(error)")) }
    }

    private func networkAnswered(_ origin: Origin, now: Int64) {
        let isDoubtful = isNetworkDoubtful.load(ordering: .relaxed)
        // Loops would get in each other's way with a store for each answer.
        let isNews = now >= lastAnswer.load(ordering: .relaxed).advanced(by: .seconds(1))
        guard isDoubtful || isNews, !origin.isLoopback else { return }
        lastAnswer.store(now, ordering: .relaxed)
        let changed = network.withLock { network in
            isNetworkDoubtful.store(false, ordering: .relaxed)
            return network.answered(origin.host.hashValue, now: now)
        }
        if changed == .closed { notify(.networkBack) }
    }

    /// Records that the connection for `request` is established: the network works, even if the request fails.
    package func connected(_ request: UpstreamRequest, ticket: Ticket, limits: BreakerLimits, now: Int64) {
        networkAnswered(request.origin, now: now)
        guard ticket.probe != nil else { return }
        change(request) { $0?.connected(probe: ticket.probe, now: now, limits: limits) }
    }

    /// True if a probe of an unreachable origin is due: `request`, or nil for any of Larder's own. With `isTaken`, the
    /// caller must send it after a true.
    package func isProbeDue(
        _ origin: Origin, parent: ParentAddress?, tls: UpstreamTLS? = nil, of request: UpstreamRequest? = nil,
        now: Int64, isTaken: Bool = true
    ) -> Bool {
        let asker = request.map { OriginHealth.Ask($0).asker } ?? ProbeTurns.Asker()
        if isNetworkLost, !origin.isLoopback {
            return network.withLock { $0.isProbeDue(origin.host.hashValue, asker, now: now, isTaken: isTaken) }
        }
        return [true, false].contains { reachesLoopback in
            let key = Key(origin, parent, tls, reachesLoopback: reachesLoopback)
            return shard(of: key).withLock { healths in
                guard let circuit = healths[key]?.circuit, !circuit.isClosed else { return false }
                return circuit.heldUntil(asker, now: now) == nil
            }
        }
    }

    // MARK: The table

    /// Discards the state of services' TLS settings that are not in `present`: no request uses those settings any more.
    package func forget(allBut present: Set<UpstreamTLS>) {
        for shard in shards where hasTrouble {
            shard.withLock { healths in
                let before = healths.count
                healths = healths.filter { key, _ in key.tls.map(present.contains) ?? true }
                noted.add(healths.count - before, ordering: .relaxed)
            }
        }
    }

    private func shard(of key: Key) -> Lock<[Key: OriginHealth]> {
        shards[Int(UInt(bitPattern: key.hashValue) % UInt(Self.shardCount))]
    }

    /// Changes the state of the origin of a request; nil removes it.
    private func change<Result>(
        _ request: UpstreamRequest, creatingAt now: Int64? = nil, _ body: (inout OriginHealth?) -> Result
    ) -> Result {
        let key = Key(request)
        return shard(of: key).withLock { healths in
            let before = healths.count
            defer { if healths.count != before { noted.add(healths.count - before, ordering: .relaxed) } }
            var health = healths[key]
            if health == nil, let now, Self.makeRoom(in: &healths, now: now) { health = OriginHealth() }
            let result = body(&health)
            healths[key] = health
            return result
        }
    }

    /// Removes the least important state when a shard is full; false when all of it matters.
    private static func makeRoom(in healths: inout [Key: OriginHealth], now: Int64) -> Bool {
        guard healths.count >= limit / shardCount else { return true }
        let idle = healths.filter { $0.value.circuit.isClosed && $0.value.pausedUntil(now: now) == nil }
        guard let oldest = idle.min(by: { $0.value.lastAt < $1.value.lastAt }) else { return false }
        healths[oldest.key] = nil
        return true
    }
}

/// The status report about an origin with problems.
package struct OriginReport: Sendable, Equatable {
    /// The raw values are the words of `/-/status`.
    package enum State: String, Sendable {
        case closed
        case open
        case halfOpen
        /// It asked for a pause, for more than single URLs.
        case paused
    }

    package let origin: String
    package let state: State
    /// How much longer no request is sent because it failed too often.
    package let openFor: Duration?
    /// How much longer requests, or some of them, are paused because it asked for that.
    package let pausedFor: Duration?
    package let consecutiveFailures: Int
    package let lastError: String?
    /// How long ago that was.
    package let sinceLastError: Duration?

    init(origin: String, _ health: OriginHealth, limits: BreakerLimits, now: Int64) {
        self.origin = origin
        pausedFor = health.pausedUntil(now: now).map { .nanoseconds($0 - now) }
        openFor = health.circuit.heldUntil(now: now).map { .nanoseconds($0 - now) }
        consecutiveFailures = health.circuit.failures
        lastError = health.lastError.map { "\($0)" }
        sinceLastError = health.lastErrorAt.map { .nanoseconds(now - $0) }
        state =
            switch health.circuit.state {
            case .closed: health.isPaused(now: now) ? .paused : .closed
            case .open: .open
            case .halfOpen(let probes, _): probes.isUnderWay ? .halfOpen : .open
            }
    }
}

extension OriginHealth.Ask {
    init(_ request: UpstreamRequest) {
        var hasher = Hasher()
        // Quotas apply per user, so the digest covers all credentials.
        for name in Credentials.all(in: request.head.fields) {
            hasher.combine(name.canonical)
            request.head.fields.forEach(name) { hasher.combine(bytes: $0) }
            hasher.combine(0 as UInt8)
        }
        let target = request.head.target
        self.init(
            credentials: hasher.finalize(), resource: target.hashValue,
            place: target.prefix { $0 != UInt8(ascii: "?") }.hashValue, belongsToService: request.belongsToService,
            bypassesBackoff: request.bypassesBackoff, client: request.client, lacksContent: request.lacksContent)
    }
}

extension Origin {
    /// True if it is on this machine, so that it says nothing about the network.
    var isLoopback: Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host.hasPrefix("127.") || host == "[::1]"
    }
}
