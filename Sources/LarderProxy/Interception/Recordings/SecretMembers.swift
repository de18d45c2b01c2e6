// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// Finds members with a credential's name in text with JSON in it, and replaces all that they contain.
///
/// The text may be a whole value, lines or events with one each, a script that calls a function with one, or what is
/// left of one that broke off: so this looks at strings, colons and brackets, and parses nothing that they belong to.
/// JSON in strings is searched as well, and URLs everywhere. All else keeps its spelling.
struct SecretMembers {
    private let text: [UInt8]
    private var clean: [UInt8] = []
    private var position = 0
    /// Where the octets begin that are in no string and not copied yet.
    private var plainStart = 0
    /// How many brackets are open.
    private var nesting = 0
    /// The value of `nesting` outside the outermost member with a credential's name.
    private var secretNesting: Int?

    static func scrubbed(_ text: [UInt8]) -> [UInt8] {
        var scan = SecretMembers(text: text)
        scan.run()
        return scan.clean
    }

    private init(text: [UInt8]) { self.text = text }

    private mutating func run() {
        clean.reserveCapacity(text.count)
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: "\""): scrubString()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                nesting += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                nesting -= 1
                if let outside = secretNesting, nesting <= outside { secretNesting = nil }
                position += 1
            case let octet where secretNesting != nil && SecretMembers.beginsNumber(octet): replaceNumber()
            default: position += 1
            }
        }
        copyPlain()
    }

    /// Copies what is before the position and in no string.
    private mutating func copyPlain() {
        clean += SecretParameters.scrubbed(Array(text[plainStart..<position]), .text)
        plainStart = position
    }

    /// Copies the string at the position without its secrets: the name of a member, with the secret that follows, or
    /// a value.
    private mutating func scrubString() {
        copyPlain()
        let string = string(at: position)
        if let value = string.isWhole ? valueStart(from: string.end) : nil {
            clean += text[position..<value]
            position = value
            plainStart = value
            let isSecret = secretNesting == nil && SecretName.isOne(String(decoding: string.octets, as: UTF8.self))
            if isSecret, value < text.count { replaceValue() }
        } else if secretNesting != nil || string.breaksOff(text) {
            replace(to: string.end)
        } else {
            clean += string.isWhole ? SecretMembers.clean(string, text[position..<string.end]) : []
            plainStart = string.isWhole ? string.end : position
            position = string.end
        }
    }

    /// Replaces the value of a member with a credential's name, or notes that what is in it is to be replaced.
    private mutating func replaceValue() {
        switch text[position] {
        case UInt8(ascii: "{"), UInt8(ascii: "["): secretNesting = nesting
        case UInt8(ascii: "\""): replace(to: string(at: position).end)
        case let octet where SecretMembers.beginsNumber(octet): replaceNumber()
        default: break
        }
    }

    private mutating func replace(to end: Int) {
        clean += Array("\"\(SecretText.replacement)\"".utf8)
        position = end
        plainStart = end
    }

    private mutating func replaceNumber() {
        copyPlain()
        let end = text[position...].firstIndex { !(SecretMembers.beginsNumber($0) || SecretMembers.isInNumber($0)) }
        replace(to: end ?? text.count)
    }

    // MARK: Strings

    private struct JSONString {
        /// Its value, if it is whole.
        var octets: [UInt8]
        var hasEscapes = false
        /// The place behind it.
        var end: Int
        /// Whether it has its last quotation mark: not where its line or the text ends before, as in other text.
        var isWhole = false

        /// Whether the text ends within it, and it may have JSON in it.
        func breaksOff(_ text: [UInt8]) -> Bool { !isWhole && hasEscapes && end == text.count }
    }

    /// The string that begins at that quotation mark.
    private func string(at start: Int) -> JSONString {
        var string = JSONString(octets: [], end: start + 1)
        while string.end < text.count, text[string.end] >= 0x20, !string.isWhole {
            string.isWhole = text[string.end] == UInt8(ascii: "\"")
            let isEscape = text[string.end] == UInt8(ascii: "\\")
            string.hasEscapes = string.hasEscapes || isEscape
            string.end = min(string.end + (isEscape ? 2 : 1), text.count)
        }
        guard string.isWhole else { return string }
        string.octets = Array(text[start + 1..<string.end - 1])
        if string.hasEscapes, case .string(let value)? = try? JSONValue(parsing: Array(text[start..<string.end])) {
            string.octets = Array(value.utf8)
        }
        return string
    }

    /// A whole string as it is to be written.
    private static func clean(_ string: JSONString, _ spelling: ArraySlice<UInt8>) -> [UInt8] {
        let octets = SecretText.scrubbed(text: string.octets)
        if octets == string.octets { return Array(spelling) }
        guard string.hasEscapes else { return [UInt8(ascii: "\"")] + octets + [UInt8(ascii: "\"")] }
        return Array(JSONValue.string(String(decoding: octets, as: UTF8.self)).description.utf8)
    }

    // MARK: Between strings

    /// Where the value begins, if a colon follows, as behind the name of a member.
    private func valueStart(from end: Int) -> Int? {
        let colon = skipBlanks(from: end)
        guard colon < text.count, text[colon] == UInt8(ascii: ":") else { return nil }
        return skipBlanks(from: colon + 1)
    }

    private func skipBlanks(from start: Int) -> Int {
        text[start...].firstIndex { !(ASCII.isBlank($0) || $0 == 0x0A || $0 == 0x0D) } ?? text.count
    }

    private static func beginsNumber(_ octet: UInt8) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= octet || octet == UInt8(ascii: "-")
    }

    private static func isInNumber(_ octet: UInt8) -> Bool {
        [UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"), UInt8(ascii: "+")].contains(octet)
    }
}
