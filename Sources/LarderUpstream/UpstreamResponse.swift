// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderIO

/// A final response whose content is read as it arrives. Confined to its loop.
///
/// Read it to its end, or abort it: only then is its connection free for others, or closed. One that is released is
/// aborted.
package final class UpstreamResponse {
    package var head: ResponseHead
    package let framing: BodyFraming
    /// The fields of the request, where a program made it a conditional one.
    package var conditions: Fields?
    /// True if a program has sent another method than was asked for: it is no response to that.
    package var isOfOtherMethod = false
    private var decoder: FramingDecoder
    /// nil for a response that no origin sent.
    private let lease: ConnectionLease?
    private let silence: Duration
    /// The sender of the rest of the request's content, where the response began before that was sent.
    private let sender: ContentSender?
    private let replaced: UpstreamResponse?
    private var isOver = false
    /// Content that was received before it was read, from `heldStart` on.
    private var held: [ContentChunk] = []
    private var heldStart = 0
    /// True if the content broke off.
    private var isBroken = false
    private var ended: ((_ isWhole: Bool) -> Void)?

    init(
        head: ResponseHead, framing: BodyFraming, lease: ConnectionLease, limits: ParseLimits, silence: Duration,
        beside sender: ContentSender? = nil
    ) {
        self.sender = sender
        replaced = nil
        sender?.isBesideResponse = true
        self.head = head
        self.framing = framing
        self.lease = lease
        self.silence = silence
        decoder = FramingDecoder(framing, limits: limits)
        if decoder.isComplete, head.status != 101 { end(isClean: true) }
    }

    /// A response that no origin sent.
    ///
    /// - Parameter replaced: the origin's, whose request's content may still be being sent.
    package init(made head: ResponseHead, content: [ContentChunk], insteadOf replaced: UpstreamResponse? = nil) {
        self.replaced = replaced
        self.head = head
        framing = .length(content.reduce(0) { $0 + UInt64($1.count) })
        lease = nil
        sender = replaced?.sender
        silence = .zero
        decoder = FramingDecoder(.none, limits: ParseLimits())
        held = content
        isOver = true
    }

    deinit {
        guard !isOver else { return }
        sender?.stop()
        lease?.close()
        ended?(true)
    }

    /// Calls `action` once nothing more comes: because all has come, was given up, or broke off (false).
    package func onEnd(_ action: @escaping (_ isWhole: Bool) -> Void) {
        if isOver { action(!isBroken) } else { ended = action }
    }

    /// True if the request's content is still being sent.
    package var isBesideRequest: Bool { sender.map { !$0.isComplete && !$0.hasEnded } ?? false }

    /// Why the request's content ended early, where that broke off the response.
    package var failureOfRequest: (any Error)? { sender?.failure }

    /// Ends the request's content.
    package func giveUpRequest() {
        if let replaced { return replaced.giveUpRequest() }
        guard isBesideRequest else { return }
        sender?.stop()
        if isOver { lease?.close() } else { lease?.connection.spoil() }
    }

    /// Waits until no more of the request's content is sent.
    package func endOfRequest() async { await sender?.end() }

    /// Bytes of content, if they are known beforehand.
    package var contentLength: Int64? {
        switch framing {
        case .none: 0
        case .length(let length): Int64(length)
        case .chunked, .untilClose: nil
        }
    }

    /// True if `nextChunk` has something to look at without waiting for the origin.
    package var isContentAtHand: Bool { isOver || heldStart < held.count || lease?.connection.hasInput == true }

    /// Complete once `nextChunk` has returned nil.
    package var trailers: Fields { decoder.trailers }

    /// The address that it came from, which may be a parent's; nil for a response that no origin sent.
    package var peerAddress: SocketAddress? { lease?.connection.stream.peerAddress }

    /// For tests: the connection this came on.
    var connectionInUse: UpstreamConnection? { lease?.connection }

    /// The next piece of content, as it comes, of 64 KiB at most; nil once all has come, whole.
    package func nextChunk() async throws(UpstreamError) -> ContentChunk? {
        guard heldStart < held.count else { return try await receiveChunk() }
        defer { heldStart += 1 }
        return held[heldStart]
    }

    /// Reads content of at most `limit` bytes to its end, so that the connection is free; `nextChunk` gives it
    /// later. Whether that was all.
    ///
    /// - Parameter tell: hears after each piece how many bytes have come.
    package func readAhead(
        upTo limit: Int, telling tell: (Int) -> Void = { _ in }
    ) async throws(UpstreamError) -> Bool {
        if let contentLength, contentLength > Int64(limit) { return false }
        var count = 0
        while count <= limit {
            guard let chunk = try await receiveChunk() else { return true }
            // A piece that was read is not added to.
            if heldStart < held.count { held.collect(chunk) } else { held.append(chunk) }
            count += chunk.count
            tell(count)
        }
        return false
    }

    /// Looks at what has come behind the head: whether that is all of the content. The connection is free then;
    /// `contentHere` has it, and `nextChunk` gives it.
    package func isAllHere() throws(UpstreamError) -> Bool {
        guard !isOver, let lease else { return true }
        lease.connection.receiveAtHand(of: decoder)
        do {
            while let chunk = try lease.connection.takeContent(&decoder) { held.append(chunk) }
        } catch {
            throw failed(error, lease)
        }
        if decoder.isComplete { end(isClean: framing != .untilClose) }
        return isOver
    }

    /// Content that was received and not read yet.
    package var contentHere: [ContentChunk] { heldStart == 0 ? held : Array(held[heldStart...]) }

    private func receiveChunk() async throws(UpstreamError) -> ContentChunk? {
        guard !isOver, let lease else { return nil }
        do {
            guard
                let chunk = try await lease.connection.readContent(
                    &decoder, silence: { self.sender?.isAwaitingClient == true ? nil : self.silence })
            else {
                end(isClean: framing != .untilClose)
                return nil
            }
            // The connection is free as soon as nothing more can come: the last chunk may be used for long.
            if decoder.isComplete { end(isClean: framing != .untilClose) }
            return chunk
        } catch {
            throw failed(error, lease)
        }
    }

    private func failed(_ error: any Error, _ lease: ConnectionLease) -> UpstreamError {
        // The origin is not to blame for a client that has left.
        let failure = sender?.failure == nil ? lease.failure(error, isHeadComplete: true) : .aborted
        isBroken = true
        end(isClean: false)
        return failure
    }

    /// Gives the response up and closes its connection.
    package func abort() { end(isClean: false) }

    /// After a 101: the connection itself, and what has been received on it already; nil where no origin sent it.
    package func takeStream() -> (ByteStream, early: [UInt8])? {
        guard let lease else { return nil }
        isOver = true
        tellEnd()
        let early = lease.connection.takeReceived()
        lease.connection.stream.setDeadline(after: nil)
        return (lease.detach(), early)
    }

    private func end(isClean: Bool) {
        guard !isOver else { return }
        isOver = true
        let persists = ConnectionOptions(head.fields).persists(head.version, honoursKeepAlive: true)
        if isClean, let sender, !sender.isComplete {
            // The origin may read the rest after its response (RFC 9112 §9.5), or never: nothing else is sent behind it.
            sender.afterEnd { [lease] in lease?.close() }
        } else if isClean, persists {
            lease?.giveBack(keepAlive: KeepAlive.timeout(head.fields))
        } else {
            sender?.stop()
            lease?.close()
        }
        tellEnd()
    }

    private func tellEnd() {
        guard let ended else { return }
        self.ended = nil
        ended(!isBroken)
    }
}
