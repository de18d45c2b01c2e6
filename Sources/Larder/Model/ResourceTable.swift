// SPDX-License-Identifier: Apache-2.0
import LarderIO

/// The resources of one service, each of them once.
///
/// They are retained until a flush releases unreferenced ones; flushes happen on request, and when the limit would be
/// exceeded. Resources in use always stay, so the limit is a soft one.
final class ResourceTable: Sendable {
    struct Key: Hashable, Sendable {
        let partition: Partition
        let url: ResourceURL
    }

    private struct Slot {
        var strong: Resource?
        weak var weak: Resource?
    }

    private struct State {
        var slots: [Key: Slot] = [:]
        var limit = 2_048
        /// The size at which the next flush happens: where most are in use, a flush for each new one would take long.
        var threshold = 2_048
    }

    private let state = Lock(State())

    var limit: Int {
        get { state.withLock { $0.limit } }
        set {
            let isOver = state.withLock { state in
                state.limit = newValue
                state.threshold = newValue
                return state.slots.count > newValue
            }
            if isOver { flush() }
        }
    }

    /// The resource for a key, made if there is none.
    func resource(for key: Key, make: () -> Resource) -> Resource {
        if let known = known(key) { return known }
        if state.withLock({ $0.slots.count >= $0.threshold }) { flush() }
        let made = make()
        return state.withLock { state in
            // Another thread may have added it meanwhile.
            if let resource = state.slots[key]?.strong ?? state.slots[key]?.weak { return resource }
            state.slots[key] = Slot(strong: made, weak: made)
            return made
        }
    }

    private func known(_ key: Key) -> Resource? {
        state.withLock { state in
            guard let slot = state.slots[key], let resource = slot.strong ?? slot.weak else { return nil }
            if slot.strong == nil { state.slots[key]?.strong = resource }
            return resource
        }
    }

    /// All resources in the table.
    var all: [Resource] { state.withLock { $0.slots.values.compactMap { $0.strong ?? $0.weak } } }

    /// Releases unreferenced resources.
    func flush() {
        // Observers of deallocated owners retain their resource until they are removed.
        for resource in all { resource.removeOrphans() }
        // The last references may be released here, so it happens outside the lock.
        _ = takeStrongReferences()
        _ = state.withLock { state in
            var left: [Resource] = []
            state.slots = state.slots.filter { slot in
                guard let resource = slot.value.strong ?? slot.value.weak else { return false }
                left.append(resource)
                return true
            }
            state.threshold = max(state.limit, state.slots.count * 2)
            return left
        }
    }

    private func takeStrongReferences() -> [Resource] {
        state.withLock { state in
            let references = state.slots.values.compactMap(\.strong)
            for key in state.slots.keys { state.slots[key]?.strong = nil }
            return references
        }
    }
}
