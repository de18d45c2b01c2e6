// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A load's own notes, for those who join it and for observers.
extension SharedLoad {
    /// Whether clients may join: not when the request is for its own client alone, the Resource was invalidated since, or
    /// the load is being cancelled because nobody waits for it.
    package var isJoinable: Bool { mayBeJoined && !isOutdated }

    /// Whether those who come now need another load: the Resource was invalidated since this one began, or it is being
    /// cancelled.
    package var isOutdated: Bool { outdated.load(ordering: .acquiring) }
    func noteInvalidation() { outdated.store(true, ordering: .releasing) }

    /// Whether the progress of the load was reported to observers.
    var isProgressTold: Bool { told.load(ordering: .relaxed) }
    func noteProgressTold() { told.store(true, ordering: .relaxed) }
}
