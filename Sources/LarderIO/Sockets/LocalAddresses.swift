// SPDX-License-Identifier: Apache-2.0
import CLibevent
import Glibc

/// The addresses of this machine's interfaces, as the kernel has them at the moment.
enum LocalAddresses {
    /// True if an interface has `address`, with any port. If the kernel does not say, every address counts as local.
    static func contains(_ address: SocketAddress) -> Bool {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return true }
        defer { freeifaddrs(list) }
        var next = list
        while let interface = next?.pointee {
            next = interface.ifa_next
            guard let system = interface.ifa_addr else { continue }
            let isIPv6 = Int32(system.pointee.sa_family) == AF_INET6
            let length = isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
            if let own = SocketAddress(system: system, length: socklen_t(length)), own.hasSameNumber(as: address) {
                return true
            }
        }
        return false
    }
}

extension SocketAddress {
    /// True if both addresses are equal, apart from port and scope.
    fileprivate func hasSameNumber(as other: SocketAddress) -> Bool {
        switch (storage, other.storage) {
        case (.ipv4(let number, _), .ipv4(let otherNumber, _)): number == otherNumber
        case (.ipv6(let high, let low, _, _), .ipv6(let otherHigh, let otherLow, _, _)):
            high == otherHigh && low == otherLow
        default: false
        }
    }
}
