// SPDX-License-Identifier: Apache-2.0
package import LarderIO
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
    private let time: any TimeSource

    /// Makes the system's clock.
    public init() { self.init(SystemTime()) }

    /// The same with another wall clock, as of a daemon: programs and clients see the same times in caches.
    package init(_ time: any TimeSource) { self.time = time }

    public var now: Timestamp { Timestamp(nanoseconds: time.now()) }

    public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        // The action may be a program's, and take its time.
        let alarm = Alarms.shared.schedule(after: delay) { Task { action() } }
        return ScheduledAction { alarm.cancel() }
    }
}

extension Timestamp {
    /// The system's time. For a service with its own clock use `service.clock.now`.
    public static var now: Timestamp { SystemModelClock().now }
}
