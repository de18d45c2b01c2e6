// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LarderHTTP

@Suite("RFC 9112 §4 Response heads")
struct ResponseHeadParserTests {
    static let accepted: [(String, ResponseHead)] = [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ResponseHead(status: 200, fields: ["Content-Length": "0"])
        ),
        ("HTTP/1.0 404 \r\n\r\n", ResponseHead(status: 404, version: .http10)),
        ("HTTP/1.1 200\r\n\r\n", ResponseHead(status: 200)),
        ("HTTP/1.1 599 Caf\u{e9} \t au lait\r\n\r\n", ResponseHead(status: 599)),
        (
            "HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nset-cookie: c=d\r\n\r\n",
            ResponseHead(fields: ["Set-Cookie": "a=b", "Set-Cookie": "c=d"])
        ),
        ("HTTP/1.1 100 Continue\r\n\r\n", ResponseHead(status: 100)),
    ]

    @Test(arguments: accepted)
    func `a head is read the same whole, octet by octet and cut anywhere`(_ text: String, _ head: ResponseHead) {
        let octets = latin1(text)
        let expected = Parsed.head(head, consumed: octets.count)
        #expect(parseResponse(octets, cuts: [octets.count]) == expected)
        #expect(parseResponse(octets, cuts: 0...octets.count) == expected)
        for cut in 0..<octets.count {
            #expect(parseResponse(octets, cuts: [cut]) == .incomplete, "a part is not an error")
            #expect(parseResponse(octets, cuts: [cut, octets.count]) == expected)
        }
    }

    static let refused: [(String, ParseError.Code)] = [
        ("\r\nHTTP/1.1 200 OK\r\n\r\n", .emptyStartLine),
        ("HTTP/1.1 200 OK\n\n", .bareLineFeed),
        ("HTTP/1.1 200 O\rK\r\n\r\n", .bareCarriageReturn),
        ("HTTP/1.1 200 OK\r\nX: \u{0}\r\n\r\n", .nul),
        ("HTTP/1.1 200 \u{1b}\r\n\r\n", .controlOctet),
        ("ICY 200 OK\r\n\r\n", .malformedVersion),
        (" HTTP/1.1 200 OK\r\n\r\n", .malformedVersion),
        ("HTTP\r\n\r\n", .malformedVersion),
        ("HTTP/2.0 200 OK\r\n\r\n", .unsupportedVersion),
        ("HTTP/1.1\r\n\r\n", .malformedStatus),
        ("HTTP/1.1 20\r\n\r\n", .malformedStatus),
        ("HTTP/1.1 200OK\r\n\r\n", .malformedStatus),
        ("HTTP/1.1 200\tOK\r\n\r\n", .malformedStatus),
        ("HTTP/1.1  200 OK\r\n\r\n", .malformedStatus),
        ("HTTP/1.1\t200 OK\r\n\r\n", .malformedStatus),
        ("HTTP/1.1 20 OK\r\n\r\n", .malformedStatus),
        ("HTTP/1.1 2000 OK\r\n\r\n", .malformedStatus),
        ("HTTP/1.1 2x0 OK\r\n\r\n", .malformedStatus),
        ("HTTP/1.1 +20 OK\r\n\r\n", .malformedStatus),
        ("HTTP/1.1 099 OK\r\n\r\n", .malformedStatus),
        ("HTTP/1.1 600 OK\r\n\r\n", .malformedStatus),
        ("HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", .lineFolding),
        ("HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n", .blankBeforeColon),
        ("HTTP/1.1 200 OK\r\nContent-Length\r\n\r\n", .missingColon),
        ("HTTP/1.1 200 OK\r\n: 1\r\n\r\n", .malformedFieldName),
        ("HTTP/1.1 200 \(String(repeating: "x", count: 9000))\r\n\r\n", .statusLineTooLong),
        ("HTTP/1.1 200 OK\r\nX: \(String(repeating: "x", count: 66000))\r\n\r\n", .headerSectionTooLarge),
        ("HTTP/1.1 200 OK\r\n\(String(repeating: "X:\r\n", count: 201))\r\n", .tooManyFieldLines),
    ]

    @Test(arguments: refused)
    func `what is malformed is refused by name however it arrives`(_ text: String, _ code: ParseError.Code) {
        let octets = latin1(text)
        let whole = parseResponse(octets, cuts: [octets.count])
        #expect(whole.code == code)
        let step = max(1, octets.count / 200)
        #expect(
            parseResponse(octets, cuts: Array(stride(from: 0, to: octets.count, by: step)) + [octets.count]) == whole)
        for cut in stride(from: 0, to: octets.count, by: step) {
            #expect(parseResponse(octets, cuts: [cut, octets.count]) == whole)
        }
    }
}
