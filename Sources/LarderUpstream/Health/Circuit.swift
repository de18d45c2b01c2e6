// SPDX-License-Identifier: Apache-2.0

/// A circuit breaker: closed while requests succeed, open after too many failures in a row, and half open while a few
/// requests, the probes, find out if requests succeed again. An answer to any request closes it.
///
/// No request waits for a probe: others are held back at once. Instants are monotonic nanoseconds.
struct Circuit: Equatable {
    enum State: Equatable {
        /// Leads to `open` when the run of failures is long enough.
        case closed(Run)
        /// Nothing passes before `until` but requests that bypass backoff. The first other one after it becomes a probe.
        case open(until: Int64, openings: Int)
        /// Probes are under way, or have failed in a way that other requests need not. Leads to `closed`, or back to `open`
        /// when the origin cannot be reached.
        case halfOpen(ProbeTurns, openings: Int)
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

        /// True if they are enough. For an origin that cannot be reached, as few as in `limits` suffice, however fast
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
    /// True if it opened because the origin could not be reached.
    private var isForWantOfReach = false
    /// Requests that were sent before their time. If one is answered, the circuit closes; their failure is no news.
    private var early = ProbeTurns()
    /// Requests that wait for content from their clients, which may take any time. They are handled as `early` ones.
    private var uploads = ProbeTurns()

    /// True if there is nothing to remember.
    var isPristine: Bool { state == .closed(Run()) }
    var isClosed: Bool { if case .closed = state { true } else { false } }

    /// Failures in a row, while it is closed.
    var failures: Int { if case .closed(let run) = state { run.count } else { 0 } }

    /// Until when requests are held back if the probes so far were the only ones; nil when anyone would pass.
    func heldUntil(now: Int64) -> Int64? {
        switch state {
        case .closed: nil
        case .open(let until, _): now < until ? until : nil
        case .halfOpen(let probes, _): now < probes.until ? probes.until : nil
        }
    }

    /// Until when a request is held back, as things stand; nil when it would pass, if only as a probe.
    func heldUntil(_ asker: ProbeTurns.Asker, now: Int64) -> Int64? {
        if isClosed { return nil }
        if case .open(let until, _) = state, !asker.bypassesBackoff, now < until { return until }
        if asker.lacksContent { return uploads.heldUntil(asker, now: now) }
        if asker.bypassesBackoff { return early.heldUntil(asker, now: now) }
        guard case .halfOpen(let probes, _) = state else { return nil }
        return probes.heldUntil(asker, now: now)
    }

    /// Decides about a request. One that bypasses backoff may pass before its time; it takes no other's turn as a probe,
    /// for which it may fail as no other would.
    mutating func admit(_ asker: ProbeTurns.Asker, now: Int64, limits: BreakerLimits) -> Verdict {
        // The breaker was disabled while it was open.
        guard limits.failures > 0, !isClosed else { return .pass }
        if let until = heldUntil(asker, now: now) { return .held(until: until) }
        lastProbe += 1
        let interval = limits.interval(openings)
        if asker.lacksContent {
            uploads.take(lastProbe, asker, now: now, interval: interval)
        } else if asker.bypassesBackoff {
            early.take(lastProbe, asker, now: now, interval: interval)
        } else {
            beginProbe(asker, now: now, limits: limits)
        }
        return .probe(lastProbe)
    }

    private mutating func beginProbe(_ asker: ProbeTurns.Asker, now: Int64, limits: BreakerLimits) {
        var (probes, openings) = (ProbeTurns(), openings)
        if case .halfOpen(let present, _) = state {
            probes = present
            // Silence is a failure too, once it has lasted for an interval.
            if now >= present.until, present.isUnderWay, !present.hasFailed { openings = Self.next(openings) }
        }
        probes.take(lastProbe, asker, now: now, interval: limits.interval(openings))
        state = .halfOpen(probes, openings: openings)
    }

    private var openings: Int {
        switch state {
        case .closed: 0
        case .open(_, let openings), .halfOpen(_, let openings): openings
        }
    }

    /// For how many of the longest intervals there are more turns when an origin can be reached again.
    private static let hurry: Int64 = 4

    private static func next(_ openings: Int) -> Int { min(openings + 1, 30) }

    /// Records a failed request. Failures with one `subject` are uncertain and count once in a row; others each.
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
            isForWantOfReach = run.certain >= limits.failures
            return .opened
        case .open:
            // It was sent before the others had failed, or before its time, and is no new evidence.
            endEarly(probe)
            return nil
        case .halfOpen(var probes, let openings):
            endEarly(probe)
            guard let probe, probes.contains(probe) else { return nil }
            let next = probes.hasFailed ? openings : Self.next(openings)
            let interval = limits.interval(next)
            guard subject != nil else {
                state = .open(until: now + interval, openings: next)
                isForWantOfReach = true
                return nil
            }
            probes.failed(probe, now: now, interval: interval)
            state = .halfOpen(probes, openings: next)
            return nil
        }
    }

    /// A request was answered: the origin works, even if the request was sent before the circuit opened.
    mutating func answered() -> Change? {
        defer {
            state = .closed(Run())
            (early, uploads) = (ProbeTurns(), ProbeTurns())
        }
        return isClosed ? nil : .closed
    }

    /// Records that the connection for a probe is established. The probe may still get no answer.
    mutating func connected(probe: Int?, now: Int64, limits: BreakerLimits) {
        guard isForWantOfReach, case .halfOpen(var probes, let openings) = state, probes.contains(probe) else { return }
        probes.reached(until: now + Self.hurry * limits.longest)
        state = .halfOpen(probes, openings: openings)
    }

    /// A probe was cancelled without a result: another request takes its place.
    mutating func withdrawn(probe: Int?) {
        endEarly(probe)
        guard let probe, case .halfOpen(var probes, let openings) = state else { return }
        probes.withdrawn(probe)
        state = .halfOpen(probes, openings: openings)
    }

    private mutating func endEarly(_ probe: Int?) {
        early.forget(probe)
        uploads.forget(probe)
    }
}
