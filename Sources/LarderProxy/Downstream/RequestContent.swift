// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

/// The content of one request, read from the client on demand.
///
/// It owns the client's input. One task reads at a time: the sender of the request, up to `stop`, and after that the
/// exchange, which discards the rest. Confined to its connection's loop.
final class RequestContent {
    private let stream: ByteStream
    private let buffer: ReadBuffer
    private let context: LoopContext
    private let interims: InterimSender
    private var decoder: FramingDecoder
    /// The client waits for `100 Continue` before it sends content (RFC 9110 §10.1.1).
    private var isContinueExpected: Bool
    /// Bytes of content read so far.
    private(set) var received: Int64 = 0
    private(set) var isComplete: Bool
    private(set) var hasFailed = false
    /// True if a task is inside `next`.
    private var isReading = false
    /// True if the final response is about to begin: the content is only discarded from then on.
    private var isStopped = false
    /// True if it is read beside the final response, as the origin has yet to get all of it.
    private(set) var goesOn = false
    /// True if the client is being sent `100 Continue`.
    private var isAsking = false
    /// The task that waits for `next` to return.
    private var whenReturned: UnsafeContinuation<Void, Never>?
    private let timeout: Duration
    /// Content that was read ahead.
    private var unread: [ContentChunk] = []
    /// The bytes of it that are kept, for which there is room.
    private var kept = 0
    /// True if there was no room for more of it: clients have sent too much at this moment.
    private(set) var hasNoRoom = false
    private let room: ContentRoom
    private let client: ClientAddress

    init(
        on stream: ByteStream, _ buffer: ReadBuffer, _ context: LoopContext, interims: InterimSender,
        framing: BodyFraming, isContinueExpected: Bool, timeout: Duration
    ) {
        self.stream = stream
        self.buffer = buffer
        self.context = context
        self.interims = interims
        decoder = FramingDecoder(framing, limits: context.configuration.parseLimits)
        self.isContinueExpected = isContinueExpected
        self.timeout = timeout
        room = context.proxy.contentRoom
        client = ClientAddress(stream.peerAddress)
        isComplete = decoder.isComplete
    }

    deinit { if kept > 0 { room.giveBack(kept, of: client) } }

    var framing: BodyFraming { decoder.framing }
    var trailers: Fields { decoder.trailers }

    /// True if the client has sent all of it, as far as has been looked.
    var isAtHand: Bool { isComplete || (decoder.remainingLength.map { $0 <= UInt64(buffer.count) } ?? false) }

    /// The next piece of content, nil at its end.
    ///
    /// - Throws: `ParseError` for bad framing, `IOError` when the client is gone or too slow, and after `stop`.
    func next() async throws -> ContentChunk? {
        guard !isStopped else { throw RequestContent.stopped }
        if !unread.isEmpty { return unread.removeFirst() }
        return try await receive()
    }

    /// Calls `action` as soon as there is content, though the client was not asked to send it.
    func whenAtHand(_ action: @escaping () -> Void) {
        func begin() {
            isContinueExpected = false
            action()
        }
        if !unread.isEmpty || !buffer.isEmpty || stream.hasPendingInput { return begin() }
        _ = stream.watch { if $0 { begin() } }
    }

    private func receive() async throws -> ContentChunk? {
        guard !isComplete else { return nil }
        stream.unwatch()
        guard !isReading else { throw context.fault(IOError(.contended, operation: RequestContent.reading)) }
        let isDropped = isStopped
        isReading = true
        defer {
            isReading = false
            whenReturned.take()?.resume()
        }
        do {
            if isContinueExpected, buffer.isEmpty {
                isContinueExpected = false
                isAsking = true
                defer { isAsking = false }
                // Holds: it is asked while this waits.
                try await interims.sendContinue { [unowned self] in !isStopped }
            }
            stream.setReadDeadline(after: timeout)
            defer { stream.setReadDeadline(after: nil) }
            while true {
                if let chunk = try decodeBuffered() { return chunk }
                if isComplete { return nil }
                await stream.giveWay()
                // Checked before each wait: a wait that is over when it is interrupted does not report that.
                guard isDropped == isStopped else { throw RequestContent.stopped }
                try await fill()
            }
        } catch {
            hasFailed = true
            throw error
        }
    }

    /// Receives available content, or waits for it.
    private func fill() async throws(IOError) {
        guard let count = try stream.tryRead(into: buffer.writable(minimum: 4096)) else {
            return try await stream.waitReadable()
        }
        guard count > 0 else { throw IOError(.connectionReset, operation: RequestContent.reading) }
        buffer.wrote(count)
    }

    /// True if so many more bytes may be kept until the end of the request.
    func keep(_ octets: Int) -> Bool {
        guard room.take(octets, for: client) else {
            hasNoRoom = true
            return false
        }
        kept += octets
        return true
    }

    /// Reads all content, unless it is longer than `limit`, or clients have sent too much to be kept at this moment: then
    /// nil. `next` returns everything once more.
    ///
    /// - Throws: as `next`.
    func readAhead(upTo limit: Int) async throws -> [ContentChunk]? {
        if case .length(let length) = framing, length > UInt64(limit) { return nil }
        var chunks: [ContentChunk] = []
        var count = 0
        var isKept = true
        while count <= limit, isKept, let chunk = try await next() {
            chunks.collect(chunk)
            count += chunk.count
            isKept = keep(chunk.count)
        }
        // If more content had been read ahead before, the rest of that content follows.
        unread = chunks + unread
        return count <= limit && isKept ? chunks : nil
    }

    /// Continues beside the final response. False if a `100 Continue` is being sent, which must not follow it.
    func goOn() -> Bool {
        goesOn = !isAsking
        if goesOn { isContinueExpected = false }
        return goesOn
    }

    /// Ends the reading, because the final response begins or there is none, and returns once the reader has released
    /// the client's input. No `100 Continue` is sent any more.
    func stop() async {
        isStopped = true
        goesOn = false
        stream.unwatch()
        guard isReading else { return }
        stream.interruptReading()
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            if isReading { whenReturned = continuation } else { continuation.resume() }
        }
    }

    /// The most bytes that are discarded so that a connection can be reused.
    private static let discardLimit = 64 << 10

    /// True if the connection can be reused once the rest has been discarded.
    var canBeDiscarded: Bool {
        if isComplete { return true }
        // A client that still waits for 100 Continue may or may not send content: the next bytes are ambiguous.
        guard !isContinueExpected, !hasFailed else { return false }
        return (decoder.remainingLength ?? 0) <= UInt64(RequestContent.discardLimit)
    }

    /// Reads and discards the rest, after `stop`; whether the connection can be reused afterwards.
    func discard() async -> Bool {
        guard !isComplete else { return true }
        guard canBeDiscarded else { return false }
        var left = RequestContent.discardLimit
        while left >= 0 {
            guard let chunk = try? await receive() else { return isComplete }
            left -= chunk.count
        }
        return false
    }

    private func decodeBuffered() throws(ParseError) -> ContentChunk? {
        guard !buffer.isEmpty else { return nil }
        let (chunk, consumed) = try decoder.decodeChunk(buffer.readable.bytes)
        buffer.consume(consumed)
        isComplete = decoder.isComplete
        if isComplete { stream.readingHasEnded() }
        received += Int64(chunk?.count ?? 0)
        return chunk
    }

    private static let reading = "read a request's content"
    private static var stopped: IOError { IOError(.closed, operation: reading, detail: "the response has begun") }
}
