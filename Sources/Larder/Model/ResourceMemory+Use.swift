// SPDX-License-Identifier: Apache-2.0

import LarderIO
import Synchronization

/// How a Resource is used, for eviction and for lists.
extension ResourceMemory {
    /// Notes a hit for the registry's eviction. Written only when it changes something, as a hot Resource is read
    /// from every loop.
    @inlinable
    package func touch() {
        if !isVisited { markVisited() }
    }

    @usableFromInline var isVisited: Bool { visited.load(ordering: .relaxed) }
    @usableFromInline func markVisited() { visited.store(true, ordering: .relaxed) }

    /// True if there was a hit since the last call.
    func takeVisited() -> Bool {
        visited.load(ordering: .relaxed) && visited.exchange(false, ordering: .relaxed)
    }

    /// True if a load has failed, and none succeeded since: then it says when to ask again.
    var remembersFailure: Bool { state.withLock { $0.snapshot.failure != nil } }

    /// How many clients were answered from here since it was loaded into memory. Several hits may be added up for a
    /// second.
    package var hits: UInt64 { answered.load(ordering: .relaxed) }

    package func count(hits: UInt64) {
        if hits > 0 { answered.add(hits, ordering: .relaxed) }
    }
}
