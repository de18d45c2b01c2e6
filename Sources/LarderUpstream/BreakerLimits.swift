// SPDX-License-Identifier: Apache-2.0

/// When circuits open, and for how long.
package struct BreakerLimits: Sendable, Equatable {
    /// Failures in a row that open a circuit; 0 never opens one.
    package var failures = 5
    /// Failures further apart than this are not in a row, in nanoseconds.
    package var window: Int64 = 60_000_000_000
    /// How long uncertain failures must continue, in nanoseconds.
    package var persistence: Int64 = 1_000_000_000
    /// How long a circuit is open at first, in nanoseconds. Each failed probe doubles it.
    package var shortest: Int64 = 1_000_000_000
    /// The longest interval, in nanoseconds.
    package var longest: Int64 = 10_000_000_000

    package init() {}

    /// How long a circuit is open that has been reopened `openings` times.
    func interval(_ openings: Int) -> Int64 {
        let (doubled, overflow) = shortest.multipliedReportingOverflow(by: 1 << min(openings, 30))
        return max(1, min(overflow ? .max : doubled, longest))
    }
}
