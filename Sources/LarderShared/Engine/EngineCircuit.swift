// SPDX-License-Identifier: Apache-2.0

/// Decides if a node of the engine is asked: closed while it answers, open after too many failures in a row.
///
/// Commands that need an answer never probe the node. The owner probes it at given instants, and a good answer closes
/// the circuit. Instants are monotonic nanoseconds.
package struct EngineCircuit: Sendable, Equatable {
    package enum State: Sendable, Equatable {
        /// Leads to `open` when there have been too many failures.
        case closed(failures: Int)
        /// Leads to `probing` at `until`.
        case open(until: Int64, openings: Int)
        /// The owner asks. Leads to `closed` or back to `open`.
        case probing(openings: Int)
    }

    package struct Limits: Sendable, Equatable {
        /// Failures in a row that open it.
        package var failures = 3
        /// How long it is open at first. Each failed probe doubles it.
        package var shortest = Duration.milliseconds(250)
        /// With the time of a probe that gets no answer, a node is asked again within five seconds of being well.
        package var longest = Duration.seconds(2)

        package init() {}
    }

    package private(set) var state = State.closed(failures: 0)
    private let limits: Limits
    private let haste: Double

    /// - Parameter haste: which part of each interval is left out, so that many daemons do not ask at once.
    package init(limits: Limits = Limits(), haste: Double = 0) {
        self.limits = limits
        self.haste = haste
    }

    package var isClosed: Bool { if case .closed = state { true } else { false } }

    /// When the owner has to ask; nil where it need not.
    package var probeAt: Int64? { if case .open(let until, _) = state { until } else { nil } }

    /// A command failed. True if that opened the circuit.
    package mutating func failed(at now: Int64) -> Bool {
        switch state {
        case .closed(let failures) where failures + 1 >= limits.failures:
            state = .open(until: now.advanced(by: interval(0)), openings: 0)
            return true
        case .closed(let failures):
            state = .closed(failures: failures + 1)
            return false
        case .open, .probing:
            // The command was sent before.
            return false
        }
    }

    /// A command was answered in time. A command sent before the circuit opened does not close it: a slow engine
    /// answers too.
    package mutating func answered() {
        if case .closed(let failures) = state, failures > 0 { state = .closed(failures: 0) }
    }

    /// The owner asks now. False when it is not the time.
    package mutating func beginProbe(at now: Int64) -> Bool {
        guard case .open(let until, let openings) = state, now >= until else { return false }
        state = .probing(openings: openings)
        return true
    }

    /// The answer to the probe came in time, or did not. True if that closed the circuit.
    package mutating func endProbe(isGood: Bool, at now: Int64) -> Bool {
        guard case .probing(let openings) = state else { return false }
        if isGood {
            state = .closed(failures: 0)
            return true
        }
        let next = min(openings + 1, 30)
        state = .open(until: now.advanced(by: interval(next)), openings: next)
        return false
    }

    private func interval(_ openings: Int) -> Duration {
        min(limits.shortest * (1 << openings), limits.longest) * (1 - haste)
    }
}
