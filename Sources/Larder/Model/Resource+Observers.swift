// SPDX-License-Identifier: Apache-2.0
import LarderIO

extension Resource {
    // MARK: Observers with owners

    /// Adds an observer that is its own owner: it is referenced weakly and notified as long as it exists. Adding it
    /// again changes nothing.
    @discardableResult
    public func addObserver(_ observer: some ResourceObserver & AnyObject) -> Resource {
        add(observer, owner: ObserverList.owner(observer))
        return self
    }

    /// Adds an observer that is retained and notified as long as `owner` exists and is not removed. Adding the same
    /// observer again adds an owner.
    @discardableResult
    public func addObserver(_ observer: some ResourceObserver, owner: AnyObject) -> Resource {
        add(observer, owner: ObserverList.owner(owner))
        return self
    }

    /// Calls `body` with what happens, as long as `owner` exists and is not removed.
    @discardableResult
    public func addObserver(
        owner: AnyObject, _ body: @escaping @Sendable (Resource, ResourceEvent) -> Void
    ) -> Resource {
        add(ClosureObserver { resource, event, _ in body(resource, event) }, owner: ObserverList.owner(owner))
        return self
    }

    /// Removes `owner` from all observers of this resource; those without another owner are no longer notified.
    public func removeObservers(ownedBy owner: AnyObject?) {
        guard let owner else { return }
        let stopped = status.withLock { status in
            let stopped = status.observers.removeOwner(owner)
            updateKeepAlive(&status)
            return stopped
        }
        tellStopped(stopped)
    }

    // MARK: Observers with a token

    /// Calls `body` with what happens and the state it left, until the token goes out of scope.
    public func observe(
        _ body: @escaping @Sendable (ResourceState, ResourceEvent) -> Void
    ) -> ObservationToken {
        let id = add(ClosureObserver { _, event, state in body(state, event) }, owner: nil)
        return ObservationToken { [weak self] in if let self, let id { self.removeObserver(id) } }
    }

    /// Calls `body` with each event until the returned function is called.
    func observation(_ body: @escaping @Sendable (ResourceEvent, ResourceState) -> Void) -> @Sendable () -> Void {
        let id = add(ClosureObserver { _, event, state in body(event, state) }, owner: nil)
        return { [weak self] in if let self, let id { self.removeObserver(id) } }
    }

    // MARK: Observers that iterate

    /// All events from now on, beginning with `observerAdded`; ends when the iterating task does.
    ///
    /// Each update contains the whole state. Of more than 256 unread updates the oldest are dropped: the last one is
    /// never missing.
    public func events() -> AsyncStream<ResourceUpdate> {
        AsyncStream(bufferingPolicy: .bufferingNewest(256)) { continuation in
            let observer = ClosureObserver { _, event, state in
                continuation.yield(ResourceUpdate(event: event, state: state))
            }
            let id = add(observer, owner: nil)
            continuation.onTermination = { [weak self] _ in if let self, let id { self.removeObserver(id) } }
        }
    }

    // MARK: For the daemon

    /// How many clients wait for a load without observing; while any does, loads are not given up.
    package func addInterest() { status.withLock { $0.interest += 1 } }

    package func removeInterest() { status.withLock { $0.interest -= 1 } }

    /// Whether there are observers or waiting callers.
    package var hasInterest: Bool { status.read { !$0.observers.isEmpty || $0.interest > 0 } }

    // MARK: Parts

    @discardableResult
    private func add(_ observer: any ResourceObserver, owner: ObserverList.Owner?) -> ObserverList.ID? {
        checkCaches()
        let (id, loads) = status.withLock { status -> (ObserverList.ID?, [Request]) in
            let isFirst = status.observers.isEmpty
            let id = status.observers.add(observer, owner: owner, since: status.sequence)
            updateKeepAlive(&status)
            guard let id else { return (nil, []) }
            let update = ResourceUpdate(event: .observerAdded, state: snapshot(status))
            status.append(Notice(update: update, only: id))
            return (id, isFirst ? status.loadRequests.map(\.request) : [])
        }
        guard let id else { return nil }
        service.log(.observers, "\(url): observer added")
        for load in loads { load.onProgress { self.reportProgress($0) } }
        turns.post { self.deliver() }
        return id
    }

    private func removeObserver(_ id: ObserverList.ID) {
        let stopped = status.withLock { status in
            let stopped = status.observers.remove(id)
            updateKeepAlive(&status)
            return stopped
        }
        if let stopped { tellStopped([stopped]) }
    }

    /// Removes observers whose owners are gone.
    func removeOrphans() {
        guard status.read({ $0.observers.hasOrphans }) else { return }
        let stopped = status.withLock { status in
            let stopped = status.observers.removeOrphans()
            updateKeepAlive(&status)
            return stopped
        }
        tellStopped(stopped)
    }

    private func updateKeepAlive(_ status: inout Status) { status.keepAlive = status.observers.isEmpty ? nil : self }

    private func tellStopped(_ observers: [any ResourceObserver]) {
        guard !observers.isEmpty else { return }
        if isRegistered, !hasInterest { memory.reconsiderLoads() }
        service.log(.observers, "\(url): \(observers.count) stopped observing")
        turns.post { for observer in observers { observer.stoppedObserving(self) } }
    }

    /// Delivers pending notifications to the observers. Runs as a turn, so one at a time.
    func deliver() {
        while let notice = status.withLock({ $0.outbox.isEmpty ? nil : $0.outbox.removeFirst() }) {
            if let only = notice.only {
                tell(notice, status.withLock { $0.observers[only] })
            } else {
                removeOrphans()
                for entry in status.withLock({ $0.observers.all }) where entry.since < notice.update.state.sequence {
                    tell(notice, entry)
                }
            }
        }
    }

    private func tell(_ notice: Notice, _ entry: ObserverList.Entry?) {
        entry?.observer.observer?.resourceChanged(self, notice.update.event, notice.update.state)
    }

    /// Tells the observers how far a load is. Runs as a turn.
    func reportProgress(_ progress: Double) {
        for entry in status.withLock({ $0.observers.all }) {
            entry.observer.observer?.resourceRequestProgress(for: self, progress: progress)
        }
    }
}

/// Ends an observation when it goes out of scope.
public struct ObservationToken: ~Copyable, Sendable {
    private let onEnd: @Sendable () -> Void

    init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

    deinit { onEnd() }
}
