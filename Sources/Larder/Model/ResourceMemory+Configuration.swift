// SPDX-License-Identifier: Apache-2.0

import LarderIO
package import LarderRules

/// The configuration of a Resource, and what it means for the variants in memory.
extension ResourceMemory {
    /// The configuration of this Resource, computed by `make` once for each `version`, unless it is not to be kept.
    package func configuration<Value: AnyObject & Sendable>(
        version: UInt64, keepingIf isKept: (Value) -> Bool = { _ in true }, make: () -> Value
    ) -> Value {
        let known = state.withLock { $0.configuration }
        if known.version == version, let value = known.value as? Value { return value }
        let value = make()
        guard isKept(value) else { return value }
        state.withLock { state in
            // A load that a former one began may end only now.
            if version >= state.configuration.version { state.configuration = (version, value) }
        }
        return value
    }

    /// Lets go of a configuration before this version, and of any for nil: what it has (transformers, programs) must not
    /// outlast it here.
    package func forgetConfiguration(before version: UInt64?) {
        // The last references to what they have are released after the lock: the program's deinitializers run then.
        _ = state.withLock { state in
            let (latest, value) = state.configuration
            let frozen = state.program?.forgetConfiguration(before: version)
            if let version {
                if version > latest { state.configuration = (version, nil) }
            } else if value != nil {
                // The next that its service may have, should it come back.
                state.configuration = (latest + 1, nil)
            }
            return (value, frozen)
        }
    }

    /// Has the variants see `policy` from now on: the configuration has changed.
    package func judge(by policy: CachePolicy) {
        for old in snapshot.variants {
            let new = old.under(policy)
            state.withLock { state in
                var variants = state.snapshot.variants
                guard let index = variants.firstIndex(where: { $0 === old }) else { return }
                variants[index] = new
                state.snapshot = Snapshot(
                    variants: variants, failure: state.snapshot.failure, isStoreRead: state.snapshot.isStoreRead)
            }
        }
    }
}
