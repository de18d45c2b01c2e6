// SPDX-License-Identifier: Apache-2.0
import LarderIO
public import LarderHTTP

/// Where the model's time comes from. Everything that waits or compares times asks one clock, so that tests move
/// time by hand.
public protocol ModelClock: Sendable {
    /// The time.
    var now: Timestamp { get }

    /// Calls `action` once, on any thread, when `delay` has passed, unless that was cancelled before.
    func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> ScheduledAction
}

/// Something that a clock will do.
public struct ScheduledAction: Sendable {
    private let onCancel: @Sendable () -> Void

    /// Makes an action from what is to be done to cancel it.
    public init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

    /// Sees to it that the action is not begun, if it has not been.
    public func cancel() { onCancel() }
}

/// The system's clock.
public struct SystemModelClock: ModelClock {
    /// Makes the system's clock.
    public init() {}

    public var now: Timestamp { Timestamp(nanoseconds: SystemTime().now()) }

    public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        let task = Task {
            do { try await Task.sleep(for: delay) } catch { return }
            action()
        }
        return ScheduledAction { task.cancel() }
    }
}
