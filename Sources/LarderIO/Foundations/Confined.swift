// SPDX-License-Identifier: Apache-2.0

/// A value that belongs to one loop, passed through code in which the compiler cannot see that it stays there.
///
/// Make and open it on that loop only; in between it may be kept anywhere.
// @unchecked: it is opened on the loop that made it.
package struct Confined<Value>: @unchecked Sendable {
    package let value: Value

    package init(_ value: Value) { self.value = value }
}

/// The loop's methods for code that runs on the loop without the compiler seeing it. They trap when called elsewhere.
extension EventLoop {
    /// `timer(after:)`.
    @discardableResult
    package nonisolated func timerHere(after delay: Duration, _ action: @escaping () -> Void) -> Timer {
        let action = Confined(action)
        // Holds, here and below: called by objects that were made on this loop and never leave it (`LoopContext` and
        // its properties), whatever clients and origins send.
        return assumeIsolated { Confined($0.timer(after: delay, action.value)) }.value
    }

    /// Makes a connector with a resolver of its own.
    // Holds: see `timerHere`.
    package nonisolated func makeConnectorHere() -> Connector { assumeIsolated { Confined(Connector(on: $0)) }.value }

    /// Accepts from `socket` and calls `accepted` for each connection.
    package nonisolated func listenHere(
        on socket: ListeningSocket, accepted: @escaping (ByteStream) -> Void
    ) throws(IOError) -> Listener {
        let accepted = Confined(accepted)
        // Holds: see `timerHere`.
        let listener: Confined<Result<Listener, IOError>> = assumeIsolated { loop in
            do throws(IOError) {
                return Confined(.success(try Listener(socket, on: loop, accepted: accepted.value)))
            } catch {
                return Confined(.failure(error))
            }
        }
        return try listener.value.get()
    }

    /// A stream over a connected socket, which the stream owns from then on.
    package nonisolated func adoptHere(_ descriptor: Int32, peer: SocketAddress) throws(IOError) -> ByteStream {
        // Holds: see `timerHere`.
        let stream: Confined<Result<ByteStream, IOError>> = assumeIsolated { loop in
            do throws(IOError) {
                return Confined(.success(try ByteStream(adopting: descriptor, on: loop, peer: peer)))
            } catch {
                return Confined(.failure(error))
            }
        }
        return try stream.value.get()
    }

    /// Sets the handler for internal errors that cost one connection of this loop, for the log.
    package nonisolated func onFaultHere(_ body: @escaping (IOError) -> Void) {
        let body = Confined(body)
        // Holds: see `timerHere`.
        assumeIsolated { $0.executor.onFault = body.value }
    }

    /// The wall clock in nanoseconds, as of the beginning of this turn.
    package nonisolated func wallClockHere() -> Int64 { executor.wallClock() }

    /// `monotonicNow`, from the loop.
    package nonisolated func monotonicHere() -> Int64 { executor.monotonicNow() }

    /// `spawnHere`: starts a task that runs up to its first suspension before this returns.
    package nonisolated func startHere(_ body: @escaping () async -> Void) {
        let body = Confined(body)
        // Holds: see `timerHere`.
        assumeIsolated { loop in loop.spawnHere { _ in await body.value() } }
    }
}

extension EventLoop {
    /// Runs `body` on the loop and returns what it returns.
    package func perform<Result: Sendable>(
        _ body: @Sendable (isolated EventLoop) throws -> Result
    ) rethrows -> Result {
        try body(self)
    }
}
