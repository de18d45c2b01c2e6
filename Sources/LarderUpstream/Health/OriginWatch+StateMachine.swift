// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// The state of one origin with problems: its circuit, and until when it asked for a pause.
///
/// Instants are monotonic nanoseconds.
struct OriginHealth {
    /// The requests that are asked to wait.
    enum Scope: Hashable {
        /// All requests: the origin as a whole is unavailable (503).
        case origin
        /// Requests with the same credentials: their quota is used up, other quotas are not (429).
        case credentials(Int)
        /// Requests for the same resource with the same credentials: one resource says nothing about others.
        case resource(Int)

        /// How many requests it is about, as a rank.
        fileprivate var breadth: Int {
            switch self {
            case .resource: 0
            case .credentials: 1
            case .origin: 2
            }
        }
    }

    /// How many paths of a service have to ask for a pause before it applies to more than their own resources.
    static let pleaLimit = 3

    /// The properties of a request that matter here, as digests.
    struct Ask: Equatable {
        var credentials: Int
        var resource: Int
        /// The path alone. Failures count once for each path: a client can make up any number of queries.
        var place: Int
        /// True if the request is for a service, so that its outcome counts for the service's other resources.
        var belongsToService: Bool
        /// True if the origin is asked in any case: its client asks for that, or it changes something.
        var bypassesBackoff: Bool
        /// The client's address, as a digest.
        var client: Int
        /// True if the client has yet to send content of it.
        var lacksContent: Bool

        init(
            credentials: Int = 0, resource: Int = 0, place: Int? = nil, belongsToService: Bool = true,
            bypassesBackoff: Bool = false, client: Int = 0, lacksContent: Bool = false
        ) {
            self.credentials = credentials
            self.resource = resource
            self.place = place ?? resource
            self.belongsToService = belongsToService
            self.bypassesBackoff = bypassesBackoff
            self.client = client
            self.lacksContent = lacksContent
        }

        /// The properties of the request that decide if it may be a probe.
        var asker: ProbeTurns.Asker {
            ProbeTurns.Asker(
                place: place, client: client, bypassesBackoff: bypassesBackoff, lacksContent: lacksContent)
        }

        /// All scopes of the request: the origin's, the credentials', and its own.
        var scopes: [Scope] { [.origin, .credentials(credentials), .resource(resource ^ credentials)] }
    }

    /// The outcome of a request, as far as the origin's health is concerned.
    enum Outcome: Equatable {
        /// The origin answered, and works.
        case answered
        /// It answered with a request to pause.
        case refused
        /// It could not be reached.
        case unreachable
        /// This resource failed in a way that others may fail in too: 502, 503 or 504, silence, no answer at all.
        case troubled
        /// No result: it was cancelled, or never sent.
        case unknown
    }

    struct Pause: Equatable {
        var until: Int64
        var status: Status
    }

    /// Paths that asked for the same pause, without any other answer since the first.
    private struct Pleas {
        var since: Int64
        var until: [Int: Int64] = [:]
    }

    enum Verdict: Equatable {
        case pass
        case probe(Int)
        case paused(Pause)
        case open(until: Int64)
    }

    /// The most pauses at a time; beyond it, the shortest are dropped.
    static let pauseLimit = 64

    private(set) var circuit = Circuit()
    private(set) var pauses: [Scope: Pause] = [:]
    /// The scopes beyond a single resource that are said to be unavailable, by which resources, and until when.
    private var pleas: [Scope: Pleas] = [:]
    /// The latest failure, for people and for requests that are held back.
    private(set) var lastError: UpstreamError?
    private(set) var lastErrorAt: Int64?
    private(set) var lastAt: Int64 = 0

    /// True if there is nothing left to remember.
    func isForgettable(now: Int64) -> Bool { circuit.isPristine && pauses.values.allSatisfy { $0.until <= now } }

    /// Until when the origin's pauses last, for all requests or some; nil when there is none.
    func pausedUntil(now: Int64) -> Int64? { pauses.values.map(\.until).filter { $0 > now }.max() }

    /// True if a pause applies to more than single resources.
    func isPaused(now: Int64) -> Bool {
        pauses.contains { scope, pause in
            if case .resource = scope { false } else { pause.until > now }
        }
    }

    /// Why `ask` would be held back; calling it changes nothing.
    func verdict(on ask: Ask, now: Int64, limits: BreakerLimits) -> Verdict {
        if let pause = pause(for: ask, now: now) { return .paused(pause) }
        guard limits.failures > 0 else { return .pass }
        return circuit.heldUntil(ask.asker, now: now).map { .open(until: $0) } ?? .pass
    }

    mutating func admit(_ ask: Ask, now: Int64, limits: BreakerLimits) -> Verdict {
        if let pause = pause(for: ask, now: now) { return .paused(pause) }
        switch circuit.admit(ask.asker, now: now, limits: limits) {
        case .pass: return .pass
        case .probe(let number): return .probe(number)
        case .held(let until): return .open(until: until)
        }
    }

    mutating func note(_ error: UpstreamError, at now: Int64) { (lastError, lastErrorAt) = (error, now) }

    mutating func ended(
        _ outcome: Outcome, _ ask: Ask, probe: Int?, now: Int64, limits: BreakerLimits
    ) -> Circuit.Change? {
        lastAt = now
        switch outcome {
        case .answered:
            settlePleas(ask)
            return circuit.answered()
        case .refused: return circuit.answered()
        case .unreachable: return circuit.failed(subject: nil, probe: probe, now: now, limits: limits)
        case .troubled:
            // For traffic that is only passed on, a bad answer is an answer.
            guard ask.belongsToService else { return circuit.answered() }
            return circuit.failed(subject: ask.place, probe: probe, now: now, limits: limits)
        case .unknown:
            circuit.withdrawn(probe: probe)
            return nil
        }
    }

    mutating func connected(probe: Int?, now: Int64, limits: BreakerLimits) {
        circuit.connected(probe: probe, now: now, limits: limits)
    }

    /// The origin asked for a pause. True when a pause for more than one resource begins.
    ///
    /// The response of one resource counts for that resource: it may be the only one in trouble, and its clients must
    /// not block the others. Several in a row, for a while, count for the service; not while it pauses already, as no request
    /// that could be answered otherwise is sent then, and those who insist would never let it end.
    mutating func paused(_ ask: Ask, status: Status, until: Int64, now: Int64, limits: BreakerLimits) -> Bool {
        lastAt = now
        pauses = pauses.filter { $0.value.until > now }
        pause(.resource(ask.resource ^ ask.credentials), until, status)
        guard ask.belongsToService else { return false }
        let scope: Scope = status == 503 ? .origin : .credentials(ask.credentials)
        guard pauses[scope] == nil, isPlea(of: ask, for: scope, until: until, now: now, limits: limits) else {
            return false
        }
        pause(scope, until, status)
        return true
    }

    /// The latest answer counts, except that answers may overtake each other.
    private mutating func pause(_ scope: Scope, _ until: Int64, _ status: Status) {
        pauses[scope] = Pause(until: max(until, pauses[scope]?.until ?? 0), status: status)
        guard pauses.count > Self.pauseLimit else { return }
        // Pauses of single resources are discarded first: any client can cause many of them.
        let soonest = pauses.min { ($0.key.breadth, $0.value.until) < ($1.key.breadth, $1.value.until) }
        if let soonest { pauses[soonest.key] = nil }
    }

    /// Counts a path that asks for a pause of `scope`; true when there are enough of them.
    private mutating func isPlea(
        of ask: Ask, for scope: Scope, until: Int64, now: Int64, limits: BreakerLimits
    ) -> Bool {
        var own = pleas[scope] ?? Pleas(since: now)
        own.until = own.until.filter { $0.value > now }
        if own.until.isEmpty { own.since = now }
        // One more than enough would add nothing.
        if own.until.count < Self.pleaLimit || own.until[ask.place] != nil { own.until[ask.place] = until }
        let isEnough = own.until.count >= Self.pleaLimit && now - own.since >= limits.persistence
        if pleas[scope] == nil, pleas.count >= Self.pauseLimit { pleas.removeAll() }
        pleas[scope] = isEnough ? nil : own
        return isEnough
    }

    /// The origin answered without asking for a pause: earlier resources spoke for themselves. If the request was sent
    /// during a pause, the origin works again.
    private mutating func settlePleas(_ ask: Ask) {
        pleas[.origin] = nil
        pleas[.credentials(ask.credentials)] = nil
        if ask.bypassesBackoff { for scope in ask.scopes { pauses[scope] = nil } }
    }

    private func pause(for ask: Ask, now: Int64) -> Pause? {
        guard !pauses.isEmpty, !ask.bypassesBackoff else { return nil }
        return ask.scopes.compactMap { pauses[$0] }.filter { $0.until > now }.max { $0.until < $1.until }
    }
}

extension UpstreamError {
    /// The outcome that a failed request means for its origin.
    var outcome: OriginHealth.Outcome {
        if hold != nil || isForWantOfContent { return .unknown }
        if isUnreachable { return .unreachable }
        switch code {
        case .responseTimeout, .connectionTerminated: return .troubled
        // It answered, if badly; the next answer may be better.
        case .protocolError, .headerSectionSize, .responseIncomplete, .readTimeout: return .answered
        default: return .unknown
        }
    }
}
