// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

extension Exchange {
    /// Calls `leave` when the client leaves while its answer is awaited; `stopWatching` ends that.
    ///
    /// A client that has ended its own side of the connection is still interested (RFC 9112 §9.6), but looks like one
    /// that has closed it. So it is told something: an interim response that means nothing to who is there (RFC 9110
    /// §15.2.1), and is answered by a reset where nobody is. HTTP/1.0 has no interim responses; such a client, and one
    /// that ends its side in the middle of its answer, counts as gone.
    ///
    /// - Throws: `ClientGone` when it has left already.
    func watchClient(_ leave: @escaping () -> Void) throws(ClientGone) {
        stream.outlastsHalfClose = false
        if stream.isPeerClosed {
            guard isClientThere() else { throw ClientGone() }
            stream.outlastsHalfClose = true
            stream.onPeerClosed = leave
        } else {
            stream.onPeerClosed = { [unowned self] in
                guard isClientThere() else { return leave() }
                stream.outlastsHalfClose = true
                stream.onPeerClosed = leave
            }
        }
    }

    func stopWatching() {
        stream.onPeerClosed = nil
        stream.outlastsHalfClose = false
    }

    /// Whether there may be somebody behind a connection whose other side has ended.
    private func isClientThere() -> Bool {
        traits.version == .http11 && !hasResponded && stream.writeAtOnce("HTTP/1.1 100 Continue\r\n\r\n")
    }
}
