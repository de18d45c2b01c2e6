// SPDX-License-Identifier: Apache-2.0

/// Appending text to a buffer as bytes, without making Strings: used to write heads.
extension [UInt8] {
    /// Appends a string literal as UTF-8.
    @inlinable
    package mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { append(contentsOf: $0) }
    }

    /// Appends text as UTF-8.
    @inlinable
    package mutating func append(_ text: String) {
        let isAppended: Void? = text.utf8.withContiguousStorageIfAvailable { append(contentsOf: $0) }
        if isAppended == nil { append(contentsOf: text.utf8) }
    }

    /// Appends bytes, in one piece.
    @inlinable
    package mutating func append(_ octets: UnsafeRawBufferPointer) {
        octets.withMemoryRebound(to: UInt8.self) { append(contentsOf: $0) }
    }

    /// Appends bytes, in one piece.
    package mutating func append(_ octets: RawSpan) { octets.withUnsafeBytes { append($0) } }

    /// Appends bytes as they are written in a string of JSON, without its quotation marks.
    @inlinable
    package mutating func append(jsonEscaping octets: some Sequence<UInt8>) {
        for octet in octets {
            switch octet {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                append(UInt8(ascii: "\\"))
                append(octet)
            case 0x0A: append("\\n" as StaticString)
            case 0x0D: append("\\r" as StaticString)
            case 0x09: append("\\t" as StaticString)
            case ..<0x20: append("\\u00\(octet < 16 ? "0" : "")\(String(octet, radix: 16))")
            default: append(octet)
            }
        }
    }

    /// Appends a number in decimal digits, without leading zeros.
    package mutating func append(decimal number: Int64) {
        if number < 0 { append(UInt8(ascii: "-")) }
        append(decimal: number.magnitude)
    }

    /// Appends a number in decimal digits, without leading zeros.
    package mutating func append(decimal number: UInt64) {
        var low = count
        var rest = number
        repeat {
            append(0x30 + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        // The digits were written from the last to the first.
        var high = count - 1
        while low < high {
            swapAt(low, high)
            low += 1
            high -= 1
        }
    }
}
