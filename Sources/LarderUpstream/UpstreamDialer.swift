// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

/// Opens connections to origins: directly or through a parent, plain or with TLS. Confined to its loop.
final class UpstreamDialer {
    /// Opens a TCP connection to a host within a time, at an address that is allowed.
    typealias Connect = (
        _ host: String, _ port: UInt16, _ timeout: Duration, _ abort: ConnectAbort, _ allows: (SocketAddress) -> Bool
    ) async throws(IOError) -> ByteStream

    private let connect: Connect
    private let time: any TimeSource
    /// The receive buffer of the loop's connections.
    let scratch = ScratchBuffer()

    init(time: any TimeSource, connect: @escaping Connect) {
        self.time = time
        self.connect = connect
    }

    /// Opens a connection for requests to `origin`, all within the time to connect.
    func open(
        _ origin: Origin, parent: ParentAddress?, settings: UpstreamSettings, abort: ConnectAbort,
        allows: (SocketAddress) -> Bool
    ) async throws(UpstreamError) -> ByteStream {
        let deadline = deadline(settings)
        if origin.scheme == .https { settings.tls.prepare() }
        let stream: ByteStream
        if let parent {
            guard origin.allowsLiteral(allows) else { throw .prohibited("\(origin)") }
            stream = try await connect(to: parent, settings, abort)
            if origin.scheme == .https {
                abort.onAbort { stream.close() }
                try await tunnel(to: origin.authority, on: stream, parent, settings, deadline)
            }
        } else {
            stream = try await reach("\(origin)") { () throws(IOError) in
                try await connect(origin.host, origin.port, settings.connectTimeout, abort, allows)
            }
        }
        guard origin.scheme == .https else { return stream }
        abort.onAbort { stream.close() }
        do throws(IOError) {
            stream.setDeadline(at: deadline)
            try await stream.startTLS(client: settings.tls, serverName: settings.serverName ?? origin.serverName)
            if stream.wasAskedForCertificate { noteCertificateRequest(of: origin, settings) }
            return stream
        } catch {
            if stream.wasAskedForCertificate { noteCertificateRequest(of: origin, settings) }
            stream.close()
            if error.isProtocolRefusal { throw .http2Only("\(origin)", .tlsProtocol, cause: error) }
            throw error.code == .timedOut ? .silentHandshake(error, with: origin) : .connecting(error, to: "\(origin)")
        }
    }

    private func noteCertificateRequest(of origin: Origin, _ settings: UpstreamSettings) {
        settings.onObstacle?(origin, .asksForCertificate, time.monotonic())
    }

    /// Opens a connection for a tunnel to `authority`; its first byte is the other end's.
    func openTunnel(
        to authority: Authority, parent: ParentAddress?, settings: UpstreamSettings, abort: ConnectAbort,
        allows: (SocketAddress) -> Bool
    ) async throws(UpstreamError) -> ByteStream {
        let deadline = deadline(settings)
        guard let parent else {
            return try await reach("\(authority)") { () throws(IOError) in
                try await connect(authority.host, authority.port, settings.connectTimeout, abort, allows)
            }
        }
        guard SocketAddress.allowsLiteral(authority.host, authority.port, allows) else {
            throw .prohibited("\(authority)")
        }
        let stream = try await connect(to: parent, settings, abort)
        abort.onAbort { stream.close() }
        try await tunnel(to: "\(authority)", on: stream, parent, settings, deadline)
        stream.setDeadline(after: nil)
        return stream
    }

    private func deadline(_ settings: UpstreamSettings) -> Int64 {
        time.monotonic().advanced(by: settings.connectTimeout)
    }

    private func connect(
        to parent: ParentAddress, _ settings: UpstreamSettings, _ abort: ConnectAbort
    ) async throws(UpstreamError) -> ByteStream {
        // The operator configured the parent; the rules about addresses apply to names from clients.
        try await reach("\(parent)") { () throws(IOError) in
            try await connect(parent.host, parent.port, settings.connectTimeout, abort, { _ in true })
        }
    }

    private func reach(
        _ place: String, _ body: () async throws(IOError) -> ByteStream
    ) async throws(UpstreamError) -> ByteStream {
        do throws(IOError) {
            return try await body()
        } catch {
            throw .connecting(error, to: place)
        }
    }

    // MARK: Tunnels through a parent

    /// Asks a parent for a tunnel (RFC 9110 §9.3.6). Closes `stream` if there is none.
    private func tunnel(
        to authority: String, on stream: ByteStream, _ parent: ParentAddress, _ settings: UpstreamSettings,
        _ deadline: Int64
    ) async throws(UpstreamError) {
        var head = RequestHead(method: .connect, target: authority, fields: [.host: authority])
        if let authorization = parent.authorization { head.fields[.proxyAuthorization] = authorization }
        var output: [UInt8] = []
        MessageWriter.append(head, framing: .none, to: &output)
        stream.setDeadline(at: deadline)
        do {
            try await stream.write(output)
            let status = try await readTunnelAnswer(from: stream, limits: settings.parseLimits)
            guard status.isSuccess else { throw UpstreamError.tunnelRefused(by: parent, to: authority, status) }
        } catch {
            stream.close()
            switch error {
            case let error as UpstreamError: throw error
            case let error as ParseError: throw .malformed(error, from: "\(parent)")
            case let error as IOError: throw .connecting(error, to: "\(parent)")
            default: throw UpstreamError(.internalError, "\(error)", cause: error)
            }
        }
    }

    /// Reads the final head byte by byte: the bytes after it belong to the tunnel, whose other end may speak first.
    private func readTunnelAnswer(from stream: ByteStream, limits: ParseLimits) async throws -> Status {
        var interim = 0
        while true {
            var parser = ResponseHeadParser(limits: limits)
            var head = ResponseHead()
            var octets: [UInt8] = []
            while true {
                guard let octet = try await scratch.receive(from: stream, limit: 1).first else {
                    throw IOError(.connectionReset, operation: "read the answer to CONNECT")
                }
                octets.append(octet)
                if case .complete = try parser.parse(octets.span.bytes, into: &head) { break }
            }
            guard head.status.isInterim else { return head.status }
            interim += 1
            guard head.status != 101, interim <= UpstreamConnection.interimLimit else {
                throw UpstreamError(.protocolError, "The parent proxy answered CONNECT with interim responses only.")
            }
        }
    }
}
