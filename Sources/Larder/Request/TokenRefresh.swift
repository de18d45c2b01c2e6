// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO

/// One request at a time for something that many want: while it runs, everybody gets the same one.
public final class SingleFlight: Sendable {
    private let running = Lock<Request?>(nil)

    /// Makes a flight that nobody is on.
    public init() {}

    /// The request that is running, or a new one that does what `make` makes. It is started.
    public func request(_ make: @escaping @Sendable () -> Request) -> Request {
        // Made without side effects first, so that of two threads only one has `make` called.
        let own = Request.prepare(using: DeferredDelegate(make))
        let request = running.withLock { running -> Request in
            if let running, running.state != .completed { return running }
            running = own
            return own
        }
        if request === own { own.onCompletion { _ in self.running.withLock { if $0 === own { $0 = nil } } } }
        return request.start()
    }
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

/// A credential that requests carry, and how to get a new one when an origin refuses it.
///
/// However many requests are refused at once, one refresh is made; each refused request is repeated once with the
/// new credential. A request that was made with an older credential than there is by then is repeated without
/// another refresh.
public final class TokenRefresh: Sendable {
    private struct Status {
        var token: String?
        /// How many tokens there have been.
        var generation: UInt64 = 0
    }

    private let status: Lock<Status>
    private let flight = SingleFlight()
    private let statuses: Set<LarderHTTP.Status>
    private let makeRequest: @Sendable (Service) -> Request
    private let readToken: @Sendable (AnyEntity) -> String?

    /// - Parameters:
    ///   - token: the credential there is to begin with, if any.
    ///   - statuses: the statuses by which origins refuse a credential.
    ///   - makeRequest: makes the request for a new token.
    ///   - readToken: takes the token out of its response; nil when it holds none.
    public init(
        token: String? = nil, statuses: Set<LarderHTTP.Status> = [401],
        makeRequest: @escaping @Sendable (Service) -> Request, readToken: @escaping @Sendable (AnyEntity) -> String?
    ) {
        status = Lock(Status(token: token))
        self.statuses = statuses
        self.makeRequest = makeRequest
        self.readToken = readToken
    }

    /// The token there is.
    public var token: String? { status.withLock { $0.token } }

    /// Whether the request for a new token is being made: its own refusal must not wait for itself.
    @TaskLocal private static var isMakingRefresh = false

    /// Decorates a request, so that a refusal leads to a new token and one repetition. The request for the token
    /// is left as it is.
    public func decorate(_ resource: Resource, _ request: Request) -> Request {
        if TokenRefresh.isMakingRefresh { return request }
        let generation = status.withLock { $0.generation }
        return request.chained { info in
            guard case .failure(let error) = info.response, let refused = error.status, self.statuses.contains(refused)
            else {
                return .useThisResponse
            }
            // Somebody else has been refused and got a new token meanwhile.
            if self.status.withLock({ $0.generation }) != generation { return .passTo(request.repeated()) }
            let refresh = self.flight.request { self.refresh(resource.service) }
            return .passTo(
                refresh.chained { outcome in
                    if case .failure = outcome.response { return .useResponse(outcome) }
                    return .passTo(request.repeated())
                })
        }
    }

    private func refresh(_ service: Service) -> Request {
        TokenRefresh.$isMakingRefresh.withValue(true) { makeRequest(service) }.chained { info in
            guard case .success(let entity) = info.response else { return .useThisResponse }
            guard let token = self.readToken(entity) else {
                return .useResponse(
                    ResponseInfo(
                        .failure(
                            RequestError(
                                status: entity.status, entity: entity, cause: TokenMissing(),
                                timestamp: entity.timestamp))))
            }
            self.status.withLock { status in
                status.token = token
                status.generation += 1
            }
            service.invalidateConfiguration()
            return .useThisResponse
        }
    }
}

/// The response to a request for a token has none in it.
public struct TokenMissing: Error, CustomStringConvertible {
    /// Makes a flight that nobody is on.
    public init() {}
    public var description: String { "the response holds no token" }
}
