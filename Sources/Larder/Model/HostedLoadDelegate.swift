// SPDX-License-Identifier: Apache-2.0
import LarderIO

/// A load of a resource that a daemon's clients are served from: one of the daemon's own, which mutators, decorators and
/// the pipeline apply to there.
final class HostedLoadDelegate: RequestDelegate {
    private struct Status {
        var running: (flight: Flight, reader: Int)?
        /// For what the daemon does not keep.
        var inner: Request?
        var isCancelled = false
    }

    private let resource: Resource
    private let host: any ServiceHost
    private let status = Lock(Status())
    private let estimate = Lock(ProgressEstimate(isGet: true))

    init(_ resource: Resource, _ host: any ServiceHost) {
        self.resource = resource
        self.host = host
    }

    var requestDescription: String { "load of \(resource.url)" }
    var progressReportingInterval: Duration { resource.configuration.progressReportingInterval }

    func startUnderlyingOperation(_ completion: RequestCompletion) {
        Task { await load(completion) }
    }

    private func load(_ completion: RequestCompletion) async {
        let (basis, epoch) = resource.conditionalBasis(isWanted: true)
        let outcome = await host.load(resource, validating: basis?.entity) { flight, reader in
            let isCancelled = self.status.withLock { status in
                status.running = (flight, reader)
                return status.isCancelled
            }
            if isCancelled { flight.interrupt(reader) }
        }
        status.withLock { $0.running = nil }
        guard let outcome else { return askAlone(completion) }
        var landing = Landing(resource: ObjectIdentifier(resource), method: .get, epoch: epoch, entries: [])
        var info: ResponseInfo
        switch outcome {
        case .response(let response): info = ResponseInfo(response)
        case .confirmed(let entity):
            info = ResponseInfo(.success(entity), isNew: false)
            landing.confirmedVersion = basis?.version
        case .superseded(let response):
            info = ResponseInfo(response)
            landing.isConfirmedByCache = true
        }
        landing.isInMemory = true
        info.landing = landing
        completion.complete(info)
    }

    private func askAlone(_ completion: RequestCompletion) {
        let inner = resource.makeRequest(.get, isConditional: true, isTracked: false)
        let isWanted = status.withLock { status in
            status.inner = inner
            return !status.isCancelled
        }
        guard isWanted else { return inner.cancel() }
        inner.onCompletion { completion.complete($0) }
        inner.start()
    }

    func cancelUnderlyingOperation() {
        let (running, inner) = status.withLock { status in
            status.isCancelled = true
            return (status.running, status.inner)
        }
        if let (flight, reader) = running { leave(flight, reader) }
        inner?.cancel()
    }

    /// Cancels the load, unless clients wait for it: then it goes on as theirs.
    private func leave(_ flight: Flight, _ reader: Int) {
        guard flight.interest > 1 else { return flight.cancel() }
        flight.forPrograms.isOwn = false
        resource.memory.follow(flight)
        flight.interrupt(reader)
    }

    func repeated() -> any RequestDelegate { HostedLoadDelegate(resource, host) }

    func computeProgress() -> Double {
        let (running, inner) = status.withLock { ($0.running, $0.inner) }
        if let inner { return inner.currentProgress }
        let seconds = Double(resource.service.clock.now.nanoseconds) / 1e9
        return estimate.withLock { $0.update(running?.flight.transferred ?? TransferProgress.Counters(), at: seconds) }
    }
}

/// A request that waits for a load which a daemon's client began.
final class ClientLoadDelegate: RequestDelegate {
    private let resource: Resource
    private let waiting = Lock<(@Sendable () -> Void)?>(nil)

    init(_ resource: Resource) { self.resource = resource }

    var requestDescription: String { "load of \(resource.url) by a client" }

    func startUnderlyingOperation(_ completion: RequestCompletion) {
        let isDone = Flag()
        let end = resource.observation { [self] event, state in
            guard event != .requested, event != .observerAdded || !state.isLoading, isDone.raise() else { return }
            stop()
            if let error = state.latestError {
                completion.complete(ResponseInfo(.failure(error)))
            } else if let data = state.latestData {
                completion.complete(ResponseInfo(.success(data), isNew: event != .notModified))
            } else {
                let now = resource.service.clock.now
                completion.complete(ResponseInfo(.failure(RequestError(cause: RequestCancelled(), timestamp: now))))
            }
        }
        waiting.withLock { $0 = end }
        // Either may have happened before.
        if isDone.isRaised || completion.willBeIgnored { stop() }
    }

    private func stop() {
        let end = waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }
        end?()
    }

    func cancelUnderlyingOperation() { stop() }

    func repeated() -> any RequestDelegate { ClientLoadDelegate(resource) }
}
