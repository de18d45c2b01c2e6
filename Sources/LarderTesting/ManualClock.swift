// SPDX-License-Identifier: Apache-2.0
public import Larder
import LarderIO

/// The model's clock, moved by hand: scheduled actions run, in order, when time is advanced.
public final class ManualClock: ModelClock {
    private struct Scheduled {
        let id: UInt64
        let due: Timestamp
        let action: @Sendable () -> Void
    }

    private struct State {
        var now: Timestamp
        var scheduled: [Scheduled] = []
        var lastID: UInt64 = 0
    }

    private let state: Lock<State>

    /// Starts at a number of seconds since the Unix epoch.
    public init(seconds: Int64 = 1_000) { state = Lock(State(now: Timestamp(seconds: seconds))) }

    public var now: Timestamp { state.withLock { $0.now } }

    /// The number of scheduled actions.
    public var scheduledCount: Int { state.withLock { $0.scheduled.count } }

    public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        let id = state.withLock { state in
            state.lastID += 1
            state.scheduled.append(Scheduled(id: state.lastID, due: state.now + delay, action: action))
            return state.lastID
        }
        return ScheduledAction { self.state.withLock { $0.scheduled.removeAll { $0.id == id } } }
    }

    /// Advances time. Actions that become due, including those scheduled meanwhile, run at their time.
    public func advance(by duration: Duration) {
        let end = now + duration
        while let next = takeNext(before: end) { next() }
        state.withLock { $0.now = end }
    }

    /// Sets the clock without running actions.
    public func set(seconds: Int64) { state.withLock { $0.now = Timestamp(seconds: seconds) } }

    private func takeNext(before end: Timestamp) -> (@Sendable () -> Void)? {
        state.withLock { state in
            let due = state.scheduled.filter { $0.due <= end }
            guard let next = due.min(by: { ($0.due, $0.id) < ($1.due, $1.id) }) else { return nil }
            state.scheduled.removeAll { $0.id == next.id }
            state.now = max(state.now, next.due)
            return next.action
        }
    }
}
