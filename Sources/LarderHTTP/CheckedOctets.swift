// SPDX-License-Identifier: Apache-2.0

/// Bytes in another's memory, as long as that lasts, with each access checked: for readers that have to keep where they
/// are, which a `RawSpan` cannot do yet. A mistake ends the process instead of reading what belongs to another client.
///
/// Public, as calls of it are to be compiled into other modules.
@frozen
public struct CheckedOctets: RandomAccessCollection {
    @usableFromInline let octets: UnsafeRawBufferPointer

    /// Refers to bytes, which must stay in place until the last use of this.
    @inlinable @inline(__always)
    public init(_ octets: UnsafeRawBufferPointer) { self.octets = octets }

    @inlinable @inline(__always)
    public var startIndex: Int { 0 }

    @inlinable @inline(__always)
    public var endIndex: Int { octets.count }

    @inlinable @inline(__always)
    public subscript(position: Int) -> UInt8 {
        // Holds: readers compare with the count first; the check stops a reader that does not.
        precondition(position >= 0 && position < octets.count, "a position outside of the octets")
        return octets[position]
    }

    /// The bytes of a range, counted from its beginning.
    @inlinable @inline(__always)
    public func part(_ range: Range<Int>) -> CheckedOctets {
        // Holds: as above.
        precondition(range.lowerBound >= 0 && range.upperBound <= octets.count, "a range outside of the octets")
        return CheckedOctets(UnsafeRawBufferPointer(rebasing: octets[range]))
    }

    /// The bytes without bounds checks, for reading as a collection.
    @inlinable @inline(__always)
    public var unchecked: UnsafeRawBufferPointer { octets }

    /// True if `text` is at `position`; false if it would extend beyond either end.
    @inlinable
    public func has(_ text: some Collection<UInt8>, at position: Int) -> Bool {
        guard position >= 0, position <= octets.count, text.count <= octets.count - position else { return false }
        return part(position..<position + text.count).elementsEqual(text)
    }
}
