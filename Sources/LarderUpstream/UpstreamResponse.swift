// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderIO

/// A final response whose content is read as it arrives. Confined to its loop.
///
/// Read it to its end, or abort it: only then is its connection free for others, or closed.
package final class UpstreamResponse {
    package let head: ResponseHead
    package let framing: BodyFraming
    private var decoder: ContentDecoder
    private let lease: ConnectionLease
    private let timeout: Duration
    private var isOver = false

    init(head: ResponseHead, framing: BodyFraming, lease: ConnectionLease, limits: ParseLimits, timeout: Duration) {
        self.head = head
        self.framing = framing
        self.lease = lease
        self.timeout = timeout
        decoder = ContentDecoder(framing, limits: limits)
        if decoder.isComplete, head.status != 101 { end(isClean: true) }
    }

    deinit { if !isOver { lease.close() } }

    /// Octets of content, if they are known beforehand.
    package var contentLength: Int64? {
        switch framing {
        case .none: 0
        case .length(let length): Int64(length)
        case .chunked, .untilClose: nil
        }
    }

    /// Complete once `nextChunk` has returned nil.
    package var trailers: Fields { decoder.trailers }

    /// The next piece of content; nil once all has come, whole.
    package func nextChunk() async throws(UpstreamError) -> ContentChunk? {
        guard !isOver else { return nil }
        do {
            if let chunk = try await lease.connection.readContent(&decoder, timeout: timeout) { return chunk }
            end(isClean: framing != .untilClose)
            return nil
        } catch {
            end(isClean: false)
            throw lease.failure(error, isHeadComplete: true)
        }
    }

    /// Gives the response up and closes its connection.
    package func abort() { end(isClean: false) }

    /// After a 101: the connection itself, and what has been received on it already.
    package func takeStream() -> (ByteStream, early: [UInt8]) {
        isOver = true
        let early = lease.connection.takeLeftover()
        return (lease.detach(), early)
    }

    private func end(isClean: Bool) {
        guard !isOver else { return }
        isOver = true
        let persists = ConnectionOptions(head.fields).persists(head.version, honoursKeepAlive: true)
        if isClean, persists { lease.giveBack() } else { lease.close() }
    }
}
