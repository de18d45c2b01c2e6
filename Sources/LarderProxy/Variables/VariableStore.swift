// SPDX-License-Identifier: Apache-2.0

import Larder
package import LarderHTTP
import LarderIO
package import LarderSettings

/// The variables of a configuration and their current values.
///
/// It outlives reloads. A value set at run time stays until its source changes, or it is set again; it does not outlive
/// the process.
package final class VariableStore: Sendable {
    private struct Variable {
        var settings: VariableSettings
        var value: Secret?
        /// The last value that was not got by a refresh.
        var given: Secret?
        /// The owner of `value`, where a refresh got it.
        var owner: [UInt8]?
        /// When a refresh got it.
        var renewedAt: Timestamp?
        /// The number of its value among the values of all variables.
        var generation: UInt64
        var changedAt: Timestamp?
    }

    /// Variables that are renewed together, and for whom.
    private struct Group: Hashable {
        let names: [String]
        let owner: [UInt8]
    }

    private struct State {
        var variables: [String: Variable] = [:]
        /// The refreshes that give variables new values.
        var renewals: [Renewal] = []
        /// The number of values that all variables have had. A variable that was absent does not begin at 1 again.
        var generation: UInt64 = 0
        var gates: [Group: RefreshGate] = [:]
        var apply: (@Sendable ([String]) async -> Void)?
        /// How many changes no configuration has yet, and the callers that wait for that.
        var pending = 0
        var waiting: [UnsafeContinuation<Void, Never>] = []
    }

    private let state = Lock(State())

    package init() {}

    /// The public state of a variable: everything but its value.
    package struct Report: Sendable {
        package var name: String
        package var source: String
        package var isSet: Bool
        package var changedAt: Timestamp?
        package var onChange: [VariableReaction]
    }

    package var reports: [Report] {
        state.withLock { state in
            state.variables.values.map {
                Report(
                    name: $0.settings.name, source: $0.settings.source, isSet: $0.value != nil,
                    changedAt: $0.changedAt, onChange: $0.settings.onChange)
            }
        }.sorted { $0.name < $1.name }
    }

    package var values: VariableValues { state.withLock { values($0) } }

    private func values(_ state: State) -> VariableValues {
        VariableValues(
            state.variables.compactMapValues { variable in
                variable.value.map {
                    VariableValues.Value(
                        $0.reveal(), given: variable.given?.reveal(), generation: variable.generation,
                        isWiping: variable.settings.onChange.contains(.wipeAll))
                }
            }
        ).renewed(by: state.renewals)
    }

    package func isDeclared(_ name: String) -> Bool { state.withLock { $0.variables[name] != nil } }

    // MARK: Changing

    /// Adopts the declarations of a configuration; `applied` must follow.
    ///
    /// - Parameter renewals: the refreshes of its services.
    package func declare(_ settings: [VariableSettings], renewals: [Renewal] = [], at now: Timestamp) {
        state.withLock { state in
            var variables: [String: Variable] = [:]
            for setting in settings {
                guard var known = state.variables[setting.name] else {
                    variables[setting.name] = Variable(
                        settings: setting, value: setting.initial, given: setting.initial,
                        generation: VariableStore.nextGeneration(&state))
                    continue
                }
                let former = known.settings.initial?.reveal()
                known.settings = setting
                if former != setting.initial?.reveal() {
                    VariableStore.adopt(setting.initial, in: &known, insteadOf: former, at: now, &state)
                }
                variables[setting.name] = known
            }
            state.variables = variables
            state.renewals = renewals
            state.pending += 1
            VariableStore.withdrawLost(by: values(state), at: now, &state)
        }
    }

    /// A configuration with the values of the last `declare`, `set` or `renew` is in force.
    package func applied() {
        let waiting = state.withLock { state in
            state.pending -= 1
            defer { if state.pending == 0 { state.waiting = [] } }
            return state.pending == 0 ? state.waiting : []
        }
        for continuation in waiting { continuation.resume() }
    }

    /// The number of callers that wait for changes to be in force.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Returns when the changes made so far are in force.
    func changesApply() async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let isPending = state.withLock { state in
                if state.pending > 0 { state.waiting.append(continuation) }
                return state.pending > 0
            }
            if !isPending { continuation.resume() }
        }
    }

    /// Has every loop use the changed values of these variables.
    private func apply(_ names: [String], by apply: (@Sendable ([String]) async -> Void)?) async {
        await apply?(names)
        applied()
    }

    /// The source has another value, or the variable no source any more: what was set by hand stays then.
    private static func adopt(
        _ initial: Secret?, in variable: inout Variable, insteadOf former: String?, at now: Timestamp,
        _ state: inout State
    ) {
        guard initial != nil || variable.given?.reveal() == former else { return }
        variable.given = initial
        if variable.value?.reveal() == initial?.reveal() {
            (variable.owner, variable.renewedAt) = (nil, nil)
        } else {
            assign(initial, to: &variable, at: now, &state)
        }
    }

    /// Gives a variable another value, which no refresh got.
    private static func assign(
        _ value: Secret?, to variable: inout Variable, at now: Timestamp, _ state: inout State
    ) {
        variable.value = value
        (variable.owner, variable.renewedAt) = (nil, nil)
        variable.generation = nextGeneration(&state)
        variable.changedAt = now
    }

    private static func nextGeneration(_ state: inout State) -> UInt64 {
        state.generation += 1
        return state.generation
    }

    /// Restores the last given value of each variable whose renewed value now belongs to another owner: its refresh is
    /// gone, or the refresh depended, directly or through other refreshes, on given values that have changed.
    ///
    /// - Parameter values: the current values; only the given values in them count.
    private static func withdrawLost(by values: VariableValues, at now: Timestamp, _ state: inout State) {
        for (name, variable) in state.variables {
            guard let owner = variable.owner, owner != values.owner(of: [name]) else { continue }
            var variable = variable
            assign(variable.given, to: &variable, at: now, &state)
            state.variables[name] = variable
        }
    }

    private static func change(
        _ variable: inout Variable, to value: Secret, at now: Timestamp, _ state: inout State
    ) -> Bool {
        guard variable.value?.reveal() != value.reveal() else { return false }
        assign(value, to: &variable, at: now, &state)
        return true
    }

    /// Changes declared variables, and returns the names of the changed variables. Undeclared variables are ignored.
    ///
    /// - Parameter owner: the owner of each value, if a refresh got the values; nil if they were set explicitly.
    private static func change(
        _ values: [(name: String, value: Secret)], ownedBy owner: ((String) -> [UInt8])?, at now: Timestamp,
        _ state: inout State
    ) -> [String] {
        var changed: [String] = []
        for (name, value) in values {
            guard var variable = state.variables[name] else { continue }
            var isChanged = change(&variable, to: value, at: now, &state)
            variable.owner = owner?(name)
            variable.renewedAt = owner == nil ? nil : now
            if owner == nil {
                // It may be the value that a refresh got.
                if variable.given?.reveal() != value.reveal() { isChanged = true }
                variable.given = value
            }
            state.variables[name] = variable
            if isChanged { changed.append(name) }
        }
        return changed
    }

    /// Sets variables, and returns the names of the changed variables once every loop uses the new values. Undeclared
    /// variables are ignored.
    @discardableResult
    package func set(_ values: [(name: String, value: Secret)], at now: Timestamp) async -> [String] {
        let (changed, others, apply) = state.withLock { state in
            let before = self.values(state)
            let changed = VariableStore.change(values, ownedBy: nil, at: now, &state)
            let after = self.values(state)
            VariableStore.withdrawLost(by: after, at: now, &state)
            if !changed.isEmpty { state.pending += 1 }
            return (changed, after.renewedNames.filter { !before.haveSameOwner(of: [$0], as: after) }, state.apply)
        }
        // Services that use variables renewed for another user now have another user.
        if !changed.isEmpty { await self.apply(changed + others.subtracting(changed), by: apply) }
        return changed
    }

    /// Sets values that a refresh got with the values of `old`. Returns false, and sets no value, if their owner or one
    /// of them has changed since: an operator has the last word.
    func renew(
        _ values: [(name: String, value: Secret)], asOf old: VariableValues, at now: Timestamp
    ) async -> Bool {
        let (changed, apply) = state.withLock { state -> ([String]?, (@Sendable ([String]) async -> Void)?) in
            let current = self.values(state)
            let names = values.map(\.name)
            guard current.generation(of: names) == old.generation(of: names),
                current.haveSameOwner(of: names, as: old)
            else { return (nil, nil) }
            let changed = VariableStore.change(values, ownedBy: { current.owner(of: [$0]) }, at: now, &state)
            if !changed.isEmpty { state.pending += 1 }
            return (changed, state.apply)
        }
        guard let changed else { return false }
        if !changed.isEmpty { await self.apply(changed, by: apply) }
        return true
    }

    /// True if a refresh, of whichever service, has set one of these a moment ago.
    func wereRenewedLately(_ names: [String], at now: Timestamp) -> Bool {
        state.withLock { state in
            names.contains { name in
                RefreshPause.covers(state.variables[name]?.renewedAt, at: now)
            }
        }
    }

    /// Sets the function that applies changed values.
    package func onChange(_ apply: @escaping @Sendable ([String]) async -> Void) {
        state.withLock { $0.apply = apply }
    }

    /// The gate that runs one refresh at a time for variables that are renewed together, in all services. Each user has
    /// a separate gate: a refresh that fails or takes long for one user does not concern other users.
    ///
    /// - Parameter values: the values of the user who needs the gate.
    func gate(for names: [String], of values: VariableValues, now: Timestamp) -> RefreshGate {
        let names = values.renewedTogether(with: names)
        let group = Group(names: names, owner: values.owner(of: names))
        return state.withLock { state in
            if let gate = state.gates[group] { return gate }
            // The gates of many reloads and users must not accumulate: their keys are secrets.
            if state.gates.count >= 100 { state.gates = state.gates.filter { !$0.value.isIdle(at: now) } }
            let gate = RefreshGate()
            state.gates[group] = gate
            return gate
        }
    }
}
