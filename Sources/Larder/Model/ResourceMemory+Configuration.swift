// SPDX-License-Identifier: Apache-2.0

import LarderIO
package import LarderRules

/// The configuration of a Resource, and what it means for the variants in memory.
extension ResourceMemory {
    /// The configuration of this Resource, computed by `make` once for each `version`.
    package func configuration<Value: AnyObject & Sendable>(version: UInt64, make: () -> Value) -> Value {
        if let known = state.withLock({ $0.configuration }), known.version == version, let value = known.value as? Value
        {
            return value
        }
        let value = make()
        state.withLock { $0.configuration = (version, value) }
        return value
    }

    /// Lets go of the configuration: it is over, and what it has (transformers, programs) must not outlast it here.
    package func forgetConfiguration() { state.withLock { $0.configuration = nil } }

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
