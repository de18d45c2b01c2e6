// SPDX-License-Identifier: Apache-2.0

/// Which of the 16,384 slots of a cluster a key belongs to: the CRC-16 (XMODEM) of the key, or of what it has in braces.
package enum HashSlot {
    package static let range = 0..<16_384

    package static func slot(of key: [UInt8]) -> Int { Int(checksum(hashed(key)) & 0x3FFF) }

    /// What is between the first `{` and the first `}` after it, unless that is empty.
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

    /// For each octet, what it adds.
    private static let table: [UInt16] = (0..<256).map { octet in
        (0..<8).reduce(UInt16(octet) << 8) { sum, _ in sum & 0x8000 == 0 ? sum << 1 : (sum << 1) ^ 0x1021 }
    }
}
