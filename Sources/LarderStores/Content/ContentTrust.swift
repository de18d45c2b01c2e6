// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// The state of content files since the start: those found damaged and not removed yet, and those verified whole.
final class ContentTrust: Sendable {
    private struct State {
        var discarded: Set<StoredDigest> = []
        var examined: Set<StoredDigest> = []
    }

    private let state = Monitor(State())
    private static let limit = 1 << 14

    func isDiscarded(_ reference: ContentReference) -> Bool {
        guard case .file = reference.location else { return false }
        return state.withLock { $0.discarded.contains(reference.digest) }
    }

    /// Records that content is damaged.
    func discard(_ digest: StoredDigest) {
        state.withLock { state in
            state.examined.remove(digest)
            if state.discarded.count < Self.limit { state.discarded.insert(digest) }
        }
    }

    /// Records that damaged content is gone, or was replaced by another file.
    func forget(_ digest: StoredDigest) {
        state.withLock { state in
            state.discarded.remove(digest)
            state.examined.remove(digest)
        }
    }

    func isExamined(_ digest: StoredDigest) -> Bool { state.withLock { $0.examined.contains(digest) } }

    func noteExamined(_ digest: StoredDigest) {
        state.withLock { state in
            if state.examined.count >= Self.limit { state.examined.removeAll(keepingCapacity: true) }
            state.examined.insert(digest)
        }
    }
}
