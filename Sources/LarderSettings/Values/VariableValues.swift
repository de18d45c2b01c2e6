// SPDX-License-Identifier: Apache-2.0

/// The values of variables at one moment. They are secrets.
package struct VariableValues: Sendable {
    /// The value of one.
    package struct Value: Sendable {
        let text: String
        /// The last value that was not got by a refresh; nil where there has been none.
        let given: String?
        /// Its number among the values of all variables, which grows with each change.
        let generation: UInt64
        /// True if everything stored is removed when it changes.
        let isWiping: Bool

        package init(_ text: String) { self.init(text, given: text, generation: 0, isWiping: false) }

        package init(_ text: String, given: String?, generation: UInt64, isWiping: Bool) {
            self.text = text
            self.given = given
            self.generation = generation
            self.isWiping = isWiping
        }
    }

    /// A refresh that gives variables new values.
    struct Renewer {
        let renewed: [String]
        /// The variables that say whose credential it renews.
        let variables: Set<String>
        /// Identifies the owner of the credential, in an unambiguous form.
        let octets: [UInt8]
    }

    private var values: [String: Value]
    private let renewers: [Renewer]

    package init(_ values: [String: Value] = [:]) {
        self.values = values
        renewers = []
    }

    init(_ values: VariableValues, renewers: [Renewer]) {
        self.values = values.values
        self.renewers = renewers
    }

    package subscript(name: String) -> String? { values[name]?.text }

    /// The values that refreshes have not touched, without the variables that only refreshes have given one.
    package var given: VariableValues {
        let given = values.compactMapValues { value in
            value.given.map { Value($0, given: $0, generation: value.generation, isWiping: value.isWiping) }
        }
        return VariableValues(VariableValues(given), renewers: renewers)
    }

    /// The refreshes that set one of these variables, and recursively the refreshes that set one from `more`.
    private func renewers(of names: Set<String>, and more: (Renewer) -> some Sequence<String>) -> [Renewer] {
        var (names, left, found) = (names, renewers, [Renewer]())
        while let next = left.firstIndex(where: { !names.isDisjoint(with: $0.renewed) }) {
            let renewer = left.remove(at: next)
            names.formUnion(more(renewer))
            found.append(renewer)
        }
        return found
    }

    /// Identifies the owners of the credentials that refreshes put into the named variables: by the refreshes, and by
    /// the ones that renew what these are done with.
    func renewers(of names: Set<String>) -> [UInt8] {
        // The order of services in a configuration means nothing.
        renewers(of: names, and: \.variables).map(\.octets).sorted { $0.lexicographicallyPrecedes($1) }.flatMap(\.self)
    }

    /// Identifies whose values refreshes put into the named variables, by what was given and not by what was renewed. Once
    /// it is another, values that were renewed before are somebody else's.
    package func owner(of names: [String]) -> [UInt8] {
        (given.octets(of: names) ?? []) + renewers(of: Set(names))
    }

    /// True if refreshes put the values of the same user into the named variables there.
    package func haveSameOwner(of names: [String], as other: VariableValues) -> Bool {
        owner(of: names) == other.owner(of: names)
    }

    /// These variables, and recursively all variables that a refresh sets together with one of them, sorted by name.
    package func renewedTogether(with names: [String]) -> [String] {
        Set(names).union(renewers(of: Set(names), and: \.renewed).flatMap(\.renewed)).sorted()
    }

    /// Identifies the user of the named variables in an unambiguous form: by their values, and by the refreshes that
    /// renew them. Nil if the variables have neither.
    package func identity(of names: [String]) -> [UInt8]? {
        let identity = (octets(of: names) ?? []) + renewers(of: Set(names))
        return identity.isEmpty ? nil : identity
    }

    /// The variables that refreshes give values.
    package var renewedNames: Set<String> { Set(renewers.flatMap(\.renewed)) }

    func isWiping(_ name: String) -> Bool { values[name]?.isWiping == true }

    /// The sum of the generations of the named variables; it grows with each change.
    package func generation(of names: some Sequence<String>) -> UInt64 {
        names.reduce(0) { $0 + (values[$1]?.generation ?? 0) }
    }

    /// The named variables with their values, in an unambiguous form; nil if all of them are unset.
    package func octets(of names: some Sequence<String>) -> [UInt8]? {
        var octets: [UInt8] = []
        for name in names {
            guard let text = values[name]?.text else { continue }
            octets += VariableValues.octets(of: name, text)
        }
        return octets.isEmpty ? nil : octets
    }

    /// A name with its value, in an unambiguous form.
    static func octets(of name: String, _ text: String) -> [UInt8] {
        Array("\(name.utf8.count):\(name)\(text.utf8.count):\(text)".utf8)
    }
}
