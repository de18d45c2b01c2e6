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

    /// To be called before suspending; `suspended` follows.
    mutating func arrive() {
        precondition(!isOccupied, "two tasks wait for the same thing on one stream")
        state = .arriving
    }

    mutating func suspended(_ continuation: UnsafeContinuation<WaitEnd, Never>) {
        if case .ended(let end) = state {
            state = .nobody
            continuation.resume(returning: end)
        } else {
            state = .waiting(continuation)
        }
    }

    /// Ends the wait. False if nobody waits.
    @discardableResult
    mutating func end(_ end: WaitEnd) -> Bool {
        switch state {
        case .nobody: return false
        case .arriving: state = .ended(end)
        case .ended: break
        case .waiting(let continuation):
            state = .nobody
            continuation.resume(returning: end)
        }
        return true
    }
}
