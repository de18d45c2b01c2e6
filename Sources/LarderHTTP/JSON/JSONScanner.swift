// SPDX-License-Identifier: Apache-2.0

/// Why bytes are not JSON, and where.
public struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The position of the error in bytes.
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

/// Reads the tokens of JSON (RFC 8259), and hands members and elements to its user, who makes something of them.
package struct JSONScanner {
    package enum Start {
        case object, array, string, number, `true`, `false`, null
    }

    package let text: [UInt8]
    /// The next byte to read.
    package private(set) var index = 0
    private var depth = 0
    private let depthLimit: Int
    private var valuesLeft: Int
    private let valueLimit: Int

    /// - Parameters:
    ///   - depthLimit: how deeply arrays and objects may be nested.
    ///   - valueLimit: how many values there may be, with those inside of others.
    package init(_ text: [UInt8], depthLimit: Int, valueLimit: Int = .max) {
        self.text = text
        self.depthLimit = depthLimit
        self.valueLimit = valueLimit
        valuesLeft = valueLimit
    }

    package func wrong(_ problem: String) -> JSONSyntaxError { JSONSyntaxError(offset: index, problem: problem) }

    /// Skips a byte order mark (RFC 8259 §8.1).
    package mutating func skipMark() { if text.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 } }

    /// Checks that nothing but blanks follows.
    package mutating func end() throws(JSONSyntaxError) {
        skipBlanks()
        guard index == text.count else { throw wrong("something follows the value") }
    }

    /// Skips blanks, and the words of the values that are words; tells which value begins.
    package mutating func start() throws(JSONSyntaxError) -> Start {
        skipBlanks()
        guard index < text.count else { throw wrong("a value is missing") }
        guard valuesLeft > 0 else { throw wrong("there are more than \(valueLimit) values") }
        valuesLeft -= 1
        switch text[index] {
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "t"): return try word("true", .true)
        case UInt8(ascii: "f"): return try word("false", .false)
        case UInt8(ascii: "n"): return try word("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        default: throw wrong("a value cannot begin like this")
        }
    }

    private mutating func word(_ word: StaticString, _ value: Start) throws(JSONSyntaxError) -> Start {
        for offset in 0..<word.utf8CodeUnitCount {
            guard take(word.utf8Start[offset]) else { throw wrong("a value cannot begin like this") }
        }
        return value
    }

    /// True if a string begins here.
    package var isAtString: Bool { index < text.count && text[index] == UInt8(ascii: "\"") }

    // MARK: Structures

    /// Reads an object; `member` reads the value of a member, whose name it is given.
    package mutating func object(
        _ member: (inout JSONScanner, _ name: String) throws(JSONSyntaxError) -> Void
    ) throws(JSONSyntaxError) {
        try inside { scanner throws(JSONSyntaxError) in
            if scanner.isNext(UInt8(ascii: "}")) { return }
            repeat {
                scanner.skipBlanks()
                guard scanner.isAtString else { throw scanner.wrong("the name of a member is missing") }
                let name = try scanner.string()
                guard scanner.isNext(UInt8(ascii: ":")) else { throw scanner.wrong("a colon is missing") }
                scanner.skipBlanks()
                try member(&scanner, name)
            } while scanner.isNext(UInt8(ascii: ","))
            guard scanner.take(UInt8(ascii: "}")) else { throw scanner.wrong("a comma or } is missing") }
        }
    }

    /// Reads an array; `element` reads an element.
    package mutating func array(
        _ element: (inout JSONScanner) throws(JSONSyntaxError) -> Void
    ) throws(JSONSyntaxError) {
        try inside { scanner throws(JSONSyntaxError) in
            if scanner.isNext(UInt8(ascii: "]")) { return }
            repeat { try element(&scanner) } while scanner.isNext(UInt8(ascii: ","))
            guard scanner.take(UInt8(ascii: "]")) else { throw scanner.wrong("a comma or ] is missing") }
        }
    }

    private mutating func inside(
        _ body: (inout JSONScanner) throws(JSONSyntaxError) -> Void
    ) throws(JSONSyntaxError) {
        index += 1
        depth += 1
        guard depth <= depthLimit else { throw wrong("more than \(depthLimit) levels") }
        try body(&self)
        depth -= 1
    }

    // MARK: Numbers

    /// Reads a number, which is the text between here and `index`.
    package mutating func number() throws(JSONSyntaxError) -> Range<Int> {
        let start = index
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            _ = take(UInt8(ascii: "+")) || take(UInt8(ascii: "-"))
            try digits()
        }
        return start..<index
    }

    private mutating func digits() throws(JSONSyntaxError) {
        let start = index
        while index < text.count, ASCII.isDigit(text[index]) { index += 1 }
        guard index > start else { throw wrong("a digit is missing") }
    }

    // MARK: Strings

    /// Reads a string, which must be UTF-8.
    package mutating func string() throws(JSONSyntaxError) -> String {
        index += 1
        var octets: [UInt8] = []
        var start = index
        while index < text.count {
            let octet = text[index]
            if octet == UInt8(ascii: "\"") {
                let rest = text[start..<index]
                index += 1
                // Most strings have no escapes, and are made of the text as it is.
                if !octets.isEmpty { octets.append(contentsOf: rest) }
                let string =
                    octets.isEmpty
                    ? String(validating: rest, as: UTF8.self) : String(validating: octets, as: UTF8.self)
                guard let string else { throw wrong("the string is not UTF-8") }
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

    // MARK: Bytes

    private mutating func skipBlanks() {
        while index < text.count, ASCII.isBlank(text[index]) || text[index] == 0x0A || text[index] == 0x0D {
            index += 1
        }
    }

    private mutating func isNext(_ octet: UInt8) -> Bool {
        skipBlanks()
        return take(octet)
    }

    private mutating func take(_ octet: UInt8) -> Bool {
        guard index < text.count, text[index] == octet else { return false }
        index += 1
        return true
    }
}
