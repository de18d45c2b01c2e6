// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

/// Sends the content of a request while its response is awaited. Confined to its loop.
final class ContentSender {
    private let connection: UpstreamConnection
    private let framing: BodyFraming
    private let next: () async throws -> ContentChunk?
    private let trailers: () -> Fields
    private let timeout: Duration
    private var isStopped = false
    private var holding: UnsafeContinuation<Void, Never>?
    private var timer: Timer?
    private(set) var isComplete = false
    /// What ended the content before its end: the client left, or its framing is bad.
    private(set) var failure: (any Error)?

    init(
        connection: UpstreamConnection, framing: BodyFraming, next: @escaping () async throws -> ContentChunk?,
        trailers: @escaping () -> Fields, timeout: Duration
    ) {
        self.connection = connection
        self.framing = framing
        self.next = next
        self.trailers = trailers
        self.timeout = timeout
    }

    /// Begins to send; with a `delay`, only after `proceed` or when that time is up (RFC 9110 §10.1.1).
    func start(on loop: EventLoop, after delay: Duration?) {
        loop.startHere { await self.run(on: loop, after: delay) }
    }

    /// The origin asked for the content.
    func proceed() {
        timer?.cancel()
        timer = nil
        holding.take()?.resume()
    }

    /// The response is there: no more content.
    func stop() {
        isStopped = true
        proceed()
    }

    private func run(on loop: EventLoop, after delay: Duration?) async {
        if let delay {
            timer = loop.timerHere(after: delay) { [weak self] in self?.proceed() }
            await withUnsafeContinuation { holding = $0 }
        }
        do {
            while !isStopped, let chunk = try await next() {
                if isStopped { return }
                do throws(IOError) {
                    try await connection.send(chunk, framing: framing, timeout: timeout)
                } catch {
                    // The origin does not take any more. Whether it says why is for who reads the response.
                    return
                }
            }
            guard !isStopped else { return }
            try? await connection.sendEnd(framing: framing, trailers: trailers())
            isComplete = true
        } catch {
            failure = error
            connection.stream.close()
        }
    }
}
