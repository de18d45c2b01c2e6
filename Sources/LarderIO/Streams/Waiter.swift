// SPDX-License-Identifier: Apache-2.0

/// How a wait ended.
enum WaitEnd: Equatable { case ready, timedOut, interrupted, closed }

/// The place of the one task that waits for something on a loop.
///
/// Between the decision to wait and the moment the task is suspended, the runtime may let other work run: the
/// suspension begins by making sure of the executor, and a task just started there takes a place in its queue
/// for that. What happens meanwhile is kept for it.
struct Waiter {
    private enum State {
        case nobody
        /// A task has decided to wait and is not suspended yet.
        case arriving
        /// It need not wait any more.
        case ended(WaitEnd)
        case waiting(UnsafeContinuation<WaitEnd, Never>)
    }

    private var state = State.nobody

    /// Whether a task waits here.
    var isOccupied: Bool { if case .nobody = state { false } else { true } }

    /// To be called before suspending; `suspended` follows. False, and nothing changes, if a task waits already.
    mutating func arrive() -> Bool {
        guard !isOccupied else { return false }
        state = .arriving
        return true
    }

    /// Takes in the suspended task, which is to be resumed if its wait has ended meanwhile.
    mutating func suspended(_ task: UnsafeContinuation<WaitEnd, Never>) -> Ended {
        if case .ended(let end) = state {
            state = .nobody
            return Ended(end: end, wasOccupied: true, task: task)
        }
        state = .waiting(task)
        return Ended(end: .ready, wasOccupied: false, task: nil)
    }

    /// Ends the wait. Whom to resume is answered and not done: so nothing else runs while the waiter is changed, which
    /// the compiler would otherwise have watched each time.
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

    /// What the end of a wait comes to.
    struct Ended {
        fileprivate let end: WaitEnd
        fileprivate let wasOccupied: Bool
        fileprivate let task: UnsafeContinuation<WaitEnd, Never>?

        /// Resumes the task that waited. False if nobody did.
        @discardableResult
        func resume() -> Bool {
            task?.resume(returning: end)
            return wasOccupied
        }
    }
}
