// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// JSON written in one way, so that two texts which differ in blanks, in the order of members or in escapes are the
/// same octets (after RFC 8785).
///
/// Numbers stay as they were written: what a reader makes of `1.0` or of thirty digits is its own affair.
package struct CanonicalJSON: Sendable, Equatable {
    package let octets: [UInt8]
    /// The strings called `query` in the outermost object, or in objects of arrays that no object is around: in a GraphQL
    /// request they are the documents.
    package let documents: [[UInt8]]
    /// Whether it may ask for a GraphQL operation that it does not contain: a persisted query, or a document under a
    /// name that only some servers read.
    package let asksForUnknown: Bool

    /// How deeply arrays and objects may be nested.
    package static let depthLimit = 64

    /// Parses one JSON value. Nil for malformed or too deeply nested text, and for an object with a duplicate member,
    /// which parsers interpret differently.
    ///
    /// - Parameter omitted: members of the outermost object that are left out.
    package init?(_ text: [UInt8], leavingOut omitted: Set<[UInt8]> = []) {
        let read = text.withUnsafeBufferPointer { text -> (octets: [UInt8], documents: [[UInt8]], Bool)? in
            var reader = CanonicalReader(text: text, omitted: omitted)
            guard reader.value(), reader.isAtEnd else { return nil }
            return (reader.out, reader.documents, reader.asksForUnknown)
        }
        guard let read else { return nil }
        (octets, documents, asksForUnknown) = read
    }
}

/// Reads JSON and writes it canonically as it goes. Every method is false where the text is not to be read.
private struct CanonicalReader {
    let text: UnsafeBufferPointer<UInt8>
    let omitted: Set<[UInt8]>
    var out: [UInt8] = []
    var documents: [[UInt8]] = []
    var asksForUnknown = false
    private var index = 0
    private var depth = 0
    /// How many of the values around are objects.
    private var objects = 0

    init(text: UnsafeBufferPointer<UInt8>, omitted: Set<[UInt8]>) {
        self.text = text
        self.omitted = omitted
        out.reserveCapacity(text.count)
    }

    var isAtEnd: Bool {
        mutating get {
            skipBlanks()
            return index == text.count
        }
    }

    mutating func value() -> Bool {
        skipBlanks()
        guard index < text.count else { return false }
        switch text[index] {
        case UInt8(ascii: "{"): return object()
        case UInt8(ascii: "["): return array()
        case UInt8(ascii: "\""):
            guard let string = string() else { return false }
            write(string)
            return true
        case UInt8(ascii: "t"): return word("true")
        case UInt8(ascii: "f"): return word("false")
        case UInt8(ascii: "n"): return word("null")
        default: return number()
        }
    }

    // MARK: Structures

    private mutating func object() -> Bool {
        guard descend() else { return false }
        objects += 1
        defer {
            depth -= 1
            objects -= 1
        }
        // Members are written one after another, and then put in order.
        let start = out.count
        let before = documents.count
        var members: [(name: [UInt8], written: Range<Int>)] = []
        if !isNext(UInt8(ascii: "}")) {
            repeat {
                skipBlanks()
                guard let name = string(), isNext(UInt8(ascii: ":")) else { return false }
                let begin = out.count
                write(name)
                out.append(UInt8(ascii: ":"))
                skipBlanks()
                let place = index
                guard value() else { return false }
                noteDocument(name, at: place)
                members.append((name, begin..<out.count))
            } while isNext(UInt8(ascii: ","))
            guard isNext(UInt8(ascii: "}")) else { return false }
        }
        members.sort { $0.name.lexicographicallyPrecedes($1.name) }
        for (member, next) in zip(members, members.dropFirst()) where member.name == next.name { return false }
        if objects == 1, !asksForUnknown {
            asksForUnknown = CanonicalReader.asksForUnknown(members.map(\.name), hasDocument: documents.count > before)
        }
        if depth == 1, !omitted.isEmpty { members.removeAll { omitted.contains($0.name) } }
        var written: [UInt8] = [UInt8(ascii: "{")]
        written.reserveCapacity(out.count - start + members.count + 2)
        for (number, member) in members.enumerated() {
            if number > 0 { written.append(UInt8(ascii: ",")) }
            written.append(contentsOf: out[member.written])
        }
        written.append(UInt8(ascii: "}"))
        out.replaceSubrange(start..., with: written)
        return true
    }

    /// Whether an object with these members may name an operation of GraphQL instead of containing it.
    private static func asksForUnknown(_ names: [[UInt8]], hasDocument: Bool) -> Bool {
        var known: Set<String> = []
        for name in names {
            let text = String(decoding: name, as: UTF8.self)
            let folded = text.lowercased()
            if folded == "query", text != "query" { return true }
            known.insert(folded)
        }
        if hasDocument { return false }
        if !known.isDisjoint(with: operationNames) { return true }
        return known.contains("id") && known.contains("variables")
    }

    private static let operationNames: Set<String> = [
        "mutation", "operationname", "extensions", "documentid", "doc_id", "document_id", "queryid", "query_id",
    ]

    /// Remembers the value of a member called `query` that is a string and stands at `place`.
    private mutating func noteDocument(_ name: [UInt8], at place: Int) {
        guard objects == 1, name.elementsEqual("query".utf8), text[place] == UInt8(ascii: "\"") else {
            return
        }
        let end = index
        index = place
        if let document = string() { documents.append(document) }
        index = end
    }

    private mutating func array() -> Bool {
        guard descend() else { return false }
        defer { depth -= 1 }
        out.append(UInt8(ascii: "["))
        if isNext(UInt8(ascii: "]")) {
            out.append(UInt8(ascii: "]"))
            return true
        }
        while true {
            guard value() else { return false }
            if isNext(UInt8(ascii: ",")) {
                out.append(UInt8(ascii: ","))
            } else {
                out.append(UInt8(ascii: "]"))
                return isNext(UInt8(ascii: "]"))
            }
        }
    }

    private mutating func descend() -> Bool {
        index += 1
        depth += 1
        return depth <= CanonicalJSON.depthLimit
    }

    // MARK: Words and numbers

    private mutating func word(_ word: StaticString) -> Bool {
        let octets = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        guard text[index...].starts(with: octets) else { return false }
        index += octets.count
        out.append(contentsOf: octets)
        return true
    }

    private mutating func number() -> Bool {
        let start = index
        _ = take(UInt8(ascii: "-"))
        let whole = digits()
        guard whole > 0, whole == 1 || text[index - whole] != UInt8(ascii: "0") else { return false }
        if take(UInt8(ascii: ".")), digits() == 0 { return false }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            guard digits() > 0 else { return false }
        }
        out.append(contentsOf: text[start..<index])
        return true
    }

    private mutating func digits() -> Int {
        let start = index
        while index < text.count, ASCII.isDigit(text[index]) { index += 1 }
        return index - start
    }

    // MARK: Strings

    /// The octets that the string at the present place says; nil when it is none.
    private mutating func string() -> [UInt8]? {
        guard take(UInt8(ascii: "\"")) else { return nil }
        var octets: [UInt8] = []
        while index < text.count {
            let start = index
            while index < text.count, text[index] != UInt8(ascii: "\""), text[index] != UInt8(ascii: "\\"),
                text[index] >= 0x20
            {
                index += 1
            }
            octets.append(contentsOf: text[start..<index])
            if take(UInt8(ascii: "\"")) { return String(validating: octets, as: UTF8.self) == nil ? nil : octets }
            // Anything else is a control character, or the end.
            guard take(UInt8(ascii: "\\")), escape(into: &octets) else { return nil }
        }
        return nil
    }

    private mutating func escape(into octets: inout [UInt8]) -> Bool {
        guard index < text.count else { return false }
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
            guard var value = hexadecimal() else { return false }
            if value & 0xFC00 == 0xD800 {
                guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")), let low = hexadecimal(),
                    low & 0xFC00 == 0xDC00
                else { return false }
                value = 0x10000 + (value & 0x3FF) << 10 + (low & 0x3FF)
            }
            // Half of a surrogate pair is no character.
            guard let scalar = Unicode.Scalar(value) else { return false }
            octets.append(contentsOf: String(Character(scalar)).utf8)
        default: return false
        }
        return true
    }

    private mutating func hexadecimal() -> UInt32? {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard index < text.count, let digit = ASCII.hexValue(text[index]) else { return nil }
            value = value << 4 | UInt32(digit)
            index += 1
        }
        return value
    }

    private mutating func write(_ string: [UInt8]) {
        out.append(UInt8(ascii: "\""))
        for octet in string {
            switch octet {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                out.append(UInt8(ascii: "\\"))
                out.append(octet)
            case 0..<0x20:
                out.append(contentsOf: "\\u00".utf8)
                out.append(octet < 0x10 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
                let digit = octet & 15
                out.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            default: out.append(octet)
            }
        }
        out.append(UInt8(ascii: "\""))
    }

    // MARK: Octets

    private mutating func skipBlanks() {
        while index < text.count {
            switch text[index] {
            case 0x20, 0x0A, 0x0D, 0x09: index += 1
            default: return
            }
        }
    }

    private mutating func take(_ octet: UInt8) -> Bool {
        guard index < text.count, text[index] == octet else { return false }
        index += 1
        return true
    }

    private mutating func isNext(_ octet: UInt8) -> Bool {
        skipBlanks()
        return take(octet)
    }
}
