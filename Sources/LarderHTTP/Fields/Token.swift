// SPDX-License-Identifier: Apache-2.0

/// ASCII as bytes: HTTP's syntax never depends on locale or Unicode.
package enum ASCII {
    @inlinable
    package static func lowercased(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
    @inlinable
    package static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }
    @inlinable
    package static func isAlpha(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }
    /// Space or horizontal tab: what RFC 9110 §5.6.3 calls OWS, one byte of it.
    @inlinable
    package static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    /// The value of a hexadecimal digit, or nil.
    @inlinable
    package static func hexValue(_ byte: UInt8) -> UInt8? {
        if isDigit(byte) { return byte &- 0x30 }
        let folded = byte | 0x20
        return folded &- 0x61 < 6 ? folded &- 0x61 &+ 10 : nil
    }

    /// True if two runs of bytes are equal, compared eight at a time.
    package static func equal(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
        guard a.count == b.count else { return false }
        var position = 0
        while position &+ 8 <= a.count {
            let word = a.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            if word != b.loadUnaligned(fromByteOffset: position, as: UInt64.self) { return false }
            position &+= 8
        }
        while position < a.count {
            if a[position] != b[position] { return false }
            position &+= 1
        }
        return true
    }

    /// True if two runs of bytes are equal when ASCII letters are compared without case.
    package static func equalFolded(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
        guard a.count == b.count else { return false }
        for index in 0..<a.count where lowercased(a[index]) != lowercased(b[index]) { return false }
        return true
    }

    /// `bytes` without leading and trailing blanks.
    @inlinable
    package static func trimmed(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var start = 0
        var end = bytes.count
        while start < end, isBlank(bytes[start]) { start &+= 1 }
        while end > start, isBlank(bytes[end &- 1]) { end &-= 1 }
        return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    }
}

/// RFC 9110 §5.6.2: the characters names, methods and coding names are made of.
package enum Token {
    /// Bit n of the pair is set when byte n (below 128) is a tchar.
    @inlinable static var low: UInt64 { 0x03FF_6CFA_0000_0000 }
    @inlinable static var high: UInt64 { 0x57FF_FFFF_C7FF_FFFE }

    @inlinable
    package static func isTokenCharacter(_ byte: UInt8) -> Bool {
        if byte < 64 { return low & (1 &<< UInt64(byte)) != 0 }
        if byte < 128 { return high & (1 &<< UInt64(byte &- 64)) != 0 }
        return false
    }

    /// True if `bytes` is a token: one or more tchars and nothing else.
    package static func isToken(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !bytes.isEmpty else { return false }
        for byte in bytes where !isTokenCharacter(byte) { return false }
        return true
    }
}
