// SPDX-License-Identifier: Apache-2.0

extension SocketAddress {
    /// How many bits an address of this kind has; 0 for a Unix socket.
    package var bitCount: Int { isIPv4 ? 32 : isIPv6 ? 128 : 0 }

    /// The address with all but its first `bits` bits cleared, without port and scope. A Unix address stays as it is.
    package func masked(to bits: Int) -> SocketAddress {
        switch storage {
        case .ipv4(let number, _): SocketAddress(ipv4: number & ~(UInt32.max >> bits), port: 0)
        case .ipv6(let high, let low, _, _):
            SocketAddress(ipv6: high & ~(UInt64.max >> bits), low & ~(UInt64.max >> max(0, bits - 64)), port: 0)
        case .unix: self
        }
    }

    /// True if this address begins with the first `bits` bits of `network`. Never, if they are of different kinds.
    package func isIn(_ network: SocketAddress, bits: Int) -> Bool {
        !isUnix && bitCount == network.bitCount && masked(to: bits) == network.masked(to: bits)
    }
}
