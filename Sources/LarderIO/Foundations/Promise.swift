// SPDX-License-Identifier: Apache-2.0

/// A value that one task waits for and another party on the same loop provides, once. Confined to that loop.
///
/// It may be provided before the task is suspended: until then the runtime may let other work of the loop run, and a
/// value provided meanwhile is kept. Inlinable, as each request to an origin needs one.
package final class Promise<Value> {
    @usableFromInline
    enum State {
        case nothing
        case waiting(UnsafeContinuation<Void, Never>)
        case fulfilled(Value)
        case taken
    }

    @usableFromInline var state = State.nothing

    @inlinable
    package init() {}

    /// Provides the value. False when there is one already, which stays.
    @inlinable @discardableResult
    package func fulfil(_ value: Value) -> Bool {
        switch state {
        case .nothing:
            state = .fulfilled(value)
        case .waiting(let continuation):
            state = .fulfilled(value)
            continuation.resume()
        case .fulfilled, .taken:
            return false
        }
        return true
    }

    /// Waits for the value. One task may call this, once.
    @inlinable
    package func value() async -> Value {
        if case .nothing = state {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
                if case .nothing = state { state = .waiting(continuation) } else { continuation.resume() }
            }
        }
        // Unreachable: the creator of the promise waits for it, once.
        guard case .fulfilled(let value) = state else { preconditionFailure("a promise has one reader") }
        state = .taken
        return value
    }
}
