// SPDX-License-Identifier: Apache-2.0
import CLibevent
import Glibc

extension SocketAddress {
    /// The longest path a Unix socket can have, in bytes.
    package static let unixPathLimit = 107

    /// The address of a socket's end that is unknown.
    static let unknown = SocketAddress(unixPath: "")

    /// Binds a socket to the address: 0, or -1 with `errno`.
    package func bind(_ descriptor: Int32) -> Int32 { withSystemAddress { Glibc.bind(descriptor, $0, $1) } }

    /// Connects a socket to the address: 0, or -1 with `errno`.
    package func connect(_ descriptor: Int32) -> Int32 { withSystemAddress { Glibc.connect(descriptor, $0, $1) } }

    /// Calls `body` with the address in the system's form.
    func withSystemAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var storage = sockaddr_storage()
        return withUnsafeMutablePointer(to: &storage) { pointer in
            let length = write(into: UnsafeMutableRawBufferPointer(start: pointer, count: Self.systemSize))
            return pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    private static let systemSize = MemoryLayout<sockaddr_storage>.size

    private func write(into bytes: UnsafeMutableRawBufferPointer) -> socklen_t {
        switch storage {
        case .ipv4(let number, let port):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = number.bigEndian
            bytes.storeBytes(of: address, as: sockaddr_in.self)
            return socklen_t(MemoryLayout<sockaddr_in>.size)
        case .ipv6(let high, let low, let port, let scope):
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_scope_id = scope
            withUnsafeMutableBytes(of: &address.sin6_addr) { number in
                number.storeBytes(of: high.bigEndian, as: UInt64.self)
                number.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
            }
            bytes.storeBytes(of: address, as: sockaddr_in6.self)
            return socklen_t(MemoryLayout<sockaddr_in6>.size)
        case .unix(let path):
            let octets = Array(path.utf8.prefix(Self.unixPathLimit))
            bytes.storeBytes(of: sa_family_t(AF_UNIX), as: sa_family_t.self)
            let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
            UnsafeMutableRawBufferPointer(rebasing: bytes[offset...]).copyBytes(from: octets)
            return socklen_t(offset + octets.count + 1)
        }
    }

    /// The address in the system's form, or nil if it is of a family we do not know.
    init?(system address: UnsafeRawPointer, length: socklen_t) {
        guard length >= 2 else { return nil }
        let bytes = UnsafeRawBufferPointer(start: address, count: Int(length))
        switch Int32(bytes.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET where bytes.count >= MemoryLayout<sockaddr_in>.size:
            let value = bytes.loadUnaligned(as: sockaddr_in.self)
            self.init(ipv4: UInt32(bigEndian: value.sin_addr.s_addr), port: UInt16(bigEndian: value.sin_port))
        case AF_INET6 where bytes.count >= MemoryLayout<sockaddr_in6>.size:
            let value = bytes.loadUnaligned(as: sockaddr_in6.self)
            let (high, low) = withUnsafeBytes(of: value.sin6_addr) {
                (
                    UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
                    UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
                )
            }
            self.init(ipv6: high, low, port: UInt16(bigEndian: value.sin6_port), scope: value.sin6_scope_id)
        case AF_UNIX:
            let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
            let path = bytes.dropFirst(offset).prefix { $0 != 0 }
            self.init(unixPath: String(decoding: path, as: UTF8.self))
        default: return nil
        }
    }

    /// The address of one of the ends of a socket, by `getpeername` or `getsockname`.
    static func of(
        _ descriptor: Int32, ask: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> SocketAddress {
        received { address, length in ask(descriptor, address, length) == 0 } ?? unknown
    }

    /// The address that `fill` writes, or nil if it answers false.
    static func received(
        _ fill: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Bool
    ) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let isFilled = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { fill($0, &length) }
        }
        guard isFilled else { return nil }
        return SocketAddress(system: &storage, length: length)
    }
}
