// SPDX-License-Identifier: Apache-2.0

import Glibc

/// An IPv4 or IPv6 address as its 4 or 16 octets in network order.
package struct IPAddress: Hashable, Sendable {
    package let octets: [UInt8]

    init(v4 octets: [UInt8]) { self.octets = octets }
    init(v6 octets: [UInt8]) { self.octets = octets }

    /// Creates an address from its octets; nil unless there are 4 or 16. An IPv4 address mapped into IPv6
    /// (`::ffff:192.0.2.1`, as a dual-stack socket reports its peers) becomes the IPv4 address.
    package init?(octets: some Collection<UInt8>) {
        switch octets.count {
        case 4: self.octets = Array(octets)
        case 16:
            let all = Array(octets)
            self.octets = all.starts(with: IPAddress.mappedPrefix) ? Array(all.suffix(4)) : all
        default: return nil
        }
    }

    /// Parses dotted decimals or hexadecimal groups, without brackets, zone or port.
    package init?(_ text: some StringProtocol) {
        var buffer = [UInt8](repeating: 0, count: 16)
        let text = String(text)
        if inet_pton(AF_INET, text, &buffer) == 1 {
            self.init(octets: buffer.prefix(4))
        } else if inet_pton(AF_INET6, text, &buffer) == 1 {
            self.init(octets: buffer)
        } else {
            return nil
        }
    }

    package var isV6: Bool { octets.count == 16 }

    package var isLoopback: Bool {
        isV6 ? octets.dropLast().allSatisfy { $0 == 0 } && octets.last == 1 : octets[0] == 127
    }

    /// Whether it stands for every address of its family, as `0.0.0.0` does.
    package var isUnspecified: Bool { octets.allSatisfy { $0 == 0 } }

    private static let mappedPrefix = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
}

extension IPAddress: CustomStringConvertible {
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(isV6 ? AF_INET6 : AF_INET, octets, &text, socklen_t(text.count)) != nil else { return "?" }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// The addresses that share their first bits: `192.0.2.0/24`. A single address is one with all its bits.
package struct AddressRange: Hashable, Sendable {
    package let base: IPAddress
    package let bits: Int

    package enum Failure: Error, Equatable {
        case notAnAddress
        case badLength
        /// Bits beyond the prefix are set; the range that was probably meant.
        case hostBits(meant: AddressRange)
    }

    package static func read(_ text: String) -> Result<AddressRange, Failure> {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(parts[0]) else { return .failure(.notAnAddress) }
        let width = address.octets.count * 8
        var bits = width
        if parts.count == 2 {
            guard parts[1].utf8.count <= 3, parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let length = Int(parts[1]), length <= width
            else { return .failure(.badLength) }
            bits = length
        }
        let range = AddressRange(base: IPAddress(masking: address, to: bits), bits: bits)
        return range.base == address ? .success(range) : .failure(.hostBits(meant: range))
    }

    package func contains(_ address: IPAddress) -> Bool {
        address.isV6 == base.isV6 && IPAddress(masking: address, to: bits) == base
    }
}

extension AddressRange: CustomStringConvertible {
    package var description: String { bits == base.octets.count * 8 ? "\(base)" : "\(base)/\(bits)" }
}

extension IPAddress {
    /// `address` with all but its first `bits` bits cleared.
    fileprivate init(masking address: IPAddress, to bits: Int) {
        octets = address.octets.enumerated().map { index, octet in
            let kept = min(8, max(0, bits - index * 8))
            return kept == 8 ? octet : octet & ~(0xFF >> UInt8(kept))
        }
    }
}
