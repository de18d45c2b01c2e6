// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LarderIO

@Suite("Socket addresses")
struct SocketAddressTests {
    @Test(arguments: [
        ("127.0.0.1:80", "127.0.0.1:80"), ("[::1]:65535", "[::1]:65535"), ("[2001:DB8:0::1]:0", "[2001:db8::1]:0"),
        ("[::ffff:192.0.2.1]:8080", "192.0.2.1:8080"), ("unix:/run/x.sock", "unix:/run/x.sock"),
        ("[fe80::1%1]:80", "[fe80::1%1]:80"),
    ])
    func `text becomes an address and back`(text: String, expected: String) throws {
        let address = try #require(SocketAddress(text))
        #expect(address.description == expected)
        #expect(SocketAddress(address.description) == address)
        #expect(address.withSystemAddress { SocketAddress(system: $0, length: $1) } == address)
    }

    @Test(arguments: [
        "", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:+80", "127.0.0.1: 80", "127.1:80",
        "0x7f.0.0.1:80", "01.2.3.4:80", "1.2.3.4.5:80", "256.0.0.1:80", "::1:80", "[::1:80", "[127.0.0.1]:80",
        "[::1]80",
        "example.org:80", "unix:", "[::g]:80", "127.0.0.1\u{0}:80", "[fe80::1%nosuchif]:80",
    ])
    func `what is not an address is refused`(text: String) {
        #expect(SocketAddress(text) == nil)
    }

    @Test(arguments: [
        ("192.0.2.7", 24, "192.0.2.0"), ("192.0.2.7", 32, "192.0.2.7"), ("192.0.2.7", 0, "0.0.0.0"),
        ("2001:db8::1", 32, "2001:db8::"), ("2001:db8:0:1::ff", 120, "2001:db8:0:1::"), ("2001:db8::1", 0, "::"),
        ("2001:db8:0:1::1", 64, "2001:db8:0:1::"), ("2001:db8::1", 128, "2001:db8::1"), ("fe80::1%1", 128, "fe80::1"),
    ])
    func `a network is an address's first bits`(host: String, bits: Int, expected: String) throws {
        let address = try #require(SocketAddress(host: host, port: 80))
        let network = address.masked(to: bits)
        #expect(network.host == expected && network.port == 0)
        #expect(address.isIn(network, bits: bits))
        #expect(!SocketAddress(unixPath: "/run/x").isIn(network, bits: bits))
    }

    /// Letters for what an address is: loopback, unspecified, link-local, private, multicast, broadcast, metadata,
    /// reserved.
    static func kinds(_ address: SocketAddress) -> String {
        let kinds: [(String, Bool)] = [
            ("l", address.isLoopback), ("u", address.isUnspecified), ("k", address.isLinkLocal),
            ("p", address.isPrivate), ("m", address.isMulticast), ("b", address.isBroadcast),
            ("d", address.isMetadata), ("r", address.isReserved),
        ]
        return kinds.filter(\.1).map(\.0).joined()
    }

    @Test(arguments: [
        ("127.0.0.1", "l"), ("127.255.255.255", "l"), ("128.0.0.0", ""), ("126.255.255.255", ""),
        ("0.0.0.0", "u"), ("0.1.2.3", "u"), ("1.0.0.0", ""),
        ("10.0.0.0", "p"), ("10.255.255.255", "p"), ("11.0.0.0", ""), ("9.255.255.255", ""),
        ("172.16.0.0", "p"), ("172.31.255.255", "p"), ("172.15.255.255", ""), ("172.32.0.0", ""),
        ("192.168.0.1", "p"), ("192.167.255.255", ""), ("192.169.0.0", ""),
        ("100.64.0.0", "p"), ("100.127.255.255", "p"), ("100.63.255.255", ""), ("100.128.0.0", ""),
        ("100.100.100.200", "pd"), ("169.254.1.1", "k"), ("169.253.255.255", ""), ("169.255.0.0", ""),
        ("169.254.169.254", "kd"), ("169.254.170.2", "kd"), ("192.0.0.192", "dr"), ("168.63.129.16", "d"),
        ("224.0.0.1", "m"), ("239.255.255.255", "m"), ("223.255.255.255", ""), ("240.0.0.1", "r"),
        ("255.255.255.255", "b"), ("192.0.2.7", "r"), ("198.51.100.7", "r"), ("203.0.113.7", "r"),
        ("198.18.0.1", "r"), ("198.19.255.255", "r"), ("198.20.0.0", ""), ("8.8.8.8", ""),
        ("::", "u"), ("::1", "l"), ("fe80::1", "k"), ("febf::1", "k"), ("fec0::1", "p"), ("fc00::1", "p"),
        ("fdff::1", "p"), ("fe00::1", ""), ("ff02::1", "m"), ("2001:db8::1", "r"), ("100::1", "r"),
        ("2606:4700::1111", ""), ("fd00:ec2::254", "pd"), ("fd00:ec2::253", "p"), ("fd20:ce::254", "pd"),
        ("::ffff:127.0.0.1", "l"), ("::ffff:10.1.2.3", "p"), ("::ffff:169.254.169.254", "kd"),
        ("64:ff9b::127.0.0.1", "l"), ("64:ff9b::a9fe:a9fe", "kd"), ("64:ff9b::8.8.8.8", ""), ("64:ff9b:1::1", "p"),
        ("2002:7f00:1::", "l"), ("2002:a00:1::5", "p"), ("2002:808:808::1", ""),
        ("::127.0.0.1", "l"), ("::10.0.0.1", "p"),
    ])
    func `an address is the kind of place it is`(host: String, expected: String) throws {
        let address = try #require(SocketAddress(host: host, port: 80))
        #expect(Self.kinds(address) == expected)
        #expect(address.isPublic == expected.isEmpty)
    }

    @Test func `a Unix socket is on this machine`() {
        #expect(Self.kinds(SocketAddress(unixPath: "/run/x")) == "l")
        #expect(SocketAddress(unixPath: "/run/x").port == 0)
    }

    @Test func `what an interface of this machine has is its own`() throws {
        for address in ["127.0.0.1:80", "127.3.2.1:80", "[::1]:80", "[::ffff:127.0.0.1]:80", "[64:ff9b::7f00:1]:80"] {
            let address = try #require(SocketAddress(address))
            #expect(address.isOwn, "\(address)")
        }
        for address in ["192.0.2.1:80", "[2001:db8::1]:80"] {
            let address = try #require(SocketAddress(address))
            #expect(!address.isOwn, "\(address)")
        }
    }

    @Test(arguments: [
        "198.18.0.1", "198.19.255.255", "240.0.0.1", "254.1.2.3", "192.88.99.1", "[100::1]", "[2001:db8::1]",
        "[3fff::1]",
        "[3fff:fff::1]", "[5f00::1]", "[64:ff9b::c612:1]",
    ]) func `what is set apart is no origin's`(host: String) throws {
        let address = try #require(SocketAddress(host + ":80"))
        #expect(address.isReserved)
        #expect(!address.isPublic)
    }

    @Test(arguments: [
        "198.17.255.255", "198.20.0.0", "239.255.255.255", "192.88.98.1", "[101::1]", "[3ffe::1]", "[4000::1]",
    ])
    func `what lies beside it is none of it`(host: String) throws {
        let address = try #require(SocketAddress(host + ":80"))
        #expect(!address.isReserved)
    }
}
