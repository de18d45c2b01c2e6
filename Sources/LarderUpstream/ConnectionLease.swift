// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

/// A connection while one exchange has it. Confined to its loop.
final class ConnectionLease {
    let connection: UpstreamConnection
    /// Whether it has carried other requests before.
    let isReused: Bool
    private let pool: OriginPool
    private let abort: UpstreamAbort
    private var isOver = false

    init(connection: UpstreamConnection, isReused: Bool, pool: OriginPool, abort: UpstreamAbort) {
        self.connection = connection
        self.isReused = isReused
        self.pool = pool
        self.abort = abort
        abort.onAbort { [unowned connection] in connection.stream.close() }
    }

    /// The exchange ended cleanly: others may use the connection, if nothing odd was seen on it.
    func giveBack() {
        guard finish() else { return }
        pool.giveBack(connection)
    }

    func close() {
        guard finish() else { return }
        connection.stream.close()
        pool.closed()
    }

    /// Takes the stream out of the pool's care.
    func detach() -> ByteStream {
        if finish() { pool.closed() }
        return connection.stream
    }

    private func finish() -> Bool {
        guard !isOver else { return false }
        isOver = true
        abort.onAbort(nil)
        return true
    }

    /// What an error on this connection means for the request.
    func failure(_ error: any Error, isHeadComplete: Bool) -> UpstreamError {
        let failure: UpstreamError
        switch error {
        case let error as UpstreamError: failure = error
        case let error as ParseError where error.code == .contentCutShort:
            failure = UpstreamError(.responseIncomplete, "\(connection.origin) ended its response early.")
        case let error as ParseError: failure = .malformed(error, from: connection.origin)
        case let error as IOError: failure = .reading(error, from: connection.origin, isHeadComplete: isHeadComplete)
        default: failure = UpstreamError(.internalError, "\(error)")
        }
        pool.noteFailure(failure)
        return failure
    }
}
