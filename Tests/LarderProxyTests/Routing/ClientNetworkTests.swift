// SPDX-License-Identifier: Apache-2.0
import LarderIO
import Testing

@testable import LarderProxy

@Suite("Networks of clients")
struct ClientNetworkTests {
    @Test(arguments: [
        ("198.51.100.1", "93.184.216.34", true), ("93.184.216.34", "1.1.1.1", true),
        ("93.184.216.34", "10.0.0.1", false), ("93.184.216.34", "127.0.0.1", false),
        ("93.184.216.34", "169.254.169.254", false), ("93.184.216.34", "[::1]", false),
        ("93.184.216.34", "[fd00::1]", false), ("10.0.0.1", "192.168.1.1", true), ("10.0.0.1", "127.0.0.1", false),
        ("10.0.0.1", "[::ffff:127.0.0.1]", false), ("10.0.0.1", "1.1.1.1", true), ("127.0.0.1", "10.0.0.1", true),
        ("127.0.0.1", "[::1]", true),
    ])
    func `an origin leads no further inside than it stands`(origin: String, target: String, isAllowed: Bool) throws {
        let (origin, target) = (
            try #require(SocketAddress("\(origin):80")), try #require(SocketAddress("\(target):80"))
        )
        #expect(origin.mayLead(to: target) == isAllowed)
    }
}
