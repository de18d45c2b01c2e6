// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

/// One client's connection from accept to close: read a head, run its exchange, again.
///
/// Confined to its loop. Between requests it holds no read buffer, so that an idle client costs little.
final class DownstreamConnection {
    let context: LoopContext
    let stream: ByteStream
    let client: Router.Client
    /// Over the admin surface's Unix socket.
    let isOverSocket: Bool
    let buffer: ReadBuffer
    private var parser: RequestHeadParser
    private var exchange: Exchange!

    /// Whether the connection is between two requests, and may be closed without anybody losing an answer.
    private(set) var isIdle = true

    init(stream: ByteStream, context: LoopContext, isAdminOnly: Bool) {
        self.stream = stream
        self.context = context
        let peer = stream.peerAddress
        let local = stream.localAddress
        isOverSocket = peer.isUnix
        client = Router.Client(
            isLoopback: peer.isLoopback, isAdminOnly: isAdminOnly || peer.isUnix, localHost: Self.uriHost(of: local),
            localPort: local.port)
        buffer = ReadBuffer(pool: context.buffers)
        parser = RequestHeadParser(limits: context.configuration.parseLimits)
        exchange = Exchange(connection: self)
    }

    /// An address as the host of a URI.
    private static func uriHost(of address: SocketAddress) -> String {
        address.isIPv6 ? "[\(address.host)]" : address.host
    }

    func serve() async {
        do {
            while try await readHead() {
                isIdle = false
                let goesOn = try await exchange.run()
                isIdle = true
                guard goesOn, !context.isDraining || !buffer.isEmpty else { break }
            }
        } catch {
            // The client is gone or its time is up: there is nobody left to tell.
        }
        await linger()
        stream.close()
    }

    /// Ends an idle connection at once; a busy one ends after its exchange.
    func drain() {
        if isIdle { stream.interruptWaits() }
    }

    /// Ends the connection at once, and whatever its exchange waits for.
    func abort() {
        let leave = stream.onPeerClosed
        stream.close()
        leave?()
    }

    /// Reads one head into the exchange. False when the client has nothing more to ask, or asked what cannot be
    /// understood and was told so.
    private func readHead() async throws(IOError) -> Bool {
        let timeouts = context.configuration.settings.timeouts
        var isBegun = !buffer.isEmpty
        stream.setDeadline(after: isBegun ? timeouts.head : timeouts.idle)
        while true {
            if !buffer.isEmpty {
                do throws(ParseError) {
                    if case .complete(let consumed) = try parser.parse(buffer.readable, into: &exchange.head) {
                        buffer.consume(consumed)
                        stream.setDeadline(after: nil)
                        return true
                    }
                } catch {
                    context.counters.add(.malformedRequests)
                    await exchange.refuse(error)
                    return false
                }
                if !isBegun {
                    isBegun = true
                    stream.setDeadline(after: timeouts.head)
                }
            } else {
                buffer.releaseIfEmpty()
                guard try await waitForRequest() else { return false }
            }
            do throws(IOError) {
                let count = try await stream.read(into: buffer.writable(minimum: 4096))
                if count == 0 { return false }
                buffer.wrote(count)
            } catch {
                guard error.code == .timedOut, isBegun else { throw error }
                await exchange.refuseSlowHead()
                return false
            }
        }
    }

    private func waitForRequest() async throws(IOError) -> Bool {
        do throws(IOError) {
            try await stream.waitReadable()
            return true
        } catch {
            // Idle for too long, or told to end while idle: an ordinary end.
            return false
        }
    }

    /// Lets the client read the last answer before the connection goes: what it still sends is read and dropped
    /// for a moment, as a reset would take the answer with it (RFC 9112 §9.6).
    private func linger() async {
        guard exchange.mustLinger, !stream.isPeerClosed else { return }
        stream.shutdownWrite()
        stream.setDeadline(after: .seconds(1))
        var left = 256 << 10
        while left > 0 {
            buffer.consume(buffer.count)
            guard let count = try? await stream.read(into: buffer.writable(minimum: 4096)), count > 0 else { return }
            left -= count
        }
    }
}
