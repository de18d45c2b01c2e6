// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LarderIO

@Suite("Owners of connections")
struct SocketOwnerTests {
    @Test(
        arguments: [
            ("  1: 0100007F:C350 0100007F:0C38 01 00000000:00000000 00:00000000 00000000  1000        0 1 1", 1000),
            (
                "  1: 0000000000000000FFFF00000100007F:C350 0000000000000000FFFF00000100007F:0C38 01 0:0 0:0 0  7 0 1 1",
                7
            ),
            ("  1: 0100007F:C351 0100007F:0C38 01 00000000:00000000 00:00000000 00000000  1000        0 1 1", nil),
            ("  1: 0200007F:C350 0100007F:0C38 01 00000000:00000000 00:00000000 00000000  1000        0 1 1", nil),
            ("  1: 0100007F:0C38 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 1 1", nil),
            ("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid", nil), ("", nil),
        ] as [(String, UInt32?)])
    func `a line is about one end of one connection`(line: String, user: UInt32?) throws {
        let client = try #require(SocketAddress(host: "127.0.0.1", port: 50000))
        let ours = try #require(SocketAddress(host: "127.0.0.1", port: 3128))
        #expect(SocketOwner.user(in: line, client, ours) == user)
    }
}
