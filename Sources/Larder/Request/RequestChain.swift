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
        chained(preparing: { _ in decide })
    }

    /// The same; `prepare` is called with this request and with each repetition, as `decide` knows something of one.
    func chained(
        preparing prepare: @escaping @Sendable (Request) -> @Sendable (ResponseInfo) -> RequestChainAction
    ) -> Request {
        let chain = Request(
            ChainDelegate(self, prepare), turns: chainTurns, clock: chainClock, builtFrom: builtFrom)
        if state != .notStarted { chain.start() }
        return chain
    }
}

private final class ChainDelegate: WaitingDelegate, WrappingDelegate {
    private enum Step {
        case waiting(Request)
        case passedOn(RequestRelay)
        case over

        /// The request that the chain is waiting for.
        var active: Request? {
            switch self {
            case .waiting(let request): request
            case .passedOn(let relay): relay.runner
            case .over: nil
            }
        }
    }

    private let wrapped: Request
    private let prepare: @Sendable (Request) -> @Sendable (ResponseInfo) -> RequestChainAction
    private let decide: @Sendable (ResponseInfo) -> RequestChainAction
    private let step: Lock<Step>
    private let work = DecoratorsWork()

    init(
        _ wrapped: Request, _ prepare: @escaping @Sendable (Request) -> @Sendable (ResponseInfo) -> RequestChainAction
    ) {
        self.wrapped = wrapped
        self.prepare = prepare
        decide = prepare(wrapped)
        step = Lock(.waiting(wrapped))
    }

    func startUnderlyingOperation(_ completion: RequestCompletion) {
        wrapped.onCompletion { info in
            guard !completion.willBeIgnored else { return }
            self.work.resume {
                switch self.decide(info) {
                case .useThisResponse: completion.complete(info)
                case .useResponse(let other): completion.complete(other)
                case .passTo(let next): self.pass(to: next, completion)
                }
            }
        }
        wrapped.start()
    }

    private func pass(to next: Request, _ completion: RequestCompletion) {
        guard !completion.isAwaited(by: next) else {
            let cause = CircularWait(of: requestDescription)
            return completion.complete(.failure(RequestError(cause: cause, timestamp: next.chainClock.now)))
        }
        guard move(to: .waiting(next)) else { return next.cancel() }
        _ = move(to: .passedOn(completion.pass(to: next)))
    }

    /// False once the chain was cancelled.
    private func move(to step: Step) -> Bool {
        self.step.withLock { current in
            if case .over = current { return false }
            current = step
            return true
        }
    }

    var awaited: [Request] { [step.withLock { $0 }.active].compactMap(\.self) }

    func cancelUnderlyingOperation() {
        let last = step.withLock { step in
            defer { step = .over }
            return step
        }
        last.active?.cancel()
    }

    func repeated() -> any RequestDelegate { ChainDelegate(wrapped.repeated(), prepare) }

    func computeProgress() -> Double {
        guard let active = awaited.first else { return 0 }
        // A completed link does not complete the chain: the next one may be about to begin.
        return active.state == .completed ? 0 : active.currentProgress
    }

    var requestDescription: String { "chain of \(wrapped)" }
}
