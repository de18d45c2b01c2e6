// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

/// Why octets are not JSON, and where.
public struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The position of the error in octets.
    public let offset: Int
    /// The problem there.
    public let problem: String

    /// Makes an error of its parts.
    public init(offset: Int, problem: String) {
        self.offset = offset
        self.problem = problem
    }

    public var description: String { "invalid JSON at offset \(offset): \(problem)" }
}

extension JSONValue {
    /// The maximum depth of arrays and objects.
    public static let depthLimit = 512

    /// Parses UTF-8 text that is one JSON value and nothing else. A byte order mark is skipped (RFC 8259 §8.1).
    public init(parsing octets: [UInt8]) throws(JSONSyntaxError) {
        self = try octets.withUnsafeBufferPointer { bytes throws(JSONSyntaxError) in
            var parser = JSONParser(bytes)
            return try parser.document()
        }
    }

    /// Parses text that is one JSON value and nothing else.
    public init(parsing text: String) throws(JSONSyntaxError) { try self.init(parsing: Array(text.utf8)) }
}

private struct JSONParser {
    private let text: UnsafeBufferPointer<UInt8>
    private var index = 0
    private var depth = 0

    init(_ text: UnsafeBufferPointer<UInt8>) { self.text = text }

    mutating func document() throws(JSONSyntaxError) -> JSONValue {
        if text.count >= 3, text[0] == 0xEF, text[1] == 0xBB, text[2] == 0xBF { index = 3 }
        let value = try value()
        skipBlanks()
        guard index == text.count else { throw wrong("something follows the value") }
        return value
    }

    private mutating func value() throws(JSONSyntaxError) -> JSONValue {
        skipBlanks()
        guard index < text.count else { throw wrong("a value is missing") }
        switch text[index] {
        case UInt8(ascii: "{"): return .object(try object())
        case UInt8(ascii: "["): return .array(try array())
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
        default: throw wrong("a value cannot begin like this")
        }
    }

    private mutating func object() throws(JSONSyntaxError) -> JSONObject {
        try descend()
        defer { depth -= 1 }
        var object = JSONObject()
        skipBlanks()
        if take(UInt8(ascii: "}")) { return object }
        repeat {
            skipBlanks()
            guard index < text.count, text[index] == UInt8(ascii: "\"") else {
                throw wrong("the name of a member is missing")
            }
            let name = try string()
            skipBlanks()
            guard take(UInt8(ascii: ":")) else { throw wrong("a colon is missing") }
            object[name] = try value()
            skipBlanks()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw wrong("a comma or } is missing") }
        return object
    }

    private mutating func array() throws(JSONSyntaxError) -> [JSONValue] {
        try descend()
        defer { depth -= 1 }
        var elements: [JSONValue] = []
        skipBlanks()
        if take(UInt8(ascii: "]")) { return elements }
        repeat {
            elements.append(try value())
            skipBlanks()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw wrong("a comma or ] is missing") }
        return elements
    }

    private mutating func descend() throws(JSONSyntaxError) {
        index += 1
        depth += 1
        guard depth <= JSONValue.depthLimit else { throw wrong("more than \(JSONValue.depthLimit) levels") }
    }

    private mutating func string() throws(JSONSyntaxError) -> String {
        index += 1
        var octets: [UInt8] = []
        var start = index
        while index < text.count {
            let octet = text[index]
            if octet == UInt8(ascii: "\"") {
                octets.append(contentsOf: text[start..<index])
                index += 1
                guard let string = String(validating: octets, as: UTF8.self) else {
                    throw wrong("the string is not UTF-8")
                }
                return string
            }
            guard octet >= 0x20 else { throw wrong("a control character in a string") }
            index += 1
            guard octet == UInt8(ascii: "\\") else { continue }
            octets.append(contentsOf: text[start..<(index - 1)])
            try escape(into: &octets)
            start = index
        }
        throw wrong("the string does not end")
    }

    private mutating func escape(into octets: inout [UInt8]) throws(JSONSyntaxError) {
        guard index < text.count else { throw wrong("the string does not end") }
        let octet = text[index]
        index += 1
        switch octet {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): octets.append(octet)
        case UInt8(ascii: "b"): octets.append(0x08)
        case UInt8(ascii: "f"): octets.append(0x0C)
        case UInt8(ascii: "n"): octets.append(0x0A)
        case UInt8(ascii: "r"): octets.append(0x0D)
        case UInt8(ascii: "t"): octets.append(0x09)
        case UInt8(ascii: "u"):
            var value = try hexadecimal()
            if value & 0xFC00 == 0xD800 {
                guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw wrong("half of a surrogate pair") }
                let low = try hexadecimal()
                guard low & 0xFC00 == 0xDC00 else { throw wrong("half of a surrogate pair") }
                value = 0x10000 + (value & 0x3FF) << 10 + (low & 0x3FF)
            }
            guard let scalar = Unicode.Scalar(value) else { throw wrong("half of a surrogate pair") }
            octets.append(contentsOf: Array(String(Character(scalar)).utf8))
        default: throw wrong("an unknown escape")
        }
    }

    private mutating func hexadecimal() throws(JSONSyntaxError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard index < text.count, let digit = ASCII.hexValue(text[index]) else {
                throw wrong("four hexadecimal digits are missing")
            }
            value = value << 4 | UInt32(digit)
            index += 1
        }
        return value
    }

    private mutating func number() throws(JSONSyntaxError) -> JSONNumber {
        let start = index
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            _ = take(UInt8(ascii: "+")) || take(UInt8(ascii: "-"))
            try digits()
        }
        return JSONNumber(text: String(decoding: text[start..<index], as: UTF8.self))
    }

    private mutating func digits() throws(JSONSyntaxError) {
        let start = index
        while index < text.count, ASCII.isDigit(text[index]) { index += 1 }
        guard index > start else { throw wrong("a digit is missing") }
    }

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws(JSONSyntaxError) -> JSONValue {
        for offset in 0..<word.utf8CodeUnitCount {
            guard index < text.count, text[index] == word.utf8Start[offset] else {
                throw wrong("a value cannot begin like this")
            }
            index += 1
        }
        return value
    }

    private mutating func skipBlanks() {
        while index < text.count, ASCII.isBlank(text[index]) || text[index] == 0x0A || text[index] == 0x0D {
            index += 1
        }
    }

    private mutating func take(_ octet: UInt8) -> Bool {
        guard index < text.count, text[index] == octet else { return false }
        index += 1
        return true
    }

    private func wrong(_ problem: String) -> JSONSyntaxError { JSONSyntaxError(offset: index, problem: problem) }
}
