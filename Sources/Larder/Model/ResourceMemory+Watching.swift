// SPDX-License-Identifier: Apache-2.0

import LarderIO
import LarderRules

/// Telling what happens to a Resource.
extension ResourceMemory {
    /// Tells changes to `teller`'s feed from now on.
    func attach(_ publisher: ChangePublisher) { state.withLock { $0.publisher = publisher } }

    func tell(_ event: ResourceEvent, _ state: inout State) {
        state.sequence += 1
        guard let publisher = state.publisher, publisher.feed.isHeard else { return }
        publisher.feed.append(change(.event(event), state, publisher))
    }

    private func change(
        _ what: ResourceChange.Happening, _ state: State, _ publisher: ChangePublisher
    ) -> ResourceChange {
        ResourceChange(
            what: what, key: publisher.key, service: publisher.service.name, sequence: state.sequence,
            snapshot: state.snapshot, loads: Array(state.loads), unstored: state.unstored)
    }

    /// The initial state for a new observer; nil for a Resource without a registry.
    package var moment: ResourceChange? {
        state.withLock { state in state.publisher.map { change(.event(.observerAdded), state, $0) } }
    }

    /// True if anybody watches this very Resource.
    package var isObserved: Bool { state.withLock { $0.observers > 0 } }

    /// True if anybody watches it, for which loads are not given up: a client, or the program.
    package var hasInterest: Bool { state.withLock { $0.observers > 0 || $0.program?.observers.isEmpty == false } }

    package func addObserver() { state.withLock { $0.observers += 1 } }

    /// When the last observer leaves, its loads are abandoned like those of clients that have left.
    package func removeObserver() {
        let left = state.withLock { state in
            state.observers -= 1
            return state.observers == 0 ? Array(state.loads) : []
        }
        for load in left { load.reconsider() }
    }

    /// Has loads that nobody waits for any more be abandoned.
    func reconsiderLoads() { for load in loads { load.reconsider() } }

    /// True if the last load came to no answer, or to one that says so.
    package var hasFailed: Bool {
        state.withLock { state in
            state.snapshot.failure != nil || state.unstored?.status.isError == true
                || state.snapshot.variants.first?.stored.status.isError == true
        }
    }

    // MARK: Progress

    /// Reports the progress of a load, unless it is over. Nearly free without listeners.
    package func tellProgress(of load: ActiveLoad, _ fraction: Double) {
        state.withLock { state in
            guard state.loads.contains(load) else { return }
            publishProgress(of: load, fraction, state)
        }
    }

    private func publishProgress(of load: ActiveLoad, _ fraction: Double, _ state: State) {
        if let publisher = state.publisher, publisher.feed.isHeard {
            load.noteProgressTold()
            publisher.feed.append(change(.progress(fraction, of: load), state, publisher))
        }
        showProgress(of: load, fraction, state)
    }

    /// The last progress of loads that are over now: 1, whatever their outcome (model: PG-01).
    func endProgress(of loads: [ActiveLoad], _ state: inout State) {
        guard state.publisher?.feed.isHeard == true || state.program != nil else { return }
        for load in loads where state.loads.contains(load) {
            if load.isProgressTold { publishProgress(of: load, 1, state) } else { showProgress(of: load, 1, state) }
        }
    }
}
