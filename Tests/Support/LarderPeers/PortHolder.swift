// SPDX-License-Identifier: Apache-2.0
import Glibc
package import LarderIO

/// A port of this machine that stays ours while nobody listens on it: connections are refused then, where a port that
/// was given back might be somebody else's already.
package final class PortHolder: Sendable {
    package let address: SocketAddress
    private let descriptor: Int32

    package init() throws {
        descriptor = try PortHolder.socket(boundTo: 0)
        var bound = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        withUnsafeMutablePointer(to: &bound) { pointer in
            _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        address = .loopback(port: UInt16(bigEndian: bound.sin_port))
    }

    deinit { Glibc.close(descriptor) }

    /// A socket that listens on the port.
    package func listen() throws -> ListeningSocket {
        let descriptor = try PortHolder.socket(boundTo: address.port)
        guard Glibc.listen(descriptor, 4096) == 0 else {
            Glibc.close(descriptor)
            throw ScenarioFailure("the origin cannot listen: errno \(errno)")
        }
        return try ListeningSocket.inherited(descriptor)
    }

    /// A socket on the loopback address that shares its port with others of ours.
    private static func socket(boundTo port: UInt16) throws -> Int32 {
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isBound = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isBound else {
            Glibc.close(descriptor)
            throw ScenarioFailure("the origin finds no port: errno \(errno)")
        }
        return descriptor
    }
}
