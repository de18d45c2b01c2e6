// SPDX-License-Identifier: Apache-2.0

/// How a wait ended.
enum WaitEnd: Equatable { case ready, timedOut, interrupted, closed }

/// The slot of the one task that waits for something on a loop.
///
/// Between the decision to wait and the task's suspension, the runtime may let other work run: the suspension begins by
/// switching to the executor, and a task just started there is queued for that. An end that comes meanwhile is kept for
/// it.
struct Waiter {
    private enum State {
        case nobody
        /// A task has decided to wait and is not suspended yet.
        case arriving
        /// The wait has ended already.
        case ended(WaitEnd)
        case waiting(UnsafeContinuation<WaitEnd, Never>)
    }

    private var state = State.nobody

    /// True if a task waits here.
    var isOccupied: Bool { if case .nobody = state { false } else { true } }

    /// To be called before suspending; `suspended` follows. False, without effect, if a task waits already.
    mutating func arrive() -> Bool {
        guard !isOccupied else { return false }
        state = .arriving
        return true
    }

    /// Stores the suspended task, which is resumed if its wait has ended meanwhile.
    mutating func suspended(_ task: UnsafeContinuation<WaitEnd, Never>) -> Ended {
        if case .ended(let end) = state {
            state = .nobody
            return Ended(end: end, wasOccupied: true, task: task)
        }
        state = .waiting(task)
        return Ended(end: .ready, wasOccupied: false, task: nil)
    }

    /// Ends the wait. The task is returned rather than resumed: so no other code runs while the waiter is changed,
    /// which would need an exclusivity check each time.
    mutating func end(_ end: WaitEnd) -> Ended {
        switch state {
        case .nobody: return Ended(end: end, wasOccupied: false, task: nil)
        case .arriving: state = .ended(end)
        case .ended: break
        case .waiting(let task):
            state = .nobody
            return Ended(end: end, wasOccupied: true, task: task)
        }
        return Ended(end: end, wasOccupied: true, task: nil)
    }

    /// The result of ending a wait.
    struct Ended {
        fileprivate let end: WaitEnd
        fileprivate let wasOccupied: Bool
        fileprivate let task: UnsafeContinuation<WaitEnd, Never>?

        /// Resumes the task that waited. False if there was none.
        @discardableResult
        func resume() -> Bool {
            task?.resume(returning: end)
            return wasOccupied
        }
    }
}
