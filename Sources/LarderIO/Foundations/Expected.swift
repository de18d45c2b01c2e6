// SPDX-License-Identifier: Apache-2.0

/// An object that is made once, later than the objects that use it. Calls that arrive before the object run once it
/// exists. `Expected` does not retain the object.
package final class Expected<Value: AnyObject & Sendable>: Sendable {
    private struct State {
        weak var value: Value?
        /// nil once it has come, or will not come.
        var waiting: [@Sendable (Value?) -> Void]? = []
    }

    private let state = Lock(State())

    package init() {}

    /// The object; nil before it has come, and after it is gone or is over.
    package var value: Value? { state.withLock { $0.value } }

    /// The object has come.
    package func fulfil(_ value: Value) { settle(value) }

    /// The object will not come, or has gone: its callers stop waiting.
    package func giveUp() { settle(nil) }

    private func settle(_ value: Value?) {
        let waiting = state.withLock { state in
            state.value = value
            return state.waiting.take() ?? []
        }
        for body in waiting { body(value) }
    }

    /// Calls `body` with the object: now, or when it has come; not at all once it is gone.
    package func whenThere(_ body: @escaping @Sendable (Value) -> Void) {
        let value = state.withLock { state in
            state.waiting?.append { if let value = $0 { body(value) } }
            return state.value
        }
        if let value { body(value) }
    }

    /// The object, once it has come; nil when it is gone, over or will not come.
    package func wait() async -> Value? {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                state.waiting?.append { continuation.resume(returning: $0) }
                return state.waiting == nil
            }
            if isOver { continuation.resume(returning: value) }
        }
    }
}
