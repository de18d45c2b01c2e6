// SPDX-License-Identifier: Apache-2.0
import LarderIO

/// A clock that stands still until it is moved by hand. Loops made with it fire their timers when it moves.
package final class ManualTime: TimeSource {
    private struct State {
        var wall: Int64
        var elapsed: Int64 = 1
        var observers: [@Sendable () -> Void] = []
    }

    private let state: Lock<State>

    /// Starts at `wall` nanoseconds since the Unix epoch.
    package init(startingAt wall: Int64 = 1_700_000_000_000_000_000) { state = Lock(State(wall: wall)) }

    package func now() -> Int64 { state.withLock { $0.wall } }

    package func monotonic() -> Int64 { state.withLock { $0.elapsed } }

    package func onJump(_ notify: @escaping @Sendable () -> Void) { state.withLock { $0.observers.append(notify) } }

    /// Lets `duration` pass: both clocks go on, and every loop on this clock looks at its timers.
    package func advance(by duration: Duration) {
        let observers = state.withLock { state in
            let (seconds, attoseconds) = duration.components
            let nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
            precondition(nanoseconds >= 0, "time passes forwards; use setWall for a clock that is put back")
            state.wall += nanoseconds
            state.elapsed += nanoseconds
            return state.observers
        }
        for notify in observers { notify() }
    }

    /// Sets the wall clock alone, as an administrator does.
    package func setWall(_ wall: Int64) { state.withLock { $0.wall = wall } }
}
