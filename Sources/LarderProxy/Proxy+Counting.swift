// SPDX-License-Identifier: Apache-2.0

import Glibc
import Larder

extension Proxy {
    package static var processorCount: Int { max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }

    package func total(_ kind: LoopCounters.Kind) -> UInt64 { counters.reduce(0) { $0 + $1.value(kind) } }
    package func total(_ amount: LoopCounters.Amount) -> UInt64 { counters.reduce(0) { $0 + $1.value(amount) } }
    package func total(_ reason: LoopCounters.Reason) -> UInt64 { counters.reduce(0) { $0 + $1.value(reason) } }

    /// The sums over all loops, by the name of the service; `-` is for URLs without one.
    package func serviceTotals() -> [String: ServiceCounters.Totals] {
        var totals: [String: ServiceCounters.Totals] = [:]
        for loop in counters {
            for (name, counters) in loop.byService { totals[name, default: ServiceCounters.Totals()].add(counters) }
        }
        return totals
    }

    /// The client connections in memory: after a moment the open ones.
    package var existingConnections: Int { admission.existing.value }

    /// Records a note of an exchange, and reports it to observers.
    func note(_ note: RequestNote) {
        let numbered = requests.add(note)
        if requests.isHeard { events.tell(numbered) }
    }
}

extension Proxy {
    /// How much content is buffered for one client at a time: a quarter of the memory tier for all of them together,
    /// within sensible bounds.
    var pieceSize: Int { max(16 << 10, min(256 << 10, registry.limit / 4 / max(1, openConnections))) }
}
