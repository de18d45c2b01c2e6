// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings

/// A client's request, with its route and everything that was found out about its sender.
///
/// An exchange has one and uses it for each of its requests in turn, to reuse the storage for head, URI and key.
/// Confined to its loop.
final class ClientRequest {
    // Holds: the connection has the exchange, which has the request.
    unowned let connection: DownstreamConnection
    let context: LoopContext
    let stream: ByteStream

    var head = RequestHead()
    var traits = RequestTraits()
    var uri = TargetURI()
    /// Path and query as the client wrote them, where that is not the normal form of `uri`; else empty.
    var spelling: [UInt8] = []
    var key = ResourceKey()
    /// The form of its target, once it is routed to a service.
    var form = RequestForm.forward
    var content: RequestContent?
    /// True if the request only reads according to the configuration, regardless of its method.
    var onlyReads = false
    /// The head as received, where the reply may be cached; else empty.
    var received: [UInt8] = []
    private var knownHost = KnownHost()
    /// The head sent inbound last. Its storage is reused for the next head if there is no other reference to it.
    var forwarded = RequestHead.none

    /// The request's lane, if lanes are used.
    var lane: Lane?
    /// The user who sent the request.
    var principal = Principal.anyone
    /// True if it names a lane that is not open, or not for its client: the lane may have promised to ask no origin.
    private(set) var namesUnknownLane = false
    /// The users among which it was identified; nil where users are not named.
    var users: UserGate?
    /// True if the request holds one of the places for requests to origins (`takeOriginPlace`).
    private var hasOriginPlace = false
    /// Its span, if it is part of a recorded trace.
    var span: ServerSpan?

    init(on connection: DownstreamConnection) {
        self.connection = connection
        context = connection.context
        stream = connection.stream
    }

    /// Begins with the head that was read.
    func begin() {
        traits = RequestTraits(of: head)
        // A request that is refused before routing has no URI, and must not keep the previous one.
        clearURI()
        form = .forward
        content = nil
        onlyReads = false
        lane = connection.lane
        namesUnknownLane = lane?.isOver ?? false
        principal = .anyone
        users = nil
        span = nil
        if traits.has(.proxyAuthorization) { findLane() }
        lane?.requestBegan()
    }

    private func clearURI() {
        var (cleared, path) = (TargetURI(), [UInt8]())
        swap(&cleared, &uri)
        swap(&path, &spelling)
        cleared.clear()
        path.removeAll(keepingCapacity: true)
        swap(&cleared, &uri)
        swap(&path, &spelling)
    }

    /// Removes a head that was not parsed, or is not examined.
    func removeHead() {
        head = RequestHead()
        traits = RequestTraits()
    }

    /// Determines the route, with the URI.
    func route() -> Route {
        var (found, path, host) = (TargetURI(), [UInt8](), KnownHost())
        swap(&found, &uri)
        swap(&path, &spelling)
        swap(&host, &knownHost)
        defer {
            swap(&found, &uri)
            swap(&path, &spelling)
            swap(&host, &knownHost)
        }
        return context.configuration.router.route(
            head, from: connection.client, uri: &found, spelling: &path, host: &host)
    }

    /// Changes the head.
    ///
    /// It is taken out for that: of a property that is changed in place anywhere, each use is checked for others at
    /// run time (docs/performance.md). `change` finds no head here.
    func editHead<Result, Failure>(
        _ change: (inout RequestHead) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var taken = RequestHead.none
        swap(&taken, &head)
        defer { swap(&taken, &head) }
        return try change(&taken)
    }

    /// The head sent inbound last, to be overwritten.
    func takeForwarded() -> RequestHead {
        var taken = RequestHead.none
        swap(&taken, &forwarded)
        return taken
    }

    // MARK: Content

    /// Prepares to read the content, if there is some.
    func openContent(_ interims: InterimSender) throws {
        var framing = try BodyFraming(request: head)
        if framing == .length(0), traits.method != .other || head.method == .connect {
            // Empty content counts as none: it is a GET like any other, or a CONNECT of Windows' own client.
            framing = .none
            editHead { $0.fields.remove(.contentLength) }
        }
        guard framing != .none else { return }
        content = RequestContent(
            on: stream, connection.buffer, context, interims: interims, framing: framing,
            isContinueExpected: traits.expectsContinue, timeout: context.configuration.settings.timeouts.content)
    }

    // MARK: The client

    /// The client, as RFC 7239 §4 writes it; nil when origins are not told.
    var forwardedElement: String? {
        guard context.configuration.settings.forwarded == .add else { return nil }
        let peer = stream.peerAddress
        let client = peer.isIPv6 ? "\"[\(peer.host)]\"" : peer.host
        let host = head.fields[first: .host].map { ";host=\"\($0)\"" } ?? ""
        return "for=\(client);proto=\(stream.isSecure ? "https" : "http")\(host)"
    }

    /// True if the client may know what others ask for, as Larder's own pages show it.
    var maySeeURLs: Bool {
        guard network == .machine else { return false }
        return switch principal {
        case .user, .certificate: true
        case .anyone, .lane: context.configuration.settings.access.users == nil
        }
    }

    /// The network of this client.
    var network: ClientNetwork { ClientNetwork(isLoopback: connection.client.isLoopback) }

    /// A digest of the client's address, for `UpstreamRequest.client`.
    private(set) lazy var clientDigest = ClientAddress(stream.peerAddress).hashValue

    /// True if the client has yet to send some of its content.
    var lacksContent: Bool { content.map { !$0.isAtHand } ?? false }

    /// The partition of the request's Resource.
    func partition(in service: RoutedService) -> Larder.Partition {
        guard !service.isKeyedByHead else { return service.partition(of: head.fields, for: uri, from: network) }
        return service.partition(
            of: head.fields, for: uri, from: network, client: connection.identity, user: userIdentity)
    }

    /// The identity of the proven user. Two users never share an identity, even with equal names.
    private var userIdentity: String? {
        switch principal {
        case .user(let user): UserTable.identity(ofUser: user.name)
        case .certificate: connection.identity
        case .anyone, .lane: nil
        }
    }

    /// Finds the lane named by the request. Lanes, and interception for lanes, are only for clients on this machine.
    private func findLane() {
        switch context.proxy.lanes.lane(namedIn: head.fields) {
        case .none: return
        case .open(let found) where connection.client.isLoopback: lane = found
        case .open, .unknown: namesUnknownLane = true
        }
        // Cached replies do not depend on the lane.
        received.removeAll(keepingCapacity: true)
    }

    /// True if the lane is limited to stored responses.
    var isLaneOffline: Bool { lane?.options.isOffline ?? false }

    /// The mode that decides if origins are asked, according to the lane, an operator or the configuration.
    func offlineMode(_ service: RoutedService, _ configuration: EffectiveConfiguration) -> OfflineMode {
        isLaneOffline ? .on : context.proxy.offlineMode(service, configuration)
    }

    // MARK: Conditions for sending inbound

    /// - Throws: a problem where Larder itself has sent the request.
    func checkLoop() throws(Problem) {
        guard traits.has(.via), let own = context.configuration.pseudonym.own(in: head.fields) else { return }
        throw .loop(pseudonym: own)
    }

    /// Acquires one of the places that a network client has for requests to origins, until the exchange ends. Requests
    /// answered from the cache need none.
    ///
    /// Otherwise one client with slow requests would use up an origin's connections, and all places in the queue for
    /// them. The programs on this machine count as one client, and are not limited.
    ///
    /// - Throws: a problem where all of them are in use.
    func takeOriginPlace() throws(Problem) {
        guard !hasOriginPlace, let client = limitedClient else { return }
        guard
            context.proxy.admission.originRequests.take(
                client, limit: context.configuration.settings.limits.requestsOfClient)
        else {
            context.counters.add(.requestsRefusedByClient)
            throw .clientRequestLimit
        }
        hasOriginPlace = true
    }

    /// Acquires another place, for a load that outlives the exchange; nil where all of them are in use. The result
    /// releases it.
    func takeBackgroundPlace() -> (() -> Void)? {
        guard let client = limitedClient else { return {} }
        let places = context.proxy.admission.originRequests
        let limit = context.configuration.settings.limits.requestsOfClient
        guard places.take(client, limit: limit) else { return nil }
        return { places.release(client) }
    }

    /// Gives the place to a load that outlives the exchange; nil where there is none. The result releases it.
    func passOnOriginPlace() -> (() -> Void)? {
        guard hasOriginPlace, case .ordinary(let client) = connection.admission else { return nil }
        hasOriginPlace = false
        let places = context.proxy.admission.originRequests
        return { places.release(client) }
    }

    /// The client whose places are counted; nil for the programs on this machine.
    private var limitedClient: ClientAddress? {
        guard !connection.client.isLoopback, case .ordinary(let client) = connection.admission, !client.isThisMachine
        else { return nil }
        return client
    }

    /// Releases the place.
    func releaseOriginPlace() { passOnOriginPlace()?() }
}

extension ClientRequest {
    /// The span begins with the request, so that all requests sent for it are part of the trace.
    func beginSpan() {
        if let tracer = context.tracer { span = editHead { tracer.begin(&$0.fields) } }
    }

    /// The exchange waits for the load of another client's request.
    func linkSpan(to load: ActiveLoad) {
        guard let span, let leader = ReceivedTrace(load.request.fields).context, leader.isSampled else { return }
        span.leader = leader
    }
}
