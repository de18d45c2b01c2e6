// SPDX-License-Identifier: Apache-2.0

/// A header or trailer section: field lines in the order they came, names in the spelling they came in.
///
/// All lines share one run of bytes, so a section of any size costs two allocations, and a section parsed into the
/// storage of an earlier one costs no allocation. Values are bytes without surrounding blanks. As `String` they read as
/// ISO-8859-1 (RFC 9110 §5.5), which loses no information in either direction.
public struct Fields: Sendable {
    @usableFromInline
    struct Line: Sendable {
        /// The registered name's code, or 0.
        @usableFromInline var code: UInt8
        @usableFromInline var nameStart: UInt32
        @usableFromInline var nameCount: UInt32
        @usableFromInline var valueStart: UInt32
        @usableFromInline var valueCount: UInt32

        @usableFromInline
        init(code: UInt8, nameStart: Int, nameCount: Int, valueStart: Int, valueCount: Int) {
            self.code = code
            self.nameStart = UInt32(truncatingIfNeeded: nameStart)
            self.nameCount = UInt32(truncatingIfNeeded: nameCount)
            self.valueStart = UInt32(truncatingIfNeeded: valueStart)
            self.valueCount = UInt32(truncatingIfNeeded: valueCount)
        }

        @usableFromInline var name: Range<Int> { Int(nameStart)..<Int(nameStart &+ nameCount) }
        @usableFromInline var value: Range<Int> { Int(valueStart)..<Int(valueStart &+ valueCount) }
    }

    @usableFromInline var bytes: [UInt8] = []
    @usableFromInline var lines: [Line] = []

    /// Makes a section without lines.
    public init() {}

    /// How many field lines there are.
    @inlinable public var count: Int { lines.count }
    /// True if there are no field lines.
    @inlinable public var isEmpty: Bool { lines.isEmpty }

    // MARK: Reading

    /// True if a line of that name is present.
    @inlinable
    public func contains(_ name: FieldName) -> Bool { firstIndex(of: name) != nil }

    /// The value of the first line of that name.
    public subscript(first name: FieldName) -> String? {
        firstIndex(of: name).map { string(lines[$0].value) }
    }

    /// The values of all lines of that name, in order.
    public subscript(all name: FieldName) -> [String] {
        var values: [String] = []
        for index in lines.indices where matches(index, name) { values.append(string(lines[index].value)) }
        return values
    }

    /// The combined value: all lines of that name joined by `, ` (RFC 9110 §5.3), or nil when there is none.
    /// Setting it replaces all lines of that name by one; nil removes them. `Set-Cookie` must not be combined:
    /// use `subscript(all:)` and `append` for it.
    public subscript(name: FieldName) -> String? {
        get {
            guard let first = firstIndex(of: name) else { return nil }
            let isRepeated = lines.indices[(first + 1)...].contains { matches($0, name) }
            return isRepeated ? self[all: name].joined(separator: ", ") : string(lines[first].value)
        }
        set {
            remove(name)
            if let newValue { append(name, newValue) }
        }
    }

    /// How many lines have that name.
    public func count(of name: FieldName) -> Int {
        var total = 0
        for index in lines.indices where matches(index, name) { total += 1 }
        return total
    }

    /// Calls `body` with the bytes of the first value of that name, without copying; nil when absent.
    @inlinable
    public func withFirst<Result>(_ name: FieldName, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        guard let index = firstIndex(of: name) else { return nil }
        return bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[lines[index].value])) }
    }

    /// Calls `body` with the bytes of each value of that name, in order, without copying.
    @inlinable
    public func forEach(_ name: FieldName, _ body: (UnsafeRawBufferPointer) -> Void) {
        bytes.withUnsafeBytes { all in
            for index in lines.indices where matches(index, name) {
                body(UnsafeRawBufferPointer(rebasing: all[lines[index].value]))
            }
        }
    }

    /// Calls `body` with each line: the registered name or nil, and the bytes of name and value.
    @inlinable
    public func forEachLine(
        _ body: (_ name: FieldName?, _ spelling: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void
    ) {
        bytes.withUnsafeBytes { all in
            for line in lines { Fields.withLine(line, all, body) }
        }
    }

    // MARK: Changing

    /// Makes room for lines that are about to be added.
    ///
    /// - Parameter bytes: of their names and values together.
    package mutating func reserve(lines count: Int, octets: Int) {
        lines.reserveCapacity(lines.count + count)
        bytes.reserveCapacity(bytes.count + octets)
    }

    /// Adds a line. Bytes that a field value may not hold (CR, LF, NUL) become spaces: what comes from outside is
    /// checked where it is parsed.
    @inlinable
    public mutating func append(_ name: FieldName, _ value: some StringProtocol) { append(name, text: String(value)) }

    @usableFromInline
    mutating func append(_ name: FieldName, text: String) {
        append(name) { octets in
            var text = text
            let isASCII = text.withUTF8 { $0.allSatisfy { $0 < 0x80 } }
            if isASCII { return octets.append(text) }
            for scalar in text.unicodeScalars {
                if scalar.value < 0x100 {
                    octets.append(UInt8(scalar.value))
                } else {
                    octets.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
                }
            }
        }
    }

    /// Adds a line with a value of bytes.
    public mutating func append(_ name: FieldName, bytes value: UnsafeRawBufferPointer) {
        append(name) { $0.append(value) }
    }

    /// Adds a line whose value is what `write` appends.
    package mutating func append(_ name: FieldName, writing write: (inout [UInt8]) -> Void) {
        let nameStart = bytes.count
        bytes.append(name.spelling)
        let valueStart = bytes.count
        write(&bytes)
        // Values from messages were checked by the parser. Values from a program that uses the library, or from a bug
        // of ours, end no process and split no message (RFC 9110 §5.5: the bytes become spaces).
        for index in valueStart..<bytes.count where Fields.endsLine(bytes[index]) { bytes[index] = 0x20 }
        appendLine(
            code: name.code, nameStart: nameStart, nameCount: valueStart - nameStart, valueStart: valueStart,
            valueCount: bytes.count - valueStart)
    }

    private static func endsLine(_ octet: UInt8) -> Bool { octet == 0x0D || octet == 0x0A || octet == 0 }

    /// Adds a line as it was received: `spelling` is a token, `value` has been validated and trimmed.
    package mutating func appendReceived(spelling: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        appendLine(code: FieldName.code(ofToken: spelling.bytes), spelling: spelling, value: value)
    }

    /// How many bytes the lines may point into.
    package var octetCount: Int { bytes.count }

    /// Adds bytes that lines point into, or will.
    mutating func appendOctets(_ octets: RawSpan) { bytes.append(octets) }

    /// Adds a line whose bytes are, or will be, where the offsets say.
    @inline(__always)
    mutating func appendLine(code: UInt8, nameStart: Int, nameCount: Int, valueStart: Int, valueCount: Int) {
        lines.append(
            Line(
                code: code, nameStart: nameStart, nameCount: nameCount, valueStart: valueStart, valueCount: valueCount))
    }

    /// Removes all lines of that name.
    public mutating func remove(_ name: FieldName) {
        removeLines { fields, index in fields.matches(index, name) }
    }

    /// Removes the lines for which `isRemoved` is true.
    package mutating func removeAll(
        where isRemoved: (_ name: FieldName?, _ spelling: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) ->
            Bool
    ) {
        removeLines { fields, index in
            fields.bytes.withUnsafeBytes { Fields.withLine(fields.lines[index], $0, isRemoved) }
        }
    }

    /// The lines for which `isKept` is true, in storage of their own size.
    package func filter(
        _ isKept: (_ name: FieldName?, _ spelling: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
    ) -> Fields {
        var (count, octets) = (0, 0)
        forEachLine { name, spelling, value in
            guard isKept(name, spelling, value) else { return }
            count += 1
            octets += spelling.count + value.count
        }
        var result = Fields()
        result.reserve(lines: count, octets: octets)
        forEachLine { name, spelling, value in
            guard isKept(name, spelling, value) else { return }
            result.appendLine(code: name?.code ?? 0, spelling: spelling, value: value)
        }
        return result
    }

    /// Removes everything and keeps the storage for the next section.
    @inlinable
    package mutating func removeAllKeepingCapacity() {
        bytes.removeAll(keepingCapacity: true)
        lines.removeAll(keepingCapacity: true)
    }

    /// The line at a position.
    func line(at index: Int) -> FieldLine {
        let line = lines[index]
        let name: FieldName =
            line.code != 0
            ? FieldName(code: line.code)
            : bytes.withUnsafeBytes { FieldName(token: UnsafeRawBufferPointer(rebasing: $0[line.name])) }
        return FieldLine(name: name, value: string(line.value))
    }

    // MARK: Private parts

    @inlinable
    func firstIndex(of name: FieldName) -> Int? {
        for index in lines.indices where matches(index, name) { return index }
        return nil
    }

    @inlinable
    func matches(_ index: Int, _ name: FieldName) -> Bool {
        lines[index].code == name.code && (name.code != 0 || matchesOther(index, name))
    }

    @usableFromInline
    func matchesOther(_ index: Int, _ name: FieldName) -> Bool {
        let range = lines[index].name
        guard range.count == name.other.utf8.count else { return false }
        return zip(range, name.other.utf8).allSatisfy { ASCII.lowercased(bytes[$0]) == $1 }
    }

    private func string(_ range: Range<Int>) -> String { String(latin1: bytes[range]) }

    private mutating func appendLine(code: UInt8, spelling: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        let start = bytes.count
        bytes.append(spelling)
        bytes.append(value)
        appendLine(
            code: code, nameStart: start, nameCount: spelling.count, valueStart: start + spelling.count,
            valueCount: value.count)
    }

    @inlinable
    static func withLine<Result>(
        _ line: Line, _ all: UnsafeRawBufferPointer,
        _ body: (FieldName?, UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Result
    ) -> Result {
        body(
            line.code == 0 ? nil : FieldName(code: line.code), UnsafeRawBufferPointer(rebasing: all[line.name]),
            UnsafeRawBufferPointer(rebasing: all[line.value]))
    }

    /// Dropping lines leaves their bytes behind; they go when the section is copied out or parsed anew.
    private mutating func removeLines(where isRemoved: (borrowing Fields, Int) -> Bool) {
        guard var end = lines.indices.first(where: { isRemoved(self, $0) }) else { return }
        for index in (end + 1)..<lines.count where !isRemoved(self, index) {
            lines[end] = lines[index]
            end += 1
        }
        lines.removeLast(lines.count - end)
    }
}

extension Fields: Equatable {
    /// Equal when the same lines (names without case, values byte by byte) stand in the same order.
    public static func == (a: Fields, b: Fields) -> Bool {
        guard a.lines.count == b.lines.count else { return false }
        return zip(a.lines, b.lines).allSatisfy { left, right in
            left.code == right.code && a.bytes[left.value].elementsEqual(b.bytes[right.value])
                && a.bytes[left.name].lazy.map(ASCII.lowercased).elementsEqual(
                    b.bytes[right.name].lazy.map(ASCII.lowercased))
        }
    }
}

extension Fields: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (FieldName, String)...) {
        for (name, value) in elements { append(name, value) }
    }
}

extension Fields: CustomStringConvertible {
    /// One line a field. Values that can hold secrets are left out, so a section may be logged.
    public var description: String {
        lines.map { line in
            let name = string(line.name)
            let isSecret = Fields.secrets.contains(line.code)
            return "\(name): \(isSecret ? "[redacted]" : string(line.value))"
        }.joined(separator: "\n")
    }

    private static let secrets: Set<UInt8> = [
        FieldName.authorization.code, FieldName.proxyAuthorization.code, FieldName.cookie.code,
        FieldName.setCookie.code,
        FieldName.larderToken.code,
    ]
}
