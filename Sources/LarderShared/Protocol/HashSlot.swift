// SPDX-License-Identifier: Apache-2.0

/// The slot of a key among a cluster's 16,384: the CRC-16 (XMODEM) of the key, or of its part in braces.
package enum HashSlot {
    package static let range = 0..<16_384

    package static func slot(of key: [UInt8]) -> Int { Int(checksum(hashed(key)) & 0x3FFF) }

    /// The bytes between the first `{` and the first `}` after it, unless there are none.
    private static func hashed(_ key: [UInt8]) -> ArraySlice<UInt8> {
        guard let open = key.firstIndex(of: UInt8(ascii: "{")) else { return key[...] }
        let behind = key[key.index(after: open)...]
        guard let close = behind.firstIndex(of: UInt8(ascii: "}")), close > behind.startIndex else { return key[...] }
        return behind[..<close]
    }

    private static func checksum(_ octets: ArraySlice<UInt8>) -> UInt16 {
        octets.reduce(0) { sum, octet in
            (sum << 8) ^ table[Int((sum >> 8) ^ UInt16(octet))]
        }
    }

    /// The checksum of each byte.
    private static let table: [UInt16] = (0..<256).map { octet in
        (0..<8).reduce(UInt16(octet) << 8) { sum, _ in sum & 0x8000 == 0 ? sum << 1 : (sum << 1) ^ 0x1021 }
    }
}
