// SPDX-License-Identifier: Apache-2.0

extension Sequence<UInt8> {
    /// Two digits for each byte, in lower case.
    package var hexadecimal: String {
        withContiguousStorageIfAvailable { $0.hexadecimalDigits }
            ?? Array(self).withUnsafeBufferPointer {
                $0.hexadecimalDigits
            }
    }
}

extension UInt64 {
    /// Sixteen digits, in lower case.
    package var hexadecimal: String { Swift.withUnsafeBytes(of: bigEndian) { $0.hexadecimal } }
}

extension UnsafeBufferPointer<UInt8> {
    /// Not generic: generic code costs 15 µs for a digest.
    fileprivate var hexadecimalDigits: String {
        String(unsafeUninitializedCapacity: 2 * count) { digits in
            for (index, octet) in enumerated() {
                digits[2 * index] = Self.digit(octet >> 4)
                digits[2 * index + 1] = Self.digit(octet & 15)
            }
            return 2 * count
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
