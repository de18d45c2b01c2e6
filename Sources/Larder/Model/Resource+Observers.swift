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

    /// Adds an observer that is retained and notified as long as `owner` exists and is not removed. Adding an equal
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
        remove { $0.removeOwner(owner) }
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

    // MARK: Parts

    @discardableResult
    private func add(_ observer: any ResourceObserver, owner: ObserverList.Owner?) -> ObserverList.ID? {
        checkCaches()
        let identity = observer.observerIdentity
        let (added, loads) = memory.withProgram(of: self) { program, state -> (ObserverList.Added, [Request]) in
            let added = program.observers.add(observer, as: identity, owner: owner, since: state.sequence)
            updateKeepAlive(program)
            guard let id = added.id else { return (added, []) }
            let update = ResourceUpdate(event: .observerAdded, state: program.snapshot(state.sequence))
            program.append(ProgramState.Notice(update: update, only: id))
            return (added, program.takeUnreported())
        }
        guard let id = added.id else { return nil }
        service.log(.observers, "\(url): observer added")
        report(loads)
        turns.post { self.deliver() }
        return id
    }

    private func removeObserver(_ id: ObserverList.ID) {
        let stopped = withProgram { program in
            let stopped = program.observers.remove(id)
            updateKeepAlive(program)
            return stopped
        }
        if let stopped { end([stopped]) }
    }

    /// Removes observers whose owners are gone.
    func removeOrphans() {
        let gone = readProgram { $0?.observers.owners ?? [] }.filter { !$0.isAlive }
        guard !gone.isEmpty else { return }
        remove { $0.remove(gone) }
    }

    private func remove(_ body: (inout ObserverList) -> ObserverList.Removed) {
        let removed = withProgram { program in
            defer { updateKeepAlive(program) }
            return body(&program.observers)
        }
        end(removed.observers)
    }

    private func updateKeepAlive(_ program: ProgramState) {
        program.keepAlive = program.observers.isEmpty ? nil : self
    }

    /// Ends observations; tells the observers that still exist.
    private func end(_ removed: [ObserverList.Held]) {
        for held in removed { held.end() }
        if !removed.isEmpty, isRegistered, !memory.hasInterest { memory.reconsiderLoads() }
        let count = removed.count { $0.observer != nil }
        guard count > 0 else { return }
        service.log(.observers, "\(url): \(count) stopped observing")
        turns.post { for held in removed { held.observer?.stoppedObserving(self) } }
    }

    /// Delivers pending notifications to the observers. Runs as a turn, so one at a time.
    func deliver() {
        while let notice = withProgram({ $0.nextNotice() }) {
            if let only = notice.only {
                tell(notice, withProgram { $0.observers[only] })
            } else {
                removeOrphans()
                for entry in withProgram({ $0.observers.all }) where entry.since < notice.update.state.sequence {
                    // One that those before it have not removed meanwhile.
                    tell(notice, withProgram { $0.observers[entry.id] })
                }
            }
        }
    }

    private func tell(_ notice: ProgramState.Notice, _ entry: ObserverList.Entry?) {
        entry?.observer.observer?.resourceChanged(self, notice.update.event, notice.update.state)
    }

    /// Tells the observers how far a load is. Runs as a turn.
    func reportProgress(_ progress: Double) {
        for entry in withProgram({ $0.observers.all }) {
            let current = withProgram { $0.observers[entry.id] }
            current?.observer.observer?.resourceRequestProgress(for: self, progress: progress)
        }
    }
}

/// Ends an observation when it goes out of scope.
public struct ObservationToken: ~Copyable, Sendable {
    private let onEnd: @Sendable () -> Void

    init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

    deinit { onEnd() }
}
