// SPDX-License-Identifier: Apache-2.0

/// The values of variables at one moment. They are secrets.
package struct VariableValues: Sendable {
    private var values: [String: (text: String, generation: UInt64)]

    package init(_ values: [String: (text: String, generation: UInt64)] = [:]) { self.values = values }

    package subscript(name: String) -> String? { values[name]?.text }

    /// How many values the named variables have had in total; it grows with each change.
    package func generation(of names: some Sequence<String>) -> UInt64 {
        names.reduce(0) { $0 + (values[$1]?.generation ?? 0) }
    }

    /// The named variables with their values, in an unambiguous form; nil when none of them is set.
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
