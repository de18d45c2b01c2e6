// SPDX-License-Identifier: Apache-2.0

/// One field line: a name and a value.
public struct FieldLine: Hashable, Sendable, CustomStringConvertible {
    /// The name, compared without case.
    public var name: FieldName
    /// The value; bytes beyond ASCII read as ISO-8859-1.
    public var value: String

    /// Makes a line.
    public init(name: FieldName, value: String) {
        self.name = name
        self.value = value
    }

    /// The line as it is written. The value is always shown.
    public var description: String { "\(name): \(value)" }
}

/// The lines in their order.
extension Fields: Sequence {
    public func makeIterator() -> Iterator { Iterator(fields: self) }

    public var underestimatedCount: Int { count }

    /// Goes through the lines of a section.
    public struct Iterator: IteratorProtocol {
        fileprivate let fields: Fields
        private var index = 0

        fileprivate init(fields: Fields) { self.fields = fields }

        public mutating func next() -> FieldLine? {
            guard index < fields.count else { return nil }
            defer { index += 1 }
            return fields.line(at: index)
        }
    }
}

extension Fields {
    /// Makes a section of lines.
    public init(_ lines: some Sequence<FieldLine>) {
        self.init()
        for line in lines { append(line.name, line.value) }
    }

    /// Makes a section with a line for each member, in the order of their names. Nil when a name is no token (RFC 9110
    /// §5.1), or a value holds a line break or NUL.
    public init?(_ values: [String: String]) {
        self.init()
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            let isOneLine = value.utf8.allSatisfy { $0 != 0x0D && $0 != 0x0A && $0 != 0 }
            guard let name = FieldName(name), isOneLine else { return nil }
            append(name, value)
        }
    }

    /// The combined value of a field whose name is only known as text; nil when there is none, or it is no name.
    // Names that stand in the source are `FieldName`s, which are checked there.
    @_disfavoredOverload
    public subscript(name: String) -> String? { FieldName(name).flatMap { self[$0] } }

    /// The combined value of a field, or `fallback` where there is none.
    public subscript(name: FieldName, default fallback: @autoclosure () -> String) -> String {
        self[name] ?? fallback()
    }

    /// The names, each once, in the order in which they first occur.
    public var names: [FieldName] {
        var seen: Set<FieldName> = []
        return map(\.name).filter { seen.insert($0).inserted }
    }

    /// The combined values by the names in lower case. `Set-Cookie` is not in it, since its lines must not be combined.
    public var dictionary: [String: String] {
        var values: [String: String] = [:]
        for name in names where name != .setCookie { values[name.canonical] = self[name] }
        return values
    }

    /// These lines, with the lines of `other` in place of all lines with equal names.
    public func merging(_ other: Fields) -> Fields {
        var merged = self
        for name in other.names { merged.remove(name) }
        for line in other { merged.append(line.name, line.value) }
        return merged
    }
}
