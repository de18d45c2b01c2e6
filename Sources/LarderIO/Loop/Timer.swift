// SPDX-License-Identifier: Apache-2.0

/// Something to be done on a loop at an instant of its clock. Confined to that loop.
package final class Timer: QueuedTimer {
    var due: Int64 = .max
    var index = -1
    var order: UInt64 = 0
    let action: () -> Void
    private let executor: LoopExecutor

    init(on executor: LoopExecutor, action: @escaping () -> Void) {
        self.executor = executor
        self.action = action
    }

    /// True if the action is still to come.
    package var isArmed: Bool { index >= 0 }

    /// Sees to it that the action is not called, unless armed again.
    package func cancel() { executor.disarm(self) }

    /// Arms or re-arms the timer.
    package func arm(after delay: Duration) { arm(at: executor.monotonicNow().advanced(by: delay)) }

    /// Arms or re-arms the timer for an instant in monotonic nanoseconds of the loop's clock.
    func arm(at due: Int64) { executor.arm(self, at: due) }
}
