// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
package import Synchronization

/// Shares one request among callers: while it runs, all callers wait for the same one.
public final class SingleFlight: Sendable {
    fileprivate struct Trip: Sendable {
        let request: Request
        /// The number of waiting callers.
        var seats: Int
    }

    private let flight = Lock<Trip?>(nil)

    /// Makes a flight without callers.
    public init() {}

    /// A request with the result of the running one, or of a new one from `make`. It is started.
    ///
    /// Cancelling it ends only this caller's wait; when all callers have cancelled, so is the shared request.
    public func request(_ make: @escaping @Sendable () -> Request) -> Request {
        // Prepare the request first, without side effects: if two threads arrive at once, only one `make` is called.
        let own = Request.prepare(using: DeferredDelegate(make))
        let shared = flight.withLock { flight -> Request in
            if let running = flight, running.seats > 0, running.request.state != .completed {
                flight?.seats += 1
                return running.request
            }
            flight = Trip(request: own, seats: 1)
            return own
        }
        if shared === own { own.onCompletion { _ in self.ended(own) } }
        return Request.prepare(using: SeatDelegate(shared, on: self, make)).start()
    }

    private func ended(_ request: Request) { flight.withLock { if $0?.request === request { $0 = nil } } }

    /// One caller waits no longer.
    fileprivate func leave(_ request: Request) {
        let isLast = flight.withLock { flight in
            guard flight?.request === request else { return false }
            flight?.seats -= 1
            guard flight?.seats == 0 else { return false }
            flight = nil
            return true
        }
        if isLast { request.cancel() }
    }
}

/// One caller of a shared request.
private final class SeatDelegate: RequestDelegate {
    private let shared: Request
    private let flight: SingleFlight
    private let make: @Sendable () -> Request

    init(_ shared: Request, on flight: SingleFlight, _ make: @escaping @Sendable () -> Request) {
        self.shared = shared
        self.flight = flight
        self.make = make
    }

    func startUnderlyingOperation(_ completion: RequestCompletion) {
        shared.onCompletion { completion.complete($0) }
        shared.start()
    }

    func cancelUnderlyingOperation() { flight.leave(shared) }

    func repeated() -> any RequestDelegate { DeferredDelegate(make) }

    func computeProgress() -> Double { shared.currentProgress }
}

/// A request that is made when it is started.
private final class DeferredDelegate: RequestDelegate {
    private let make: @Sendable () -> Request
    private let made = Lock<Request?>(nil)

    init(_ make: @escaping @Sendable () -> Request) { self.make = make }

    func startUnderlyingOperation(_ completion: RequestCompletion) {
        let request = make()
        made.withLock { $0 = request }
        if completion.willBeIgnored { return request.cancel() }
        request.onCompletion { completion.complete($0) }
        request.start()
    }

    func cancelUnderlyingOperation() { made.withLock { $0 }?.cancel() }

    func repeated() -> any RequestDelegate { DeferredDelegate(make) }
}

/// The credential of requests, and how to get a new one when an origin refuses it.
///
/// When an origin refuses several requests at once, one refresh is made, and each refused request is repeated once with
/// the new credential. A request that was made with an older credential than the current one is repeated without
/// another refresh. For a second after a failed refresh, and for a second after a refresh whose credential is refused,
/// the response is the origin's refusal.
public final class TokenRefresh: Sendable {
    private struct Status {
        var token: String?
        /// The number of tokens so far.
        var generation: UInt64 = 0
        /// When the last token came, and when the last request for one failed.
        var renewedAt: Timestamp?
        var failedAt: Timestamp?
        /// The first version of the configuration of each service with the current one.
        var versions: [ObjectIdentifier: UInt64] = [:]

        /// The generation of the token that a request was built with.
        func generation(of request: Request, _ service: Service) -> UInt64 {
            guard let version = request.builtFrom, let first = versions[ObjectIdentifier(service)], version < first
            else { return generation }
            return generation &- 1
        }
    }

    private let status: Lock<Status>
    private let flight = SingleFlight()
    private let statuses: Set<LarderHTTP.Status>
    private let makeRequest: @Sendable (Service) -> Request
    private let readToken: @Sendable (AnyEntity) -> String?

    /// - Parameters:
    ///   - token: the initial credential, if any.
    ///   - statuses: the statuses by which origins refuse a credential.
    ///   - makeRequest: makes the request for a new token.
    ///   - readToken: reads the token from its response; nil when it has none.
    public init(
        token: String? = nil, statuses: Set<LarderHTTP.Status> = [401],
        makeRequest: @escaping @Sendable (Service) -> Request, readToken: @escaping @Sendable (AnyEntity) -> String?
    ) {
        status = Lock(Status(token: token))
        self.statuses = statuses
        self.makeRequest = makeRequest
        self.readToken = readToken
    }

    /// The current token.
    public var token: String? {
        TokenRefresh.notice?.wasRead.store(true, ordering: .relaxed)
        return status.withLock { $0.token }
    }

    /// Notes whether a token is read meanwhile: what is made of one is the same user's with the next.
    ///
    /// An object, as a task-local value that is a function ends optimized programs (Swift 6.3: its type comes to nothing).
    @TaskLocal package static var notice: ReadNotice?

    package final class ReadNotice: Sendable {
        package let wasRead = Atomic(false)

        package init() {}
    }

    /// Decorates a request, so that a refusal leads to a new token and one repetition. The request for the token itself
    /// is not decorated.
    public func decorate(_ resource: Resource, _ request: Request) -> Request {
        if RefreshUnderWay.isMade { return request }
        return request.chained(preparing: { sent in
            let generation = self.status.withLock { $0.generation(of: sent, resource.service) }
            return { self.next(after: $0, to: request, for: resource, of: generation) }
        })
    }

    /// - Parameter generation: the generation of the token with which the request was made.
    private func next(
        after info: ResponseInfo, to request: Request, for resource: Resource, of generation: UInt64
    ) -> RequestChainAction {
        guard case .failure(let error) = info.response, let refused = error.status, statuses.contains(refused) else {
            return .useThisResponse
        }
        // Another request was refused and refreshed the token meanwhile.
        if status.withLock({ $0.generation }) != generation { return .passTo(request.repeated()) }
        let now = resource.service.clock.now
        let isPaused = status.withLock { [$0.renewedAt, $0.failedAt].contains { RefreshPause.covers($0, at: now) } }
        if isPaused { return .useThisResponse }
        let refresh = flight.request { self.refresh(resource, of: generation) }
        return .passTo(
            refresh.chained { outcome in
                if case .failure = outcome.response { return .useResponse(outcome) }
                return .passTo(request.repeated())
            })
    }

    /// The request for a token newer than the token of `generation`. It does nothing if a newer token exists: a refresh
    /// may have ended since the generation was compared.
    private func refresh(_ resource: Resource, of generation: UInt64) -> Request {
        let service = resource.service
        if status.withLock({ $0.generation }) != generation {
            let nothing = AnyEntity(content: [UInt8]() as any Sendable, timestamp: service.clock.now)
            return resource.hardWiredRequest(returning: ResponseInfo(.success(nothing)))
        }
        // Decorators treat the token request as a separate request, not as a part of the refused request.
        let made = decorating.apart { RefreshUnderWay.$isMade.withValue(true) { makeRequest(service) } }
        return made.chained { info in
            let now = service.clock.now
            guard case .success(let entity) = info.response else {
                if !info.response.isCancellation { self.status.withLock { $0.failedAt = now } }
                return .useThisResponse
            }
            guard let token = self.readToken(entity) else {
                self.status.withLock { $0.failedAt = now }
                return .useResponse(
                    ResponseInfo(
                        .failure(
                            RequestError(
                                status: entity.status, entity: entity, cause: TokenMissing(),
                                timestamp: entity.timestamp))))
            }
            self.status.withLock { $0.token = token }
            service.invalidateConfiguration()
            // Last: who sees it repeats a request with what the configuration says by now.
            self.status.withLock { status in
                status.generation += 1
                status.renewedAt = now
                status.versions[ObjectIdentifier(service)] = service.configurationVersion
            }
            return .useThisResponse
        }
    }
}

/// The pause before a program or a daemon requests a credential again: after a failed request for a credential, and after
/// a new credential. Without it an origin that refuses every credential would be asked for one after another.
package enum RefreshPause {
    package static let length = Duration.seconds(1)

    /// True for less than `length` after `moment`.
    package static func covers(_ moment: Timestamp?, at now: Timestamp) -> Bool {
        moment.map { now >= $0 && now < $0 + length } ?? false
    }
}

/// The response to a request for a token has none.
public struct TokenMissing: Error, CustomStringConvertible {
    /// Makes the error.
    public init() {}
    public var description: String { "the response holds no token" }
}
