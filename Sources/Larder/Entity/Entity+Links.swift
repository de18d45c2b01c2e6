// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

extension Entity {
    /// The target of the first link with that relation type, as the response wrote it; pass it to
    /// ``Resource/relative(_:)``. nil when the `Link` fields have none, or only links of other things than the response
    /// (those with an `anchor`).
    ///
    /// - Parameter relation: a relation type, such as `next`; case does not matter. Source: RFC 8288 §3.
    public func link(_ relation: String) -> String? {
        let wanted = relation.lowercased()
        for line in fields[all: .link] {
            var reader = LinkReader(line)
            while let link = reader.next() {
                if !link.hasAnchor, link.relations.contains(wanted) { return link.target }
            }
        }
        return nil
    }
}

/// Reads the links of a line one after the other. A malformed link ends the line.
private struct LinkReader {
    struct Link {
        var target: String
        /// In lower case. Only the first `rel` counts (RFC 8288 §3.3).
        var relations: [String] = []
        var hasAnchor = false
    }

    private var rest: ArraySlice<UInt8>

    init(_ line: String) { rest = Array(line.asFieldText.utf8)[...] }

    mutating func next() -> Link? {
        skip(" \t,")
        guard take("<"), let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return nil }
        var link = Link(target: String(decoding: rest[..<end], as: UTF8.self))
        rest = rest[(end + 1)...]
        var hasRelations = false
        while true {
            skip(" \t")
            guard take(";") else { break }
            skip(" \t")
            let name = word(until: "=;, \t").lowercased()
            skip(" \t")
            var value = ""
            if take("=") {
                skip(" \t")
                guard let given = take("\"") ? quoted() : word(until: ";, \t") else { return nil }
                value = given
            }
            if name == "anchor" { link.hasAnchor = true }
            if name == "rel", !hasRelations {
                hasRelations = true
                link.relations = value.lowercased().split(separator: " ").map(String.init)
            }
        }
        guard rest.isEmpty || rest.first == UInt8(ascii: ",") else { return nil }
        return link
    }

    private mutating func skip(_ blanks: StaticString) {
        rest = rest.drop { octet in blanks.withUTF8Buffer { $0.contains(octet) } }
    }

    private mutating func take(_ octet: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: octet) else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func word(until ends: StaticString) -> String {
        let word = rest.prefix { octet in !ends.withUTF8Buffer { $0.contains(octet) } }
        rest = rest[word.endIndex...]
        return String(decoding: word, as: UTF8.self)
    }

    /// The text after an opening quote; nil when it is never closed.
    private mutating func quoted() -> String? {
        var octets: [UInt8] = []
        while let octet = rest.popFirst() {
            if octet == UInt8(ascii: "\"") { return String(decoding: octets, as: UTF8.self) }
            if octet == UInt8(ascii: "\\") {
                guard let escaped = rest.popFirst() else { return nil }
                octets.append(escaped)
            } else {
                octets.append(octet)
            }
        }
        return nil
    }
}
