// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// The tokens that a language model reports to have read and written for an answer: `usage` and `model` in JSON, or in
/// a stream of events.
///
/// Read in passing; other content has none. Where `usage` occurs several times, as in a stream with running counts, the
/// highest counts are the last. The time that it takes is proportional to the content's length.
package struct ModelUsage: Sendable, Equatable {
    package var model: String
    package var input: Int
    package var output: Int

    package init(model: String, input: Int, output: Int) {
        (self.model, self.input, self.output) = (model, input, output)
    }

    package init?(in octets: UnsafeRawBufferPointer) {
        let text = CheckedOctets(octets)
        var (input, output) = (0, 0)
        var isFound = false
        var index = 0
        while let place = ModelUsage.find("\"usage\"", in: text, from: index) {
            index = place
            guard let open = ModelUsage.value(in: text, from: place), text[open] == UInt8(ascii: "{") else { continue }
            index = ModelUsage.objectEnd(in: text, from: open)
            let object = text.part(open..<index)
            for name in ["\"prompt_tokens\"", "\"input_tokens\""] as [StaticString] {
                if let count = ModelUsage.number(name, in: object) { (input, isFound) = (max(input, count), true) }
            }
            for name in ["\"completion_tokens\"", "\"output_tokens\""] as [StaticString] {
                if let count = ModelUsage.number(name, in: object) { (output, isFound) = (max(output, count), true) }
            }
        }
        guard isFound, let place = ModelUsage.find("\"model\"", in: text, from: 0),
            let quote = ModelUsage.value(in: text, from: place), text[quote] == UInt8(ascii: "\"")
        else { return nil }
        let name = text[(quote + 1)...].prefix { $0 != UInt8(ascii: "\"") }
        guard (1...100).contains(name.count), name.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x5C }) else {
            return nil
        }
        self.init(model: String(decoding: name, as: UTF8.self), input: input, output: output)
    }

    /// The place behind the next `name`.
    private static func find(_ name: StaticString, in text: CheckedOctets, from start: Int) -> Int? {
        let count = name.utf8CodeUnitCount
        var index = start
        while index + count <= text.count {
            if text[index] == name.utf8Start[0], (1..<count).allSatisfy({ text[index + $0] == name.utf8Start[$0] }) {
                return index + count
            }
            index += 1
        }
        return nil
    }

    /// The place of the value behind a member's name.
    private static func value(in text: CheckedOctets, from start: Int) -> Int? {
        var index = start
        var hasColon = false
        while index < text.count {
            switch text[index] {
            case 0x20, 0x09, 0x0A, 0x0D: break
            case UInt8(ascii: ":") where !hasColon: hasColon = true
            default: return hasColon ? index : nil
            }
            index += 1
        }
        return nil
    }

    /// The place behind the object that begins at `start`, or that much behind its beginning that no `usage` is longer;
    /// there are no braces in its strings.
    private static func objectEnd(in text: CheckedOctets, from start: Int) -> Int {
        var depth = 0
        let limit = min(text.count, start + longestUsage)
        for index in start..<limit {
            if text[index] == UInt8(ascii: "{") { depth += 1 }
            if text[index] == UInt8(ascii: "}") { depth -= 1 }
            if depth == 0 { return index + 1 }
        }
        return limit
    }

    private static let longestUsage = 16 << 10

    private static func number(_ name: StaticString, in text: CheckedOctets) -> Int? {
        guard let place = find(name, in: text, from: 0), let start = value(in: text, from: place) else { return nil }
        let digits = text[start...].prefix { (0x30...0x39).contains($0) }
        guard (1...12).contains(digits.count) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}
