// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

/// One connection to an origin or parent: sends a request, reads its response, again. Confined to its loop.
final class UpstreamConnection {
    let stream: ByteStream
    let origin: Origin
    /// Whether the parent forwards absolute-form requests on it.
    let isThroughParent: Bool
    /// Octets received and not yet consumed.
    private var leftover: [UInt8] = []
    private let scratch: ScratchBuffer
    private let limits: ParseLimits
    private var output: [UInt8] = []
    /// Requests it has carried.
    private(set) var exchanges = 0
    /// When it came to the pool, in monotonic nanoseconds.
    var idleSince: Int64 = 0
    private var isSpoiled = false
    private let time: any TimeSource

    init(
        stream: ByteStream, origin: Origin, isThroughParent: Bool, scratch: ScratchBuffer, limits: ParseLimits,
        time: any TimeSource
    ) {
        self.time = time
        self.stream = stream
        self.origin = origin
        self.isThroughParent = isThroughParent
        self.scratch = scratch
        self.limits = limits
    }

    /// Whether another request may be sent: the peer has neither closed nor said anything unasked.
    var isClean: Bool { !isSpoiled && stream.isOpen && !stream.isPeerClosed && leftover.isEmpty && !stream.hasPendingInput }
    var hasLeftover: Bool { !leftover.isEmpty }

    /// Something happened that a following request could suffer from.
    func spoil() { isSpoiled = true }

    func monotonicNow() -> Int64 { time.monotonic() }

    // MARK: Sending

    func sendHead(_ request: UpstreamRequest, timeout: Duration) async throws(IOError) {
        exchanges += 1
        output.removeAll(keepingCapacity: true)
        var head = request.head
        if isThroughParent {
            // `*` stands for a URI without a path (RFC 9112 §3.2.4).
            let path = head.target == [UInt8(ascii: "*")] ? [] : head.target
            head.target = Array("\(request.origin)".utf8) + path
            if let authorization = request.parent?.authorization { head.fields[.proxyAuthorization] = authorization }
        }
        MessageWriter.append(head, framing: request.content.framing, to: &output)
        stream.setDeadline(after: timeout)
        try await stream.write(output)
    }

    func send(_ chunk: ContentChunk, framing: BodyFraming, timeout: Duration) async throws(IOError) {
        guard chunk.count > 0 else { return }
        stream.setDeadline(after: timeout)
        guard framing == .chunked else {
            try await stream.write(chunk.bytes)
            withExtendedLifetime(chunk) {}
            return
        }
        var start: [UInt8] = []
        MessageWriter.appendChunkStart(count: chunk.count, to: &start)
        let line = ContentChunk(start)
        let end: StaticString = "\r\n"
        try await stream.write(
            line.bytes, chunk.bytes, UnsafeRawBufferPointer(start: end.utf8Start, count: end.utf8CodeUnitCount))
        withExtendedLifetime((line, chunk)) {}
    }

    func sendEnd(framing: BodyFraming, trailers: Fields) async throws(IOError) {
        guard framing == .chunked else { return }
        output.removeAll(keepingCapacity: true)
        MessageWriter.appendLastChunk(trailers: trailers, to: &output)
        try await stream.write(output)
    }

    // MARK: Receiving

    /// Reads one head, interim or final.
    ///
    /// - Throws: `IOError` with code `.closed` at the end of the stream, `ParseError` for what is not HTTP.
    func readHead(timeout: Duration) async throws -> ResponseHead {
        var parser = ResponseHeadParser(limits: limits)
        var head = ResponseHead()
        stream.setDeadline(after: timeout)
        while true {
            if !leftover.isEmpty, case .complete(let consumed) = try leftover.withUnsafeBytes({ try parser.parse($0, into: &head) }) {
                leftover.removeFirst(consumed)
                return head
            }
            guard try await receive() else { throw IOError(.connectionReset, operation: "read a response head") }
        }
    }

    /// Reads content; nil once it is complete.
    func readContent(_ decoder: inout ContentDecoder, timeout: Duration) async throws -> ContentChunk? {
        while true {
            if decoder.isComplete { return nil }
            if !leftover.isEmpty {
                let (chunk, consumed) = try leftover.withUnsafeBytes { try decoder.decodeChunk($0) }
                leftover.removeFirst(consumed)
                if let chunk { return chunk }
                continue
            }
            stream.setDeadline(after: timeout)
            let count = try await stream.read(into: scratch.memory)
            guard count > 0 else {
                try decoder.finish()
                return nil
            }
            // The scratch buffer is shared by the loop: what is not consumed now is copied out before the next wait.
            let input = UnsafeRawBufferPointer(rebasing: scratch.memory[..<count])
            let (chunk, consumed) = try decoder.decodeChunk(input)
            if consumed < count { leftover.append(contentsOf: input[consumed...]) }
            if let chunk { return chunk }
        }
    }

    /// What was received behind the head of a response that switched protocols.
    func takeLeftover() -> [UInt8] {
        defer { leftover = [] }
        return leftover
    }

    private func receive() async throws(IOError) -> Bool {
        let count = try await stream.read(into: scratch.memory)
        guard count > 0 else { return false }
        leftover.append(contentsOf: scratch.memory[..<count])
        return true
    }
}

/// Where a loop's upstream connections receive: one buffer, as what arrives is taken out in the same turn.
final class ScratchBuffer {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    deinit { memory.deallocate() }
}
