// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// Content that an operator puts in the place of what the origin says (model: 3.6, T-17).
extension ResourceMemory {
    /// Makes `variant` all there is. Loads under way go on for their readers and do not land (B-04).
    package func override(with variant: Variant) {
        state.withLock { state in
            catchUp(&state)
            state.epoch += 1
            state.unstored = nil
            let superseded = state.flights.count
            endProgress(of: state.flights, &state)
            state.flights.removeAll()
            // What a store has is not to come back beside it.
            state.snapshot = Snapshot(variants: [variant], isStoreRead: true)
            tell(.newData(.localOverride), &state)
            for _ in 0..<superseded { tell(.requestCancelled, &state) }
        }
    }

    /// Whether an override is here, fresh or not.
    package var isOverridden: Bool { state.withLock { $0.snapshot.isOverridden } }

    /// Drops the override: a load has brought what the origin says, though nothing of it is kept.
    func endOverride(_ state: inout State) {
        guard state.snapshot.isOverridden else { return }
        state.snapshot = Snapshot(
            variants: state.snapshot.variants.filter { !$0.isOverride }, failure: state.snapshot.failure,
            isStoreRead: state.snapshot.isStoreRead)
    }
}

extension ResourceMemory.Snapshot {
    var isOverridden: Bool { variants.contains(where: \.isOverride) }
}
