// SPDX-License-Identifier: Apache-2.0

/// A value as shown to people and programs: in the form of the configuration, without secrets.
package indirect enum ShownValue: Sendable, Equatable {
    case nothing
    case flag(Bool)
    case number(Int)
    case text(String)
    case list([ShownValue])
    case map([(name: String, value: ShownValue)])

    package static func == (a: ShownValue, b: ShownValue) -> Bool { a.yaml == b.yaml }

    /// The value as one line of YAML.
    package var yaml: String {
        switch self {
        case .nothing: return "null"
        case .flag(let flag): return flag ? "true" : "false"
        case .number(let number): return String(number)
        case .text(let text): return ShownValue.scalar(text)
        case .list(let values): return "[" + values.map(\.yaml).joined(separator: ", ") + "]"
        case .map(let entries):
            guard !entries.isEmpty else { return "{}" }
            return "{ " + entries.map { "\(ShownValue.scalar($0.name)): \($0.value.yaml)" }.joined(separator: ", ")
                + " }"
        }
    }

    /// The value as a block of YAML with a line end after each line.
    package var yamlBlock: String {
        var text = ""
        writeBlock(to: &text, indent: 0)
        return text
    }

    private func writeBlock(to text: inout String, indent: Int) {
        let margin = String(repeating: " ", count: indent)
        switch self {
        case .map(let entries):
            for (name, value) in entries {
                text += "\(margin)\(ShownValue.scalar(name)):"
                value.writeBelow(to: &text, indent: indent)
            }
        case .list(let values):
            for value in values {
                // The lines of an item are aligned behind its dash.
                var item = ""
                value.writeBlock(to: &item, indent: indent + 2)
                text += "\(margin)- \(item.dropFirst(indent + 2))"
            }
        default:
            text += "\(margin)\(yaml)\n"
        }
    }

    private func writeBelow(to text: inout String, indent: Int) {
        if isBlock {
            text += "\n"
            writeBlock(to: &text, indent: indent + 2)
        } else {
            text += " \(yaml)\n"
        }
    }

    /// True if it needs several lines: a map, or a list of maps.
    private var isBlock: Bool {
        switch self {
        case .map(let entries): !entries.isEmpty
        case .list(let values): values.contains { $0.isBlock }
        default: false
        }
    }

    /// The value as one line of JSON.
    package var json: String {
        switch self {
        case .nothing, .flag, .number: return yaml
        case .text(let text): return ShownValue.quoted(text)
        case .list(let values): return "[" + values.map(\.json).joined(separator: ", ") + "]"
        case .map(let entries):
            return "{" + entries.map { "\(ShownValue.quoted($0.name)): \($0.value.json)" }.joined(separator: ", ") + "}"
        }
    }

    /// A plain scalar where that is parsed as the same text inside a list or a map, else a quoted one.
    private static func scalar(_ text: String) -> String {
        let plain = text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || " ./_-%".utf8.contains(byte)
        }
        let first = text.utf8.first ?? 0x20
        let isWord = !" -%".utf8.contains(first) && text.utf8.last != UInt8(ascii: " ")
        let isPlain = plain && isWord && !["true", "false", "null", "on", "off", "yes", "no"].contains(text)
        return isPlain ? text : quoted(text)
    }

    /// In double quotes with escapes that YAML and JSON share.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
