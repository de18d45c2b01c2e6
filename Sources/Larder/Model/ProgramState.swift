// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO

/// The part of a Resource's state that a program sees: data and error as the pipeline makes them, its requests, its
/// observers. It is made when a program first looks at the Resource: a daemon knows a great many that only clients use.
///
/// A part of `ResourceMemory.State`, used with its lock held.
final class ProgramState {
    struct Notice: Sendable {
        let update: ResourceUpdate
        /// nil for all observers.
        let only: ObserverList.ID?
    }

    /// The Resource it belongs to.
    private(set) weak var resource: Resource?
    private let url: ResourceURL
    var machine = ResourceMachine()
    var observers = ObserverList()
    /// Loads that have a request of the library behind them.
    var loadRequests: [(id: LoadID, request: Request, isReported: Bool)] = []
    var allRequests: [Request] = []
    /// Pending notifications of observers, in order.
    private var outbox: [Notice] = []
    var frozen: [Method: FrozenConfiguration] = [:]
    /// Called when the cache check that runs is over.
    var checkWaiters: [@Sendable () -> Void] = []
    /// Keeps the resource in existence while it is observed.
    var keepAlive: Resource?

    /// How many notices may wait for observers that take their time.
    private static let outboxLimit = 4_096

    /// Returns once the lock has been released that is held when it is passed on.
    private let released: @Sendable () -> Void

    /// - Parameter released: waits for the lock and lets it go again.
    init(_ resource: Resource, released: @escaping @Sendable () -> Void) {
        self.released = released
        self.resource = resource
        url = resource.url
    }

    /// True if a load is under way that clients of a daemon began, and that makes up for the last invalidation.
    var hasClientLoad: Bool {
        machine.loads.contains { load in
            !machine.isOutdated(load) && !loadRequests.contains { $0.id == load }
        }
    }

    /// Ends a load: removes its request from the loads.
    func finish(_ load: LoadID, _ outcome: ResourceMachine.LoadOutcome) -> ResourceMachine.Transition {
        loadRequests.removeAll { $0.id == load }
        return machine.loadFinished(load, outcome)
    }

    /// The content of the state, to be kept until after the lock where it may be replaced.
    var content: (AnyEntity?, RequestError?) { (machine.latestData, machine.latestError) }

    /// Lets go of configurations before this version, and of any for nil. Returns them, to be released after the lock.
    func forgetConfiguration(before version: UInt64?) -> [Method: FrozenConfiguration] {
        defer { frozen = version.map { version in frozen.filter { $0.value.version >= version } } ?? [:] }
        return frozen
    }

    /// The loads whose progress is not reported to the observers yet; from now on it is to be.
    func takeUnreported() -> [Request] {
        guard !observers.isEmpty else { return [] }
        var unreported: [Request] = []
        for index in loadRequests.indices where !loadRequests[index].isReported {
            loadRequests[index].isReported = true
            let request = loadRequests[index].request
            if loadRequests.count(where: { $0.request === request && $0.isReported }) == 1 {
                unreported.append(request)
            }
        }
        return unreported
    }

    func snapshot(_ sequence: UInt64) -> ResourceState {
        ResourceState(
            url: url, sequence: sequence, latestData: machine.latestData, latestError: machine.latestError,
            isLoading: machine.isLoading)
    }

    /// Numbers events and queues them for the current observers; false without any.
    func enqueue(_ events: [ResourceEvent], _ sequence: inout UInt64) -> Bool {
        for event in events {
            sequence += 1
            guard !observers.isEmpty else { continue }
            append(Notice(update: ResourceUpdate(event: event, state: snapshot(sequence)), only: nil))
        }
        return !events.isEmpty && !observers.isEmpty
    }

    /// Queues a notification. When the queue is too long, its older half is dropped: each contains the whole state, so
    /// observers end on the right one.
    func append(_ notice: Notice) {
        if outbox.count >= ProgramState.outboxLimit {
            let late = outbox.prefix(outbox.count / 2)
            release(Array(late))
            outbox.removeFirst(late.count)
            // Observers are owed the event that begins their observation.
            outbox.insert(contentsOf: late.filter { $0.only != nil }, at: 0)
        }
        outbox.append(notice)
    }

    func nextNotice() -> Notice? { outbox.isEmpty ? nil : outbox.removeFirst() }

    /// Lets go of what may be the last reference to content: not here, where the lock is held, as the program's
    /// deinitializers run then.
    func release(_ value: some Sendable) {
        Task { [released] in
            released()
            withExtendedLifetime(value) {}
        }
    }

    /// Takes the requests, and those who wait for caches: they end with what they are about.
    ///
    /// - Parameter told: what observers learn after that.
    func takeRequests(_ told: Told?) -> Ended? {
        guard told != nil || !allRequests.isEmpty || !loadRequests.isEmpty || !checkWaiters.isEmpty else { return nil }
        defer { (allRequests, loadRequests, checkWaiters) = ([], [], []) }
        return Ended(requests: allRequests + loadRequests.map(\.request), waiters: checkWaiters, told: told)
    }

    /// Events that have been queued, and are to be told.
    struct Told: Sendable {
        let resource: Resource
        let events: [ResourceEvent]
        /// True if there are observers.
        let isAwaited: Bool

        /// Runs as a turn.
        func tell() {
            resource.log(events)
            if isAwaited { resource.deliver() }
        }
    }

    /// The requests and waiting callers that a wipe ends, once the lock is released, and the wipe's own events: a request
    /// tells its progress before the observers learn that it is over.
    struct Ended: Sendable {
        fileprivate let requests: [Request]
        fileprivate let waiters: [@Sendable () -> Void]
        fileprivate let told: Told?

        func end() {
            for request in requests { request.cancel() }
            for waiter in waiters { waiter() }
            if let told { told.resource.turns.post { told.tell() } }
        }
    }
}

extension Resource {
    /// Calls `body` with what a program sees, while no other thread can use any of the Resource's state. From then on a
    /// program looks at it.
    func withProgram<Result>(_ body: (ProgramState) throws -> Result) rethrows -> Result {
        try memory.withProgram(of: self) { program, _ in try body(program) }
    }

    /// Calls `body` with what a program sees; nil if none has looked yet.
    func readProgram<Result>(_ body: (ProgramState?) -> Result) -> Result {
        guard memory.isFollowed else { return body(nil) }
        return memory.state.withLock { body($0.program) }
    }

    /// Makes a transition and tells its events; returns the remaining action.
    @discardableResult
    func perform(
        _ body: (ProgramState, inout ResourceMemory.State) -> ResourceMachine.Transition
    ) -> ResourceMachine.Action? {
        let (transition, isTold, _) = memory.withProgram(of: self) { program, state in
            let former = program.content
            let transition = body(program, &state)
            return (transition, program.enqueue(transition.events, &state.sequence), former)
        }
        log(transition.events)
        if transition.action == .removeStored {
            for entry in cacheEntries() { service.cacheWork.remove(entry, log: service.log) }
        }
        if isTold { turns.post { self.deliver() } }
        return transition.action
    }

    func log(_ events: [ResourceEvent]) {
        for event in events { service.log(.stateChanges, "\(url): \(event)") }
    }
}
