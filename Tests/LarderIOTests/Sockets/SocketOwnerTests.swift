// SPDX-License-Identifier: Apache-2.0
import CLibevent
import Glibc
import Testing

@testable import LarderIO

@Suite("Owners of connections")
struct SocketOwnerTests {
    /// A connection between two sockets of this process. The listener's end is accepted.
    private final class Pair {
        let client: Int32
        private let ends: [Int32]
        let clientAddress: SocketAddress
        let serverAddress: SocketAddress

        /// - Parameter family: the family of the client's socket; IPv6 reaches an IPv4 listener by its mapped address.
        init(_ address: SocketAddress, family: Int32) throws {
            let listener = socket(address.family, Int32(SOCK_STREAM.rawValue), 0)
            try #require(address.bind(listener) == 0 && listen(listener, 1) == 0)
            serverAddress = SocketAddress.of(listener, ask: getsockname)
            client = socket(family, Int32(SOCK_STREAM.rawValue), 0)
            if family == AF_INET6, address.isIPv4 {
                var mapped = sockaddr_in6()
                mapped.sin6_family = sa_family_t(AF_INET6)
                mapped.sin6_port = serverAddress.port.bigEndian
                try #require(inet_pton(AF_INET6, "::ffff:127.0.0.1", &mapped.sin6_addr) == 1)
                let size = socklen_t(MemoryLayout<sockaddr_in6>.size)
                let descriptor = client
                let isConnected = withUnsafePointer(to: &mapped) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) == 0 }
                }
                try #require(isConnected)
            } else {
                try #require(serverAddress.connect(client) == 0)
            }
            clientAddress = SocketAddress.of(client, ask: getsockname)
            ends = [listener, accept(listener, nil, nil)]
        }

        deinit { for end in ends { close(end) } }

        var owner: UInt32? { get throws { try SocketOwner.user(of: clientAddress, to: serverAddress) } }
    }

    /// False in a sandbox whose kernel gives no diagnostics.
    private static let hasDiagnostics: Bool = {
        let descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue), NETLINK_SOCK_DIAG)
        if descriptor >= 0 { close(descriptor) }
        return descriptor >= 0
    }()

    @Test(
        .enabled(if: hasDiagnostics),
        arguments: [
            (SocketAddress.loopback(port: 0), AF_INET), (SocketAddress.loopback(port: 0), AF_INET6),
            (SocketAddress.loopbackIPv6(port: 0), AF_INET6),
        ])
    func `a connection has an owner until its socket is closed`(address: SocketAddress, family: Int32) throws {
        let pair = try Pair(address, family: family)
        #expect(try pair.owner == getuid())
        // A client may end its side behind its request.
        shutdown(pair.client, Int32(SHUT_WR))
        #expect(try pair.owner == getuid())
        // The kernel names user 0 for what follows.
        close(pair.client)
        #expect(try pair.owner == nil)
    }

    @Test(.enabled(if: hasDiagnostics))
    func `a listening socket owns no connection`() throws {
        let pair = try Pair(.loopback(port: 0), family: AF_INET)
        #expect(try SocketOwner.user(of: pair.serverAddress, to: .loopback(port: 1)) == nil)
        close(pair.client)
    }

    // MARK: Answers

    private static let client = SocketAddress(ipv4: 0x7F00_0001, port: 50000)
    private static let ours = SocketAddress(ipv4: 0x7F00_0001, port: 3128)

    private static func answer(_ change: (inout inet_diag_msg) -> Void = { _ in }) -> [UInt8] {
        var found = inet_diag_msg()
        found.idiag_family = UInt8(AF_INET)
        found.idiag_state = 1
        found.id.idiag_sport = client.port.bigEndian
        found.id.idiag_dport = ours.port.bigEndian
        found.id.idiag_src.0 = UInt32(0x7F00_0001).bigEndian
        found.id.idiag_dst.0 = UInt32(0x7F00_0001).bigEndian
        found.idiag_uid = 1000
        found.idiag_inode = 7
        change(&found)
        var head = nlmsghdr()
        head.nlmsg_type = UInt16(SOCK_DIAG_BY_FAMILY)
        head.nlmsg_len = UInt32(MemoryLayout<nlmsghdr>.size + MemoryLayout<inet_diag_msg>.size)
        return withUnsafeBytes(of: head) { Array($0) } + withUnsafeBytes(of: found) { Array($0) }
    }

    private static func user(in answer: [UInt8]) throws -> UInt32? {
        try answer.withUnsafeBytes { try SocketOwner.user(in: $0.prefix($0.count), client, ours) }
    }

    @Test func `an answer is about one end of one connection that a process holds`() throws {
        #expect(try Self.user(in: Self.answer()) == 1000)
        #expect(try Self.user(in: Self.answer { $0.idiag_inode = 0 }) == nil)
        for state in UInt8.min ... .max where ![1, 4, 5, 8].contains(state) {
            #expect(try Self.user(in: Self.answer { $0.idiag_state = state }) == nil, "\(state)")
        }
        #expect(try Self.user(in: Self.answer { $0.id.idiag_sport = 1 }) == nil)
        #expect(try Self.user(in: Self.answer { $0.id.idiag_dport = 1 }) == nil)
        #expect(try Self.user(in: Self.answer { $0.id.idiag_src.0 = 1 }) == nil)
        #expect(try Self.user(in: Self.answer { $0.id.idiag_dst.0 = 1 }) == nil)
    }

    @Test func `an answer that is cut, or of another kind, names no user`() {
        let whole = Self.answer()
        for length in 0..<whole.count {
            #expect(throws: IOError.self) { try Self.user(in: Array(whole.prefix(length))) }
        }
        var other = whole
        other[4] = 99
        #expect(throws: IOError.self) { try Self.user(in: other) }
    }

    @Test(arguments: [(ENOENT, nil), (EPERM, IOError.Code.permissionDenied), (Int32.min, .other)])
    func `an error of the kernel is one, unless there is no such connection`(
        number: Int32, code: IOError.Code?
    ) throws {
        var head = nlmsghdr()
        head.nlmsg_type = UInt16(NLMSG_ERROR)
        let error = number == .min ? number : -number
        let answer = withUnsafeBytes(of: head) { Array($0) } + withUnsafeBytes(of: error) { Array($0) }
        if let code {
            let error = #expect(throws: IOError.self) { try Self.user(in: answer) }
            #expect(error?.code == code)
        } else {
            #expect(try Self.user(in: answer) == nil)
        }
    }
}
