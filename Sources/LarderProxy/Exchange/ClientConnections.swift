// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
import LarderSettings
import Logging

/// The listeners and the connections of one loop. Confined to it.
final class ClientConnections: LoopClients {
    // The context releases its reference to this object when the loop ends.
    let context: LoopContext
    /// The streams of events on this loop.
    let events: LoopEvents
    private var clientKinds: [Router.Client: ClientKind] = [:]
    private var lastKind: ClientKind = 0
    /// The maximum number of known kinds: each intercepted host is one kind.
    private static let kindLimit = 256
    private var lastClient:
        (
            isLoopback: Bool, isAdminOnly: Bool, isProven: Bool, local: SocketAddress, client: Router.Client,
            kind: ClientKind?
        )?
    private(set) var connections = ConnectionList()
    private var resting = RestList()
    private var looksForIdle = false
    private var listeners: [Listener] = []
    /// Listeners of lanes, by the lane's id.
    private var doors: [String: Listener] = [:]
    /// Connections during their TLS handshake, or before their owner is known.
    private var handshakes: [Int: ByteStream] = [:]
    private var nextHandshake = 0
    /// Connections that are being sent a refusal.
    private var turnedAway = 0
    private static let turnedAwayLimit = 64
    private var exhaustion = RepeatedLines<IOError.Code>()
    private var unknownOwners = RepeatedLines<IOError.Code>()

    init(_ context: LoopContext) {
        self.context = context
        events = LoopEvents(loop: context.loop, proxy: context.proxy)
    }

    /// The client's properties for requests over `stream`, and its kind for cached replies; nil if it gets no cached
    /// replies. Most clients have the same properties as the previous client.
    private func client(on stream: ByteStream, isAdminOnly: Bool) -> (Router.Client, ClientKind?) {
        let local = stream.localAddress
        let (isLoopback, isUnix) = (stream.peerAddress.isLoopback, stream.peerAddress.isUnix)
        let isAdminOnly = isAdminOnly || isUnix
        let isProven = stream.isProven
        if let last = lastClient, last.isLoopback == isLoopback, last.isAdminOnly == isAdminOnly, last.local == local,
            last.isProven == isProven
        {
            return (last.client, last.kind)
        }
        var client = Router.Client(
            isLoopback: isLoopback, isAdminOnly: isAdminOnly, localHost: local.isIPv6 ? "[\(local.host)]" : local.host,
            localPort: local.port)
        client.isProven = isProven
        let kind = isAdminOnly ? nil : kind(of: client)
        lastClient = (isLoopback, isAdminOnly, isProven, local, client, kind)
        return (client, kind)
    }

    /// The kind shared by clients like `client`.
    func kind(of client: Router.Client) -> ClientKind {
        if let known = clientKinds[client] { return known }
        // Cached replies refer to kinds by number, so numbers are never reused: forgotten kinds get new ones.
        if clientKinds.count == ClientConnections.kindLimit { clientKinds.removeAll(keepingCapacity: true) }
        lastKind += 1
        clientKinds[client] = lastKind
        return lastKind
    }

    // MARK: Listening

    func listen(
        on socket: ListeningSocket, isAdminOnly: Bool, overTLS: Bool, isForLanes: Bool
    ) throws {
        // Holds: the listeners are its own.
        let listener = try context.loop.listenHere(on: socket) { [unowned self] in
            if overTLS { acceptOverTLS($0) } else { accept($0, isAdminOnly: isAdminOnly, isForLanes: isForLanes) }
        }
        listener.onExhausted = { [weak self] in self?.noteExhaustion($0) }
        listeners.append(listener)
    }

    /// A listener tries again ten times a second, which is no news.
    private func noteExhaustion(_ error: IOError) {
        exhaustion.logger(context.proxy.logger, about: error.code, at: context.loop.time.monotonic())?.warning(
            "cannot accept connections", metadata: ["error": "\(error)", "advice": "raise LimitNOFILE or ulimit -n"])
    }

    func adopt(_ descriptor: Int32, from peer: SocketAddress) throws {
        accept(try context.loop.adoptHere(descriptor, peer: peer), isAdminOnly: false)
    }

    /// Serves an accepted connection, unless there are too many.
    ///
    /// The first request has often arrived already. A client with a cached reply needs no task, and a client that sends
    /// no other request needs no connection object.
    func accept(_ stream: ByteStream, isAdminOnly: Bool, isForLanes: Bool = false) {
        let place: Admission.Place
        do throws(Problem) {
            place = try admit(stream, isOperator: isAdminOnly || stream.peerAddress.isUnix && !isForLanes)
        } catch {
            return turnAway(stream, error)
        }
        begin(on: stream, at: place, isAdminOnly: isAdminOnly, isForLanes: isForLanes)
    }

    /// A place for an accepted connection.
    private func admit(_ stream: ByteStream, isOperator: Bool = false) throws(Problem) -> Admission.Place {
        let refusal: Problem
        guard context.configuration.allows(stream.peerAddress) else { throw .clientNotAllowed }
        switch context.proxy.admission.admit(
            stream.peerAddress, isOperator: isOperator, limits: context.configuration.settings.limits)
        {
        case .admitted(let place):
            context.counters.add(.connectionsAccepted)
            return place
        case .full: refusal = .connectionLimit
        case .tooMany:
            context.counters.add(.connectionsRefusedByClient)
            refusal = .clientConnectionLimit
        }
        context.proxy.connectionWasRefused()
        throw refusal
    }

    private func begin(on stream: ByteStream, at place: Admission.Place, isAdminOnly: Bool, isForLanes: Bool = false) {
        var (client, kind) = client(on: stream, isAdminOnly: isAdminOnly)
        if case .ownPages = place { kind = nil }
        let reception = context.receive(on: stream, from: kind)
        if reception.isAll {
            stream.close()
            return countClosed(place)
        }
        let connection = DownstreamConnection(stream: stream, client: client, place: place, kind: kind, clients: self)
        connection.isForLanes = isForLanes
        connections.insert(connection)
        if !connection.take(reception) || connection.isForOwnPages || !rest(connection) { serve(connection) }
    }

    /// The answer to a client that speaks plain HTTP where TLS is expected.
    private static let tlsIsExpected: StaticString = """
        HTTP/1.1 400 Bad Request\r
        Content-Type: text/plain; charset=utf-8\r
        Content-Length: 101\r
        Connection: close\r
        \r
        This port of Larder speaks TLS (`tls.listen`): write https:// instead of http:// before its address.

        """

    /// Serves an accepted connection over TLS. The handshake has the deadline of a request head; a refused client gets
    /// no message, as it could not read it.
    private func acceptOverTLS(_ stream: ByteStream) {
        guard let tls = context.configuration.tls, let place = try? admit(stream) else { return close(stream) }
        let number = listHandshake(stream)
        stream.setDeadline(after: context.configuration.settings.timeouts.head)
        let authorities = context.configuration.clientAuthorities
        // Holds: the streams of handshakes are its own.
        stream.startTLS(server: tls) { [unowned self] agreement in
            let isAgreed = agreement == .agreed
            if agreement == .isPlain { refusePlain(stream) }
            guard agreement == .needsTask else { return agreed(isAgreed, authorities, number, stream, place) }
            context.spawn {
                self.agreed((try? await stream.goOnAgreeing()) != nil, authorities, number, stream, place)
            }
        }
    }

    private func refusePlain(_ stream: ByteStream) {
        context.counters.add(.malformedRequests)
        _ = stream.writeAtOnce(ClientConnections.tlsIsExpected)
        // Bytes that were not received would have the kernel reset the connection, and the client lose the answer.
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { _ = try? stream.tryRead(into: $0) }
    }

    private func agreed(
        _ isAgreed: Bool, _ authorities: String?, _ handshake: Int, _ stream: ByteStream, _ place: Admission.Place
    ) {
        let isAgreed = isAgreed && authorities == context.configuration.clientAuthorities
        if end(handshake, stream, at: place, isAgreed) { begin(on: stream, at: place, isAdminOnly: false) }
    }

    /// Lists a connection that has to agree first. `end` must follow.
    private func listHandshake(_ stream: ByteStream) -> Int {
        nextHandshake += 1
        handshakes[nextHandshake] = stream
        return nextHandshake
    }

    /// True where it is a connection from now on.
    private func end(_ handshake: Int, _ stream: ByteStream, at place: Admission.Place, _ isAgreed: Bool) -> Bool {
        handshakes[handshake] = nil
        if isAgreed, stream.isOpen { return true }
        stream.close()
        countClosed(place)
        return false
    }

    /// Closes a connection without a word.
    private func close(_ stream: ByteStream) {
        context.counters.add(.connectionsRefused)
        stream.close()
    }

    /// Opens a port on loopback whose clients all belong to `lane`, and to one user. It closes with the lane.
    func openDoor(of lane: Lane, for user: UInt32) throws -> SocketAddress {
        let socket = try ListeningSocket.tcp(.loopback(port: 0), count: 1)[0]
        for (id, door) in doors where context.proxy.lanes.lane(id) == nil {
            door.close()
            doors[id] = nil
        }
        // Holds: the listeners are its own.
        doors[lane.id] = try context.loop.listenHere(on: socket) { [unowned self] in acceptAtDoor($0, lane, user) }
        return socket.address
    }

    func closeDoor(of lane: Lane) { doors.removeValue(forKey: lane.id)?.close() }

    /// Other users of this machine can connect to the port, and are closed at once. The owner is determined once more
    /// when the first request's head has been read: until then no request is acted on.
    private func acceptAtDoor(_ stream: ByteStream, _ lane: Lane, _ user: UInt32) {
        guard !lane.isOver, let place = try? admit(stream) else { return close(stream) }
        let number = listHandshake(stream)
        context.spawn {
            guard await self.end(number, stream, at: place, self.isOwned(stream, by: user)) else { return }
            let connection = DownstreamConnection(
                stream: stream, client: self.client(on: stream, isAdminOnly: false).0, place: place, kind: nil,
                clients: self)
            connection.join(lane, of: user)
            self.connections.insert(connection)
            self.serve(connection)
        }
    }

    /// True if a process of `user` holds the other end of a connection from this machine. Where the kernel does not say
    /// so, it is false.
    func isOwned(_ stream: ByteStream, by user: UInt32) async -> Bool {
        let (client, ours) = (stream.peerAddress, stream.localAddress)
        do {
            let owner = try await context.proxy.walkers.run { try SocketOwner.user(of: client, to: ours) }
            // After a reset, another connection may have had these addresses when the kernel was asked.
            return owner == user && stream.isConnected
        } catch {
            let code = (error as? IOError)?.code ?? .other
            unknownOwners.logger(context.proxy.logger, about: code, at: context.loop.time.monotonic())?.warning(
                "cannot tell who connects to the port of a lane, so its connections are refused",
                metadata: ["error": "\(error)", "advice": "\(ClientConnections.ownerAdvice)"])
            return false
        }
    }

    private static let ownerAdvice: StaticString =
        "allow the daemon netlink sockets (RestrictAddressFamilies=AF_NETLINK of its unit)"

    private func serve(_ connection: DownstreamConnection) {
        context.spawn {
            while await !connection.serve() {
                if self.context.isDraining {
                    connection.stream.close()
                    break
                }
                if self.rest(connection) {
                    self.context.counters.add(.connectionsRested)
                    return
                }
            }
            self.closed(connection)
        }
    }

    /// Lets a connection wait for its next request without a task. False when the request is there already.
    private func rest(_ connection: DownstreamConnection) -> Bool {
        // Holds: the connections are its own.
        connection.rest { [unowned self] hasInput in
            if hasInput { return serve(connection) }
            connection.stream.close()
            closed(connection)
        }
    }

    /// Has a waiting connection checked for idleness.
    func list(_ connection: DownstreamConnection) {
        guard !context.isDraining else { return }
        resting.append(connection)
        lookForIdle()
    }

    /// A connection rests when nothing was received between two of these.
    private static let restInterval = Duration.milliseconds(40)

    private func lookForIdle() {
        guard !looksForIdle, !resting.isEmpty else { return }
        looksForIdle = true
        context.loop.timerHere(after: ClientConnections.restInterval) { [weak self] in
            guard let self else { return }
            looksForIdle = false
            for connection in resting.takeIdle() { connection.goToRest() }
            lookForIdle()
        }
    }

    /// Sends the reason for a refusal, unless too many connections are being refused already, and closes it.
    private func turnAway(_ stream: ByteStream, _ problem: Problem) {
        context.counters.add(.connectionsRefused)
        guard turnedAway < ClientConnections.turnedAwayLimit else { return stream.close() }
        turnedAway += 1
        let farewell = problem.farewell(date: context.dateText())
        context.spawn {
            stream.setDeadline(after: .seconds(1))
            if (try? await stream.write(farewell)) != nil {
                await stream.closeGracefully(within: .seconds(1), discarding: 64 << 10)
            } else {
                stream.close()
            }
            self.turnedAway -= 1
        }
    }

    /// Releases the place of a connection, once: when its client has left, at the latest when its task ends.
    func closed(_ connection: DownstreamConnection) {
        guard connection.place >= 0 else { return }
        connections.remove(connection)
        countClosed(connection.admission)
    }

    private func countClosed(_ place: Admission.Place) {
        context.counters.add(.connectionsClosed)
        context.proxy.releaseConnection(place)
    }

    // MARK: Life

    func apply(_ configuration: ProxyConfiguration, after former: ProxyConfiguration) {
        let hasOtherAuthorities = configuration.clientAuthorities != former.clientAuthorities
        for connection in connections.all {
            let isLost = hasOtherAuthorities && connection.dependsOnClientAuthorities
            if isLost || !configuration.admits(connection.principal) { connection.revoke() }
        }
    }

    func drain() {
        resting = RestList()
        listeners.forEach { $0.close() }
        listeners = []
        doors.values.forEach { $0.close() }
        doors = [:]
        handshakes.values.forEach { $0.close() }
        connections.all.forEach { $0.drain() }
        events.close()
    }

    func closeAll() { connections.all.forEach { $0.abort() } }
}
