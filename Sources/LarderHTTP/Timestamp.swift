// SPDX-License-Identifier: Apache-2.0

/// An instant, in nanoseconds since the Unix epoch. It always comes in as an argument; nothing below the
/// performers reads a clock.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Nanoseconds since the Unix epoch; negative before it.
    public var nanoseconds: Int64

    /// Makes an instant of nanoseconds since the Unix epoch.
    @inlinable
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Whole seconds since the epoch; values beyond the representable range (the year 2262) saturate.
    @inlinable
    public init(seconds: Int64) {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        nanoseconds = overflow ? (seconds < 0 ? .min : .max) : product
    }

    /// Whole seconds since the epoch, rounded down.
    @inlinable
    public var seconds: Int64 {
        let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return remainder < 0 ? quotient - 1 : quotient
    }

    @inlinable
    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.nanoseconds < b.nanoseconds }

    /// The time from `b` to `a`, saturated at 292 years.
    @inlinable
    public static func - (a: Timestamp, b: Timestamp) -> Duration {
        let (difference, overflow) = a.nanoseconds.subtractingReportingOverflow(b.nanoseconds)
        return .nanoseconds(overflow ? (a < b ? .min : .max) : difference)
    }

    /// The instant `b` later, saturated.
    @inlinable
    public static func + (a: Timestamp, b: Duration) -> Timestamp {
        let (sum, overflow) = a.nanoseconds.addingReportingOverflow(b.wholeNanoseconds)
        return Timestamp(nanoseconds: overflow ? (b < .zero ? .min : .max) : sum)
    }

    /// The instant `b` earlier, saturated.
    @inlinable
    public static func - (a: Timestamp, b: Duration) -> Timestamp { a + (.zero - b) }
}

extension Duration {
    /// The duration in nanoseconds, saturated to what 64 bits hold (292 years).
    @inlinable
    public var wholeNanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }

    /// The duration in whole seconds, rounded toward zero.
    @inlinable
    public var wholeSeconds: Int64 { components.seconds }

    /// The whole seconds after which all of it is over; at least 1, as `Retry-After` says it.
    package var secondsRoundedUp: Int64 {
        let (seconds, attoseconds) = components
        return max(1, attoseconds > 0 ? seconds + 1 : seconds)
    }
}
