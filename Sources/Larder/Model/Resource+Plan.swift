// SPDX-License-Identifier: Apache-2.0
import LarderRules

extension Resource {
    /// Calls `body` with the plan for a plain request, while no other thread can use the state that it was made for.
    ///
    /// For a resource that a daemon serves, this is the plan for the daemon's clients, unless the program has had its
    /// own error that must be waited out. Elsewhere the program's own data and error decide.
    func withPlan<Result>(_ body: (ProgramState, ResourceMemory.State, Plan) -> Result) -> Result {
        let configuration = configuration
        // Each repetition is due to a change by another thread.
        while true {
            let snapshot = memory.snapshot
            let hosted = registeredHost?.plan(for: self, by: snapshot)
            let now = service.clock.now
            let result = memory.withProgram(of: self) { program, state -> Result? in
                memory.catchUp(&state)
                if hosted != nil, state.snapshot !== snapshot { return nil }
                let isWaiting = configuration.isWaiting(program.machine, at: now)
                let isHosted = hosted.map { $0.isUpToDate || !isWaiting } ?? false
                let own = isHosted ? nil : configuration.plan(for: program.machine, at: now)
                return (own ?? hosted).map { body(program, state, $0) }
            }
            if let result { return result }
        }
    }
}

extension ProgramState {
    /// True if the program has to load nothing: a daemon may have a response that the program has not seen.
    func isUpToDate(by plan: Plan) -> Bool {
        plan.isUpToDate && (machine.latestData != nil || machine.latestError != nil)
    }
}
