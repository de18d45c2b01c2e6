// SPDX-License-Identifier: Apache-2.0

import LarderIO
import LarderSettings

/// Sends a client messages before its final response: the origin's interim responses, and our own `100 Continue`.
///
/// Several tasks may send at once: the exchange's task, the task that reads the request's content, and a load. Each
/// message is sent whole before the next one begins. Confined to its connection's loop.
final class InterimSender {
    private let stream: ByteStream
    private let context: LoopContext
    /// True if a task is sending, or is about to.
    private var isTaken = false
    /// Tasks that wait for their turn, in order.
    private var waiting: [UnsafeContinuation<Void, Never>] = []
    /// The rest of messages from `sendAtOnce` that the kernel did not accept yet.
    private var owed: [UInt8] = []

    /// With this many unsent bytes, further messages are dropped for a client that does not read.
    private static let owedLimit = 64 << 10
    private static let goOn: StaticString = "HTTP/1.1 100 Continue\r\n\r\n"

    init(stream: ByteStream, context: LoopContext) {
        self.stream = stream
        self.context = context
    }

    /// Sends a message in order.
    ///
    /// - Throws: when the client does not accept it; nothing else can be sent then.
    func send(_ message: [UInt8]) async throws(IOError) { try await send(message, if: { true }) }

    /// Asks the client for the content of its request, if that is still needed when the message's turn comes.
    func sendContinue(if isWanted: () -> Bool) async throws(IOError) {
        try await send(Array("\(InterimSender.goOn)".utf8), if: isWanted)
    }

    /// Sends a message as far as the kernel accepts it now; the rest is sent with the next. If a slow client leaves no
    /// room for it, it is dropped.
    func sendAtOnce(_ message: [UInt8]) {
        guard owed.count < InterimSender.owedLimit else { return }
        guard !isTaken, owed.isEmpty else { return owed += message }
        // A client that cannot be written to has left, which is detected elsewhere.
        owed = (try? stream.writeAtOnce(message)) ?? []
    }

    /// Sends `100 Continue`, which clients ignore after they have sent everything (RFC 9110 §15.2.1). False if that is
    /// impossible now.
    func probe() -> Bool { !isTaken && owed.isEmpty && stream.writeAtOnce(InterimSender.goOn) }

    /// The bytes to send before the final response. No task may be sending.
    func takeOwed() -> [UInt8] {
        defer { owed = [] }
        return owed
    }

    var owesNothing: Bool { owed.isEmpty }

    private func send(_ message: [UInt8], if isWanted: () -> Bool) async throws(IOError) {
        await takeTurn()
        defer { giveTurn() }
        guard isWanted() else { return }
        let octets = takeOwed() + message
        stream.setWriteDeadline(after: context.configuration.settings.timeouts.write)
        do throws(IOError) {
            try await stream.write(octets)
        } catch {
            // Part of it may have been sent, and no other message can follow that.
            stream.reset()
            throw error
        }
    }

    private func takeTurn() async {
        guard isTaken else { return isTaken = true }
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            if isTaken { return waiting.append(continuation) }
            isTaken = true
            continuation.resume()
        }
    }

    /// Resumes the task that has waited longest.
    private func giveTurn() {
        if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
    }
}
