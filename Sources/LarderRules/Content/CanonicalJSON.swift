// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// JSON written in one way, so that two texts which differ in blanks, in the order of members or in escapes are the
/// same bytes (after RFC 8785).
///
/// Numbers stay as they were written: what a reader makes of `1.0` or of thirty digits is its own affair.
package struct CanonicalJSON: Sendable, Equatable {
    package let octets: [UInt8]
    /// The strings called `query` in the outermost object, or in objects of arrays that no object is around: in a GraphQL
    /// request they are the documents.
    package let documents: [[UInt8]]
    /// True if it may ask for a GraphQL operation that it does not contain: a persisted query, or a document under a
    /// name that only some servers read.
    package let asksForUnknown: Bool

    /// How deeply arrays and objects may be nested.
    package static let depthLimit = 64

    /// Parses one JSON value. Nil for malformed or too deeply nested text, and for an object with a duplicate member,
    /// which parsers interpret differently.
    ///
    /// - Parameter omitted: members of the outermost object that are left out.
    package init?(_ text: [UInt8], leavingOut omitted: Set<[UInt8]> = []) {
        var scanner = JSONScanner(text, depthLimit: CanonicalJSON.depthLimit)
        var writer = CanonicalWriter(omitted: omitted, capacity: text.count)
        do throws(JSONSyntaxError) {
            try writer.value(&scanner)
            try scanner.end()
        } catch { return nil }
        (octets, documents, asksForUnknown) = (writer.out, writer.documents, writer.asksForUnknown)
    }
}

/// Writes JSON canonically as it is read.
private struct CanonicalWriter {
    private let omitted: Set<[UInt8]>
    private(set) var out: [UInt8] = []
    private(set) var documents: [[UInt8]] = []
    private(set) var asksForUnknown = false
    private var depth = 0
    /// How many of the values around are objects.
    private var objects = 0

    init(omitted: Set<[UInt8]>, capacity: Int) {
        self.omitted = omitted
        out.reserveCapacity(capacity)
    }

    mutating func value(_ scanner: inout JSONScanner) throws(JSONSyntaxError) {
        switch try scanner.start() {
        case .object: try object(&scanner)
        case .array: try array(&scanner)
        case .string: write(Array(try scanner.string().utf8))
        case .number: out.append(contentsOf: scanner.text[try scanner.number()])
        case .true: out.append(contentsOf: "true".utf8)
        case .false: out.append(contentsOf: "false".utf8)
        case .null: out.append(contentsOf: "null".utf8)
        }
    }

    // MARK: Structures

    private mutating func object(_ scanner: inout JSONScanner) throws(JSONSyntaxError) {
        depth += 1
        objects += 1
        defer {
            depth -= 1
            objects -= 1
        }
        // Members are written one after another, and then put in order.
        let start = out.count
        let before = documents.count
        var members: [(name: [UInt8], written: Range<Int>)] = []
        try scanner.object { scanner, name throws(JSONSyntaxError) in
            let begin = out.count
            let name = Array(name.utf8)
            write(name)
            out.append(UInt8(ascii: ":"))
            if let document = try document(name, &scanner) {
                documents.append(document)
                write(document)
            } else {
                try value(&scanner)
            }
            members.append((name, begin..<out.count))
        }
        members.sort { $0.name.lexicographicallyPrecedes($1.name) }
        for (member, next) in zip(members, members.dropFirst()) where member.name == next.name {
            throw scanner.wrong("a second member of that name")
        }
        if objects == 1, !asksForUnknown {
            asksForUnknown = CanonicalWriter.asksForUnknown(members.map(\.name), hasDocument: documents.count > before)
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
    }

    /// The value of a member called `query` if it is a string.
    private func document(
        _ name: [UInt8], _ scanner: inout JSONScanner
    ) throws(JSONSyntaxError) -> [UInt8]? {
        guard objects == 1, name.elementsEqual("query".utf8), scanner.isAtString else { return nil }
        return Array(try scanner.string().utf8)
    }

    /// True if an object with these members may name an operation of GraphQL instead of containing it.
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

    private mutating func array(_ scanner: inout JSONScanner) throws(JSONSyntaxError) {
        depth += 1
        defer { depth -= 1 }
        out.append(UInt8(ascii: "["))
        var isFirst = true
        try scanner.array { scanner throws(JSONSyntaxError) in
            if !isFirst { out.append(UInt8(ascii: ",")) }
            isFirst = false
            try value(&scanner)
        }
        out.append(UInt8(ascii: "]"))
    }

    // MARK: Strings

    private mutating func write(_ string: [UInt8]) {
        out.append(UInt8(ascii: "\""))
        out.append(jsonEscaping: string)
        out.append(UInt8(ascii: "\""))
    }
}
