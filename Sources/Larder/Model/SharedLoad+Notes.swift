// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A load's own notes, for those who join it and for observers.
extension SharedLoad {
    /// Whether clients may join: not when the request is for its own client alone, or the Resource was invalidated since.
    package var isJoinable: Bool { mayBeJoined && !isOutdated }

    /// Whether the Resource was invalidated since the load began.
    package var isOutdated: Bool { outdated.load(ordering: .acquiring) }
    func noteInvalidation() { outdated.store(true, ordering: .releasing) }

    /// Whether the progress of the load was reported to observers.
    var isProgressTold: Bool { told.load(ordering: .relaxed) }
    func noteProgressTold() { told.store(true, ordering: .relaxed) }
}
