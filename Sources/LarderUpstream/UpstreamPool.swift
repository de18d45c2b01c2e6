// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderIO

/// Sends requests to origins over the connections of one loop. Confined to that loop.
package final class UpstreamPool {
    private struct Key: Hashable {
        let origin: Origin
        let parent: ParentAddress?
    }

    private let loop: EventLoop
    private let connector: Connector
    private var settings: UpstreamSettings
    private var pools: [Key: OriginPool] = [:]
    private let scratch = ScratchBuffer()
    private var isDraining = false
    private var sweeper: Timer?

    /// The most interim responses one exchange may bring.
    private static let interimLimit = 32

    package init(loop: EventLoop, connector: Connector, settings: UpstreamSettings) {
        self.loop = loop
        self.connector = connector
        self.settings = settings
    }

    package func apply(_ settings: UpstreamSettings) { self.settings = settings }

    package var statistics: [UpstreamStatistics] { pools.values.map(\.statistics) }

    /// Lets go of idle connections; those in use close when their exchange ends.
    package func drain() {
        isDraining = true
        sweeper?.cancel()
        pools.values.forEach { $0.closeIdle() }
    }

    // MARK: Sending

    /// Sends `request` and returns its final response, content not yet read.
    ///
    /// A request that failed on a connection used before, without a single octet of response, is sent once more on
    /// a new one if that can do no harm (RFC 9110 §9.2.2, RFC 9112 §9.3.1).
    package func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
        let lease = try await connection(for: request, freshOnly: false)
        do {
            return try await exchange(request, on: lease)
        } catch let error as UpstreamError
            where error.mayRetry && lease.isReused && request.isReplayable && !request.abort.isAborted
        {
            return try await exchange(request, on: try await connection(for: request, freshOnly: true))
        }
    }

    /// Opens a connection for a tunnel: to `authority`, or through the parent.
    package func connectTunnel(
        to authority: Authority, parent: ParentAddress?, abort: UpstreamAbort, allows: @escaping (SocketAddress) -> Bool
    ) async throws -> ByteStream {
        let origin = Origin(scheme: .https, host: authority.host, port: authority.port)
        do throws(IOError) {
            guard let parent else {
                return try await connector.connect(
                    to: authority.host, port: authority.port, timeout: settings.connectTimeout, allow: allows)
            }
            return try await connectThrough(parent, to: origin)
        } catch {
            throw UpstreamError.connecting(error, to: "\(authority)")
        }
    }

    private func exchange(_ request: UpstreamRequest, on lease: ConnectionLease) async throws -> UpstreamResponse {
        do {
            try await lease.connection.sendHead(request, timeout: settings.silenceTimeout)
            guard case .stream(let framing, let next, let trailers) = request.content else {
                return try await response(to: request, on: lease, continued: nil)
            }
            let sender = ContentSender(
                connection: lease.connection, framing: framing, next: next, trailers: trailers,
                timeout: settings.silenceTimeout)
            let expectsContinue = request.head.fields.contains(.expect)
            sender.start(on: loop, after: expectsContinue ? settings.continueTimeout : nil)
            do {
                return try await response(to: request, on: lease, continued: sender)
            } catch {
                // What went wrong with the content is why the response did not come.
                if let cause = sender.failure { throw cause }
                throw error
            }
        } catch {
            lease.close()
            guard error is IOError || error is ParseError else { throw error }
            throw lease.failure(error, isHeadComplete: false)
        }
    }

    /// Reads heads until the final one.
    private func response(
        to request: UpstreamRequest, on lease: ConnectionLease, continued sender: ContentSender?
    ) async throws -> UpstreamResponse {
        for _ in 0..<Self.interimLimit {
            let head = try await lease.connection.readHead(timeout: settings.silenceTimeout)
            if head.status.isInterim, head.status != 101 {
                if head.status == 100 { sender?.proceed() }
                try await request.onInterim(head)
                continue
            }
            if head.status == 101, !request.head.fields.contains(.upgrade) {
                throw UpstreamError(.protocolError, "\(request.origin) switched protocols without being asked to.")
            }
            let framing: BodyFraming = head.status == 101 ? .none : try BodyFraming(response: head, to: request.head.method)
            // Content that was not sent to its end leaves the connection unusable for the next request.
            if let sender, !sender.isComplete {
                sender.stop()
                lease.connection.spoil()
            }
            return UpstreamResponse(
                head: head, framing: framing, lease: lease, limits: settings.parseLimits, timeout: settings.silenceTimeout)
        }
        throw UpstreamError(.protocolError, "\(request.origin) sent more than \(Self.interimLimit) interim responses.")
    }

    // MARK: Connections

    private func connection(for request: UpstreamRequest, freshOnly: Bool) async throws -> ConnectionLease {
        let pool = pool(for: Key(origin: request.origin, parent: request.parent))
        let grant = await pool.take(
            limit: settings.connectionLimit, waiterLimit: settings.waiterLimit, now: loop.time.monotonic(),
            maximumIdle: settings.idleTimeout, freshOnly: freshOnly)
        switch grant {
        case .reuse(let connection):
            return ConnectionLease(connection: connection, isReused: connection.exchanges > 0, pool: pool, abort: request.abort)
        case .refused:
            throw UpstreamError(
                .connectionLimit, "Too many requests wait for a connection to \(request.origin).",
                advice: "Raise `limits.upstreamConnections`, or ask less.")
        case .connect:
            do throws(IOError) {
                let stream = try await open(request)
                let connection = UpstreamConnection(
                    stream: stream, origin: request.origin,
                    isThroughParent: request.parent != nil && request.origin.scheme == .http, scratch: scratch,
                    limits: settings.parseLimits, time: loop.time)
                return ConnectionLease(connection: connection, isReused: false, pool: pool, abort: request.abort)
            } catch {
                pool.closed()
                let failure = UpstreamError.connecting(error, to: request.parent.map { "the parent proxy \($0.host):\($0.port)" } ?? "\(request.origin)")
                pool.noteFailure(failure)
                throw failure
            }
        }
    }

    private func open(_ request: UpstreamRequest) async throws(IOError) -> ByteStream {
        let origin = request.origin
        let stream: ByteStream
        if let parent = request.parent {
            if origin.scheme == .http {
                return try await connector.connect(
                    to: parent.host, port: parent.port, timeout: settings.connectTimeout, allow: { _ in true })
            }
            stream = try await connectThrough(parent, to: origin)
        } else {
            stream = try await connector.connect(
                to: origin.host, port: origin.port, timeout: settings.connectTimeout, allow: request.allowsAddress)
        }
        guard origin.scheme == .https else { return stream }
        do throws(IOError) {
            stream.setDeadline(after: settings.connectTimeout)
            try await stream.startTLS(client: settings.tls, serverName: origin.host)
            return stream
        } catch {
            stream.close()
            throw error
        }
    }

    /// Asks a parent for a tunnel (RFC 9110 §9.3.6).
    private func connectThrough(_ parent: ParentAddress, to origin: Origin) async throws(IOError) -> ByteStream {
        let stream = try await connector.connect(
            to: parent.host, port: parent.port, timeout: settings.connectTimeout, allow: { _ in true })
        var head = RequestHead(method: .connect, target: origin.authority)
        head.fields[.host] = origin.authority
        if let authorization = parent.authorization { head.fields[.proxyAuthorization] = authorization }
        var output: [UInt8] = []
        MessageWriter.append(head, framing: .none, to: &output)
        do {
            stream.setDeadline(after: settings.connectTimeout)
            try await stream.write(output)
            // Nothing may follow the head before the tunnel's other end has heard from us, so one octet at a time
            // is not needed: what came behind it would be the other end speaking first, which TLS never does.
            let connection = UpstreamConnection(
                stream: stream, origin: origin, isThroughParent: true, scratch: scratch, limits: settings.parseLimits,
                time: loop.time)
            let response = try await connection.readHead(timeout: settings.connectTimeout)
            guard response.status.isSuccess, !connection.hasLeftover else {
                throw IOError(.refused, operation: "tunnel to \(origin)", detail: "the parent proxy answered \(response.status)")
            }
            return stream
        } catch {
            stream.close()
            throw error as? IOError ?? IOError(.other, operation: "tunnel to \(origin)", detail: "\(error)")
        }
    }

    private func pool(for key: Key) -> OriginPool {
        if let pool = pools[key] { return pool }
        let pool = OriginPool(origin: key.origin)
        pools[key] = pool
        if sweeper == nil { scheduleSweep() }
        return pool
    }

    /// Every few seconds, idle connections whose time is up are closed and unused pools forgotten.
    private func scheduleSweep() {
        guard !isDraining else { return }
        sweeper = loop.timerHere(after: .seconds(5)) { [weak self] in self?.sweep() }
    }

    private func sweep() {
        let now = loop.time.monotonic()
        for (key, pool) in pools {
            pool.sweep(now: now, maximum: settings.idleTimeout)
            if pool.isUnused, pools.count > 1000 { pools[key] = nil }
        }
        sweeper = nil
        if !pools.isEmpty { scheduleSweep() }
    }
}
