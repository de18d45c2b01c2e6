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
        /// The number of its value among those of all variables.
        var generation: UInt64
        var changedAt: Timestamp?
    }

    private struct State {
        var variables: [String: Variable] = [:]
        /// The refreshes that give variables new values.
        var renewals: [Renewal] = []
        /// How many values all variables have had: one that was away does not begin anew.
        var generation: UInt64 = 0
        var gates: [String: RefreshGate] = [:]
        var apply: (@Sendable ([String]) async -> Void)?
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

    /// Adopts the declarations of a configuration. Values that were got by a refresh which it has no more, or by one whose
    /// request has other values now, are another user's: what was given before counts again.
    ///
    /// - Parameter renewals: the refreshes of its services.
    package func declare(_ settings: [VariableSettings], renewals: [Renewal] = [], at now: Timestamp) {
        state.withLock { state in
            var variables: [String: Variable] = [:]
            var changed: Set<String> = []
            for setting in settings {
                guard var known = state.variables[setting.name] else {
                    variables[setting.name] = Variable(
                        settings: setting, value: setting.initial, given: setting.initial,
                        generation: VariableStore.nextGeneration(&state))
                    continue
                }
                if known.settings.initial?.reveal() != setting.initial?.reveal(), let initial = setting.initial {
                    _ = VariableStore.change(&known, to: initial, at: now, &state)
                    known.given = initial
                    changed.insert(setting.name)
                }
                known.settings = setting
                variables[setting.name] = known
            }
            state.variables = variables
            let gone = state.renewals.filter { !renewals.contains($0) }
            state.renewals = renewals
            let names = gone.flatMap(\.rule.variables) + VariableStore.renewed(after: changed, state)
            VariableStore.withdraw(names.filter { !changed.contains($0) }, at: now, &state)
        }
    }

    /// The variables that refreshes gave values for whom these variables stood.
    private static func renewed(after changed: Set<String>, _ state: State) -> [String] {
        state.renewals.filter { !$0.variables.isDisjoint(with: changed) }.flatMap(\.rule.variables)
    }

    private static func nextGeneration(_ state: inout State) -> UInt64 {
        state.generation += 1
        return state.generation
    }

    /// Has the last given values count instead of those that refreshes got.
    private static func withdraw(_ names: [String], at now: Timestamp, _ state: inout State) {
        for name in Set(names) {
            guard var variable = state.variables[name], variable.value != variable.given else { continue }
            variable.value = variable.given
            variable.generation = nextGeneration(&state)
            variable.changedAt = now
            state.variables[name] = variable
        }
    }

    private static func change(
        _ variable: inout Variable, to value: Secret, at now: Timestamp, _ state: inout State
    ) -> Bool {
        guard variable.value?.reveal() != value.reveal() else { return false }
        variable.value = value
        variable.generation = nextGeneration(&state)
        variable.changedAt = now
        return true
    }

    /// Changes declared variables, and returns the names of those that changed.
    ///
    /// - Parameter isGiven: whether somebody has decided on the values, which a refresh has not.
    private static func change(
        _ values: [(name: String, value: Secret)], isGiven: Bool, at now: Timestamp, _ state: inout State
    ) -> [String] {
        var changed: [String] = []
        for (name, value) in values {
            guard var variable = state.variables[name] else { continue }
            var isChanged = change(&variable, to: value, at: now, &state)
            if isGiven {
                // It may be the value that a refresh got.
                if variable.given?.reveal() != value.reveal() { isChanged = true }
                variable.given = value
            }
            state.variables[name] = variable
            if isChanged { changed.append(name) }
        }
        return changed
    }

    /// Sets variables, and returns the names of those that changed once every loop uses the new values. Undeclared ones
    /// are ignored.
    @discardableResult
    package func set(_ values: [(name: String, value: Secret)], at now: Timestamp) async -> [String] {
        let (changed, renewed, apply) = state.withLock { state in
            let changed = VariableStore.change(values, isGiven: true, at: now, &state)
            let renewed = VariableStore.renewed(after: Set(changed), state)
            VariableStore.withdraw(renewed.filter { !changed.contains($0) }, at: now, &state)
            return (changed, renewed, state.apply)
        }
        // Services that use what is renewed for another user now have another one, too.
        if !changed.isEmpty { await apply?(changed + renewed) }
        return changed
    }

    /// Sets values that a refresh got with those of `old`; none if one of the variables that it depends on, or sets, has
    /// been changed since: an operator has the last word. False then.
    func renew(
        _ values: [(name: String, value: Secret)], by rule: RefreshRule, asOf old: VariableValues, at now: Timestamp
    ) async -> Bool {
        let (changed, apply) = state.withLock { state -> ([String]?, (@Sendable ([String]) async -> Void)?) in
            let renewals = state.renewals.filter { $0.rule == rule }
            guard !renewals.isEmpty else { return (nil, nil) }
            let names = renewals.reduce(rule.usedVariables) { $0.union($1.variables) }
            guard self.values(state).generation(of: names) == old.generation(of: names) else { return (nil, nil) }
            return (VariableStore.change(values, isGiven: false, at: now, &state), state.apply)
        }
        guard let changed else { return false }
        if !changed.isEmpty { await apply?(changed) }
        return true
    }

    /// Sets the function that applies changed values.
    package func onChange(_ apply: @escaping @Sendable ([String]) async -> Void) {
        state.withLock { $0.apply = apply }
    }

    /// The gate that lets one refresh of a credential run at a time, for each `name`.
    func gate(_ name: String) -> RefreshGate {
        state.withLock { state in
            if let gate = state.gates[name] { return gate }
            // Names come from the configuration; those of many reloads must not accumulate.
            if state.gates.count > 10_000 { state.gates.removeAll() }
            let gate = RefreshGate()
            state.gates[name] = gate
            return gate
        }
    }
}
