// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderIO

/// Sends requests to origins over the connections of one loop. Confined to that loop.
package final class UpstreamPool {
    private struct Key: Hashable {
        let origin: Origin
        let parent: ParentAddress?
        let tls: UpstreamTLS?
    }

    /// How many origins without connections and waiters are remembered.
    private static let unusedLimit = 256

    private let loop: EventLoop
    private let dialer: UpstreamDialer
    private var settings: UpstreamSettings
    private var pools: [Key: OriginPool] = [:]
    private var isDraining = false
    private var sweeper: Timer?
    /// How many pools were made.
    private var made = 0
    /// After so many, it is looked whether there are too many idle connections.
    private static let trimInterval = 16

    package convenience init(loop: EventLoop, connector: Connector, settings: UpstreamSettings) {
        self.init(loop: loop, settings: settings) { host, port, timeout, abort, allows throws(IOError) in
            try await connector.connect(to: host, port: port, timeout: timeout, abort: abort, allow: allows)
        }
    }

    init(loop: EventLoop, settings: UpstreamSettings, connect: @escaping UpstreamDialer.Connect) {
        self.loop = loop
        self.settings = settings
        dialer = UpstreamDialer(time: loop.time, connect: connect)
    }

    deinit { sweeper?.cancel() }

    package func apply(_ settings: UpstreamSettings) {
        self.settings = settings
        for (key, pool) in pools { pool.apply(settings.with(key.tls)) }
    }

    package var statistics: [UpstreamStatistics] { pools.values.map(\.statistics) }

    /// Closes idle connections; those in use are closed when their exchange ends.
    package func drain() {
        isDraining = true
        sweeper?.cancel()
        for pool in pools.values { pool.drain() }
    }

    // MARK: Sending

    /// Sends `request` and returns its final response, before its content is read.
    ///
    /// A request that failed on a reused connection, without a single byte of response, is sent once more on a new one
    /// if it is idempotent and its content is available (RFC 9110 §9.2.2, RFC 9112 §9.3.1). Waiting for a connection,
    /// opening it and waiting for the response share one deadline.
    ///
    /// - Throws: `UpstreamError`, or the error of the request's content or `onInterim`.
    package func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
        let pool = pool(for: Key(origin: request.origin, parent: request.parent, tls: request.tls))
        let deadline = request.responseDeadline ?? loop.time.monotonic().advanced(by: settings.silenceTimeout)
        do {
            let lease = try await pool.connection(for: request, until: deadline, freshOnly: false)
            let response: UpstreamResponse
            do {
                response = try await exchange(request, on: lease, until: deadline)
            } catch let error as UpstreamError where error.mayRetry && lease.isReused && request.isReplayable {
                let lease = try await pool.connection(for: request, until: deadline, freshOnly: true)
                response = try await exchange(request, on: lease, until: deadline)
            }
            pool.noteAnswer(response.head.status)
            return response
        } catch let error as UpstreamError where error.isHTTP2Only {
            settings.onObstacle?(request.origin, .speaksHTTP2Only, loop.time.monotonic())
            throw error
        }
    }

    /// Opens a connection for a tunnel: to `authority`, or through the parent.
    package func connectTunnel(
        to authority: Authority, parent: ParentAddress?, abort: UpstreamAbort, allows: @escaping (SocketAddress) -> Bool
    ) async throws -> ByteStream {
        let promise = Promise<Result<ByteStream, UpstreamError>>()
        let (dialer, settings) = (dialer, settings)
        let attempt = ConnectAbort()
        abort.onAbort {
            promise.fulfil(.failure(.aborted))
            attempt.abort()
        }
        loop.startHere {
            do throws(UpstreamError) {
                let stream = try await dialer.openTunnel(
                    to: authority, parent: parent, settings: settings, abort: attempt, allows: allows)
                // After an abort no task waits for it.
                if !promise.fulfil(.success(stream)) { stream.close() }
            } catch {
                promise.fulfil(.failure(error))
            }
        }
        defer { abort.onAbort(nil) }
        return try await promise.value().get()
    }

    private func exchange(
        _ request: UpstreamRequest, on lease: ConnectionLease, until deadline: Int64
    ) async throws -> UpstreamResponse {
        let connection = lease.connection
        var sender: ContentSender?
        do {
            if request.content.isStream {
                connection.stream.setDeadline(after: settings.silenceTimeout)
            } else {
                connection.stream.setDeadline(at: deadline)
            }
            let isSentApart = request.content.isLong
            try await connection.sendHead(request, withContent: !isSentApart)
            if case .octets(let content) = request.content, isSentApart {
                sender = ContentSender(sending: content, on: connection, silence: settings.silenceTimeout)
                sender?.start(on: loop, after: nil)
            } else if case .stream(let framing, let next, let trailers) = request.content {
                sender = ContentSender(
                    connection: connection, framing: framing, next: next, trailers: trailers,
                    silence: settings.silenceTimeout)
                let expectsContinue = RequestExpectation(request.head) == .continue
                sender?.start(on: loop, after: expectsContinue ? settings.continueTimeout : nil)
                // There is nothing to be gained by waiting once the client has not.
                if expectsContinue { request.whenContentIsAtHand? { [weak sender] in sender?.proceed() } }
            }
            return try await response(to: request, on: lease, sender: sender)
        } catch {
            sender?.stop()
            // The reason first: closing the lease would make every later failure our own.
            let reason = failure(error, of: request, on: lease, sender: sender)
            lease.close()
            throw reason
        }
    }

    /// An error of the request's content is the reason why its response did not arrive.
    private func failure(
        _ error: any Error, of request: UpstreamRequest, on lease: ConnectionLease, sender: ContentSender?
    ) -> any Error {
        if let cause = sender?.failure { return cause }
        guard error is IOError || error is ParseError || error is UpstreamError else { return error }
        var reason = lease.failure(error, isHeadComplete: false)
        reason.isForWantOfContent = sender?.isAwaitingClient == true
        return reason
    }

    /// Reads heads until the final one.
    private func response(
        to request: UpstreamRequest, on lease: ConnectionLease, sender: ContentSender?
    ) async throws -> UpstreamResponse {
        let connection = lease.connection
        for _ in 0...UpstreamConnection.interimLimit {
            let head = try await connection.readHead()
            if head.status.isInterim, head.status != 101 {
                if head.status == 100 { sender?.proceed() }
                try await request.onInterim(head)
                // The origin has no idle deadline while the sender waits for the client.
                if sender?.isAwaitingClient != true {
                    connection.stream.setIdleDeadline(after: settings.silenceTimeout)
                }
                continue
            }
            if head.status == 407, let parent = connection.forwarder {
                throw UpstreamError.forwardingRefused(by: parent, to: request.origin)
            }
            let isSwitching = head.status == 101
            if isSwitching, !request.head.fields.contains(.upgrade) {
                throw UpstreamError(.protocolError, "\(request.origin) switched protocols without being asked to.")
            }
            if isSwitching, let sender, !sender.isComplete {
                throw UpstreamError(
                    .protocolError, "\(request.origin) switched protocols before the request had come to its end.")
            }
            // A program that has all of the content at hand waits for its end, as the origin does.
            if request.content.isLong, !head.status.isError { await sender?.end() }
            let framing = try isSwitching ? .none : BodyFraming(response: head, to: request.head.method)
            let goesOn =
                sender.map { !$0.isComplete && $0.hasBegun && !$0.hasEnded && !head.status.isError } ?? false
            // Content that was not sent to its end makes the connection unusable for the next request.
            if let sender, !sender.isComplete, !goesOn {
                sender.stop()
                connection.spoil()
            }
            if Self.isDoubtful(head) || ConnectionOptions(request.head.fields).hasClose { connection.spoil() }
            return UpstreamResponse(
                head: head, framing: framing, lease: lease, limits: settings.parseLimits,
                silence: settings.silenceTimeout, beside: goesOn ? sender : nil)
        }
        throw UpstreamError(
            .protocolError, "\(request.origin) sent more than \(UpstreamConnection.interimLimit) interim responses.")
    }

    /// True if a response that has no content announces some (RFC 9110 §8.6, §15.3.6; RFC 9112 §6.1). Bytes that
    /// may still arrive must not be mistaken for the next response.
    private static func isDoubtful(_ head: ResponseHead) -> Bool {
        guard head.status == 204 || head.status == 205 else { return false }
        let length = try? BodyFraming.contentLength(head.fields)
        return head.fields.contains(.transferEncoding) || (length ?? 0) > 0
    }

    // MARK: Pools

    private func pool(for key: Key) -> OriginPool {
        if let pool = pools[key] { return pool }
        let pool = OriginPool(origin: key.origin, loop: loop, dialer: dialer, settings: settings.with(key.tls))
        if isDraining { pool.drain() }
        pools[key] = pool
        made += 1
        if made.isMultiple(of: Self.trimInterval) { trim() }
        if sweeper == nil { scheduleSweep() }
        return pool
    }

    /// Every few seconds, expired idle connections are closed and unused pools removed.
    private func scheduleSweep() {
        guard !isDraining else { return }
        sweeper = loop.timerHere(after: .seconds(5)) { [weak self] in self?.sweep() }
    }

    /// Closes the connections that have been idle longest where there are too many: to many origins, few to each, they
    /// would use up the files that the process may open.
    private func trim() {
        let limit = settings.idleConnections
        let instants = pools.values.flatMap(\.idleSince)
        guard instants.count > limit else { return }
        // Not for each new origin again.
        let surplus = instants.count - limit / 4 * 3
        let last = instants.sorted()[surplus - 1]
        for pool in pools.values { pool.trim(through: last) }
    }

    private func sweep() {
        trim()
        for (key, pool) in pools {
            pool.sweep()
            if pool.isUnused, pools.count > Self.unusedLimit { pools[key] = nil }
        }
        sweeper = nil
        if !pools.isEmpty { scheduleSweep() }
    }
}
