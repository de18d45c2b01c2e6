// SPDX-License-Identifier: Apache-2.0

/// A value that one task waits for and another party on the same loop provides, once. Confined to that loop.
///
/// It may be provided before the task is suspended: until then the runtime may let other work of the loop run, and a
/// value provided meanwhile is kept.
final class Handoff<Value> {
    private enum State {
        case nothing
        case waiting(UnsafeContinuation<Void, Never>)
        case brought(Value)
        case taken
    }

    private var state = State.nothing

    /// Provides the value. False when there is one already, which stays.
    @discardableResult
    func bring(_ value: Value) -> Bool {
        switch state {
        case .nothing:
            state = .brought(value)
        case .waiting(let continuation):
            state = .brought(value)
            continuation.resume()
        case .brought, .taken:
            return false
        }
        return true
    }

    /// Waits for the value. One task may call this, once.
    func take() async -> Value {
        if case .nothing = state {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
                if case .nothing = state { state = .waiting(continuation) } else { continuation.resume() }
            }
        }
        // Unreachable: the creator of the handoff takes from it, once.
        guard case .brought(let value) = state else { preconditionFailure("a handoff is taken once") }
        state = .taken
        return value
    }
}
