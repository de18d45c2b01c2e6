// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderAdmin
import LarderIO
import LarderSettings
import Testing

@testable import LarderProxy

@Suite("Who may connect")
struct AdmissionTests {
    private let limits: Settings.Limits = {
        var limits = Settings.Limits()
        limits.connections = 10
        limits.clientConnections = 4
        limits.reservedConnections = 4
        return limits
    }()

    private let here = SocketAddress.loopback(port: 1)
    private func other(_ number: UInt32) -> SocketAddress { SocketAddress(ipv4: 0xC000_0200 + number, port: 1) }
    private func network(_ high: UInt64, _ low: UInt64) -> SocketAddress { SocketAddress(ipv6: high, low, port: 1) }

    private func admitted(
        _ admission: Admission, _ peer: SocketAddress, isOperator: Bool = false
    ) -> Admission.Place? {
        let verdict = admission.admit(peer, isOperator: isOperator, limits: limits)
        return if case .admitted(let place) = verdict { place } else { nil }
    }

    private func isOwnPages(_ place: Admission.Place?) -> Bool {
        if case .ownPages? = place { true } else { false }
    }

    @Test func `one address gets its share, whatever loop it comes to, and others theirs`() {
        let admission = Admission()
        let places = (0..<4).compactMap { _ in admitted(admission, other(1)) }
        #expect(places.count == 4)
        guard case .tooMany = admission.admit(other(1), isOperator: false, limits: limits) else {
            Issue.record("a fifth connection was admitted")
            return
        }
        #expect(admitted(admission, other(2)) != nil)
        #expect(admission.count == 5)
        #expect(admission.release(places[0]) == 4)
        #expect(admitted(admission, other(1)) != nil)
    }

    @Test func `the addresses of one IPv6 network are one client`() {
        let admission = Admission()
        for number in 0..<4 { #expect(admitted(admission, network(0x2001_0db8_0000_0001, UInt64(number))) != nil) }
        #expect(admitted(admission, network(0x2001_0db8_0000_0001, 99)) == nil)
        #expect(admitted(admission, network(0x2001_0db8_0000_0002, 99)) != nil)
    }

    @Test func `operators get in when there is no room, as far as it is kept for them`() {
        let admission = Admission()
        for number in 0..<10 { #expect(admitted(admission, other(UInt32(number))) != nil) }
        guard case .full = admission.admit(other(20), isOperator: false, limits: limits) else {
            Issue.record("there was room")
            return
        }
        // This machine's supervisors have half of what is kept, for Larder's pages alone.
        let own = (0..<3).map { _ in admitted(admission, here) }
        #expect(own.map(isOwnPages) == [true, true, false])
        #expect(own[2] == nil)
        #expect(admitted(admission, SocketAddress(unixPath: ""), isOperator: true) != nil)
        #expect(admitted(admission, SocketAddress(unixPath: ""), isOperator: true) != nil)
        #expect(admitted(admission, SocketAddress(unixPath: ""), isOperator: true) == nil)
        if let place = own[0] { _ = admission.release(place) }
        #expect(isOwnPages(admitted(admission, here)))
    }

    @Test func `what this machine uses up of its share leaves it Larder's own pages`() {
        let admission = Admission()
        for _ in 0..<4 { #expect(!isOwnPages(admitted(admission, here))) }
        #expect((0..<3).map { _ in isOwnPages(admitted(admission, here)) } == [true, true, false])
    }

    @Test func `without a number one client may have half of all, or a hundred`() {
        var limits = Settings.Limits()
        #expect(limits.connectionsOfClient == 5_000)
        limits.connections = 150
        #expect(limits.connectionsOfClient == 100)
        limits.connections = 1
        #expect(limits.connectionsOfClient == 1)
        limits.clientConnections = 7
        #expect(limits.connectionsOfClient == 1)
    }

    @Test func `health and the Unix socket answer while all connections are used up`() async throws {
        try await AdminFixture.run({ $0.limits.connections = 3 }) { daemon throws in
            var held: [Int32] = []
            defer { for descriptor in held { close(descriptor) } }
            func connection() throws -> Int32 {
                let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_port = daemon.port.bigEndian
                address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
                let isConnected = withUnsafePointer(to: &address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                    }
                }
                try #require(isConnected)
                // It is there before the next one comes: it has been answered.
                var octets = Array("GET /-/health HTTP/1.1\r\nHost: 127.0.0.1:\(daemon.port)\r\n\r\n".utf8)
                try #require(send(descriptor, octets, octets.count, 0) == octets.count)
                try #require(recv(descriptor, &octets, octets.count, 0) > 0)
                return descriptor
            }
            // None of the start is left.
            while daemon.daemon.proxy.openConnections > 0 { await Task.yield() }
            for _ in 0..<3 { held.append(try connection()) }
            for _ in 0..<5 {
                #expect(try daemon.get("/-/health").status == 200)
                #expect(try daemon.command("GET", "/-/status").status == 200)
                let refused = try daemon.get("/api/a")
                #expect(refused.status == 503)
                #expect(refused.content.contains("limits.connections"))
            }
        }
    }
}
