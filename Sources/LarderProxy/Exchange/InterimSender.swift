// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// Sends a client what comes before its final response: the origin's interim responses, and our own `100 Continue`.
///
/// Several may have something to say at once: the task of the exchange, the one that reads the request's content, and
/// a load. Each message goes out whole before the next one begins. Confined to its connection's loop.
final class InterimSender {
    private let stream: ByteStream
    private let context: LoopContext
    /// Whether a task is sending, or is about to.
    private var isTaken = false
    /// Who waits for the turn, in order.
    private var waiting: [UnsafeContinuation<Void, Never>] = []
    /// What the kernel did not take yet of messages that nobody waits for.
    private var owed: [UInt8] = []

    /// No message is put behind more octets than this for a client that does not read.
    private static let owedLimit = 64 << 10
    private static let goOn: StaticString = "HTTP/1.1 100 Continue\r\n\r\n"

    init(stream: ByteStream, context: LoopContext) {
        self.stream = stream
        self.context = context
    }

    /// Sends a message, in its turn.
    ///
    /// - Throws: when the client does not take it; nothing else can be sent then.
    func send(_ message: [UInt8]) async throws(IOError) { try await send(message, if: { true }) }

    /// Asks the client for the content of its request, if that is still wanted when the turn has come.
    func sendContinue(if isWanted: () -> Bool) async throws(IOError) {
        try await send(Array("\(InterimSender.goOn)".utf8), if: isWanted)
    }

    /// Sends a message as far as the kernel takes it now; the rest goes out with the next. One for which a slow client
    /// leaves no room is left out.
    func sendAtOnce(_ message: [UInt8]) {
        guard owed.count < InterimSender.owedLimit else { return }
        guard !isTaken, owed.isEmpty else { return owed += message }
        // A client that cannot be written to has left, which is noticed elsewhere.
        owed = (try? stream.writeAtOnce(message)) ?? []
    }

    /// Tells the client to go on, which means nothing to one that has sent everything (RFC 9110 §15.2.1). False if that
    /// cannot be told now.
    func probe() -> Bool { !isTaken && owed.isEmpty && stream.writeAtOnce(InterimSender.goOn) }

    /// What has to go out before the final response. Nobody may be sending.
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
            // Part of it may have gone out, and no other message can follow that.
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

    /// The turn passes to who has waited longest.
    private func giveTurn() {
        if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
    }
}
