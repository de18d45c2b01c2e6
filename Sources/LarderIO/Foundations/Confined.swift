// SPDX-License-Identifier: Apache-2.0

/// A value that belongs to one loop, on its way through code for which the compiler cannot see that it stays there.
///
/// Make and open it on that loop only; in between it may be kept anywhere.
// @unchecked: whoever opens it is on the loop that made it.
package struct Confined<Value>: @unchecked Sendable {
    package let value: Value

    package init(_ value: Value) { self.value = value }
}

/// The loop's verbs for code that runs on the loop without the compiler seeing it. Called anywhere else they trap.
extension EventLoop {
    /// `timer(after:)`.
    @discardableResult
    package nonisolated func timerHere(after delay: Duration, _ action: @escaping () -> Void) -> Timer {
        let action = Confined(action)
        return assumeIsolated { Confined($0.timer(after: delay, action.value)) }.value
    }

    /// `spawnHere`: starts a task that runs up to its first suspension before this returns.
    package nonisolated func startHere(_ body: @escaping () async -> Void) {
        let body = Confined(body)
        assumeIsolated { loop in loop.spawnHere { _ in await body.value() } }
    }
}
