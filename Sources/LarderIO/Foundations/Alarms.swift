// SPDX-License-Identifier: Apache-2.0

/// Timers for code that is on no loop: one thread of the process waits for all of them.
///
/// `Task.sleep` would do, but libdispatch, on which it is built, has lost its one timer under many thousands of them a
/// second, and with it every time limit of the process.
package final class Alarms: Sendable {
    fileprivate final class Entry: QueuedTimer {
        var due = Int64.max
        var index = -1
        var order: UInt64 = 0
        let action: @Sendable () -> Void

        init(_ action: @escaping @Sendable () -> Void) { self.action = action }
    }

    private struct State {
        var queue = TimerQueue<Entry>()
        var hasThread = false
    }

    /// An action to come.
    package struct Alarm: Sendable {
        fileprivate let alarms: Alarms
        // Reached only with the state of `alarms` locked.
        fileprivate let entry: Confined<Entry>

        /// Sees to it that the action is not called, unless it is about to be.
        package func cancel() { alarms.state.withLock { $0.queue.remove(entry.value) } }
    }

    /// The alarms of the process.
    package static let shared = Alarms()

    private let state = Monitor(State())
    private let time = SystemTime()

    /// How many actions are still to come.
    package var count: Int { state.withLock { $0.queue.count } }

    /// Calls `action` once, on the thread of the alarms, when `delay` has passed. It must not block: later ones wait
    /// for it.
    ///
    /// If the system cannot start a thread, the next call tries again.
    @discardableResult
    package func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> Alarm {
        let entry = Confined(Entry(action))
        let due = time.monotonic().advanced(by: delay)
        let (isNext, hasThread) = state.withLock { state in
            defer { state.hasThread = true }
            state.queue.insert(entry.value, due: due)
            return (state.queue.nextDue == due, state.hasThread)
        }
        if !hasThread { start() } else if isNext { state.notify() }
        return Alarm(alarms: self, entry: entry)
    }

    /// Suspends the calling task for `duration`; cancelling the task does not end the wait.
    package func sleep(for duration: Duration) async {
        await withUnsafeContinuation { continuation in
            schedule(after: duration) { continuation.resume() }
        }
    }

    private func start() {
        do {
            // The process ends without it.
            try Thread.start(name: "larder-alarms", takesSignals: false) { [self] in
                while true { next()() }
            }.detach()
        } catch {
            state.withLock { $0.hasThread = false }
        }
    }

    /// Waits for the next action.
    private func next() -> @Sendable () -> Void {
        state.wait { state in
            if let entry = state.queue.popDue(at: time.monotonic()) { return .done(entry.action) }
            return .wait(until: state.queue.nextDue)
        }
    }
}
