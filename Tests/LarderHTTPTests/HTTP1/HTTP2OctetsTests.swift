// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@Suite("HTTP/2 where HTTP/1.1 is spoken")
struct HTTP2OctetsTests {
    @Test(
        arguments: [
            ([0, 0, 0, 4, 0, 0, 0, 0, 0], true), ([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100], true),
            ([0, 0, 0, 4, 1, 0, 0, 0, 0], false), ([0, 0, 5, 4, 0, 0, 0, 0, 0], false),
            ([0, 0, 0, 7, 0, 0, 0, 0, 0], false), ([0, 0, 0, 4, 0, 0, 0, 0, 1], false),
            ([0, 0, 0, 4, 0, 0, 0, 0], false),
            ([], false), (Array("HTTP/1.1 200 OK".utf8), false),
        ] as [([UInt8], Bool)])
    func `a server's first frame is recognised`(bytes: [UInt8], isSettings: Bool) {
        #expect(bytes.withUnsafeBytes { HTTP2Octets.areSettings($0) } == isSettings)
    }

    @Test func `a refusal is two whole frames`() {
        let bytes = HTTP2Octets.refusal
        #expect(bytes.withUnsafeBytes { HTTP2Octets.areSettings($0) })
        #expect(Int(bytes[11]) == bytes.count - 18)
    }

    @Test func `a preface is recognised by its first line`() {
        for (text, isPreface) in [
            ("PRI * HTTP/2.0\r\n", true), ("PRI * HTTP/2.0", false), ("GET / HTTP/2.0\r\n", false),
        ] {
            #expect(Array(text.utf8).withUnsafeBytes { HTTP2Octets.isPreface($0) } == isPreface)
        }
    }
}
