// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderUpstream

/// The response an exchange waits for on behalf of its client, and how to cancel it when the client leaves.
enum Awaited {
    case nothing
    /// A response for this client alone.
    case origin(UpstreamAbort)
    /// A load that others started.
    case load(ActiveLoad, reader: Int)
    /// A load run by this exchange's task.
    case led(Load)
    /// The time of the next bytes of a replay.
    case pause(Pause)
}

/// Watches a client while its response is awaited.
///
/// A client that has closed its own side of the connection still waits (RFC 9112 §9.6), but looks like a client that
/// has closed it entirely. So Larder sends an interim response: clients ignore it (RFC 9110 §15.2.1), and a reset
/// answers it if the client is gone. HTTP/1.0 has no interim responses: a client of that version, and a client that
/// closes its side in the middle of a response, counts as gone. Confined to its loop.
final class ClientWatch {
    // Holds: the exchange has it.
    private unowned let exchange: Exchange
    private let stream: ByteStream
    private var awaited = Awaited.nothing
    /// The stream calls it.
    // Holds: the stream is told to call it only while the exchange waits.
    private lazy var onPeerClosed: () -> Void = { [unowned self] in peerClosed() }

    init(for exchange: Exchange) {
        self.exchange = exchange
        stream = exchange.stream
    }

    /// Watches until `stop`.
    ///
    /// - Throws: `ClientGone` when the client has left already.
    func start(whileAwaiting awaited: Awaited) throws(ClientGone) {
        stream.outlastsHalfClose = false
        if stream.isPeerClosed {
            guard isClientThere() else { throw ClientGone() }
            stream.outlastsHalfClose = true
        }
        self.awaited = awaited
        stream.onPeerClosed = onPeerClosed
    }

    func stop() {
        awaited = .nothing
        stream.onPeerClosed = nil
        stream.outlastsHalfClose = false
    }

    /// The client's side of the connection ended, or the connection broke.
    private func peerClosed() {
        if !stream.outlastsHalfClose, stream.isOpen, isClientThere() {
            stream.outlastsHalfClose = true
            stream.onPeerClosed = onPeerClosed
        } else {
            clientLeft()
        }
    }

    private func clientLeft() {
        switch awaited {
        case .nothing: break
        case .origin(let abort): abort.abort()
        case .load(let load, let reader): load.shared?.interrupt(reader)
        case .led(let load):
            load.dismissClient(exchange.request.passOnOriginPlace)
            exchange.endEarly()
        case .pause(let pause): pause.end()
        }
    }

    /// True if the client may still be there though its side of the connection has ended.
    private func isClientThere() -> Bool {
        exchange.request.traits.version == .http11 && !exchange.writer.hasResponded && exchange.writer.interims.probe()
    }
}
