// SPDX-License-Identifier: Apache-2.0

/// Decides when the waits of a stream end, and what postpones that. The stream owns the timer and asks the kernel.
///
/// Instants are monotonic nanoseconds of the loop's clock; `.max` is never.
struct StreamDeadlines {
    /// The waits whose deadline begins anew when the peer takes something.
    private enum Patience {
        case none
        case ofWrites
        case ofAll
    }

    private(set) var read = Int64.max
    private(set) var write = Int64.max
    private var patience = Patience.none
    /// How long the peer may take nothing.
    private var span = Duration.zero
    /// The bytes that the kernel had for the peer when it was asked last; nil if more may have been written since.
    private var untaken: Int32?

    /// True if it matters what the peer takes.
    var isPatient: Bool { patience != .none }

    /// Sets both for an instant.
    mutating func set(at instant: Int64) {
        read = instant
        write = instant
        patience = .none
    }

    mutating func setRead(at instant: Int64) { read = instant }

    /// Sets the deadline of writes, which begins anew when the peer takes bytes.
    mutating func setWrite(after duration: Duration?, now: Int64) {
        patience = duration == nil ? .none : .ofWrites
        span = duration ?? .zero
        write = duration.map(now.advanced(by:)) ?? .max
    }

    /// Sets both, which begin anew when the peer takes something.
    mutating func setIdle(after duration: Duration?, now: Int64) {
        set(at: .max)
        guard let duration else { return }
        patience = .ofAll
        span = duration
        moved(now: now)
    }

    /// Something was written, or the peer's silence is broken otherwise.
    mutating func moved(now: Int64) {
        untaken = nil
        putOff(now: now)
    }

    /// Has the deadlines begin anew.
    mutating func putOff(now: Int64) {
        guard isPatient else { return }
        write = now.advanced(by: span)
        if patience == .ofAll { read = write }
    }

    /// True if the timer, which has fired, has to ask what the kernel still has for the peer.
    func wantsLook(now: Int64) -> Bool { patience == .ofAll || patience == .ofWrites && write <= now }

    /// A writer begins to wait, while the kernel has as much for the peer.
    mutating func beganToWait(untaken count: Int32) { untaken = count }

    /// The kernel has as much for the peer; true if that has taken something since the last time.
    mutating func looked(untaken count: Int32, now: Int64) -> Bool {
        defer { untaken = count }
        guard let untaken, count < untaken else { return false }
        putOff(now: now)
        return true
    }

    /// When the timer has to fire next. While the peer has something to take it is looked at eight times, so that its
    /// silence begins when it has taken the last of it; a deadline that only writes have is looked at when it passes.
    func next(after now: Int64) -> Int64 {
        let due = min(read > now ? read : .max, write > now ? write : .max)
        guard patience == .ofAll, untaken != 0, due != .max else { return due }
        return min(due, now.advanced(by: span / 8))
    }
}
