// SPDX-License-Identifier: Apache-2.0

extension SocketAddress {
    /// How many bits an address of this kind has; 0 for a Unix socket.
    package var bitCount: Int { isIPv4 ? 32 : isIPv6 ? 128 : 0 }

    /// Whether this address begins with the first `bits` bits of `network`. Never, if they are of different kinds.
    package func isIn(_ network: SocketAddress, bits: Int) -> Bool {
        switch (storage, network.storage) {
        case (.ipv4(let own, _), .ipv4(let other, _)):
            SocketAddress.share(UInt64(own) << 32, UInt64(other) << 32, bits: min(bits, 32))
        case (.ipv6(let high, let low, _, _), .ipv6(let otherHigh, let otherLow, _, _)):
            SocketAddress.share(high, otherHigh, bits: min(bits, 64))
                && SocketAddress.share(low, otherLow, bits: max(0, bits - 64))
        default: false
        }
    }

    private static func share(_ a: UInt64, _ b: UInt64, bits: Int) -> Bool {
        bits <= 0 || (a ^ b) >> UInt64(64 - min(bits, 64)) == 0
    }
}
