// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The address of a socket's local or remote end. Which family? Which number, which port? What kind of address is it?
///
/// An IPv4-mapped IPv6 address (`::ffff:192.0.2.1`) is converted to the IPv4 address, so that it cannot bypass rules
/// about addresses.
package struct SocketAddress: Hashable, Sendable {
    enum Storage: Hashable {
        /// The number in host order, the port.
        case ipv4(UInt32, UInt16)
        /// The upper and the lower half of the number in host order, the port, the scope.
        case ipv6(UInt64, UInt64, UInt16, scope: UInt32)
        /// The path; empty for an unnamed socket.
        case unix(String)
    }

    let storage: Storage

    init(_ storage: Storage) {
        if case .ipv6(0, let low, let port, _) = storage, low >> 32 == 0xFFFF {
            self.storage = .ipv4(UInt32(truncatingIfNeeded: low), port)
        } else {
            self.storage = storage
        }
    }

    /// The address `a.b.c.d` as one number in host order.
    package init(ipv4 number: UInt32, port: UInt16) { self.init(.ipv4(number, port)) }

    /// An IPv6 address as its two halves in host order.
    package init(ipv6 high: UInt64, _ low: UInt64, port: UInt16, scope: UInt32 = 0) {
        self.init(.ipv6(high, low, port, scope: scope))
    }

    package init(unixPath path: String) { self.init(.unix(path)) }

    package static func loopback(port: UInt16) -> SocketAddress { SocketAddress(ipv4: 0x7F00_0001, port: port) }

    package static func loopbackIPv6(port: UInt16) -> SocketAddress { SocketAddress(ipv6: 0, 1, port: port) }

    package var isUnix: Bool { if case .unix = storage { true } else { false } }

    package var isIPv4: Bool { if case .ipv4 = storage { true } else { false } }

    package var isIPv6: Bool { if case .ipv6 = storage { true } else { false } }

    /// The port, or 0 for a Unix socket.
    package var port: UInt16 {
        switch storage {
        case .ipv4(_, let port), .ipv6(_, _, let port, _): port
        case .unix: 0
        }
    }

    /// The same address with another port. A Unix address stays as it is.
    package func withPort(_ port: UInt16) -> SocketAddress {
        switch storage {
        case .ipv4(let number, _): SocketAddress(.ipv4(number, port))
        case .ipv6(let high, let low, _, let scope): SocketAddress(.ipv6(high, low, port, scope: scope))
        case .unix: self
        }
    }

    /// The path of a Unix socket.
    package var unixPath: String? { if case .unix(let path) = storage { path } else { nil } }

    /// The address family in the system's terms.
    var family: Int32 {
        switch storage {
        case .ipv4: AF_INET
        case .ipv6: AF_INET6
        case .unix: AF_UNIX
        }
    }
}
