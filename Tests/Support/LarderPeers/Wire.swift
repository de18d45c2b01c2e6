// SPDX-License-Identifier: Apache-2.0
package import LarderIO

/// One end of a connection under the control of a test: raw octets out, raw octets in, and how it ends.
///
/// It knows nothing of Larder's own parsers. Waits end by an event, or fail after a generous time with the expected and
/// the received octets.
package final class Wire: Sendable {
    private struct State {
        var inbox = Inbox()
        /// Each tries to take the octets that it waits for, and returns whether it did.
        var waiters: [Int: @Sendable (inout Inbox) -> Bool] = [:]
        var failures: [Int: @Sendable (WireTimeout) -> Void] = [:]
        var lastWaiter = 0
        var isHeld = false
        var whenReleased: UnsafeContinuation<Void, Never>?
        var received = 0
    }

    private let loop: EventLoop
    private let stream: Confined<ByteStream>
    private let state = Lock(State())
    package let name: String

    /// How long a wait may last before it counts as failed.
    package static let patience = Duration.seconds(300)

    /// To be called on `loop`, where the stream lives.
    package init(_ stream: ByteStream, on loop: isolated EventLoop, name: String, isHeld: Bool = false) {
        self.loop = loop
        self.stream = Confined(stream)
        self.name = name
        state.withLock { $0.isHeld = isHeld }
        loop.spawnHere { _ in await self.receive() }
    }

    deinit {
        let stream = stream
        loop.execute { _ in stream.value.close() }
    }

    // MARK: Sending

    /// Sends octets and waits until the kernel has accepted all of them.
    package func write(_ octets: [UInt8]) async throws {
        let stream = stream
        try await onLoop { try await stream.value.write(octets) }
    }

    /// Sends text unchanged.
    package func write(_ text: String) async throws { try await write(Array(text.utf8)) }

    /// Sends a message: a head of these lines, an empty line, and content.
    package func send(_ lines: String..., content: String = "") async throws {
        try await write(lines.map { $0 + "\r\n" }.joined() + "\r\n" + content)
    }

    // MARK: Ending

    /// Half-closes the connection, and continues to receive.
    package func shutdownWrite() async {
        let stream = stream
        try? await onLoop { stream.value.shutdownWrite() }
    }

    package func close() async {
        let stream = stream
        try? await onLoop { stream.value.close() }
    }

    /// Ends the connection as a crash does.
    package func reset() async {
        let stream = stream
        try? await onLoop { stream.value.reset() }
    }

    // MARK: Receiving

    /// Stops receiving: the kernel's buffers fill and the peer has to wait.
    package func hold() { state.withLock { $0.isHeld = true } }

    /// Receives again.
    package func release() {
        state.withLock { state in
            state.isHeld = false
            defer { state.whenReleased = nil }
            return state.whenReleased
        }?.resume()
    }

    /// Octets received so far, including those taken.
    package var received: Int { state.withLock { $0.received } }

    /// Whether nothing more will come.
    package var isEnded: Bool { state.withLock { $0.inbox.end != nil } }

    /// The number of received octets that were not taken.
    package var pending: Int { state.withLock { $0.inbox.count } }

    /// Waits until `take` finds its octets.
    package func wait<Value: Sendable>(
        for what: String, _ take: @escaping @Sendable (inout Inbox) -> Value?
    ) async throws -> Value {
        let loop = loop
        // Taken last: the thread sanitizer does not see that a continuation that is resumed early orders both sides.
        defer { state.withLock { _ in } }
        return try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
            let waiting = state.withLock { state -> Int? in
                if let value = take(&state.inbox) {
                    continuation.resume(returning: value)
                    return nil
                }
                state.lastWaiter += 1
                state.waiters[state.lastWaiter] = { inbox in
                    guard let value = take(&inbox) else { return false }
                    continuation.resume(returning: value)
                    return true
                }
                state.failures[state.lastWaiter] = { continuation.resume(throwing: $0) }
                return state.lastWaiter
            }
            guard let waiting else { return }
            loop.execute { loop in
                loop.timer(after: Wire.patience) { [weak self] in self?.giveUp(waiting, what) }
            }
        }
    }

    private func giveUp(_ waiter: Int, _ what: String) {
        let (fail, excerpt) = state.withLock { state -> ((@Sendable (WireTimeout) -> Void)?, String) in
            state.waiters[waiter] = nil
            return (state.failures.removeValue(forKey: waiter), state.inbox.excerpt)
        }
        fail?(WireTimeout(description: "\(name) waited in vain for \(what); it has \(excerpt)"))
    }

    private func receive() async {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            await pauseWhileHeld()
            var end: Inbox.End?
            var count = 0
            do throws(IOError) {
                count = try await stream.value.read(into: buffer)
                if count == 0 { end = .closed }
            } catch {
                end = .reset
            }
            arrived(UnsafeRawBufferPointer(rebasing: buffer[..<count]), end)
            if end != nil { return }
        }
    }

    private func arrived(_ bytes: UnsafeRawBufferPointer, _ end: Inbox.End?) {
        state.withLock { state in
            state.inbox.append(bytes)
            state.inbox.end = end
            state.received += bytes.count
            for (number, attempt) in state.waiters.sorted(by: { $0.key < $1.key }) where attempt(&state.inbox) {
                state.waiters[number] = nil
                state.failures[number] = nil
            }
        }
    }

    private func pauseWhileHeld() async {
        guard state.withLock({ $0.isHeld }) else { return }
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let isHeld = state.withLock { state in
                if state.isHeld { state.whenReleased = continuation }
                return state.isHeld
            }
            if !isHeld { continuation.resume() }
        }
    }

    private func onLoop(_ body: @Sendable @escaping () async throws -> Void) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            loop.spawn { _ in
                do { continuation.resume(returning: try await body()) } catch { continuation.resume(throwing: error) }
            }
        }
    }
}

/// Nothing happened within the time limit.
package struct WireTimeout: Error, CustomStringConvertible {
    package let description: String
}
