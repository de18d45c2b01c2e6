// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

/// A connection in use by one exchange. The lease ends once: by return, close or detachment. Confined to its loop.
final class ConnectionLease {
    let connection: UpstreamConnection
    /// True if it has carried other requests before.
    let isReused: Bool
    private let pool: OriginPool
    private let abort: UpstreamAbort
    private var isOver = false

    init(connection: UpstreamConnection, pool: OriginPool, abort: UpstreamAbort) {
        self.connection = connection
        isReused = connection.exchanges > 0
        self.pool = pool
        self.abort = abort
        abort.onAbort(close: connection.stream)
    }

    deinit { close() }

    /// The exchange ended cleanly: the connection may be reused, if nothing odd was seen on it. `keepAlive` is how long
    /// the origin will keep it open, if it said so.
    func giveBack(keepAlive: Duration?) {
        guard finish() else { return }
        pool.released(connection, keepAlive: keepAlive)
    }

    func close() {
        guard finish() else { return }
        connection.stream.close()
        pool.ended(connection)
    }

    /// Removes the stream from the pool.
    func detach() -> ByteStream {
        if finish() { pool.ended(connection) }
        return connection.stream
    }

    private func finish() -> Bool {
        guard !isOver else { return false }
        isOver = true
        abort.onAbort(nil)
        return true
    }

    /// The consequence of an error on this connection for the request.
    func failure(_ error: any Error, isHeadComplete: Bool) -> UpstreamError {
        if abort.isAborted { return .aborted }
        let origin = connection.origin
        let failure: UpstreamError
        switch error {
        case let error as UpstreamError: failure = error
        case let error as ParseError: failure = .malformed(error, from: origin)
        case let error as IOError:
            failure = .reading(
                error, from: origin, isHeadComplete: isHeadComplete, hasAnswered: connection.hasAnswered,
                lacksCertificate: connection.lacksCertificate && connection.exchanges == 1)
        default: failure = UpstreamError(.internalError, "\(error)", cause: error)
        }
        pool.noteFailure(failure)
        return failure
    }
}
