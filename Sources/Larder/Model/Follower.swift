// SPDX-License-Identifier: Apache-2.0
import LarderIO
import Synchronization

/// Has the state of a Resource that a program looks at follow the memory that a daemon's clients are served from.
///
/// Called with the lock of that memory held, so that both change in one order. Observers are called later, on another
/// thread.
// @unchecked: protected by the memory's lock.
final class Follower: @unchecked Sendable {
    private weak var resource: Resource?
    /// The loads under way that clients began.
    private var loads: [(flight: Flight, load: LoadID)] = []

    init(_ resource: Resource) { self.resource = resource }

    /// A client's load begins, or is found to be under way.
    func began(_ flight: Flight, isFound: Bool = false) {
        guard flight.isSeenByPrograms, let resource else { return }
        let load = resource.follow { status in
            let (load, transition) = status.machine.loadStarted(isSilent: isFound)
            return (transition, load)
        }
        loads.append((flight, load))
    }

    /// A load ends otherwise than with a response that is kept in memory.
    func ended(_ flight: Flight, _ end: LoadEnd) {
        guard let load = remove(flight), let resource else { return }
        let known = flight.programs.load()
        switch end {
        case .cancelled: finish(load, .cancelled)
        case .failed(let failure):
            guard case .failure(let error) = known?.outcome else {
                return finish(load, .error(RequestError(cause: failure.error, timestamp: failure.at)))
            }
            finish(load, .error(error))
        case .notModified:
            resource.follow { status in
                let machine = status.machine
                var outcome = ResourceMachine.LoadOutcome.confirmedByCache
                if let data = machine.latestData.flatMap({ known?.confirmation?.freshened($0) }) {
                    outcome = .notModified(data, version: machine.dataVersion)
                }
                return (status.machine.loadFinished(load, outcome), ())
            }
        case .passed: finish(load, known)
        }
    }

    /// A response is in memory now: that of a load, or the state that a write left.
    func landed(_ flight: Flight?) {
        if let flight {
            guard let load = remove(flight) else { return }
            return finish(load, flight.programs.load())
        }
        guard let resource else { return }
        let load = resource.follow { status in
            let (load, transition) = status.machine.loadStarted(isSilent: true)
            return (transition, load)
        }
        lookUp(load)
    }

    /// Everything is out of date.
    ///
    /// - Parameter endingLoads: whether the loads under way are not for this state any more.
    func invalidated(endingLoads: Bool = false) {
        if endingLoads { endLoads() }
        resource?.follow { status in
            status.machine.invalidated()
            return (.init(), ())
        }
    }

    /// Everything is gone, and all loads are cancelled.
    func wiped() {
        loads = []
        guard let resource else { return }
        let cancelled = resource.follow { status -> (ResourceMachine.Transition, [Request]) in
            let cancelled = status.allRequests + status.loadRequests.map(\.request)
            (status.allRequests, status.loadRequests) = ([], [])
            let machine = status.machine
            let isBlank = machine.latestData == nil && machine.latestError == nil && machine.loads.isEmpty
            var transition = status.machine.wiped()
            if isBlank { transition.events = [] }
            return (transition, cancelled)
        }
        if !cancelled.isEmpty { resource.turns.postLater { for request in cancelled { request.cancel() } } }
    }

    /// There is other content in place of the origin's.
    func overridden(with entity: AnyEntity) {
        endLoads()
        resource?.follow { status in (status.machine.overridden(with: entity), ()) }
    }

    // MARK: Parts

    private func remove(_ flight: Flight) -> LoadID? {
        loads.firstIndex { $0.flight === flight }.map { loads.remove(at: $0).load }
    }

    private func endLoads() {
        for (_, load) in loads { finish(load, .cancelled) }
        loads = []
    }

    private func finish(_ load: LoadID, _ outcome: ResourceMachine.LoadOutcome) {
        resource?.follow { status in (status.machine.loadFinished(load, outcome), ()) }
    }

    private func finish(_ load: LoadID, _ known: ProgramLoad?) {
        switch known?.outcome {
        case .success(let entity): finish(load, .data(entity))
        case .failure(let error): finish(load, .error(error))
        case nil where known?.isForClientAlone == true: finish(load, .cancelled)
        case nil: lookUp(load)
        }
    }

    /// Ends a load with what memory has: it began before the program looked at the Resource.
    private func lookUp(_ load: LoadID) {
        guard let resource else { return }
        Task {
            let entity = await resource.registeredHost?.content(of: resource)
            resource.finish(load: load, entity.map { .data($0) } ?? .cancelled)
        }
    }
}

extension ResourceMemory {
    /// Whether a program looks at the Resource.
    package var isFollowed: Bool { followed.load(ordering: .acquiring) }

    /// Has `resource`, which this is the memory of, show what happens here from now on.
    func follow(by resource: Resource) {
        guard !isFollowed else { return }
        state.withLock { state in
            guard state.follower == nil else { return }
            let follower = Follower(resource)
            for flight in state.flights { follower.began(flight, isFound: true) }
            state.follower = follower
        }
        followed.store(true, ordering: .releasing)
    }

    /// Shows a load that is under way.
    func follow(_ flight: Flight) {
        state.withLock { state in
            if state.flights.contains(where: { $0 === flight }) { state.follower?.began(flight, isFound: true) }
        }
    }

    /// The stored content was declared out of date.
    package func noteInvalidation() { if isFollowed { state.withLock { $0.follower?.invalidated() } } }
}

extension Resource {
    /// Makes a transition because of a change in memory.
    @discardableResult
    func follow<Result>(_ body: (inout Status) -> (ResourceMachine.Transition, Result)) -> Result {
        let (events, isTold, result) = status.withLock { status in
            let (transition, result) = body(&status)
            return (transition.events, enqueue(transition.events, &status), result)
        }
        if !events.isEmpty {
            turns.postLater { [self] in
                for event in events { service.log(.stateChanges, "\(url): \(event)") }
                if isTold { deliver() }
            }
        }
        return result
    }

    /// The daemon that serves it, if one does.
    var registeredHost: (any ServiceHost)? { isRegistered ? service.host.withLock { $0 } : nil }

    /// Whether a daemon's clients are served from it.
    var isRegistered: Bool { !key.bytes.isEmpty }
}
