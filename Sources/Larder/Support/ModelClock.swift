// SPDX-License-Identifier: Apache-2.0
import LarderIO
public import LarderHTTP

/// The time source of the model. All waits and comparisons of times use one clock, so that tests can move time by hand.
public protocol ModelClock: Sendable {
    /// The current time.
    var now: Timestamp { get }

    /// Calls `action` once, on any thread, when `delay` has passed, unless it is cancelled before.
    func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> ScheduledAction
}

/// An action that a clock has scheduled.
public struct ScheduledAction: Sendable {
    private let onCancel: @Sendable () -> Void

    /// Makes an action from the function that cancels it.
    public init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

    /// Cancels the action if it has not begun.
    public func cancel() { onCancel() }
}

/// The system's clock.
public struct SystemModelClock: ModelClock {
    /// Makes the system's clock.
    public init() {}

    public var now: Timestamp { Timestamp(nanoseconds: SystemTime().now()) }

    public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        // The action may be a program's, and take its time.
        let alarm = Alarms.shared.schedule(after: delay) { Task { action() } }
        return ScheduledAction { alarm.cancel() }
    }
}
