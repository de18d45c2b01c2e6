// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// The reachability of origins elsewhere from this machine. Hosts are digests, instants monotonic nanoseconds.
struct NetworkHealth {
    private var circuit = Circuit()
    /// Hosts that have answered. While no host can be reached, each known host has separate probes. All other hosts
    /// share the circuit's probes, because a client can name any number of hosts.
    private var known: [Int: Known] = [:]

    private struct Known {
        /// When it answered, or was asked, last.
        var at: Int64
        var turns = ProbeTurns()
    }

    static let knownLimit = 256
    /// How often a known host is asked while none can be reached.
    static let interval: Int64 = 5_000_000_000

    /// Three different unreachable hosts in a row are no accident.
    private static let limits: BreakerLimits = {
        var limits = BreakerLimits()
        limits.failures = 3
        limits.persistence = 0
        limits.longest = interval
        return limits
    }()

    var isLost: Bool { !circuit.isClosed }

    mutating func failed(_ host: Int, now: Int64) -> Circuit.Change? {
        circuit.failed(subject: host, probe: nil, now: now, limits: Self.limits)
    }

    mutating func answered(_ host: Int, now: Int64) -> Circuit.Change? {
        if known.count >= Self.knownLimit, known[host] == nil, let oldest = known.min(by: { $0.value.at < $1.value.at })
        {
            known[oldest.key] = nil
        }
        known[host] = Known(at: now)
        return circuit.answered()
    }

    /// True if a host may be asked although none can be reached. With `isTaken`, it is asked after a true.
    mutating func isProbeDue(_ host: Int, _ asker: ProbeTurns.Asker, now: Int64, isTaken: Bool) -> Bool {
        guard var own = known[host] else {
            let turn = ProbeTurns.Asker(place: host, client: asker.client)
            guard isTaken else { return circuit.heldUntil(turn, now: now) == nil }
            if case .held = circuit.admit(turn, now: now, limits: Self.limits) { return false }
            return true
        }
        let turn = ProbeTurns.Asker(place: asker.place, client: asker.client)
        guard own.turns.heldUntil(turn, now: now) == nil else { return false }
        if isTaken {
            own.at = now
            own.turns.take(0, turn, now: now, interval: Self.interval)
            known[host] = own
        }
        return true
    }
}
