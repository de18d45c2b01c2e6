// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
import LarderSettings
import Testing

@Suite("Addresses, hosts and ports")
struct NetworkValueTests {
    @Test(arguments: [
        ("127.0.0.1:3128", ["127.0.0.1:3128"]), ("[::1]:0", ["[::1]:0"]),
        ("localhost:80", ["127.0.0.1:80", "[::1]:80"]), ("0.0.0.0:65535", ["0.0.0.0:65535"]),
    ])
    func `an address to listen on has a port`(text: String, addresses: [String]) {
        #expect(SocketAddress.listeners(text)?.map(\.description) == addresses)
    }

    @Test(arguments: [
        "", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:+1", "::1:80", "[127.0.0.1]:80",
        "example.com:80", "[::1]80", "127.1:80", "127.0.0.1:080000", "[fe80::1%1]:80", "[::ffff:192.0.2.1]:80",
    ])
    func `what is no address to listen on is refused`(text: String) {
        #expect(SocketAddress.listeners(text) == nil)
    }

    @Test(arguments: [
        ("192.0.2.0/24", "192.0.2.255", true), ("192.0.2.0/24", "192.0.3.0", false), ("192.0.2.7", "192.0.2.7", true),
        ("192.0.2.7", "192.0.2.8", false), ("0.0.0.0/0", "203.0.113.9", true), ("0.0.0.0/0", "::1", false),
        ("fd00::/8", "fdff::1", true), ("fd00::/8", "fc00::1", false), ("::/0", "2001:db8::", true),
        ("192.0.2.128/25", "192.0.2.200", true), ("192.0.2.128/25", "192.0.2.100", false),
        ("192.0.2.7", "::ffff:192.0.2.7", true), ("fe80::/10", "fe80::1%1", true),
    ])
    func `a range has the addresses that share its first bits`(range: String, address: String, isInside: Bool) throws {
        let range = try AddressRange.read(range).get()
        #expect(range.contains(try #require(SocketAddress(host: address, port: 80))) == isInside)
    }

    @Test(arguments: [
        ("example.com", AddressRange.Failure.notAnAddress), ("192.0.2.0/33", .badLength), ("192.0.2.0/", .badLength),
        ("192.0.2.0/+8", .badLength), ("fd00::/129", .badLength), ("[fd00::]/8", .notAnAddress),
        ("fe80::1%1", .notAnAddress), ("192.0.2.0/0024", .badLength),
    ])
    func `what is no range is refused`(text: String, failure: AddressRange.Failure) {
        #expect(AddressRange.read(text) == .failure(failure))
    }

    @Test func `bits beyond the prefix are refused with the range that was meant`() throws {
        let meant = try AddressRange.read("10.0.0.0/8").get()
        #expect(AddressRange.read("10.1.2.3/8") == .failure(.hostBits(meant: meant)))
    }

    @Test(arguments: [
        ("api.example.com", "API.example.com", 443, true), ("api.example.com", "api.example.com.", 1, true),
        ("api.example.com", "x.api.example.com", 443, false), ("*.example.com", "a.b.example.com", 80, true),
        ("*.example.com", "example.com", 80, false), ("*.example.com", "badexample.com", 80, false),
        ("localhost:8080", "localhost", 8080, true), ("localhost:8080", "localhost", 80, false),
        ("[::1]", "[::1]", 80, true), ("[::1]:80", "::1", 80, true),
    ])
    func `a host pattern covers a host, or all below a domain`(
        pattern: String, host: String, port: UInt16, isCovered: Bool
    ) throws {
        #expect(try #require(HostPattern(pattern)).matches(host: host, port: port) == isCovered)
    }

    @Test(arguments: ["", "*", "*.", "a..b", "-a.example", "a b", "http://a", "a/b", "*.127.0.0.1", "a:0x1", "a@b"])
    func `what is no host pattern is refused`(text: String) {
        #expect(HostPattern(text) == nil)
    }

    @Test(arguments: [
        ("443", 443, true), ("443", 80, false), ("8000-8099", 8_000, true), ("8000-8099", 8_099, true),
        ("8000-8099", 8_100, false), ("1-65535", 65_535, true),
    ])
    func `a port range has both of its ends`(range: String, port: UInt16, isInside: Bool) throws {
        #expect(try #require(PortRange(range)).contains(port) == isInside)
    }

    @Test(arguments: ["", "0", "65536", "10-5", "a", "80-", "-80", "80 - 90"])
    func `what is no port range is refused`(text: String) {
        #expect(PortRange(text) == nil)
    }

    @Test(arguments: [
        ("http://foo.bar", "http://foo.bar/"), ("HTTPS://Foo.Bar:443/v1", "https://foo.bar/v1/"),
        ("http://foo.bar?you=mysunshine", "http://foo.bar/?you=mysunshine"),
        ("http://foo.bar/baz?you=m/", "http://foo.bar/baz/?you=m/"), ("http://[::1]:8080/a/", "http://[::1]:8080/a/"),
    ])
    func `a base URL ends its path in a slash and keeps its query`(text: String, normal: String) throws {
        #expect(try BaseURL.read(text).get().target.string == normal)
    }

    @Test(arguments: [
        ("foo.bar", BaseURL.Failure.relative), ("/v1", .relative), ("ftp://foo", .scheme("ftp")),
        ("http://a@b/", .credentials), ("http://a/#b", .fragment), ("http://", .uri(.missingHost)),
        ("http://a:70000/", .uri(.invalidPort)),
    ])
    func `what is no base URL is refused by its reason`(text: String, failure: BaseURL.Failure) {
        #expect(BaseURL.read(text) == .failure(failure))
    }

    @Test func `what a base URL's query holds is not shown`() throws {
        let base = try BaseURL.read("http://a/?key=hush").get()
        #expect("\(base)" == "http://a/?[redacted]")
    }
}
