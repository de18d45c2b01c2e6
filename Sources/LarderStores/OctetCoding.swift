// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Bytes with length prefixes, big-endian.
package struct OctetWriter {
    package private(set) var octets: [UInt8] = []

    /// - Parameter room: the expected length in bytes.
    package init(room: Int = 0) { octets.reserveCapacity(room) }

    /// The encoded length of fields.
    package static func room(for fields: Fields) -> Int {
        var room = 4
        fields.forEachLine { _, spelling, value in room += 8 + spelling.count + value.count }
        return room
    }

    package mutating func append(_ byte: UInt8) { octets.append(byte) }
    package mutating func append(_ number: UInt16) { append(integer: number) }

    /// A count in 32 bits: a message head never comes near, with any limit.
    package mutating func append(count: Int) { append(integer: UInt32(count)) }

    /// A position in content.
    package mutating func append(place: Int64) { append(integer: place) }

    /// 64 bits that mean something as a whole, such as a fingerprint.
    package mutating func append(mark: UInt64) { append(integer: mark) }

    private mutating func append(integer: some FixedWidthInteger) {
        withUnsafeBytes(of: integer.bigEndian) { octets.append(contentsOf: $0) }
    }

    /// The last bytes, without their length.
    package mutating func append(rest: [UInt8]) { octets.append(contentsOf: rest) }

    package mutating func append(run: UnsafeRawBufferPointer) {
        append(count: run.count)
        octets.append(contentsOf: run)
    }

    package mutating func append(run: [UInt8]) { run.withUnsafeBytes { append(run: $0) } }

    package mutating func append(run text: String) {
        append(count: text.utf8.count)
        octets.append(contentsOf: text.utf8)
    }

    package mutating func append(_ fields: Fields) {
        append(count: fields.count)
        fields.forEachLine { _, spelling, value in
            append(run: spelling)
            append(run: value)
        }
    }

    /// A run, or its absence.
    package mutating func append(optional run: [UInt8]?) {
        if let run { append(run: run) } else { append(integer: UInt32.max) }
    }
}

/// Reads the output of `OctetWriter`; every step returns nil when the bytes do not match.
package struct OctetReader {
    private let octets: [UInt8]
    private var position = 0

    package init(_ octets: [UInt8]) { self.octets = octets }

    package var isAtEnd: Bool { position == octets.count }

    package mutating func byte() -> UInt8? { take(1)?.first }

    package mutating func number() -> UInt16? { integer() }

    /// Not negative.
    package mutating func place() -> Int64? { integer().flatMap { $0 < 0 ? nil : $0 } }

    package mutating func mark() -> UInt64? { integer() }

    /// All bytes up to the end.
    package mutating func rest() -> [UInt8] { take(octets.count - position).map(Array.init) ?? [] }

    package mutating func count() -> UInt32? { integer() }

    package mutating func run() -> [UInt8]? {
        guard let count = count() else { return nil }
        return take(Int(count)).map(Array.init)
    }

    /// Nil when malformed; `.some(nil)` for an absent run.
    package mutating func optional() -> [UInt8]?? {
        guard let count = count() else { return nil }
        if count == .max { return .some(nil) }
        guard let run = take(Int(count)) else { return nil }
        return .some(Array(run))
    }

    /// Nil as well for names or values that are not allowed in messages.
    package mutating func fields() -> Fields? {
        guard let count = count() else { return nil }
        var fields = Fields()
        for _ in 0..<count {
            guard let spelling = run(), case .some(.some(let value)) = optional() else { return nil }
            let isValid =
                spelling.withUnsafeBytes { Token.isToken($0) }
                && !value.contains { $0 == 0 || $0 == 0x0D || $0 == 0x0A }
            guard isValid else { return nil }
            spelling.withUnsafeBytes { name in
                value.withUnsafeBytes { fields.appendReceived(spelling: name, value: $0) }
            }
        }
        return fields
    }

    private mutating func integer<Integer: FixedWidthInteger>() -> Integer? {
        take(Integer.bitWidth / 8).map { $0.reduce(0) { $0 << 8 | Integer(truncatingIfNeeded: $1) } }
    }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard octets.count - position >= count else { return nil }
        defer { position += count }
        return octets[position..<position + count]
    }
}
