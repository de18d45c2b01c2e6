// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

/// The content of one request, read from the client as somebody asks for it.
///
/// Confined to its connection's loop.
final class RequestContent {
    private let connection: DownstreamConnection
    private var decoder: ContentDecoder
    /// The client waits for `100 Continue` before it sends content (RFC 9110 §10.1.1).
    private var isContinueExpected: Bool
    /// Octets of content read so far.
    private(set) var received: Int64 = 0
    private(set) var isComplete: Bool
    private(set) var hasFailed = false
    /// Whether somebody waits for the client to send content.
    private var isReading = false
    /// Whether the final response has begun, after which there is no `100 Continue` any more.
    private var isAnswered = false
    private let timeout: Duration
    /// What was read ahead.
    private var unread: [ContentChunk] = []

    init(connection: DownstreamConnection, framing: BodyFraming, isContinueExpected: Bool, timeout: Duration) {
        self.connection = connection
        decoder = ContentDecoder(framing, limits: connection.context.configuration.parseLimits)
        self.isContinueExpected = isContinueExpected
        self.timeout = timeout
        isComplete = decoder.isComplete
    }

    var framing: BodyFraming { decoder.framing }
    var trailers: Fields { decoder.trailers }

    /// The next piece of content, nil at its end.
    ///
    /// - Throws: `ParseError` for bad framing, `IOError` when the client is gone or too slow.
    func next() async throws -> ContentChunk? {
        if !unread.isEmpty { return unread.removeFirst() }
        guard !isComplete else { return nil }
        if isContinueExpected, connection.buffer.isEmpty {
            guard !isAnswered else { return nil }
            isContinueExpected = false
            try await sendContinue()
        }
        isReading = true
        connection.stream.setDeadline(after: timeout)
        defer {
            isReading = false
            connection.stream.setDeadline(after: nil)
        }
        do {
            while true {
                if let chunk = try decodeBuffered() { return chunk }
                if isComplete { return nil }
                let count = try await connection.stream.read(into: connection.buffer.writable(minimum: 4096))
                guard count > 0 else { throw IOError(.connectionReset, operation: "read a request's content") }
                connection.buffer.wrote(count)
            }
        } catch {
            hasFailed = true
            throw error
        }
    }

    /// Reads all content, unless it is longer than `limit`: then nil. `next` gives everything once more.
    ///
    /// - Throws: as `next`.
    func readAhead(upTo limit: Int) async throws -> [ContentChunk]? {
        if case .length(let length) = framing, length > UInt64(limit) { return nil }
        var chunks: [ContentChunk] = []
        var count = 0
        while count <= limit, let chunk = try await next() {
            chunks.append(chunk)
            count += chunk.count
        }
        unread = chunks
        return count <= limit ? chunks : nil
    }

    /// The final response begins.
    func answered() { isAnswered = true }

    /// Ends the wait of whoever still reads: the response has gone out without the rest of the content.
    func cancel() {
        guard isReading else { return }
        hasFailed = true
        connection.stream.interruptWaits()
    }

    /// Reads and drops what is left, up to `limit` octets; whether the connection can go on afterwards.
    func discard(upTo limit: Int) async -> Bool {
        // A client that still waits for 100 Continue will not send: nothing can be said about what comes next.
        guard !isComplete else { return true }
        guard !isContinueExpected, !hasFailed else { return false }
        var left = limit
        while left >= 0 {
            guard let chunk = try? await next() else { return isComplete }
            left -= chunk.count
        }
        return false
    }

    private func decodeBuffered() throws(ParseError) -> ContentChunk? {
        guard !connection.buffer.isEmpty else { return nil }
        let (chunk, consumed) = try decoder.decodeChunk(connection.buffer.readable)
        connection.buffer.consume(consumed)
        isComplete = decoder.isComplete
        received += Int64(chunk?.count ?? 0)
        return chunk
    }

    private func sendContinue() async throws(IOError) {
        try await connection.stream.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
    }
}
