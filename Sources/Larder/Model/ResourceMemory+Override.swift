// SPDX-License-Identifier: Apache-2.0

import LarderIO
import LarderRules

/// Content that an operator substitutes for the origin's (model: 3.6, T-17).
extension ResourceMemory {
    /// Makes `variant` the only one. Loads under way serve their readers, but their results are not stored (B-04).
    ///
    /// - Parameters:
    ///   - entity: the data for programs; by default the bytes for clients.
    ///   - generation: how many wipes there were when something began that this is the outcome of. If there are more now,
    ///     nothing happens, and the result is false.
    @discardableResult
    package func override(with variant: Variant, entity: AnyEntity? = nil, since generation: UInt64? = nil) -> Bool {
        state.withLock { state in
            catchUp(&state)
            if let generation, state.wipeGeneration != generation { return false }
            state.invalidationGeneration += 1
            state.unstored = nil
            let superseded = Array(state.loads)
            endProgress(of: superseded, &state)
            state.loads = ActiveLoads()
            // The variants in the store must not be loaded beside it.
            state.snapshot = Snapshot(variants: [variant], isStoreRead: true)
            tell(.newData(.localOverride), &state)
            for _ in superseded { tell(.requestCancelled, &state) }
            if state.program != nil {
                overrideForProgram(with: entity ?? variant.entity, ending: superseded, &state)
            }
            return true
        }
    }

    /// True if there is an override, fresh or not.
    package var isOverridden: Bool { state.withLock { $0.snapshot.isOverridden } }

    /// Drops the override: a load has received the origin's response, although it is not stored.
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

extension Variant {
    /// The response for clients as an entity, as far as it is in memory.
    fileprivate var entity: AnyEntity {
        var octets: [UInt8] = []
        if case .memory(let chunks, _) = content {
            for chunk in chunks { chunk.withBytes { octets.append(contentsOf: $0) } }
        }
        return AnyEntity(
            content: octets as any Sendable, fields: stored.fields, status: served.status, timestamp: storedAt)
    }
}
