// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

/// Sends the content of a request while its response is awaited, or while an early response arrives. Confined to its
/// loop.
///
/// An origin may be silent while the sender waits for the client, because the origin has no request to answer yet. It
/// may also be silent while it reads the content slowly: it answers once it has all content.
final class ContentSender {
    private let connection: UpstreamConnection
    private let framing: BodyFraming
    private let next: () async throws -> ContentChunk?
    private let trailers: () -> Fields
    private let silence: Duration
    private let mayBegin = Promise<Void>()
    private var timer: Timer?
    private var isStopped = false
    /// True if content is read and sent, rather than kept until the origin asks for it.
    private(set) var hasBegun = false
    /// True if the client has yet to send what comes next.
    private(set) var isAwaitingClient = false
    /// True if the response has begun.
    var isBesideResponse = false
    /// True if nothing more is sent: all was, or the client or the origin is gone.
    private(set) var hasEnded = false
    private let ended = Promise<Void>()
    private var onEnd: (() -> Void)?
    /// Bytes still to be sent, when their number was announced.
    private var remaining: UInt64
    private(set) var isComplete = false
    /// Why the content ended early: the client left, or it sent something else than announced.
    private(set) var failure: (any Error)?

    init(
        connection: UpstreamConnection, framing: BodyFraming, next: @escaping () async throws -> ContentChunk?,
        trailers: @escaping () -> Fields, silence: Duration
    ) {
        self.connection = connection
        self.framing = framing
        self.next = next
        self.trailers = trailers
        self.silence = silence
        if case .length(let length) = framing { remaining = length } else { remaining = 0 }
    }

    /// Sends content that is available in full.
    convenience init(sending content: ContentChunk, on connection: UpstreamConnection, silence: Duration) {
        var rest: ContentChunk? = content
        self.init(
            connection: connection, framing: .length(UInt64(content.count)), next: { rest.take() },
            trailers: { Fields() }, silence: silence)
    }

    /// Begins to send; with a `delay`, only after `proceed` or when that time is up (RFC 9110 §10.1.1).
    func start(on loop: EventLoop, after delay: Duration?) {
        connection.stream.setIdleDeadline(after: silence)
        if let delay {
            timer = loop.timerHere(after: delay) { [weak self] in self?.proceed() }
        } else {
            mayBegin.fulfil(())
        }
        loop.startHere { await self.run() }
    }

    /// The origin asked for the content.
    func proceed() {
        timer?.cancel()
        timer = nil
        mayBegin.fulfil(())
    }

    /// The origin does not want the rest: no more content is sent.
    func stop() {
        isStopped = true
        proceed()
    }

    /// Calls `action` once it has ended.
    func afterEnd(_ action: @escaping () -> Void) {
        if hasEnded { action() } else { onEnd = action }
    }

    /// Waits until it has ended; not for a client whose content is not wanted any more.
    func end() async {
        if !isStopped { await ended.value() }
    }

    private func run() async {
        await mayBegin.value()
        hasBegun = !isStopped
        await sendAll()
        // The origin's turn.
        if !isStopped { connection.stream.setIdleDeadline(after: silence) }
        hasEnded = true
        ended.fulfil(())
        onEnd?()
        onEnd = nil
    }

    private func sendAll() async {
        isComplete = framing != .chunked && remaining == 0
        while !isStopped, !isComplete {
            connection.stream.setDeadline(after: nil)
            let chunk: ContentChunk?
            do {
                isAwaitingClient = true
                defer { isAwaitingClient = false }
                chunk = try await next()
            } catch {
                return fail(error)
            }
            if isStopped { return }
            connection.stream.setIdleDeadline(after: silence)
            if let fault = fault(in: chunk) { return fail(UpstreamError.content(fault)) }
            do throws(IOError) {
                try await send(chunk)
            } catch {
                // The origin accepts no more. Its reason, if any, is in the response.
                return
            }
        }
    }

    private func fail(_ error: any Error) {
        guard !isStopped else { return }
        // A client that sends nothing for long may still want what it is sent.
        if isBesideResponse, (error as? IOError)?.code == .timedOut { return }
        failure = error
        connection.stream.close()
    }

    /// The fault of the next piece of content: bytes beyond the announced length would be read as a request.
    private func fault(in chunk: ContentChunk?) -> String? {
        guard framing != .chunked else { return nil }
        guard let chunk else { return "The content of the request ended \(remaining) octets early." }
        return chunk.count > remaining ? "The content of the request is longer than announced." : nil
    }

    /// Sends a piece of content, or its end.
    private func send(_ chunk: ContentChunk?) async throws(IOError) {
        guard let chunk else {
            try await connection.sendLastChunk(trailers: trailers())
            isComplete = true
            return
        }
        guard chunk.count > 0 else { return }
        try await connection.send(chunk, isChunked: framing == .chunked)
        guard framing != .chunked else { return }
        remaining -= UInt64(chunk.count)
        isComplete = remaining == 0
    }
}
