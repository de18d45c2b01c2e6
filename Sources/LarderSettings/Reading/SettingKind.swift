// SPDX-License-Identifier: Apache-2.0

/// A kind of value: its name, and how it is read and shown.
package struct SettingKind<Value: Sendable>: Sendable {
    /// The type's name in the reference: `duration`, `list of addresses`.
    package var name: String
    /// The valid values, as a clause that follows "expected".
    package var expected: String
    /// Bounds within the type: `10 ms … 1 day`; nil without any.
    package var bounds: String?
    /// The units it is written in; nil without any.
    package var unit: String?
    /// Reads a value, or reports a problem to the reader and returns nil.
    let read: @Sendable (SettingNode, inout SettingsReader) -> Value?
    let show: @Sendable (Value) -> ShownValue

    init(
        _ name: String, expected: String, bounds: String? = nil, unit: String? = nil,
        read: @escaping @Sendable (SettingNode, inout SettingsReader) -> Value?,
        show: @escaping @Sendable (Value) -> ShownValue
    ) {
        self.name = name
        self.expected = expected
        self.bounds = bounds
        self.unit = unit
        self.read = read
        self.show = show
    }

    /// A kind whose values are written as one text. `parse` returns the value, or why it is invalid.
    @inline(never)
    static func text(
        _ name: String, expected: String, bounds: String? = nil, unit: String? = nil, isSecret: Bool = false,
        allowsVariables: Bool = false,
        show: @escaping @Sendable (Value) -> ShownValue,
        parse: @escaping @Sendable (SettingNode.Scalar) -> Result<Value, TextRefusal>
    ) -> SettingKind {
        SettingKind(
            name, expected: expected, bounds: bounds, unit: unit,
            read: { node, reader in
                let text = reader.text(of: node, expected: expected, allowsVariables: allowsVariables)
                guard let text else { return nil }
                switch parse(text) {
                case .success(let value): return value
                case .failure(let refusal):
                    reader.refuse(text, of: node, refusal, expected: expected, isSecret: isSecret)
                    return nil
                }
            },
            show: show)
    }

    /// The same values, and nil when the setting is absent.
    var optional: SettingKind<Value?> {
        SettingKind<Value?>(
            name, expected: expected, bounds: bounds, unit: unit,
            read: { node, reader in read(node, &reader).map { .some($0) } },
            show: { $0.map(show) ?? .nothing })
    }
}

/// Why a text is invalid.
struct TextRefusal: Error {
    /// nil means the text itself, in quotes.
    var found: String?
    var suggestion: String?
    var advice: String?
}
