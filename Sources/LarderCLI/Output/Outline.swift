// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderProxy

/// Any JSON value as indented lines of names and values, in its own order.
enum Outline {
    static func text(_ value: JSONValue, _ style: TextStyle) -> String {
        switch value {
        case .object(let object): lines(object, of: nil, indent: 0, style)
        case .array(let elements) where !elements.allSatisfy(isPlain): items(elements, indent: 0, style)
        default: plain(value, name: nil) + "\n"
        }
    }

    /// The members of an object; in one called `bytes` they are all sizes, as are the limits of the tiers.
    private static func lines(_ object: JSONObject, of parent: String?, indent: Int, _ style: TextStyle) -> String {
        let margin = String(repeating: " ", count: indent)
        let width = object.names.filter { object[$0].map(isPlain) ?? false }.map { words($0).count }.max() ?? 0
        var text = ""
        for name in object.names {
            guard let value = object[name] else { continue }
            let label = words(name)
            if isPlain(value) {
                let gap = String(repeating: " ", count: max(0, width - label.count))
                let isLimit = name == "limit" || name == "configuredLimit"
                let isSize = parent == "bytes" || isLimit && (parent == "memory" || parent == "disk")
                text += "\(margin)\(style.dim(label))\(gap)  \(plain(value, name: isSize ? "bytes" : name))\n"
                continue
            }
            text += "\(margin)\(style.bold(label))\n"
            switch value {
            case .object(let inner): text += lines(inner, of: name, indent: indent + 2, style)
            case .array(let elements): text += items(elements, indent: indent + 2, style)
            default: break
            }
        }
        return text
    }

    private static func items(_ elements: [JSONValue], indent: Int, _ style: TextStyle) -> String {
        let margin = String(repeating: " ", count: indent)
        return elements.map { element in
            switch element {
            case .object(let object) where !object.isEmpty:
                "\(margin)- " + lines(object, of: nil, indent: indent + 2, style).dropFirst(indent + 2)
            default: "\(margin)- \(plain(element, name: nil))\n"
            }
        }.joined()
    }

    /// True if a value fits on one line.
    private static func isPlain(_ value: JSONValue) -> Bool {
        switch value {
        case .object(let object): object.isEmpty
        case .array(let elements):
            elements.allSatisfy { element in
                switch element {
                case .object, .array: false
                default: true
                }
            }
        default: true
        }
    }

    /// A value on one line; the name determines whether a number is of seconds or bytes.
    static func plain(_ value: JSONValue, name: String?) -> String {
        switch value {
        case .null: return "-"
        case .bool(let flag): return flag ? "yes" : "no"
        case .string(let text): return printable(text)
        case .array(let elements):
            return elements.isEmpty ? "none" : elements.map { plain($0, name: nil) }.joined(separator: ", ")
        case .object: return "none"
        case .number(let number):
            let name = name ?? ""
            if let seconds = value.double, name.hasSuffix("Seconds") || ["age", "ttl"].contains(name) {
                return seconds < 0 ? "-" + Quantity.seconds(-seconds) : Quantity.seconds(seconds)
            }
            if let bytes = value.int, name.hasSuffix("bytes") || name.hasSuffix("Bytes") || name == "size" {
                return Quantity.bytes(bytes)
            }
            if let ratio = value.double, name.hasSuffix("Ratio") { return Quantity.percent(ratio) }
            return decimal(number.text, value.double)
        }
    }

    /// A number without an exponent, with at most nine decimal places.
    private static func decimal(_ text: String, _ value: Double?) -> String {
        guard text.contains(where: { $0 == "e" || $0 == "E" }), let value, abs(value) < 1e9 else { return text }
        let billionths = Int((abs(value) * 1e9).rounded())
        var digits = String(1_000_000_000 + billionths % 1_000_000_000).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        let sign = value < 0 && billionths > 0 ? "-" : ""
        return "\(sign)\(billionths / 1_000_000_000)" + (digits.isEmpty ? "" : ".\(digits)")
    }

    /// Text from elsewhere may contain terminal control codes; they are escaped.
    static func printable(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            result += scalar.isUnseen ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
        }
        return result
    }

    /// `uptimeSeconds` as `uptime`, `lastModified` as `last modified`, `baseURL` as `base URL`.
    private static func words(_ name: String) -> String {
        if name == "eTag" { return "ETag" }
        var text = ""
        let stem = name.hasSuffix("Seconds") ? name.dropLast(7) : name[...]
        let characters = Array(printable(String(stem)))
        for (index, character) in characters.enumerated() {
            let beginsWord = character.isUppercase && text.last?.isLowercase == true
            let isAbbreviation = index + 1 < characters.count && characters[index + 1].isUppercase
            text += beginsWord ? " " + (isAbbreviation ? String(character) : character.lowercased()) : String(character)
        }
        return text
    }
}
