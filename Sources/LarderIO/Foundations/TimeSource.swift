// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The source of time: the system's clocks, or in tests a clock moved by hand.
package protocol TimeSource: Sendable {
    /// Wall-clock time in nanoseconds since the Unix epoch. It may jump.
    func now() -> Int64

    /// Nanoseconds since an arbitrary instant; never runs backwards. Timers and deadlines use it.
    func monotonic() -> Int64

    /// Registers a callback, on any thread, for each time this clock was moved other than by passing.
    func onJump(_ notify: @escaping @Sendable () -> Void)
}

extension TimeSource {
    /// For clocks that never jump.
    package func onJump(_ notify: @escaping @Sendable () -> Void) {}
}

/// The system's clocks.
package struct SystemTime: TimeSource {
    package init() {}

    package func now() -> Int64 { Self.read(CLOCK_REALTIME) }

    package func monotonic() -> Int64 { Self.read(CLOCK_MONOTONIC) }

    /// Seconds; a few less than there are, so that little is added to the last ones in vain.
    private static let limit: Int64 = 9_223_372_000

    static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return nanoseconds(of: time)
    }

    /// Nanoseconds end in the year 2262; the clock of a machine may be set to any time.
    static func nanoseconds(of time: timespec) -> Int64 {
        let seconds = min(max(Int64(time.tv_sec), -SystemTime.limit), SystemTime.limit)
        return seconds * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

extension Int64 {
    /// This instant in nanoseconds, moved by `duration`, saturated.
    package func advanced(by duration: Duration) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(Int64(clamping: duration.attoseconds / 1_000_000_000))
        return overflow ? (duration < .zero ? .min : .max) : sum
    }
}
