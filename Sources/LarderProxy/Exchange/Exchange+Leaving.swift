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
    case flight(Flight, reader: Int)
    /// A load run by this exchange's task.
    case led(Load, reader: Int)
    /// The time of the next octets of a replay.
    case pause(ReplayPause)
}

extension Exchange {
    /// Watches the client while its response is awaited; `stopWatching` ends that.
    ///
    /// A client that has closed its own side of the connection is still interested (RFC 9112 §9.6), but looks like one
    /// that has closed it entirely. So it is sent an interim response, which clients ignore (RFC 9110 §15.2.1), and
    /// which is answered by a reset where there is no client. HTTP/1.0 has no interim responses; such a client, and one
    /// that closes its side in the middle of a response, counts as gone.
    ///
    /// - Throws: `ClientGone` when it has left already.
    func watchClient(whileAwaiting awaited: Awaited) throws(ClientGone) {
        stream.outlastsHalfClose = false
        if stream.isPeerClosed {
            guard isClientThere() else { throw ClientGone() }
            stream.outlastsHalfClose = true
        }
        self.awaited = awaited
        stream.onPeerClosed = onPeerClosed
    }

    func stopWatching() {
        awaited = .nothing
        stream.onPeerClosed = nil
        stream.outlastsHalfClose = false
    }

    /// The client's side of the connection ended, or the connection broke.
    func peerClosed() {
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
        case .flight(let flight, let reader): flight.interrupt(reader)
        case .led(let load, let reader):
            load.leader = nil
            load.flight.interrupt(reader)
            load.flight.leave(reader)
            endEarly()
        case .pause(let pause): pause.end()
        }
    }

    /// Whether the client may still be there though its side of the connection has ended.
    private func isClientThere() -> Bool {
        traits.version == .http11 && !hasResponded && interims.probe()
    }
}
