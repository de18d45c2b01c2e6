// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO

/// The outcome of a request.
public struct ResponseInfo: Sendable {
    /// The entity or the error.
    public var response: Response {
        // A response that a program has changed is no longer the origin's.
        didSet { source = nil }
    }
    /// True if the response is new data; false when existing data was confirmed.
    public var isNew: Bool
    /// Whether `response` has all of the content. In a daemon, decorators do not see content of more than 1 MiB, streams
    /// of events and switched protocols, which are passed on as they arrive: their entity has content of no type they know.
    public package(set) var hasWholeContent = true
    /// The information with which a resource adopts the response; nil for responses without a pipeline.
    var landing: Landing?
    /// The response that a daemon got it from; nil for what no origin sent.
    package var source: ResponseMark?
    /// True if a daemon's clients get it too.
    package var isInMemory = false

    /// Makes what a request comes to.
    public init(_ response: Response, isNew: Bool = true) {
        self.response = response
        self.isNew = isNew
    }

    static func failure(_ error: RequestError) -> ResponseInfo { ResponseInfo(.failure(error)) }
}

/// Tells one response that a daemon received from all others.
package final class ResponseMark: Sendable {
    package init() {}
}

/// One attempt to get a response: it is not started, in progress, or completed, and completes once.
///
/// Requests made by a resource start by themselves. Functions attached to a request are called when it completes,
/// in the order they were attached and never before the call that attaches them returns; after completion they
/// are called soon. Letting go of a request does not cancel it, and neither does cancelling a task that waits for it.
public final class Request: Sendable {
    /// Where a request stands.
    public enum State: Sendable, Hashable {
        /// Nothing has been sent.
        case notStarted
        /// It has been started and has not ended.
        case inProgress
        /// It has its response, or was cancelled.
        case completed
    }

    private struct Status {
        var state: State = .notStarted
        var info: ResponseInfo?
        var hooks: [@Sendable (ResponseInfo) -> Void] = []
        /// True once the hooks have been posted: a hook that is added later is posted at once.
        var isTold = false
        var progressHooks: [@Sendable (Double) -> Void] = []
        var progress = 0.0
        var tick: ScheduledAction?
        /// While the delegate is being started: until it is, there is nothing to cancel.
        var isStarting = false
        var wasCancelled = false
        /// Those that come to what this one does.
        var relays: [RequestRelay] = []
        /// True if it comes to what another does, which does not hold it.
        var hasPassedOn = false
        /// Itself, from when it has passed on and hooks wait for it.
        var itself: Request?

        var isAwaited: Bool { !hooks.isEmpty || !progressHooks.isEmpty }
    }

    private let status = Lock(Status())
    let delegate: any RequestDelegate
    private let turns: TurnQueue
    private let clock: any ModelClock
    /// The version of the service's configuration that it was built from, or one before that.
    let builtFrom: UInt64?

    init(_ delegate: any RequestDelegate, turns: TurnQueue, clock: any ModelClock, builtFrom: UInt64? = nil) {
        self.delegate = delegate
        self.turns = turns
        self.clock = clock
        self.builtFrom = builtFrom
    }

    /// A request that is completed from birth.
    init(completed info: ResponseInfo, turns: TurnQueue, clock: any ModelClock) {
        delegate = HardWiredDelegate()
        self.turns = turns
        self.clock = clock
        builtFrom = nil
        status.withLock { status in
            status.state = .completed
            status.info = info
            status.isTold = true
            status.progress = 1
        }
    }

    // MARK: Making requests without a resource

    /// A request that has its response already; starting and cancelling do nothing.
    public static func hardWired(returning info: ResponseInfo) -> Request {
        Request(completed: info, turns: TurnQueue(), clock: SystemModelClock())
    }

    /// A request that has failed already.
    public static func failed(returning error: RequestError) -> Request { hardWired(returning: .failure(error)) }

    /// An unstarted request that is carried out by `delegate`.
    public static func prepare(
        using delegate: some RequestDelegate, clock: any ModelClock = SystemModelClock()
    ) -> Request {
        Request(delegate, turns: TurnQueue(), clock: clock)
    }

    // MARK: State

    /// Where the request stands.
    public var state: State { status.withLock { $0.state } }

    /// How far the request is, as of the last report: 0…1, and 1 once it is completed.
    public var progress: Double { status.withLock { $0.progress } }

    /// The outcome, or nil while there is none.
    public var info: ResponseInfo? { status.withLock { $0.info } }

    // MARK: Running

    /// Starts the request unless it has been started or cancelled.
    @discardableResult
    public func start() -> Request {
        let isFirst = status.withLock { status in
            guard status.state == .notStarted else { return false }
            status.state = .inProgress
            status.isStarting = true
            return true
        }
        guard isFirst else { return self }
        delegate.startUnderlyingOperation(RequestCompletion(self))
        let wasCancelled = status.withLock { status in
            status.isStarting = false
            return status.wasCancelled
        }
        if wasCancelled { delegate.cancelUnderlyingOperation() }
        scheduleTick()
        return self
    }

    /// Completes the request as cancelled, unless it is completed; a later outcome is ignored.
    ///
    /// The origin may receive and perform the request nevertheless: after cancelling a write its effect is unknown.
    public func cancel() {
        let error = RequestError(cause: RequestCancelled(), timestamp: clock.now)
        guard let before = end(.failure(error), isCancelled: true) else { return }
        let isRunning = before.state == .inProgress && !before.isStarting
        if isRunning || before.state == .notStarted && delegate is any WrappingDelegate {
            delegate.cancelUnderlyingOperation()
        }
    }

    /// A new, unstarted request for the same operation: fields and mutators are applied afresh, decorators are not;
    /// it has no hooks and updates no resource. Sending a request that is not idempotent twice may do things twice.
    public func repeated() -> Request {
        if delegate is HardWiredDelegate { return self }
        return Request(delegate.repeated(), turns: turns, clock: clock)
    }

    // MARK: Hooks

    /// Calls `hook` when the request completes, however it does.
    @discardableResult
    public func onCompletion(_ hook: @escaping @Sendable (ResponseInfo) -> Void) -> Request {
        let info = status.withLock { status in
            if !status.isTold {
                status.hooks.append(hook)
                if status.hasPassedOn, status.info == nil { status.itself = self }
            }
            return status.isTold ? status.info : nil
        }
        if let info { turns.postLater { hook(info) } }
        return self
    }

    /// Calls `hook` when the request succeeds, with new or with confirmed data.
    @discardableResult
    public func onSuccess(_ hook: @escaping @Sendable (AnyEntity) -> Void) -> Request {
        onCompletion { if case .success(let entity) = $0.response { hook(entity) } }
    }

    /// Calls `hook` when the request succeeds with new data.
    @discardableResult
    public func onNewData(_ hook: @escaping @Sendable (AnyEntity) -> Void) -> Request {
        onCompletion { if case .success(let entity) = $0.response, $0.isNew { hook(entity) } }
    }

    /// Calls `hook` when the request confirms existing data.
    @discardableResult
    public func onNotModified(_ hook: @escaping @Sendable () -> Void) -> Request {
        onCompletion { if case .success = $0.response, !$0.isNew { hook() } }
    }

    /// Calls `hook` when the request fails or is cancelled.
    @discardableResult
    public func onFailure(_ hook: @escaping @Sendable (RequestError) -> Void) -> Request {
        onCompletion { if case .failure(let error) = $0.response { hook(error) } }
    }

    /// Calls `hook` with growing fractions while the request runs, at last with 1, before it completes.
    @discardableResult
    public func onProgress(_ hook: @escaping @Sendable (Double) -> Void) -> Request {
        let isCompleted = status.withLock { status in
            if status.info == nil {
                status.progressHooks.append(hook)
                if status.hasPassedOn { status.itself = self }
            }
            return status.info != nil
        }
        if isCompleted { turns.postLater { hook(1) } } else { scheduleTick() }
        return self
    }

    // MARK: Waiting

    /// Waits for the request to complete. By then hooks attached before have been called, and observers have had the
    /// events of the resource that the request belongs to, on their actors too.
    @discardableResult
    public func response() async -> ResponseInfo {
        let info = await outcome()
        await turns.delivered()
        return info
    }

    /// Waits as `response()` does, but not for calls on actors.
    package func outcome() async -> ResponseInfo {
        await withCheckedContinuation { continuation in
            onCompletion { continuation.resume(returning: $0) }
        }
    }

    /// Waits for the entity.
    public func entity() async throws(RequestError) -> AnyEntity { try await response().response.get() }

    /// The fractions reported to `onProgress`, ending after 1.
    public var progressUpdates: AsyncStream<Double> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            onProgress { continuation.yield($0) }
            onCompletion { _ in continuation.finish() }
        }
    }

    // MARK: Completing

    /// Accepts the first completion and calls the hooks; false for any other.
    @discardableResult
    func complete(_ info: ResponseInfo) -> Bool { end(info) != nil }

    /// The same; returns what was before.
    private func end(_ info: ResponseInfo, isCancelled: Bool = false) -> Status? {
        let done = status.withLock { status -> Status? in
            guard status.state != .completed else { return nil }
            let before = status
            status.state = .completed
            status.wasCancelled = isCancelled
            status.info = info
            status.progress = 1
            status.progressHooks = []
            status.tick = nil
            status.relays = []
            status.itself = nil
            return before
        }
        guard let done else { return nil }
        done.tick?.cancel()
        // One job that posts the rest, so that nothing of another thread gets between the hooks.
        turns.post { [turns] in
            for hook in done.progressHooks { turns.post { hook(1) } }
            let hooks = self.status.withLock { status in
                status.isTold = true
                defer { status.hooks = [] }
                return status.hooks
            }
            for hook in hooks { turns.post { hook(info) } }
            for relay in done.relays { turns.post { relay.end(info) } }
        }
        return done
    }

    // MARK: For chains

    var chainTurns: TurnQueue { turns }
    var chainClock: any ModelClock { clock }
    var hasPassedOn: Bool { status.withLock { $0.hasPassedOn } }

    /// Starts another request, and comes to what that one does.
    func pass(to next: Request) -> RequestRelay {
        let waiting = status.withLock { status in
            guard status.info == nil else { return [RequestRelay]() }
            status.hasPassedOn = true
            if status.isAwaited { status.itself = self }
            defer { status.relays = [] }
            return status.relays
        }
        let own = waiting.first ?? RequestRelay()
        own.append(self)
        let relays = waiting.isEmpty ? [own] : waiting
        for relay in relays { relay.wait(for: next) }
        next.inform(relays)
        own.start(next)
        return own
    }

    private func inform(_ relays: [RequestRelay]) {
        let info = status.withLock { status in
            if status.info == nil { status.relays += relays }
            return status.info
        }
        if let info { turns.postLater { for relay in relays { relay.end(info) } } }
    }

    /// How far it is right now, reported or not.
    var currentProgress: Double { state == .inProgress ? max(progress, delegate.computeProgress()) : progress }

    // MARK: Progress

    /// Looks at the progress after the reporting interval, while someone wants to know.
    private func scheduleTick() {
        let isDue = status.withLock { $0.state == .inProgress && !$0.progressHooks.isEmpty && $0.tick == nil }
        guard isDue else { return }
        let interval = max(delegate.progressReportingInterval, .milliseconds(1))
        let tick = clock.schedule(after: interval) { [weak self] in self?.reportProgress() }
        let isKept = status.withLock { status in
            guard status.state == .inProgress, status.tick == nil else { return false }
            status.tick = tick
            return true
        }
        if !isKept { tick.cancel() }
    }

    private func reportProgress() {
        let computed = delegate.computeProgress()
        let hooks = status.withLock { status -> [@Sendable (Double) -> Void] in
            status.tick = nil
            guard status.state == .inProgress, computed > status.progress else { return [] }
            status.progress = min(computed, 1)
            return status.progressHooks
        }
        if !hooks.isEmpty {
            turns.post {
                // Not behind the 1 of a request that has been completed meanwhile.
                guard self.state == .inProgress else { return }
                for hook in hooks { hook(min(computed, 1)) }
            }
        }
        scheduleTick()
    }
}

extension Request: CustomStringConvertible {
    public var description: String { "\(delegate.requestDescription) (\(state))" }
}
