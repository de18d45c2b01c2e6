// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

/// One connection to an origin or parent: sends a request, reads its response, again. Confined to its loop.
final class UpstreamConnection {
    /// The most interim responses in one exchange.
    static let interimLimit = 32

    /// The connection's number in the pool.
    let number: Int
    let stream: ByteStream
    let origin: Origin
    /// The trust it was made with.
    let tls: TLSClientContext
    /// The parent at the other end, when it is asked to forward; with a tunnel through it, the other end is the origin.
    let forwarder: ParentAddress?
    /// True if the origin asked for a certificate, and got none.
    let lacksCertificate: Bool
    private let scratch: ScratchBuffer
    private let limits: ParseLimits
    private var received = ReceiveBuffer()
    /// The error of a read that was not awaited.
    private var failure: IOError?
    private var output: [UInt8] = []
    /// The head read last. Its storage is reused for the next head once the connection is its only owner.
    private var head = ResponseHead()
    /// Requests it has carried.
    private(set) var exchanges = 0
    /// True if anything has come since the last request was begun.
    private(set) var hasAnswered = false
    private var isSpoiled = false
    /// True if unsolicited bytes were received on it. Then it is uncertain which request the next response answers.
    private(set) var hasSpokenUnasked = false
    /// True if the next response may be unsolicited, and is to be checked for that.
    private var mayBeMistaken = false

    init(
        number: Int, stream: ByteStream, origin: Origin, parent: ParentAddress?, tls: TLSClientContext,
        scratch: ScratchBuffer, limits: ParseLimits
    ) {
        self.number = number
        self.stream = stream
        self.origin = origin
        self.tls = tls
        forwarder = origin.scheme == .http ? parent : nil
        lacksCertificate = stream.wasAskedForCertificate
        self.scratch = scratch
        self.limits = limits
    }

    /// The pool's handler for input while the connection is idle; false where it broke.
    var onIdleInput: (Bool) -> Void = { _ in }

    /// The same as `isClean` as far as the kernel has reported: for a connection that is checked again before its use.
    var seemsClean: Bool {
        if stream.mayHaveInput { return isClean }
        guard !isSpoiled, stream.isOpen else { return false }
        if !received.isEmpty { hasSpokenUnasked = true }
        return received.isEmpty && !stream.isPeerClosed
    }

    /// True if another request may be sent: the peer has neither closed nor said anything unasked. Costs a system
    /// call only when the kernel has reported something.
    var isClean: Bool { isClean(thoroughly: false) }

    /// - Parameter thoroughly: true to query the kernel in any case, because a request is about to be sent.
    func isClean(thoroughly: Bool) -> Bool {
        guard !isSpoiled, stream.isOpen else { return false }
        guard received.isEmpty else {
            hasSpokenUnasked = true
            return false
        }
        if thoroughly { stream.lookAgain() }
        do throws(IOError) {
            guard let count = try stream.tryRead(into: scratch.memory) else { return !stream.isPeerClosed }
            let octets = UnsafeRawBufferPointer(rebasing: scratch.memory[..<count])
            if count > 0, !Self.isFarewell(octets) { hasSpokenUnasked = true }
        } catch {
            // It is broken, which is no news from an origin.
        }
        return false
    }

    /// True if unsolicited bytes are a 408 that announces the close (RFC 9110 §15.5.9), which many servers send before
    /// they close an idle connection.
    private static func isFarewell(_ octets: UnsafeRawBufferPointer) -> Bool {
        octets.starts(with: "HTTP/1.1 408 ".utf8) || octets.starts(with: "HTTP/1.0 408 ".utf8)
    }

    /// True if there is input that was not examined.
    var hasInput: Bool { !received.isEmpty || failure != nil || stream.hasPendingInput }

    /// Something happened that a following request could suffer from.
    func spoil() { isSpoiled = true }

    // MARK: Sending

    /// - Parameter withContent: true to send content with the head if all of it is available.
    func sendHead(_ request: UpstreamRequest, withContent: Bool = true) async throws(IOError) {
        exchanges += 1
        hasAnswered = false
        // Long heads are rare, and idle connections many.
        if head.fields.octetCount > 4096 { head = ResponseHead() }
        output.removeAll(keepingCapacity: true)
        if let forwarder {
            var head = request.head
            // `*` represents a URI without a path (RFC 9112 §3.2.4).
            let path = head.target == [UInt8(ascii: "*")] ? [] : head.target
            head.target = Array("\(request.origin)".utf8) + path
            if let authorization = forwarder.authorization { head.fields[.proxyAuthorization] = authorization }
            MessageWriter.append(head, framing: request.content.framing, to: &output)
        } else {
            MessageWriter.append(request.head, framing: request.content.framing, to: &output)
        }
        // While content follows, the answer may come before all of it is confirmed.
        mayBeMistaken = exchanges > 1 && request.isReplayable && withContent
        guard withContent, case .octets(let content) = request.content else {
            return try await stream.write(output)
        }
        let start = ContentChunk(output)
        try await stream.write(start.bytes, content.bytes)
        withExtendedLifetime((start, content)) {}
    }

    func send(_ chunk: ContentChunk, isChunked: Bool) async throws(IOError) {
        defer { withExtendedLifetime(chunk) {} }
        guard isChunked else { return try await stream.write(chunk.bytes) }
        var line: [UInt8] = []
        MessageWriter.appendChunkStart(count: chunk.count, to: &line)
        let start = ContentChunk(line)
        let end: StaticString = "\r\n"
        try await stream.write(
            start.bytes, chunk.bytes, UnsafeRawBufferPointer(start: end.utf8Start, count: end.utf8CodeUnitCount))
        withExtendedLifetime(start) {}
    }

    func sendLastChunk(trailers: Fields) async throws(IOError) {
        output.removeAll(keepingCapacity: true)
        MessageWriter.appendLastChunk(trailers: trailers, to: &output)
        try await stream.write(output)
    }

    // MARK: Receiving

    /// Reads one head, interim or final, within the stream's deadline.
    ///
    /// - Throws: `IOError`, `.connectionReset` also for the end of the stream; `ParseError` for invalid HTTP.
    func readHead() async throws -> ResponseHead {
        var parser = ResponseHeadParser(limits: limits)
        // The head so far, when it comes in pieces.
        var partial: [UInt8] = []
        if !received.isEmpty {
            let result = try received.withBytes { bytes throws(ParseError) in try parser.parse(bytes.bytes, into: &head)
            }
            if case .complete(let consumed) = result {
                received.consume(consumed)
                return head
            }
            received.withBytes { partial = Array($0) }
            received = ReceiveBuffer()
        }
        while true {
            let input = try await receive(limit: UpstreamConnection.headReadLimit)
            guard input.count > 0 else { throw IOError(.connectionReset, operation: "read a response head") }
            try checkIsAnswer()
            if exchanges == 1, partial.isEmpty, HTTP2Octets.areSettings(input) {
                throw UpstreamError.http2Only("\(origin)", .protocolError)
            }
            if partial.isEmpty, case .complete(let consumed) = try parser.parse(input.bytes, into: &head) {
                keep(UnsafeRawBufferPointer(rebasing: input[consumed...]))
                return head
            }
            partial.append(contentsOf: input)
            let result = try parser.parse(partial.span.bytes, into: &head)
            if case .complete(let consumed) = result {
                partial.withUnsafeBytes { keep(UnsafeRawBufferPointer(rebasing: $0[consumed...])) }
                return head
            }
        }
    }

    /// How much is read with a head at most: what follows it is copied from there, or else read to where it stays.
    private static let headReadLimit = 16 << 10
    /// Content up to this length gets room in one piece when some of it comes with its head.
    private static let roomLimit: UInt64 = 256 << 10

    /// Keeps the bytes received behind the head.
    private func keep(_ rest: UnsafeRawBufferPointer) {
        guard rest.count > 0 else { return }
        let length = (try? BodyFraming.contentLength(head.fields)) ?? 0
        received.keep(rest, room: length <= UpstreamConnection.roomLimit ? Int(length) : 0)
    }

    /// Receives available content within the limits, without waiting. Errors are reported by the next wait.
    func receiveAtHand(of decoder: borrowing FramingDecoder) {
        guard failure == nil, case .length = decoder.framing, let remaining = decoder.remainingLength else { return }
        while received.count < remaining, received.room.count > 0, stream.mayHaveInput, !stream.shallGiveWay {
            do throws(IOError) {
                guard let count = try stream.tryRead(into: received.room), count > 0 else { return }
                received.received(count)
            } catch {
                return failure = error
            }
        }
    }

    /// Reads content; nil once it is complete. `silence` is how long the origin may say nothing; nil while it may wait.
    func readContent(_ decoder: inout FramingDecoder, silence: () -> Duration?) async throws -> ContentChunk? {
        while !decoder.isComplete {
            if let chunk = try takeContent(&decoder) { return chunk }
            if decoder.isComplete { break }
            stream.setIdleDeadline(after: silence())
            let input = try await receive()
            guard input.count > 0 else {
                try decoder.finish()
                break
            }
            if decoder.isPlain(for: input.count) {
                _ = try decoder.decode(input.bytes) { _ in }
                return try scratch.take(input.count)
            }
            let (chunk, consumed) = try decoder.decodeChunk(input.bytes)
            received.keep(UnsafeRawBufferPointer(rebasing: input[consumed...]))
            if let chunk { return chunk }
        }
        return nil
    }

    /// The bytes received behind the head of a response that switched protocols.
    func takeReceived() -> [UInt8] { received.takeAll().map { $0.withBytes { Array($0) } } ?? [] }

    /// Content in bytes received before; nil when there is none.
    func takeContent(_ decoder: inout FramingDecoder) throws(ParseError) -> ContentChunk? {
        guard !received.isEmpty else { return nil }
        if decoder.isPlain(for: received.count) {
            _ = try received.withBytes { bytes throws(ParseError) in try decoder.decode(bytes.bytes) { _ in } }
            return received.takeAll()
        }
        let (chunk, consumed) = try received.withBytes { bytes throws(ParseError) in
            try decoder.decodeChunk(bytes.bytes)
        }
        received.consume(consumed)
        return chunk
    }

    private func receive(limit: Int = ScratchBuffer.size) async throws(IOError) -> UnsafeRawBufferPointer {
        if let failure { throw failure }
        let input = try await scratch.receive(from: stream, limit: limit)
        if input.count > 0 { hasAnswered = true }
        return input
    }

    /// Rejects a response that was sent before the request arrived: it belongs to another request, or to no request. A
    /// request whose content follows may be answered early, and a request that cannot be repeated has no better answer.
    ///
    /// - Throws: an error after which the request is repeated on a new connection.
    private func checkIsAnswer() throws(UpstreamError) {
        guard mayBeMistaken else { return }
        mayBeMistaken = false
        guard stream.hasUnconfirmedOutput else { return }
        hasSpokenUnasked = true
        throw .answeredTooEarly(origin)
    }
}
