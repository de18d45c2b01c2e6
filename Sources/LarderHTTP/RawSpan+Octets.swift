// SPDX-License-Identifier: Apache-2.0

/// Bytes that strangers sent are read through `RawSpan`, which checks each access: a mistake ends the process instead
/// of reading what belongs to another client.
extension RawSpan {
    /// The byte at a position.
    @inline(__always)
    subscript(position: Int) -> UInt8 { unsafeLoad(fromByteOffset: position, as: UInt8.self) }

    /// The sixteen bytes from a position on.
    @inline(__always)
    func sixteen(at position: Int) -> SIMD16<UInt8> {
        unsafeLoadUnaligned(fromByteOffset: position, as: SIMD16<UInt8>.self)
    }

    /// The eight bytes from a position on, the first one lowest.
    @inline(__always)
    func eight(at position: Int) -> UInt64 {
        UInt64(littleEndian: unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self))
    }

    /// The four bytes from a position on, the first one lowest.
    @inline(__always)
    func four(at position: Int) -> UInt32 {
        UInt32(littleEndian: unsafeLoadUnaligned(fromByteOffset: position, as: UInt32.self))
    }

    /// True if the bytes equal `text`.
    func equals(_ text: some Collection<UInt8>) -> Bool {
        guard text.count == byteCount else { return false }
        var position = 0
        for octet in text {
            guard self[position] == octet else { return false }
            position &+= 1
        }
        return true
    }
}
