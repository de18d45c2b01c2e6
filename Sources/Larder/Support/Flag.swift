// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// Something that happens once.
final class Flag: Sendable {
    private let flag = Atomic(false)

    /// True for the first call only.
    @discardableResult
    func raise() -> Bool { !flag.exchange(true, ordering: .acquiringAndReleasing) }

    var isRaised: Bool { flag.load(ordering: .acquiring) }
}

/// Counts up from 0.
final class Counter: Sendable {
    private let value = Atomic(0)

    /// 0 at first, then one more each time.
    func next() -> Int { value.add(1, ordering: .relaxed).oldValue }
}
