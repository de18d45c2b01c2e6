// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// What is known about one origin that is not all well: its circuit, and until when it asked to be left alone.
///
/// Instants are monotonic nanoseconds.
struct OriginHealth {
    /// Who is asked to wait.
    enum Scope: Hashable {
        /// Everybody: the origin as a whole is unavailable (503).
        case origin
        /// Those with the same credentials: their quota is used up, not that of others (429).
        case credentials(Int)
        /// Those who ask for the same with the same credentials: one resource speaks for itself only.
        case resource(Int)
    }

    /// How many resources of a service have to ask for it before the wait is for more than themselves.
    static let pleaLimit = 3

    /// What a request says about itself, as digests.
    struct Ask: Equatable {
        var credentials = 0
        var resource = 0
        /// Whether the request is for a service, so that what it meets counts for the service's other resources.
        var isDescribed = true
        /// Whether the origin is asked in any case: its client says so, or it changes something.
        var bypassesBackoff = false

        /// Everybody's, theirs, and that of this one request.
        var scopes: [Scope] { [.origin, .credentials(credentials), .resource(resource ^ credentials)] }
    }

    /// How a request ended, as far as the origin's health goes.
    enum Outcome: Equatable {
        /// The origin answered, and works.
        case answered
        /// It answered that it wants to be left alone.
        case refused
        /// It could not be reached.
        case unreachable
        /// This resource failed in a way that others may fail in too: 502, 503 or 504, silence, no answer at all.
        case troubled
        /// Nothing was found out: it was given up, or never sent.
        case unknown
    }

    struct Pause: Equatable {
        var until: Int64
        var status: Status
    }

    /// Resources that asked for the same wait, without any other answer since the first.
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

    /// How many scopes are kept waiting at a time; beyond it, those that wait shortest are let go.
    static let pauseLimit = 64

    private(set) var circuit = Circuit()
    private(set) var pauses: [Scope: Pause] = [:]
    /// What else than a single resource is said to be unavailable, by which resources, and until when.
    private var pleas: [Scope: Pleas] = [:]
    /// The latest failure, for people and for those who are held back.
    var lastError: UpstreamError?
    private(set) var lastAt: Int64 = 0

    /// Whether there is nothing left to remember.
    func isForgettable(now: Int64) -> Bool { circuit.isPristine && pauses.values.allSatisfy { $0.until <= now } }

    /// Until when everybody or somebody waits because the origin asked for it; nil when nobody does.
    func pausedUntil(now: Int64) -> Int64? { pauses.values.map(\.until).filter { $0 > now }.max() }

    /// Whether more than single resources wait.
    func isPaused(now: Int64) -> Bool {
        pauses.contains { scope, pause in
            if case .resource = scope { false } else { pause.until > now }
        }
    }

    /// Why `ask` would be held back; nothing changes by asking.
    func verdict(on ask: Ask, now: Int64, limits: BreakerLimits) -> Verdict {
        if let pause = pause(for: ask, now: now) { return .paused(pause) }
        guard limits.failures > 0 else { return .pass }
        let until = circuit.heldUntil(now: now, limits: limits, bypassesBackoff: ask.bypassesBackoff)
        return until.map { .open(until: $0) } ?? .pass
    }

    mutating func admit(_ ask: Ask, now: Int64, limits: BreakerLimits) -> Verdict {
        if let pause = pause(for: ask, now: now) { return .paused(pause) }
        switch circuit.admit(bypassesBackoff: ask.bypassesBackoff, now: now, limits: limits) {
        case .pass: return .pass
        case .probe(let number): return .probe(number)
        case .held(let until): return .open(until: until)
        }
    }

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
            // One who only passes traffic on takes a bad answer for an answer.
            guard ask.isDescribed else { return circuit.answered() }
            return circuit.failed(subject: ask.resource, probe: probe, now: now, limits: limits)
        case .unknown:
            circuit.withdrawn(probe: probe, now: now)
            return nil
        }
    }

    /// The origin asked to be left alone. True when it is news that more than one resource waits.
    ///
    /// The word of one resource counts for that resource: it may be the only one in trouble, and whoever asks for it
    /// must not take the others from everybody. Several in a row, for a while, are the service's word.
    mutating func paused(_ ask: Ask, status: Status, until: Int64, now: Int64, limits: BreakerLimits) -> Bool {
        lastAt = now
        pauses = pauses.filter { $0.value.until > now }
        pause(.resource(ask.resource ^ ask.credentials), until, status)
        guard ask.isDescribed else { return false }
        let scope: Scope = status == 503 ? .origin : .credentials(ask.credentials)
        let isNew = pauses[scope] == nil
        guard !isNew || isPlea(of: ask, for: scope, until: until, now: now, limits: limits) else { return false }
        pause(scope, until, status)
        return isNew
    }

    /// The latest word counts, except that answers may overtake each other.
    private mutating func pause(_ scope: Scope, _ until: Int64, _ status: Status) {
        pauses[scope] = Pause(until: max(until, pauses[scope]?.until ?? 0), status: status)
        if pauses.count > Self.pauseLimit, let soonest = pauses.min(by: { $0.value.until < $1.value.until }) {
            pauses[soonest.key] = nil
        }
    }

    /// Counts a resource that asks for `scope` to be left alone; true when there are enough of them.
    private mutating func isPlea(
        of ask: Ask, for scope: Scope, until: Int64, now: Int64, limits: BreakerLimits
    ) -> Bool {
        var own = pleas[scope] ?? Pleas(since: now)
        own.until = own.until.filter { $0.value > now }
        if own.until.isEmpty { own.since = now }
        // One more than enough would say nothing more.
        if own.until.count < Self.pleaLimit || own.until[ask.resource] != nil { own.until[ask.resource] = until }
        let isEnough = own.until.count >= Self.pleaLimit && now - own.since >= limits.persistence
        if pleas[scope] == nil, pleas.count >= Self.pauseLimit { pleas.removeAll() }
        pleas[scope] = isEnough ? nil : own
        return isEnough
    }

    /// The origin answered without asking for anything: those who asked before spoke for themselves. Where it was
    /// asked although it wanted to be left alone, it works again.
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
    /// What a failed request says about its origin.
    var outcome: OriginHealth.Outcome {
        if hold != nil { return .unknown }
        if isUnreachable { return .unreachable }
        switch code {
        case .responseTimeout, .connectionTerminated: return .troubled
        // It answered, if badly; the next answer may be better.
        case .protocolError, .headerSectionSize, .responseIncomplete, .readTimeout: return .answered
        default: return .unknown
        }
    }
}
