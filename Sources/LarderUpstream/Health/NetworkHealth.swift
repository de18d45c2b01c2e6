// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// Whether any origin elsewhere can be reached from this machine. Hosts are digests, instants monotonic nanoseconds.
struct NetworkHealth {
    private var circuit = Circuit()
    /// Hosts that have answered, and when each may be asked again while none can be reached. All others have one probe
    /// between them: a client can name as many as it likes.
    private var known: [Int: Int64] = [:]

    static let knownLimit = 256
    /// How often a known host is asked while none can be reached.
    static let interval: Int64 = 5_000_000_000

    /// Three different unreachable hosts in a row are no accident.
    private static let limits: BreakerLimits = {
        var limits = BreakerLimits()
        limits.failures = 3
        limits.persistence = 0
        return limits
    }()

    var isLost: Bool { !circuit.isClosed }

    mutating func failed(_ host: Int, now: Int64) -> Circuit.Change? {
        circuit.failed(subject: host, probe: nil, now: now, limits: Self.limits)
    }

    mutating func answered(_ host: Int, now: Int64) -> Circuit.Change? {
        if known.count >= Self.knownLimit, known[host] == nil, let oldest = known.min(by: { $0.value < $1.value }) {
            known[oldest.key] = nil
        }
        known[host] = now
        return circuit.answered()
    }

    /// Whether a host may be asked although none can be reached. With `isTaken`, it is asked after a true.
    mutating func isProbeDue(_ host: Int, now: Int64, isTaken: Bool) -> Bool {
        if let next = known[host] {
            guard now >= next else { return false }
            if isTaken { known[host] = now.advanced(by: .nanoseconds(Self.interval)) }
            return true
        }
        guard isTaken else { return circuit.heldUntil(now: now, limits: Self.limits) == nil }
        if case .held = circuit.admit(bypassesBackoff: false, now: now, limits: Self.limits) { return false }
        return true
    }
}
