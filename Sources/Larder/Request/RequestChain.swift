// SPDX-License-Identifier: Apache-2.0
import LarderIO

/// The continuation of a chain when the request it wraps has completed.
public enum RequestChainAction: Sendable {
    /// The chain completes with the wrapped request's response.
    case useThisResponse
    /// The chain completes with another response, which goes through no pipeline.
    case useResponse(ResponseInfo)
    /// Another request is started, if it has not been, and its response completes the chain.
    ///
    /// One that waits for this chain fails it: the chain itself, or the load that a decorator makes this a part of.
    case passTo(Request)
}

extension Request {
    /// A request that waits for this one and chooses the next step by its response.
    ///
    /// It is started if this one is, else starting it starts this one. Cancelling it cancels the request that it is
    /// waiting for, and `decide` is not called; if only this one is cancelled, `decide` sees a failure like any other.
    public func chained(_ decide: @escaping @Sendable (ResponseInfo) -> RequestChainAction) -> Request {
        chained(preparing: { decide })
    }

    /// The same; `prepare` is called for this request and for each repetition, as `decide` knows something of one.
    func chained(
        preparing prepare: @escaping @Sendable () -> @Sendable (ResponseInfo) -> RequestChainAction
    ) -> Request {
        let isOfRefresh = RefreshUnderWay.isMade
        let chain = Request(
            ChainDelegate(self, { isOfRefresh ? RefreshUnderWay.kept(prepare()) : prepare() }), turns: chainTurns,
            clock: chainClock)
        if state != .notStarted { chain.start() }
        return chain
    }
}

private final class ChainDelegate: WaitingDelegate {
    private let wrapped: Request
    private let prepare: @Sendable () -> @Sendable (ResponseInfo) -> RequestChainAction
    private let decide: @Sendable (ResponseInfo) -> RequestChainAction
    /// The request that the chain is waiting for; nil once the chain was cancelled.
    private let active: Lock<Request?>

    init(_ wrapped: Request, _ prepare: @escaping @Sendable () -> @Sendable (ResponseInfo) -> RequestChainAction) {
        self.wrapped = wrapped
        self.prepare = prepare
        decide = prepare()
        active = Lock(wrapped)
    }

    func startUnderlyingOperation(_ completion: RequestCompletion) {
        wrapped.onCompletion { info in
            guard !completion.willBeIgnored else { return }
            switch self.decide(info) {
            case .useThisResponse: completion.complete(info)
            case .useResponse(let other): completion.complete(other)
            case .passTo(let next):
                guard !completion.isAwaited(by: next) else {
                    let cause = CircularWait(of: self.requestDescription)
                    return completion.complete(.failure(RequestError(cause: cause, timestamp: next.chainClock.now)))
                }
                let isWanted = self.active.withLock { active in
                    guard active != nil else { return false }
                    active = next
                    return true
                }
                guard isWanted else { return }
                next.onCompletion { completion.complete($0) }
                next.start()
            }
        }
        wrapped.start()
    }

    var awaited: [Request] { [active.withLock { $0 }].compactMap(\.self) }

    func cancelUnderlyingOperation() {
        let current = active.withLock { active in
            defer { active = nil }
            return active
        }
        current?.cancel()
    }

    func repeated() -> any RequestDelegate { ChainDelegate(wrapped.repeated(), prepare) }

    func computeProgress() -> Double {
        guard let active = active.withLock({ $0 }) else { return 0 }
        // A completed link does not complete the chain: the next one may be about to begin.
        return active.state == .completed ? 0 : active.currentProgress
    }

    var requestDescription: String { "chain of \(wrapped)" }
}
