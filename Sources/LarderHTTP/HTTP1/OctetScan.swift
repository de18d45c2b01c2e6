// SPDX-License-Identifier: Apache-2.0

/// Searching runs of bytes sixteen at a time.
///
/// The constants are hoisted and the masks annotated because unannotated SIMD expressions resolve to the generic,
/// lane-by-lane overloads, which cost thirty times as much.
enum OctetScan {
    /// The position in `from..<to` of the first control byte other than HTAB, or `to`.
    @inline(__always)
    static func firstControl(_ bytes: RawSpan, from: Int, to: Int) -> Int {
        let space = SIMD16<UInt8>(repeating: 0x20)
        let tab = SIMD16<UInt8>(repeating: 0x09)
        let delete = SIMD16<UInt8>(repeating: 0x7F)
        var position = from
        while position &+ 16 <= to {
            let octets = bytes.sixteen(at: position)
            let low: SIMDMask<SIMD16<Int8>> = octets .< space
            let notTab: SIMDMask<SIMD16<Int8>> = octets .!= tab
            let isDelete: SIMDMask<SIMD16<Int8>> = octets .== delete
            let found: SIMDMask<SIMD16<Int8>> = (low .& notTab) .| isDelete
            if let offset = firstLane(found) { return position &+ offset }
            position &+= 16
        }
        while position < to {
            let octet = bytes[position]
            if (octet < 0x20 && octet != 0x09) || octet == 0x7F { break }
            position &+= 1
        }
        return position
    }

    /// The position in `from..<to` of the first byte that is not visible ASCII (`!` to `~`), or `to`.
    @inline(__always)
    static func firstInvisible(_ bytes: RawSpan, from: Int, to: Int) -> Int {
        let lowest = SIMD16<UInt8>(repeating: 0x21)
        let width = SIMD16<UInt8>(repeating: 0x7E - 0x21)
        var position = from
        while position &+ 16 <= to {
            let octets = bytes.sixteen(at: position)
            let found: SIMDMask<SIMD16<Int8>> = (octets &- lowest) .> width
            if let offset = firstLane(found) { return position &+ offset }
            position &+= 16
        }
        while position < to, bytes[position] &- 0x21 <= 0x7E - 0x21 {
            position &+= 1
        }
        return position
    }

    /// The position in `from..<to` of the first byte that is not a tchar (RFC 9110 §5.6.2), or `to`. Sixteen
    /// are loaded even where the run is shorter, if there are so many.
    @inline(__always)
    static func firstNonToken(_ bytes: RawSpan, from: Int, to: Int) -> Int {
        let readable = bytes.byteCount
        var position = from
        // Names consist nearly always of letters, digits and hyphens; other bytes are looked up one by one.
        let fold = SIMD16<UInt8>(repeating: 0x20)
        let letterA = SIMD16<UInt8>(repeating: 0x61)
        let letters = SIMD16<UInt8>(repeating: 26)
        let zero = SIMD16<UInt8>(repeating: 0x30)
        let digits = SIMD16<UInt8>(repeating: 10)
        let hyphen = SIMD16<UInt8>(repeating: 0x2D)
        while position < to, position &+ 16 <= readable {
            let octets = bytes.sixteen(at: position)
            let notLetter: SIMDMask<SIMD16<Int8>> = ((octets | fold) &- letterA) .>= letters
            let notDigit: SIMDMask<SIMD16<Int8>> = (octets &- zero) .>= digits
            let notHyphen: SIMDMask<SIMD16<Int8>> = octets .!= hyphen
            let found: SIMDMask<SIMD16<Int8>> = notLetter .& notDigit .& notHyphen
            if let offset = firstLane(found) {
                position &+= offset
                break
            }
            position &+= 16
        }
        while position < to, Token.isTokenCharacter(bytes[position]) {
            position &+= 1
        }
        return min(position, to)
    }

    /// The index of the first lane that is set. There is no move-mask here: the mask is read as two words.
    @inline(__always)
    private static func firstLane(_ mask: SIMDMask<SIMD16<Int8>>) -> Int? {
        let words = unsafeBitCast(mask, to: SIMD2<UInt64>.self)
        if words[0] != 0 { return words[0].trailingZeroBitCount &>> 3 }
        if words[1] != 0 { return 8 &+ words[1].trailingZeroBitCount &>> 3 }
        return nil
    }
}
