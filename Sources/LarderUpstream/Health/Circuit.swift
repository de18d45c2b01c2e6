// SPDX-License-Identifier: Apache-2.0

/// A circuit breaker: closed while requests succeed, open after too many failures in a row, and half open while one
/// request, the probe, finds out whether they succeed again.
///
/// No request waits for a probe: others are held back at once. Instants are monotonic nanoseconds.
struct Circuit: Equatable {
    enum State: Equatable {
        /// Leads to `open` when the run of failures is long enough.
        case closed(Run)
        /// Nothing passes before `until` but one request at a time that bypasses backoff. The first other one after it
        /// becomes the probe.
        case open(until: Int64, openings: Int, early: Early? = nil)
        /// A probe has been under way since `since`. Leads to `closed` or back to `open`. If a probe has no result for
        /// longer than the circuit would have been open, another joins it.
        case halfOpen(probe: Int, since: Int64, openings: Int)
    }

    /// A request that was sent before its time. If it is answered, the circuit closes; its failure is no news.
    struct Early: Equatable {
        var probe: Int
        var since: Int64
    }

    /// Failures in a row.
    struct Run: Equatable {
        var count = 0
        /// How many of them are certain: the origin could not be reached.
        var certain = 0
        var since: Int64 = 0
        var lastAt: Int64 = 0
        /// The subjects whose failures count once each.
        var subjects: Set<Int> = []

        /// Whether they are enough. For an origin that cannot be reached, as few as in `limits` suffice, however fast
        /// they come. Failures with an answer, or that might have had one, also have to continue for a while, without
        /// any other answer: a burst of them is typical of a gateway in front of many origins, or of a restart.
        func isEnough(now: Int64, _ limits: BreakerLimits) -> Bool {
            guard limits.failures > 0, count >= limits.failures else { return false }
            return certain >= limits.failures || now - since >= limits.persistence
        }
    }

    enum Verdict: Equatable {
        case pass
        case probe(Int)
        case held(until: Int64)
    }

    enum Change: Equatable {
        case opened
        case closed
    }

    private(set) var state = State.closed(Run())
    private var lastProbe = 0

    /// Whether there is nothing to remember.
    var isPristine: Bool { state == .closed(Run()) }
    var isClosed: Bool { if case .closed = state { true } else { false } }

    /// Failures in a row, while it is closed.
    var failures: Int { if case .closed(let run) = state { run.count } else { 0 } }

    /// Until when requests are held back, as things stand; nil when a request would pass, if only as a probe.
    func heldUntil(now: Int64, limits: BreakerLimits, bypassesBackoff: Bool = false) -> Int64? {
        switch state {
        case .closed: nil
        case .open(let until, let openings, let early):
            bypassesBackoff
                ? early.map { $0.since + limits.interval(openings) }.flatMap { now < $0 ? $0 : nil }
                : now < until ? until : nil
        case .halfOpen(_, let since, let openings):
            now < since + limits.interval(openings) ? since + limits.interval(openings) : nil
        }
    }

    /// Decides about a request. With `bypassesBackoff` it may pass before its time; it takes no other's turn as the probe,
    /// for which it may fail as no other would.
    mutating func admit(bypassesBackoff: Bool, now: Int64, limits: BreakerLimits) -> Verdict {
        // The breaker was disabled while it was open.
        guard limits.failures > 0 else { return .pass }
        if let until = heldUntil(now: now, limits: limits, bypassesBackoff: bypassesBackoff) {
            return .held(until: until)
        }
        switch state {
        case .closed: return .pass
        case .open(let until, let openings, _) where bypassesBackoff:
            lastProbe += 1
            state = .open(until: until, openings: openings, early: Early(probe: lastProbe, since: now))
        case .open(_, let openings, _), .halfOpen(_, _, let openings):
            lastProbe += 1
            state = .halfOpen(probe: lastProbe, since: now, openings: openings)
        }
        return .probe(lastProbe)
    }

    /// A request failed. Failures of the same `subject` are uncertain and count once in a row; others count each.
    mutating func failed(subject: Int?, probe: Int?, now: Int64, limits: BreakerLimits) -> Change? {
        switch state {
        case .closed(var run):
            if now - run.lastAt > limits.window { run = Run() }
            if run.count == 0 { run.since = now }
            run.lastAt = now
            if subject.map({ run.subjects.insert($0).inserted }) ?? true { run.count += 1 }
            if subject == nil { run.certain += 1 }
            guard run.isEnough(now: now, limits) else {
                state = .closed(run)
                return nil
            }
            state = .open(until: now + limits.interval(0), openings: 0)
            return .opened
        case .open:
            // It was sent before the others had failed, or before its time, and is no new evidence.
            endEarly(probe)
            return nil
        case .halfOpen(let current, _, let openings):
            guard probe == current else { return nil }
            let next = min(openings + 1, 30)
            state = .open(until: now + limits.interval(next), openings: next)
            return nil
        }
    }

    /// A request was answered: the origin works, even if the request was sent before the circuit opened.
    mutating func answered() -> Change? {
        defer { state = .closed(Run()) }
        return isClosed ? nil : .closed
    }

    /// A probe was cancelled without a result: the next request is one.
    mutating func withdrawn(probe: Int?, now: Int64) {
        endEarly(probe)
        guard case .halfOpen(let current, _, let openings) = state, probe == current else { return }
        state = .open(until: now, openings: openings)
    }

    private mutating func endEarly(_ probe: Int?) {
        if case .open(let until, let openings, let early?) = state, early.probe == probe {
            state = .open(until: until, openings: openings)
        }
    }
}
