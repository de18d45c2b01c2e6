// SPDX-License-Identifier: Apache-2.0

import LarderIO
import LarderRules

/// Telling what happens to a Resource.
extension ResourceMemory {
    /// Tells changes to `teller`'s feed from now on.
    func attach(_ teller: ChangeTeller) { state.withLock { $0.teller = teller } }

    func tell(_ event: ResourceEvent, _ state: inout State) {
        state.sequence += 1
        guard let teller = state.teller, teller.feed.isHeard else { return }
        teller.feed.append(change(.event(event), state, teller))
    }

    private func change(_ what: ResourceChange.Happening, _ state: State, _ teller: ChangeTeller) -> ResourceChange {
        ResourceChange(
            what: what, key: teller.key, service: teller.service.name, sequence: state.sequence,
            snapshot: state.snapshot, flights: state.flights, unstored: state.unstored)
    }

    /// The initial state for a new observer; nil for a Resource without a registry.
    package var moment: ResourceChange? {
        state.withLock { state in state.teller.map { change(.event(.observerAdded), state, $0) } }
    }

    /// Whether anybody watches this very Resource.
    package var isObserved: Bool { state.withLock { $0.observers > 0 } }

    package func addObserver() { state.withLock { $0.observers += 1 } }

    /// When the last observer leaves, its loads are abandoned like those of clients that have left.
    package func removeObserver() {
        let left = state.withLock { state in
            state.observers -= 1
            return state.observers == 0 ? state.flights : []
        }
        for flight in left { flight.reconsider() }
    }

    /// Has loads that nobody waits for any more be abandoned.
    func reconsiderLoads() { for flight in flights { flight.reconsider() } }

    /// Whether the last load came to no answer, or to one that says so.
    package var hasFailed: Bool {
        state.withLock { state in
            state.snapshot.failure != nil || state.unstored?.status.isError == true
                || state.snapshot.variants.first?.stored.status.isError == true
        }
    }

    // MARK: Progress

    /// Reports the progress of a load, unless it is over. Nearly free without listeners.
    package func tellProgress(of flight: Flight, _ fraction: Double) {
        state.withLock { state in
            guard let teller = state.teller, teller.feed.isHeard, state.flights.contains(where: { $0 === flight })
            else { return }
            flight.noteProgressTold()
            teller.feed.append(change(.progress(fraction, of: flight), state, teller))
        }
    }

    /// The last progress of loads that are over now: 1, whatever their outcome (model: PG-01).
    func endProgress(of flights: [Flight], _ state: inout State) {
        guard let teller = state.teller, teller.feed.isHeard else { return }
        for flight in flights where flight.isProgressTold && state.flights.contains(where: { $0 === flight }) {
            teller.feed.append(change(.progress(1, of: flight), state, teller))
        }
    }
}
