// SPDX-License-Identifier: Apache-2.0
import LarderIO

/// A load of a resource that a daemon's clients are served from: one of the daemon's own, which mutators, decorators and
/// the pipeline apply to there.
final class HostedLoadDelegate: WaitingDelegate {
    private struct Status {
        var id: LoadID?
        var running: (load: ActiveLoad, reader: Int)?
        /// For what the daemon does not keep.
        var inner: Request?
        var isCancelled = false
    }

    private let resource: Resource
    private let host: any ServiceHost
    private let onlyIfNeeded: Bool
    private let status = Lock(Status())
    private let estimate = Lock(ProgressEstimate(isGet: true))
    private let work = DecoratorsWork()

    init(_ resource: Resource, _ host: any ServiceHost, onlyIfNeeded: Bool) {
        self.resource = resource
        self.host = host
        self.onlyIfNeeded = onlyIfNeeded
    }

    /// Names the load in the state of the Resource that adopts it, before it starts. The load's outcome then reaches
    /// the state like the outcome of a client's load.
    func setID(_ id: LoadID?, of adopter: Resource) {
        if adopter === resource { status.withLock { $0.id = $0.id ?? id } }
    }

    var requestDescription: String { "load of \(resource.url)" }
    var progressReportingInterval: Duration { resource.configuration.progressReportingInterval }

    func startUnderlyingOperation(_ completion: RequestCompletion) {
        Task { await load(completion) }
    }

    private func load(_ completion: RequestCompletion) async {
        let info = await host.load(
            resource, as: status.withLock { $0.id }, within: work, onlyIfNeeded: onlyIfNeeded,
            validating: resource.conditionalBasis(isWanted: true).0?.entity
        ) { load, reader in
            let isCancelled = self.status.withLock { status in
                status.running = (load, reader)
                return status.isCancelled
            }
            if isCancelled { self.leave(load, reader) }
        }
        status.withLock { $0.running = nil }
        if let info { completion.complete(info) } else { askAlone(completion) }
    }

    private func askAlone(_ completion: RequestCompletion) {
        let inner = work.resume { resource.makeRequest(.get, isConditional: true, isTracked: false) }
        let isWanted = status.withLock { status in
            status.inner = inner
            return !status.isCancelled
        }
        guard isWanted else { return inner.cancel() }
        inner.onCompletion { completion.complete($0) }
        work.resume { _ = resource.startLoad(inner) }
    }

    var awaited: [Request] { resource.decoratedRequests + [status.withLock { $0.inner }].compactMap(\.self) }

    func cancelUnderlyingOperation() {
        let (running, inner) = status.withLock { status in
            status.isCancelled = true
            return (status.running, status.inner)
        }
        if let (load, reader) = running { leave(load, reader) }
        inner?.cancel()
    }

    /// Cancels the load, unless clients wait for it: then it goes on as theirs.
    private func leave(_ load: ActiveLoad, _ reader: Int) {
        if load.cancelIfLast(reader) { return }
        load.forPrograms.isOwn = false
        resource.memory.showAgain(load)
        load.shared?.interrupt(reader)
    }

    func repeated() -> any RequestDelegate { resource.loadWithoutEffect }

    func computeProgress() -> Double {
        let (running, inner) = status.withLock { ($0.running, $0.inner) }
        if let inner { return inner.currentProgress }
        let seconds = Double(resource.service.clock.now.nanoseconds) / 1e9
        return estimate.withLock {
            $0.update(running?.load.transferred ?? TransferProgress.Counters(), at: seconds)
        }
    }
}

/// A request that waits for a load which a daemon's client began.
final class ClientLoadDelegate: WaitingDelegate {
    /// A closure by itself as the state of a lock would be wrapped once more with each use.
    private struct Waiting {
        /// Ends the waiting: for the client's load, or for the program's own.
        var end: (@Sendable () -> Void)?
    }

    private let resource: Resource
    private let waiting = Lock(Waiting())

    init(_ resource: Resource) { self.resource = resource }

    var requestDescription: String { "load of \(resource.url) by a client" }

    func startUnderlyingOperation(_ completion: RequestCompletion) {
        let isDone = Flag()
        let loads = resource.memory.loads
        let end = resource.observation { [self] event, state in
            // Data that is read from a cache meanwhile is not waited for.
            let isOfAnother = [.observerAdded, .requestCancelled, .newData(.cache)].contains(event) && state.isLoading
            guard event != .requested, !isOfAnother, isDone.raise() else { return }
            stop()
            let isForClientAlone = loads.contains { $0.seenByPrograms?.isForClientAlone == true }
            if event == .requestCancelled, isForClientAlone, let own = resource.loadIfNeeded() {
                waiting.withLock { $0.end = { own.cancel() } }
                own.onCompletion { completion.complete($0) }
                if completion.willBeIgnored { stop() }
            } else if event == .requestCancelled, !isForClientAlone {
                completion.complete(cancelled)
            } else if let error = state.latestError {
                completion.complete(ResponseInfo(.failure(error)))
            } else if let data = state.latestData {
                completion.complete(ResponseInfo(.success(data), isNew: event != .notModified))
            } else {
                completion.complete(cancelled)
            }
        }
        // Either may have happened before.
        let isOver = waiting.withLock { waiting in
            if isDone.isRaised { return true }
            waiting.end = end
            return false
        }
        if isOver { end() } else if completion.willBeIgnored { stop() }
    }

    private var cancelled: ResponseInfo {
        ResponseInfo(.failure(RequestError(cause: RequestCancelled(), timestamp: resource.service.clock.now)))
    }

    private func stop() {
        let end = waiting.withLock { waiting in
            defer { waiting.end = nil }
            return waiting.end
        }
        end?()
    }

    var awaited: [Request] { resource.decoratedRequests }

    func cancelUnderlyingOperation() { stop() }

    func repeated() -> any RequestDelegate { resource.loadWithoutEffect }
}

extension Resource {
    /// The requests that the loads under way wait for.
    fileprivate var decoratedRequests: [Request] { memory.loads.compactMap { $0.seenByPrograms?.decorated } }

    /// A request that repeats a load: it changes nothing here, and is not decorated.
    var loadWithoutEffect: any RequestDelegate {
        guard let target = url.target else { return HardWiredDelegate() }
        return NetworkRequestDelegate(
            self, target: target, method: .get, body: .none, isConditional: true, attempt: 2, mutation: { _ in })
    }
}
