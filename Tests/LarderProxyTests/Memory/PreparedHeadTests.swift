// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@testable import Larder

@Suite("Prepared heads")
struct PreparedHeadTests {
    func make(_ fields: Fields, status: Status = 200, length: Int64? = 3) -> String {
        String(
            decoding: PreparedHead.make(status: status, fields: fields, length: length, via: "1.1 larder"),
            as: UTF8.self)
    }

    @Test func `fields keep their order`() {
        var fields: Fields = ["x-one": "1", "Content-Type": "text/plain"]
        fields.append("x-one", "2")
        #expect(
            make(fields) == """
                HTTP/1.1 200 OK\r
                x-one: 1\r
                Content-Type: text/plain\r
                x-one: 2\r
                Content-Length: 3\r
                Via: 1.1 larder\r

                """)
    }

    @Test func `what belongs to another hop, and the age, is left out`() {
        let fields: Fields = [
            "Age": "7", "Connection": "x", "Keep-Alive": "timeout=1", "Transfer-Encoding": "chunked",
            "Content-Length": "99",
            "Upgrade": "x", "Trailer": "x", "Proxy-Connection": "x", "Date": "now",
        ]
        #expect(make(fields) == "HTTP/1.1 200 OK\r\nDate: now\r\nContent-Length: 3\r\nVia: 1.1 larder\r\n")
    }

    @Test func `those who passed the message on before come first in Via`() {
        var fields: Fields = ["Via": "1.0 first"]
        fields.append("Via", "1.1 second")
        #expect(make(fields, length: nil) == "HTTP/1.1 200 OK\r\nVia: 1.0 first, 1.1 second, 1.1 larder\r\n")
    }

    @Test func `a 205 says that it has no content, whatever is stored of it`() {
        #expect(make([:], status: 205, length: 7).contains("\r\nContent-Length: 0\r\n"))
    }

    @Test(arguments: [204, 304] as [Status]) func `a status without content has no length`(status: Status) {
        #expect(!make([:], status: status, length: 0).contains("Content-Length"))
    }

    @Test(
        arguments: [(204, "No Content"), (404, "Not Found"), (299, "Success"), (599, "Server Error")]
            as [(Status, String)])
    func `every status has a phrase`(status: Status, phrase: String) {
        #expect(make([:], status: status, length: nil).hasPrefix("HTTP/1.1 \(status.rawValue) \(phrase)\r\n"))
    }
}
