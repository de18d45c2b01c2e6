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
        /// Those who ask for the same with the same credentials, where nobody said what an origin is.
        case resource(Int)
    }

    /// What a request says about itself, as digests.
    struct Ask: Equatable {
        var credentials = 0
        var resource = 0
        /// Whether the request is for a service, so that what it meets counts for the service's other resources.
        var isDescribed = true
        /// Whether its client wants the origin asked in any case.
        var insists = false

        /// Everybody's, theirs, and that of this one request.
        var scopes: [Scope] { [.origin, .credentials(credentials), .resource(resource ^ credentials)] }
    }

    /// How a request ended, as far as the origin's health goes.
    enum Outcome: Equatable {
        /// The origin answered, and works.
        case answered
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
    /// The latest failure, for people and for those who are held back.
    var lastError: UpstreamError?
    private(set) var lastAt: Int64 = 0

    /// Whether there is nothing left to remember.
    func isForgettable(now: Int64) -> Bool { circuit.isPristine && pauses.values.allSatisfy { $0.until <= now } }

    /// Until when everybody or somebody waits because the origin asked for it; nil when nobody does.
    func pausedUntil(now: Int64) -> Int64? { pauses.values.map(\.until).filter { $0 > now }.max() }

    /// Why `ask` would be held back; nothing changes by asking.
    func verdict(on ask: Ask, now: Int64, limits: BreakerLimits) -> Verdict {
        if let pause = pause(for: ask, now: now) { return .paused(pause) }
        guard limits.failures > 0 else { return .pass }
        return circuit.heldUntil(now: now, limits: limits).map { .open(until: $0) } ?? .pass
    }

    mutating func admit(_ ask: Ask, now: Int64, limits: BreakerLimits) -> Verdict {
        if let pause = pause(for: ask, now: now) { return .paused(pause) }
        switch circuit.admit(insists: ask.insists, now: now, limits: limits) {
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
        case .answered: return circuit.answered()
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

    /// The origin asked to be left alone. True when it is news: nobody of that scope waited yet.
    mutating func paused(_ ask: Ask, status: Status, until: Int64, now: Int64) -> Bool {
        lastAt = now
        let scope: Scope =
            !ask.isDescribed
            ? .resource(ask.resource ^ ask.credentials)
            : status == 503 ? .origin : .credentials(ask.credentials)
        pauses = pauses.filter { $0.value.until > now }
        let isNew = pauses[scope] == nil
        // The latest word counts, except that answers may overtake each other.
        pauses[scope] = Pause(until: max(until, pauses[scope]?.until ?? 0), status: status)
        if pauses.count > Self.pauseLimit, let soonest = pauses.min(by: { $0.value.until < $1.value.until }) {
            pauses[soonest.key] = nil
        }
        return isNew
    }

    private func pause(for ask: Ask, now: Int64) -> Pause? {
        guard !pauses.isEmpty else { return nil }
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
