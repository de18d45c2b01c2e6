// SPDX-License-Identifier: Apache-2.0
import LarderIO
import Synchronization

/// Changes for a program that looks at the Resource, made together with those for clients: in one critical section, and
/// so in one order. Observers are called later, on another thread.
extension ResourceMemory {
    /// True if a program looks at the Resource.
    package var isFollowed: Bool { followed.load(ordering: .acquiring) }

    /// Calls `body` with what a program sees of `resource`, which this is the memory of.
    func withProgram<Result>(
        of resource: Resource, _ body: (ProgramState, inout State) throws -> Result
    ) rethrows -> Result {
        try state.withLock { state in
            if let program = state.program { return try body(program, &state) }
            let program = ProgramState(resource) { [weak self] in self?.state.withLock { _ in } }
            state.program = program
            for load in state.loads { programSees(load, isFound: true, &state) }
            followed.store(true, ordering: .releasing)
            return try body(program, &state)
        }
    }

    /// Shows a load that goes on without the program's request.
    func showAgain(_ load: ActiveLoad) {
        state.withLock { state in
            load.forPrograms.id = nil
            if state.loads.contains(load) {
                programSees(load, isFound: true, &state)
            }
        }
    }

    /// The Resource was declared out of date, and with it the responses that loads and reads of the store under way bring:
    /// they are for those who asked before (B-05). The last failure is not waited out: it was that of another state.
    ///
    /// - Parameter isForPrograms: whether a program that looks at the Resource is to know.
    package func noteInvalidation(isForPrograms: Bool = true) {
        state.withLock { state in
            state.invalidationGeneration += 1
            if state.snapshot.failure != nil { state.snapshot = state.snapshot.with(nil) }
            for load in state.loads { load.outdate() }
            if isForPrograms { invalidateForProgram(&state) }
        }
    }

    /// Has the loads under way bring nothing of a group: nobody who asks from now on joins them, and their responses
    /// are not stored if they are of it. Other responses are.
    package func noteInvalidation(ofGroup group: String) {
        state.withLock { state in for load in state.loads { load.outdate(group: group) } }
    }

    /// Has what is being read from the store count as old, if anything is.
    package func noteInvalidationOfReads() {
        state.withLock { state in if state.readers != nil { state.invalidationGeneration += 1 } }
    }

    /// Wipes everything for a program, whose observers are told even if there was nothing; the result is to be ended.
    func wipe(alongside body: () -> Void) -> ProgramState.Ended? {
        state.withLock { state in
            body()
            return empty(&state, storeIsEmpty: false, isInvalidation: false, isTold: true)
        }
    }

    // MARK: Transitions

    /// A load begins, or is found to be under way: a client's, or one that the program has asked for earlier.
    func programSees(_ load: ActiveLoad, isFound: Bool = false, _ state: inout State) {
        guard let program = state.program else { return }
        if !isFound, let id = load.seenByPrograms?.id { program.machine.loadAsks(id) }
        guard load.isNewToPrograms else { return }
        transit(&state) { program in
            let (id, transition) = program.machine.loadStarted(isSilent: isFound)
            load.forPrograms.id = id
            return transition
        }
    }

    /// A load ends otherwise than with a response that is kept in memory.
    func endForProgram(_ load: ActiveLoad, _ end: LoadEnd, _ state: inout State) {
        guard state.program != nil, let seen = load.seenByPrograms, let id = seen.takeID() else { return }
        switch end {
        case .cancelled: finish(id, .cancelled, &state)
        case .superseded: finish(id, .superseded, &state)
        case .failed(let failure):
            if seen.isForClientAlone { return finish(id, .cancelled, &state) }
            guard case .failure(let error) = seen.outcome else {
                return finish(id, .error(RequestError(cause: failure.error, timestamp: failure.at)), &state)
            }
            finish(id, .error(error), &state)
        case .notModified:
            // A 304 that nobody asked for is about no data here.
            if case .failure(let error) = seen.outcome { return finish(id, .error(error), &state) }
            if seen.isForClientAlone { return finish(id, .cancelled, &state) }
            transit(&state) { program in
                var outcome = ResourceMachine.LoadOutcome.confirmedByCache
                if let data = program.machine.latestData.flatMap({ seen.confirmation?.freshened($0) }) {
                    outcome = .notModified(data, version: program.machine.dataVersion)
                }
                return program.finish(id, outcome)
            }
        case .passed: finish(id, seen, &state)
        }
    }

    /// A response is in memory now: that of a load, or the state that a write left. A whole that came for a part, whose
    /// load programs have not seen, is looked up like that state.
    func landForProgram(_ load: ActiveLoad?, _ state: inout State) {
        guard let program = state.program else { return }
        guard let load, !load.asksForPart else {
            return lookUp(program.machine.loadStarted(isSilent: true).0, for: program)
        }
        guard let seen = load.seenByPrograms else { return }
        // A program's own load that it has cancelled, too late to keep clients from what came.
        let id = seen.takeID().flatMap { program.machine.isUnderWay($0) ? $0 : nil }
        finish(id ?? program.machine.loadStarted(isSilent: true).0, seen, isLanded: true, &state)
    }

    /// Everything is out of date.
    ///
    /// - Parameter ended: loads under way that are not for this state any more.
    func invalidateForProgram(ending ended: [ActiveLoad] = [], _ state: inout State) {
        cancelForProgram(ended, &state)
        state.program?.machine.invalidated()
    }

    /// There is other content in place of the origin's.
    func overrideForProgram(with entity: AnyEntity, ending ended: [ActiveLoad], _ state: inout State) {
        cancelForProgram(ended, &state)
        transit(&state) { $0.machine.overridden(with: entity) }
    }

    /// Everything is gone, and all loads are cancelled. The result is to be ended after the lock is released.
    ///
    /// - Parameter isTold: whether observers are told even if there was nothing.
    func wipeForProgram(isTold: Bool, _ state: inout State) -> ProgramState.Ended? {
        guard let program = state.program else { return nil }
        let told = change(&state) { program in
            let machine = program.machine
            let isBlank = machine.latestData == nil && machine.latestError == nil && machine.loads.isEmpty
            let transition = program.machine.wiped()
            return isBlank && !isTold ? .init() : transition
        }
        return program.takeRequests(told)
    }

    /// Reports how far a client's load is to the program's observers. A load of the program's own has a request that
    /// does so.
    func showProgress(of load: ActiveLoad, _ fraction: Double, _ state: State) {
        guard let program = state.program, !program.observers.isEmpty, let resource = program.resource,
            let seen = load.seenByPrograms, seen.id != nil, !seen.isOwn
        else { return }
        resource.turns.postLater { resource.reportProgress(fraction) }
    }

    // MARK: Parts

    /// Makes a transition, and has its events told later.
    private func transit(_ state: inout State, _ body: (ProgramState) -> ResourceMachine.Transition) {
        guard let told = change(&state, body) else { return }
        told.resource.turns.postLater { told.tell() }
    }

    /// Makes a transition; its events are to be told once the lock is released.
    private func change(
        _ state: inout State, _ body: (ProgramState) -> ResourceMachine.Transition
    ) -> ProgramState.Told? {
        guard let program = state.program else { return nil }
        let former = program.content
        let events = body(program).events
        let isTold = program.enqueue(events, &state.sequence)
        if former.0 != nil || former.1 != nil { program.release(former) }
        guard !events.isEmpty, let resource = program.resource else { return nil }
        return ProgramState.Told(resource: resource, events: events, isAwaited: isTold)
    }

    private func cancelForProgram(_ loads: [ActiveLoad], _ state: inout State) {
        for load in loads { endForProgram(load, .cancelled, &state) }
    }

    private func finish(_ load: LoadID, _ outcome: ResourceMachine.LoadOutcome, _ state: inout State) {
        transit(&state) { $0.finish(load, outcome) }
    }

    private func finish(_ load: LoadID, _ seen: ProgramLoad, isLanded: Bool = false, _ state: inout State) {
        switch seen.outcome {
        case .success(let entity): finish(load, .data(entity, isLanded: isLanded), &state)
        case .failure(let error): finish(load, .error(error), &state)
        case nil where seen.isForClientAlone: finish(load, .cancelled, &state)
        case nil: if let program = state.program { lookUp(load, seen, for: program) }
        }
    }

    /// Ends a load with what memory has: it began before the program looked at the Resource. Where that is nothing, its
    /// response was for its client alone.
    private func lookUp(_ load: LoadID, _ seen: ProgramLoad? = nil, for program: ProgramState) {
        guard let resource = program.resource else { return }
        Task {
            let snapshot = self.snapshot
            let entity = await resource.registeredHost?.content(of: resource)
            resource.perform { program, state in
                // The program has that already, as it was set.
                if state.snapshot.isOverridden { return program.finish(load, .superseded) }
                guard state.snapshot === snapshot else {
                    self.lookUp(load, seen, for: program)
                    return ResourceMachine.Transition()
                }
                guard let entity else {
                    seen?.isForClientAlone = true
                    return program.finish(load, .cancelled)
                }
                return program.finish(load, .data(entity, isLanded: true))
            }
        }
    }
}

extension Resource {
    /// The daemon that serves it, if one does.
    var registeredHost: (any ServiceHost)? { isRegistered ? service.host.withLock { $0 } : nil }

    /// True if a daemon's clients are served from it.
    var isRegistered: Bool { !key.bytes.isEmpty }
}
