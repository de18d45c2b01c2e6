// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// Something that happens once.
final class Flag: Sendable {
    private let isRaised = Atomic(false)

    /// True for the first call only.
    func raise() -> Bool { !isRaised.exchange(true, ordering: .acquiringAndReleasing) }
}

/// Counts up from 0.
final class Counter: Sendable {
    private let value = Atomic(0)

    /// 0 at first, then one more each time.
    func next() -> Int { value.add(1, ordering: .relaxed).oldValue }
}
