// SPDX-License-Identifier: Apache-2.0

package import LarderIO

/// The addresses that share their first bits: `192.0.2.0/24`. A single address is one with all its bits.
package struct AddressRange: Hashable, Sendable {
    package let base: SocketAddress
    package let bits: Int

    package enum Failure: Error, Equatable {
        case notAnAddress
        case badLength
        /// Bits beyond the prefix are set; the range that was probably meant.
        case hostBits(meant: AddressRange)
    }

    package static func read(_ text: String) -> Result<AddressRange, Failure> {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = SocketAddress(bare: parts[0]) else { return .failure(.notAnAddress) }
        var bits = address.bitCount
        if parts.count == 2 {
            guard parts[1].utf8.count <= 3, let length = SocketAddress.port(parts[1]), length <= bits
            else { return .failure(.badLength) }
            bits = Int(length)
        }
        let range = AddressRange(base: address.masked(to: bits), bits: bits)
        return range.base == address ? .success(range) : .failure(.hostBits(meant: range))
    }

    package func contains(_ address: SocketAddress) -> Bool { address.isIn(base, bits: bits) }
}

extension AddressRange: CustomStringConvertible {
    package var description: String { bits == base.bitCount ? base.host : "\(base.host)/\(bits)" }
}
