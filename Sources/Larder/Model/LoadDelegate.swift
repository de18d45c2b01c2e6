// SPDX-License-Identifier: Apache-2.0
import LarderIO

/// The request returned by `loadIfNeeded`: waits for caches being read, and asks the origin if they contain nothing
/// fresh.
final class LoadDelegate: WaitingDelegate {
    private struct Status {
        var id: LoadID?
        var inner: Request?
        var isCancelled = false
    }

    private let resource: Resource
    private let status = Lock(Status())
    private let work = DecoratorsWork()

    init(_ resource: Resource) { self.resource = resource }

    /// The load's name, given when it has been decided that there is to be one.
    var id: LoadID? {
        get { status.withLock { $0.id } }
        set { status.withLock { $0.id = newValue } }
    }

    var requestDescription: String { "load of \(resource.url) if needed" }
    var progressReportingInterval: Duration { resource.configuration.progressReportingInterval }

    func startUnderlyingOperation(_ completion: RequestCompletion) {
        // The check may also have ended between the decision to load and this.
        resource.afterCacheCheck {
            if let confirmed = self.resource.confirmation() {
                completion.complete(confirmed)
            } else {
                self.work.resume { self.askOrigin(completion) }
            }
        }
    }

    private func askOrigin(_ completion: RequestCompletion) {
        guard !completion.willBeIgnored else { return }
        if let id {
            resource.perform { program, _ in
                program.machine.loadAsks(id)
                return program.machine.loadAnnounced(id)
            }
        }
        let inner = resource.makeLoad(as: id, isTracked: false, onlyIfNeeded: true)
        let isWanted = status.withLock { status in
            guard !status.isCancelled else { return false }
            status.inner = inner
            return true
        }
        guard isWanted else { return inner.cancel() }
        inner.onCompletion { completion.complete($0) }
        resource.startLoad(inner)
    }

    var awaited: [Request] { [status.withLock { $0.inner }].compactMap(\.self) }

    func cancelUnderlyingOperation() {
        let inner = status.withLock { status in
            status.isCancelled = true
            return status.inner
        }
        inner?.cancel()
    }

    func repeated() -> any RequestDelegate { resource.loadWithoutEffect }

    func computeProgress() -> Double { status.withLock { $0.inner }?.currentProgress ?? 0 }
}
