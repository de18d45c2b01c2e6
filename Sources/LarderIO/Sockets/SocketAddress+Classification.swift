// SPDX-License-Identifier: Apache-2.0

/// The class of an address, from its number alone. A proxy checks it before it connects on a client's behalf.
///
/// An IPv6 address that contains an IPv4 address for a translator or tunnel (RFC 6052, RFC 3056, RFC 4291 §2.5.5.1) is
/// classified by the IPv4 address as well: it leads to the same host.
extension SocketAddress {
    /// This very machine: 127.0.0.0/8, `::1`, and Unix sockets.
    package var isLoopback: Bool {
        switch storage {
        case .ipv4(let number, _): number >> 24 == 127
        case .ipv6(0, 1, _, _): true
        case .ipv6: embedded?.isLoopback ?? false
        case .unix: true
        }
    }

    /// The key that identifies a client's network: all of an IPv4 address, the upper half of an IPv6 address.
    package var network: (bits: UInt64, isIPv6: Bool) {
        switch storage {
        case .ipv4(let number, _): (UInt64(number), false)
        case .ipv6(let high, _, _, _): (high, true)
        case .unix: (0, false)
        }
    }

    /// Unspecified, which Linux treats as this machine: 0.0.0.0/8 (RFC 1122 §3.2.1.3) and `::`.
    package var isUnspecified: Bool {
        switch storage {
        case .ipv4(let number, _): number >> 24 == 0
        case .ipv6(0, 0, _, _): true
        case .ipv6: embedded?.isUnspecified ?? false
        case .unix: false
        }
    }

    /// This link only: 169.254.0.0/16 (RFC 3927) and fe80::/10 (RFC 4291 §2.5.6).
    package var isLinkLocal: Bool {
        switch storage {
        case .ipv4(let number, _): number >> 16 == 0xA9FE
        case .ipv6(let high, _, _, _): high >> 54 == 0xFE80 >> 6 || embedded?.isLinkLocal ?? false
        case .unix: false
        }
    }

    /// A private network: RFC 1918, the shared space of RFC 6598, fc00::/7 (RFC 4193), the former site-local fec0::/10,
    /// and the translators' local prefix 64:ff9b:1::/48 (RFC 8215).
    package var isPrivate: Bool {
        switch storage {
        case .ipv4(let number, _):
            number >> 24 == 10 || number >> 20 == 0xAC1 || number >> 16 == 0xC0A8 || number >> 22 == 0x6440 >> 6
        case .ipv6(let high, _, _, _):
            high >> 57 == 0xFC00 >> 9 || high >> 54 == 0xFEC0 >> 6 || high >> 16 == 0x0064_FF9B_0001
                || embedded?.isPrivate ?? false
        case .unix: false
        }
    }

    /// Multicast: 224.0.0.0/4 and ff00::/8.
    package var isMulticast: Bool {
        switch storage {
        case .ipv4(let number, _): number >> 28 == 0xE
        case .ipv6(let high, _, _, _): high >> 56 == 0xFF || embedded?.isMulticast ?? false
        case .unix: false
        }
    }

    /// Broadcast on the link: 255.255.255.255.
    package var isBroadcast: Bool {
        switch storage {
        case .ipv4(let number, _): number == .max
        case .ipv6: embedded?.isBroadcast ?? false
        case .unix: false
        }
    }

    /// A service that gives a virtual machine or container its credentials.
    package var isMetadata: Bool {
        switch storage {
        case .ipv4(let number, _): Self.metadataIPv4.contains(number)
        case .ipv6(let high, let low, _, _):
            Self.metadataIPv6.contains { $0 == (high, low) } || embedded?.isMetadata ?? false
        case .unix: false
        }
    }

    /// Reserved for protocols, documentation or the future: no origin has such an address (RFC 6890).
    package var isReserved: Bool {
        switch storage {
        case .ipv4(let number, _):
            number >> 28 == 0xF && number != .max  // 240.0.0.0/4
                || number >> 8 == 0xC00000  // 192.0.0.0/24
                || number >> 8 == 0xC00002 || number >> 8 == 0xC63364 || number >> 8 == 0xCB0071  // documentation
                || number >> 17 == 0xC612 >> 1  // 198.18.0.0/15
                || number >> 8 == 0xC05863  // 192.88.99.0/24, the former relays of 6to4 (RFC 7526)
        case .ipv6(let high, _, _, _):
            high >> 32 == 0x2001_0DB8 || high >> 44 == 0x3FFF0 || high >> 48 == 0x5F00 || high == 0x0100_0000_0000_0000
                || embedded?.isReserved ?? false
        case .unix: false
        }
    }

    /// True for this machine: a loopback address, or a current address of one of its interfaces.
    package var isOwn: Bool { isLoopback || LocalAddresses.contains(self) || embedded.map(\.isOwn) ?? false }

    /// True if no category above applies: a host on the public Internet.
    package var isPublic: Bool {
        !(isLoopback || isUnspecified || isLinkLocal || isPrivate || isMulticast || isBroadcast || isMetadata
            || isReserved)
    }

    /// 169.254.169.254 (most clouds), .170.2 and .170.23 (container credentials), 100.100.100.200,
    /// 192.0.0.192, 168.63.129.16.
    private static let metadataIPv4: [UInt32] = [
        0xA9FE_A9FE, 0xA9FE_AA02, 0xA9FE_AA17, 0x6464_64C8, 0xC000_00C0, 0xA83F_8110,
    ]

    /// fd00:ec2::254, fd00:ec2::23, fd20:ce::254.
    private static let metadataIPv6: [(UInt64, UInt64)] = [
        (0xFD00_0EC2_0000_0000, 0x254), (0xFD00_0EC2_0000_0000, 0x23), (0xFD20_00CE_0000_0000, 0x254),
    ]

    /// The IPv4 address inside 64:ff9b::/96, 2002::/16 or the former ::/96.
    private var embedded: SocketAddress? {
        guard case .ipv6(let high, let low, let port, _) = storage else { return nil }
        if high == 0x0064_FF9B_0000_0000, low >> 32 == 0 {
            return SocketAddress(ipv4: UInt32(truncatingIfNeeded: low), port: port)
        }
        if high >> 48 == 0x2002 { return SocketAddress(ipv4: UInt32(truncatingIfNeeded: high >> 16), port: port) }
        if high == 0, low >> 32 == 0, low > 1 {
            return SocketAddress(ipv4: UInt32(truncatingIfNeeded: low), port: port)
        }
        return nil
    }
}
