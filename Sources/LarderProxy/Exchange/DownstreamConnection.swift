// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
import LarderSettings

/// One client's connection from accept to close: read a head, run its exchange, again.
///
/// Confined to its loop. Between requests it has no read buffer, and after a while neither exchange nor task
/// (`+Resting`), so that an idle client costs little.
final class DownstreamConnection {
    let context: LoopContext
    let clients: ClientConnections
    let stream: ByteStream
    private(set) var client: Router.Client
    /// The class of its place among the connections.
    let admission: Admission.Place
    /// True if it is limited to Larder's own pages, because all other places are taken.
    let isForOwnPages: Bool
    /// How long such a connection may keep its place from others.
    private static let patience = Duration.seconds(1)
    /// Over a Unix socket.
    let isOverSocket: Bool
    /// Over the one on which every user of this machine may open lanes.
    var isForLanes = false
    /// Over the one whose permissions authorise changes.
    var isAuthorised: Bool { isOverSocket && !isForLanes }
    let buffer: ReadBuffer
    private var parser: RequestHeadParser
    private var ownExchange: Exchange?
    /// Cached replies are shared by clients of the same kind; nil when there are none for this client.
    private(set) var kind: ClientKind?
    /// True if the connection only waits for a request.
    private(set) var isWaiting = false
    /// True if it received anything since the last check.
    var wasActive = true
    /// True if its waiting task is to end without closing the connection.
    var shallRest = false
    /// True if it is checked for idleness.
    var isListed = false
    /// Its index in the list of all connections, or -1.
    var place = -1
    /// The unsent rest of a reply that was written at once.
    private var unsent: [UInt8] = []
    /// True if the reply written at once was the connection's last.
    private var isAnswered = false

    private let existing: Tally

    /// True if the connection is between two requests, and may be closed without losing a response.
    private(set) var isIdle = true

    init(
        stream: ByteStream, client: Router.Client, place: Admission.Place, kind: ClientKind?,
        clients: ClientConnections
    ) {
        let context = clients.context
        self.clients = clients
        self.stream = stream
        admission = place
        isForOwnPages = if case .ownPages = place { true } else { false }
        self.context = context
        self.client = client
        self.kind = kind
        isOverSocket = stream.peerAddress.isUnix
        buffer = ReadBuffer(pool: context.buffers)
        parser = RequestHeadParser(limits: context.configuration.parseLimits)
        existing = context.proxy.admission.existing
        existing.add(1)
        useRequestCache()
    }

    deinit { existing.add(-1) }

    private func useRequestCache() {
        guard kind != nil else { return stream.onInputWhileWaiting = nil }
        // Holds: the connection owns the stream, which makes no calls when it is closed or gone.
        stream.onInputWhileWaiting = { [unowned self] in isWaiting && answerAtOnce() }
    }

    /// Serves until the connection is closed, or has been idle for a while. False if it only rests.
    func serve() async -> Bool {
        do {
            while try await readHead() {
                isIdle = false
                guard await confirmOwner() else { break }
                let goesOn = try await exchange.run()
                isIdle = true
                guard goesOn, !isRevoked, !context.isDraining || !buffer.isEmpty else { break }
            }
        } catch {
            // The client is gone or has timed out: no response can be sent.
        }
        // Its user may have gone since it was told to rest.
        if shallRest, !isRevoked { return false }
        await linger()
        stream.close()
        return true
    }

    /// The client's identity according to its connection: its certificate, else its address.
    private(set) lazy var identity = stream.provenIdentity ?? stream.peerAddress.host

    /// The user that all of the connection belongs to, once a CONNECT or an upgrade was accepted, or a stream of events
    /// has begun. Until then each request says it.
    var principal: Principal?
    /// The credentials that were right in its requests last.
    var proof: Proof?
    /// True if that is no user any more, so that the response under way is the last one.
    private(set) var isRevoked = false

    /// True if bytes are relayed from now on, which ends with the connection.
    var isRelay = false

    /// True if it may have been admitted by authorities for clients' certificates, or because there were none.
    var dependsOnClientAuthorities: Bool { client.isProven || stream.isSecure && client.inside == nil }

    /// Ends the connection of a client that is not admitted any more: a tunnel at once; where requests are seen, an
    /// exchange ends first.
    func revoke() {
        kind = nil
        useRequestCache()
        let isOpeningTunnel = principal != nil && client.inside == nil
        guard !isOpeningTunnel, !isRelay else { return abort() }
        isRevoked = true
        if isIdle { stream.interruptWaits() }
    }

    /// The lane of all requests, once the connection carries those for one https origin.
    private(set) var lane: Lane?

    /// The user who must own the other end when the first head has been read; nil if there is no such user, or the owner
    /// was found to be this user.
    private var expectedOwner: UInt32?

    /// Assigns all requests of the connection to the lane, if a process of `owner` sends them.
    func join(_ lane: Lane, of owner: UInt32) {
        self.lane = lane
        expectedOwner = owner
    }

    /// True unless the other end has another owner than the lane's user, or none.
    private func confirmOwner() async -> Bool {
        guard let owner = expectedOwner else { return true }
        expectedOwner = nil
        return await clients.isOwned(stream, by: owner)
    }

    /// From here on the connection carries requests for one https origin.
    func enter(_ authority: Authority, lane: Lane?) {
        client.inside = authority
        self.lane = lane
        // Clients in a lane are counted individually.
        kind = lane == nil ? clients.kind(of: client) : nil
        useRequestCache()
    }

    /// Ends an idle connection at once. A busy connection ends after its exchange, and so does one whose next request
    /// has arrived but has not been reported yet: closing it would reset the client.
    func drain() {
        guard isIdle else { return }
        stream.lookAgain()
        if !stream.hasPendingInput { stream.interruptWaits() }
    }

    /// Ends the connection at once, and with it any wait of its exchange.
    ///
    /// An orderly close would mark a response without a length as complete, over TLS by a close_notify.
    func abort() {
        let leave = stream.onPeerClosed
        if isIdle { stream.close() } else { stream.reset() }
        leave?()
    }

    /// The client has gone while the connection's task goes on with a load for others: the place is another client's.
    func left() { clients.closed(self) }

    /// Reads one head into the exchange. False when the client sent no further request, or was refused for a malformed
    /// one.
    private func readHead() async throws(IOError) -> Bool {
        let timeouts = context.configuration.settings.timeouts
        var isBegun = !buffer.isEmpty
        stream.setDeadline(after: isForOwnPages ? Self.patience : isBegun ? timeouts.head : timeouts.idle)
        while true {
            if !buffer.isEmpty {
                let isWhole = noteReceived()
                do throws(ParseError) {
                    let progress = try exchange.request.editHead { head throws(ParseError) in
                        try parser.parse(buffer.readable.bytes, into: &head)
                    }
                    if case .complete(let consumed) = progress {
                        if !isWhole || consumed != buffer.count {
                            exchange.request.received.removeAll(keepingCapacity: true)
                        }
                        buffer.consume(consumed)
                        stream.setDeadline(after: nil)
                        return true
                    }
                } catch {
                    context.counters.add(.malformedRequests)
                    if HTTP2Octets.isPreface(buffer.readable) {
                        // The client would not understand a response.
                        try await stream.write(HTTP2Octets.refusal)
                        exchange.writer.mustLinger = true
                    } else {
                        await exchange.refuse(.malformed(error))
                    }
                    return false
                }
                if !isBegun {
                    isBegun = true
                    if !isForOwnPages { stream.setDeadline(after: timeouts.head) }
                }
            } else {
                buffer.releaseIfEmpty()
                guard try await waitForRequest() else {
                    if isForOwnPages, !stream.isPeerClosed { await exchange.refuse(.connectionLimit) }
                    return false
                }
                if !buffer.isEmpty { continue }
            }
            do throws(IOError) {
                let count = try await stream.read(into: try buffer.writable(minimum: 4096))
                if count == 0 { return false }
                buffer.wrote(count)
            } catch {
                guard error.code == .timedOut, isBegun else { throw error }
                await exchange.refuse(.slowHead, lingers: false)
                return false
            }
        }
    }

    private func waitForRequest() async throws(IOError) -> Bool {
        if !isListed, !isForOwnPages { clients.list(self) }
        do throws(IOError) {
            repeat {
                if !unsent.isEmpty { try await sendRest() }
                if isAnswered { return false }
                isWaiting = true
                defer { isWaiting = false }
                try await stream.waitReadable()
                // The request is served first, even if the connection was told to rest at the same moment.
                shallRest = false
            } while !unsent.isEmpty || isAnswered
            wasActive = true
            return true
        } catch {
            // Idle for too long, or drained while idle: an ordinary end. Without time, there is none to rest either.
            if error.code == .timedOut { shallRest = false }
            return false
        }
    }

    /// Created on demand, and again after a rest.
    private var exchange: Exchange {
        if let ownExchange { return ownExchange }
        let made = Exchange(connection: self)
        ownExchange = made
        return made
    }

    func startResting() {
        isWaiting = true
        ownExchange = nil
    }

    func stopWaiting() { isWaiting = false }

    // MARK: Answering at once

    /// Answers a request from the loop's cached replies, without the connection's task. False when the task has to
    /// continue: with the input, or with the rest of a reply.
    private func answerAtOnce() -> Bool {
        while stream.isWritable, !context.isDraining {
            let reception = context.receive(on: stream, from: kind, proof)
            guard take(reception) else { return false }
            // Over TLS more input may be decrypted already, which the kernel does not report.
            guard stream.isSecure, case .answered(isLast: false, _) = reception else { return true }
        }
        return false
    }

    /// Records the outcome of a receive. False when the task has to continue.
    func take(_ reception: Reception) -> Bool {
        switch reception {
        case .nothing:
            startIdling()
            return true
        case .ended: return false
        case .octets(let octets):
            // Without memory the connection ends; the task finds it closed.
            do throws(IOError) { try buffer.append(octets) } catch { stream.reset() }
            return false
        case .answered(let isLast, let rest):
            wasActive = true
            unsent = rest
            isAnswered = isLast
            guard rest.isEmpty else { return false }
            if isLast { stream.close() } else { startIdling() }
            return true
        }
    }

    private func startIdling() { stream.setDeadline(after: context.configuration.settings.timeouts.idle) }

    private func sendRest() async throws(IOError) {
        let rest = unsent
        unsent = []
        isIdle = false
        defer { isIdle = true }
        stream.setDeadline(after: context.configuration.settings.timeouts.write)
        try await stream.write(rest)
        startIdling()
    }

    /// Keeps the bytes of the head in the exchange where the reply may be worth caching.
    private func noteReceived() -> Bool {
        exchange.request.received.removeAll(keepingCapacity: true)
        guard kind != nil, context.requestCache.isWorthKeeping(buffer.readable) else { return false }
        exchange.request.received.append(contentsOf: buffer.readable)
        return true
    }

    /// Lets the client read the last response before the connection closes: further input is read and dropped for a
    /// moment, as a reset would discard the response (RFC 9112 §9.6).
    private func linger() async {
        guard ownExchange?.writer.mustLinger == true, !stream.isPeerClosed else { return }
        stream.shutdownWrite()
        stream.setDeadline(after: .seconds(1))
        var left = 8 << 20
        while left > 0 {
            buffer.consume(buffer.count)
            guard let room = try? buffer.writable(minimum: 4096), let count = try? await stream.read(into: room),
                count > 0
            else { return }
            left -= count
        }
    }
}
