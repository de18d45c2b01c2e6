// SPDX-License-Identifier: Apache-2.0

/// The content codings of a message, in the order in which they were applied (RFC 9110 §8.4).
package struct ContentCodings: Hashable, Sendable {
    /// The names of the codings as they were sent, without `identity`.
    package private(set) var names: [String]

    /// - Parameter field: the value of `Content-Encoding`, if there is one.
    package init(_ field: String?) {
        names = (field ?? "").split(separator: ",").map(ContentCodings.trimmed)
            .filter { !$0.isEmpty && $0.lowercased() != "identity" }
    }

    package var isEmpty: Bool { names.isEmpty }

    /// The coding that was applied last; nil if it is unknown here.
    package var last: ContentCoding? { names.last.flatMap { ContentCoding(token: $0) } }

    package mutating func removeLast() { names.removeLast() }

    /// The value of `Content-Encoding`; nil without codings.
    package var field: String? { names.isEmpty ? nil : names.joined(separator: ", ") }

    /// More codings than anybody applies are not undone: each step may take as long as the first.
    fileprivate static let limit = 4

    /// Decodes whole content from all of them, to at most `limit` bytes in each step.
    ///
    /// - Throws: `TooManyContentCodings`, `UnknownContentCoding`, or a `CodingError`.
    package func decode(_ octets: [UInt8], limit: Int) throws -> [UInt8] {
        guard names.count <= ContentCodings.limit else { throw TooManyContentCodings(count: names.count) }
        var octets = octets
        for name in names.reversed() {
            guard let coding = ContentCoding(token: name) else { throw UnknownContentCoding(name: name) }
            octets = try coding.decode(octets, limit: limit)
        }
        return octets
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        var rest = Array(text.utf8)[...]
        while let first = rest.first, isBlank(first) { rest.removeFirst() }
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return String(decoding: rest, as: UTF8.self)
    }
}

/// More content codings, one inside the other, than are undone.
package struct TooManyContentCodings: Error, Hashable, Sendable, CustomStringConvertible {
    package let count: Int
    package var description: String {
        "the content is in \(count) codings, one inside the other; at most \(ContentCodings.limit) are undone"
    }
}

/// An unknown content coding, because of which the content cannot be decoded.
package struct UnknownContentCoding: Error, Hashable, Sendable, CustomStringConvertible {
    package let name: String
    package var description: String { "the content is in the coding '\(name)', which cannot be undone here" }
}
