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

    /// The state as an observer is told it when it comes; nil for a Resource that no registry holds.
    package var moment: ResourceChange? {
        state.withLock { state in state.teller.map { change(.event(.observerAdded), state, $0) } }
    }

    /// Whether anybody watches this very Resource.
    package var isObserved: Bool { state.withLock { $0.observers > 0 } }

    package func addObserver() { state.withLock { $0.observers += 1 } }

    /// The last observer leaves loads behind that nobody waits for; they are then like those that clients left.
    package func removeObserver() {
        let left = state.withLock { state in
            state.observers -= 1
            return state.observers == 0 ? state.flights : []
        }
        for flight in left { flight.reconsider() }
    }

    /// Whether the last load came to no answer, or to one that says so.
    package var hasFailed: Bool {
        state.withLock { state in
            state.snapshot.failure != nil || state.unstored?.status.isError == true
                || state.snapshot.variants.first?.stored.status.isError == true
        }
    }

    // MARK: Progress

    /// Tells how far a load has come, unless it is over. Costs nothing but a look while nobody listens.
    package func tellProgress(of flight: Flight, _ fraction: Double) {
        state.withLock { state in
            guard let teller = state.teller, teller.feed.isHeard, state.flights.contains(where: { $0 === flight })
            else { return }
            flight.noteProgressTold()
            teller.feed.append(change(.progress(fraction, of: flight), state, teller))
        }
    }

    /// The last of what was told of loads that are over now: 1, whatever they came to (model: PG-01).
    func endProgress(of flights: [Flight], _ state: inout State) {
        guard let teller = state.teller, teller.feed.isHeard else { return }
        for flight in flights where flight.isProgressTold && state.flights.contains(where: { $0 === flight }) {
            teller.feed.append(change(.progress(1, of: flight), state, teller))
        }
    }
}
