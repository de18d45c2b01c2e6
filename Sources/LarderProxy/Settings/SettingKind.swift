// SPDX-License-Identifier: Apache-2.0

/// A kind of value: how it is called, how it is read, and how it is shown.
package struct SettingKind<Value: Sendable>: Sendable {
    /// The type's name in the reference: `duration`, `list of addresses`.
    package var name: String
    /// What may stand there, as a clause that follows "expected".
    package var expected: String
    /// What the type leaves open: `10 ms … 1 day`; nil when nothing does.
    package var bounds: String?
    /// The units it is written in; nil when it has none.
    package var unit: String?
    /// Reads a value, or tells the reader what is wrong and gives nil.
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

    /// A kind whose values are written as one text. `parse` gives the value, or why there is none.
    static func text(
        _ name: String, expected: String, bounds: String? = nil, unit: String? = nil, isSecret: Bool = false,
        show: @escaping @Sendable (Value) -> ShownValue,
        parse: @escaping @Sendable (SettingNode.Scalar) -> Result<Value, TextRefusal>
    ) -> SettingKind {
        SettingKind(
            name, expected: expected, bounds: bounds, unit: unit,
            read: { node, reader in
                guard case .scalar(let scalar) = node.content, !scalar.isNull else {
                    reader.refuse(node, found: node.summary(showingText: false), expected: expected)
                    return nil
                }
                switch parse(scalar) {
                case .success(let value): return value
                case .failure(let refusal):
                    reader.refuse(
                        node, found: refusal.found ?? node.summary(showingText: !isSecret), expected: expected,
                        suggestion: refusal.suggestion, advice: refusal.advice)
                    return nil
                }
            },
            show: show)
    }

    /// The same values, and nil when the setting is not there.
    var optional: SettingKind<Value?> {
        SettingKind<Value?>(
            name, expected: expected, bounds: bounds, unit: unit,
            read: { node, reader in read(node, &reader).map { .some($0) } },
            show: { $0.map(show) ?? .nothing })
    }
}

/// Why a text is not a value.
struct TextRefusal: Error {
    /// nil means the text itself, in quotes.
    var found: String?
    var suggestion: String?
    var advice: String?
}

/// A value in the form people and programs see it: what the configuration would say, secrets left out.
package indirect enum ShownValue: Sendable, Equatable {
    case nothing
    case flag(Bool)
    case number(Int)
    case text(String)
    case list([ShownValue])
    case map([(name: String, value: ShownValue)])

    package static func == (a: ShownValue, b: ShownValue) -> Bool { a.yaml == b.yaml }

    /// As one line of YAML.
    package var yaml: String {
        switch self {
        case .nothing: return "null"
        case .flag(let flag): return flag ? "true" : "false"
        case .number(let number): return String(number)
        case .text(let text): return ShownValue.scalar(text)
        case .list(let values): return "[" + values.map(\.yaml).joined(separator: ", ") + "]"
        case .map(let entries):
            guard !entries.isEmpty else { return "{}" }
            return "{ " + entries.map { "\(ShownValue.scalar($0.name)): \($0.value.yaml)" }.joined(separator: ", ") + " }"
        }
    }

    /// A plain scalar where that reads back as the same text inside a list or a map, else a quoted one.
    private static func scalar(_ text: String) -> String {
        let plain = text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || " ./_-%".utf8.contains(byte)
        }
        let first = text.utf8.first ?? 0x20
        let isPlain =
            plain && first != UInt8(ascii: " ") && first != UInt8(ascii: "-") && first != UInt8(ascii: "%")
            && text.utf8.last != UInt8(ascii: " ") && !["true", "false", "null", "on", "off", "yes", "no"].contains(text)
        if isPlain { return text }
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                quoted += "\\x" + (digits.utf8.count == 1 ? "0" : "") + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
