// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LarderHTTP

@Suite("RFC 9112 §3 Request heads")
struct RequestHeadParserTests {
    static let accepted: [(String, RequestHead)] = [
        (
            "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
            RequestHead(target: "/", fields: ["Host": "example.com"])
        ),
        (
            "POST /a?b=c%20d HTTP/1.1\r\nHOST:example.com:8080\r\nX-Empty:\r\nX-Blank: \t \r\nX-Inner: a \t b  \r\n\r\n",
            RequestHead(
                method: .post, target: "/a?b=c%20d",
                fields: ["Host": "example.com:8080", "X-Empty": "", "X-Blank": "", "X-Inner": "a \t b"])
        ),
        (
            "GET http://example.com/x HTTP/1.1\r\nHost:\r\n\r\n",
            RequestHead(target: "http://example.com/x", fields: ["Host": ""])
        ),
        ("GET /old HTTP/1.0\r\n\r\n", RequestHead(target: "/old", version: .http10)),
        (
            "OPTIONS * HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n\r\n",
            RequestHead(method: .options, target: "*", fields: ["Host": "[2001:db8::1]:80"])
        ),
        (
            "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
            RequestHead(method: .connect, target: "example.com:443", fields: ["Host": "example.com:443"])
        ),
        (
            "\r\nM-SEARCH /x HTTP/1.9\r\nhost: a\r\nX: \u{e9}\u{ff}\r\nX: 2\r\n\r\n",
            RequestHead(
                method: Method("M-SEARCH")!, target: "/x", fields: ["Host": "a", "X": "\u{e9}\u{ff}", "X": "2"])
        ),
        (
            "GET /a-target-longer-than-one-step-of-the-scan/and/another HTTP/1.1\r\n"
                + "a-field-name-longer-than-one-step-of-the-scan!#$%&'*+.^_`|~0: v\r\nHost: a\r\n\r\n",
            RequestHead(
                target: "/a-target-longer-than-one-step-of-the-scan/and/another",
                fields: ["a-field-name-longer-than-one-step-of-the-scan!#$%&'*+.^_`|~0": "v", "Host": "a"])
        ),
    ]

    @Test(arguments: accepted)
    func `a head is read the same whole, octet by octet and cut anywhere`(_ text: String, _ head: RequestHead) {
        let octets = latin1(text)
        let expected = Parsed.head(head, consumed: octets.count)
        #expect(parseRequest(octets, cuts: [octets.count]) == expected)
        #expect(parseRequest(octets, cuts: 0...octets.count) == expected)
        for cut in 0..<octets.count {
            #expect(parseRequest(octets, cuts: [cut]) == .incomplete, "a part is not an error")
            #expect(parseRequest(octets, cuts: [cut, octets.count]) == expected)
        }
    }

    @Test func `what follows the head is left alone`() {
        let text = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        #expect(
            parseRequest(text + "\u{0}\n\rGET") == .head(RequestHead(fields: ["Host": "a"]), consumed: text.utf8.count))
    }

    @Test func `a parser reads one head after the other into the same storage`() throws {
        var parser = RequestHeadParser()
        var head = RequestHead()
        let octets = Array("GET /1 HTTP/1.1\r\nHost: a\r\nX: 1\r\n\r\nGET /2 HTTP/1.0\r\n\r\n".utf8)
        let first = try octets.withUnsafeBytes { try parser.parse($0.bytes, into: &head) }
        #expect(first == .complete(consumed: 34))
        #expect(head == RequestHead(target: "/1", fields: ["Host": "a", "X": "1"]))
        let second = try octets.withUnsafeBytes {
            try parser.parse($0.bytes.extracting(droppingFirst: 34), into: &head)
        }
        #expect(second == .complete(consumed: octets.count - 34))
        #expect(head == RequestHead(target: "/2", version: .http10))
    }

    @Test func `each octet is looked at once`() throws {
        var parser = RequestHeadParser()
        var head = RequestHead()
        let octets = Array("GET / HTTP/1.1\r\nHost: a\r\n".utf8)
        var last = 0
        for count in 0...octets.count {
            let result = try octets[..<count].withUnsafeBytes { try parser.parse($0.bytes, into: &head) }
            guard case .incomplete(let scanned) = result else { return #expect(Bool(false), "not complete yet") }
            #expect(scanned >= last && scanned <= count && scanned >= count - 1)
            last = scanned
        }
    }

    static let refused: [(String, ParseError.Code)] = [
        // Lines
        ("GET / HTTP/1.1\nHost: a\n\n", .bareLineFeed),
        ("GET / HTTP/1.1\r\nHost: a\n\r\n", .bareLineFeed),
        ("GET / HTTP/1.1\r\nHost: a\r\n\n", .bareLineFeed),
        ("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", .bareLineFeed),
        ("GET / HTTP/1.1\rHost: a\r\r", .bareCarriageReturn),
        ("GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", .bareCarriageReturn),
        ("GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", .bareCarriageReturn),
        ("GET / HTTP/1.1\r\nHost: a\r\n\rX", .bareCarriageReturn),
        ("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", .emptyStartLine),
        ("GET / HTTP/1.1\r\nHost: a\u{0}\r\n\r\n", .nul),
        ("GET /\u{0} HTTP/1.1\r\nHost: a\r\n\r\n", .nul),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: \u{8}\r\n\r\n", .controlOctet),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: \u{7f}\r\n\r\n", .controlOctet),
        ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \u{b}chunked\r\n\r\n", .controlOctet),
        ("\u{16}\u{3}\u{1}\u{2}\u{0}", .controlOctet),
        // Request line
        (" GET / HTTP/1.1\r\nHost: a\r\n\r\n", .malformedMethod),
        ("GE(T / HTTP/1.1\r\nHost: a\r\n\r\n", .malformedMethod),
        ("GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", .malformedMethod),
        ("G\u{e9}T / HTTP/1.1\r\nHost: a\r\n\r\n", .malformedMethod),
        ("GET\r\nHost: a\r\n\r\n", .malformedMethod),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / HTTP/1.1\r\nHost: a\r\n\r\n", .methodTooLong),
        ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", .malformedTarget),
        ("GET \r\nHost: a\r\n\r\n", .malformedTarget),
        ("GET /\t HTTP/1.1\r\nHost: a\r\n\r\n", .malformedTarget),
        ("GET /\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n", .malformedTarget),
        ("GET /0123456789012345678\u{80} HTTP/1.1\r\nHost: a\r\n\r\n", .malformedTarget),
        ("GET /\r\n", .missingVersion),
        ("GET / \r\n", .malformedVersion),
        ("GET /  HTTP/1.1\r\nHost: a\r\n\r\n", .malformedVersion),
        ("GET / x HTTP/1.1\r\nHost: a\r\n\r\n", .malformedVersion),
        ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", .malformedVersion),
        ("GET / HTTP/1.10\r\nHost: a\r\n\r\n", .malformedVersion),
        ("GET / http/1.1\r\nHost: a\r\n\r\n", .malformedVersion),
        ("GET / HTTP/1,1\r\nHost: a\r\n\r\n", .malformedVersion),
        ("GET / HTTP/1.x\r\nHost: a\r\n\r\n", .malformedVersion),
        ("GET / HTTP/1\r\nHost: a\r\n\r\n", .malformedVersion),
        ("GET / HTTP/0.9\r\nHost: a\r\n\r\n", .unsupportedVersion),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .unsupportedVersion),
        // Field lines
        ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", .lineFolding),
        ("GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", .lineFolding),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n\t2\r\n\r\n", .lineFolding),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", .blankBeforeColon),
        ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding\t: chunked\r\n\r\n", .blankBeforeColon),
        ("GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", .missingColon),
        ("GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n", .malformedFieldName),
        ("GET / HTTP/1.1\r\nHost: a\r\nX y: z\r\n\r\n", .malformedFieldName),
        ("GET / HTTP/1.1\r\nHost: a\r\nX@y: z\r\n\r\n", .malformedFieldName),
        ("GET / HTTP/1.1\r\nHost: a\r\n\u{e9}: z\r\n\r\n", .malformedFieldName),
        ("GET / HTTP/1.1\r\nHost: a\r\n\"x\": z\r\n\r\n", .malformedFieldName),
        // Host
        ("GET / HTTP/1.1\r\n\r\n", .missingHost),
        ("GET http://a/ HTTP/1.1\r\nX: y\r\n\r\n", .missingHost),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", .severalHosts),
        ("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n", .severalHosts),
        ("GET / HTTP/1.1\r\nHost:\r\n\r\n", .emptyHost),
        ("GET / HTTP/1.1\r\nHost: :80\r\n\r\n", .malformedHost),
        ("GET / HTTP/1.1\r\nHost: user@a\r\n\r\n", .malformedHost),
        ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", .malformedHost),
        ("GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", .malformedHost),
        ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", .malformedHost),
        ("GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", .malformedHost),
        ("GET / HTTP/1.1\r\nHost: a:8o\r\n\r\n", .malformedHost),
        ("GET / HTTP/1.1\r\nHost: a:80:80\r\n\r\n", .malformedHost),
        ("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", .malformedHost),
        ("GET / HTTP/1.1\r\nHost: [::1]x\r\n\r\n", .malformedHost),
        ("GET / HTTP/1.1\r\nHost: ::1\r\n\r\n", .malformedHost),
    ]

    @Test(arguments: refused)
    func `what is malformed is refused by name however it arrives`(_ text: String, _ code: ParseError.Code) {
        let octets = latin1(text)
        let whole = parseRequest(octets, cuts: [octets.count])
        #expect(whole.code == code)
        #expect(parseRequest(octets, cuts: 0...octets.count) == whole)
        for cut in 0..<octets.count { #expect(parseRequest(octets, cuts: [cut, octets.count]) == whole) }
    }

    static let bounded: [(String, ParseError.Code, Status)] = [
        ("GET /\(String(repeating: "a", count: 50)) HTTP/1.1\r\nHost: a\r\n\r\n", .targetTooLong, 414),
        ("GET /\(String(repeating: "a", count: 90))", .targetTooLong, 414),
        (String(repeating: "A", count: 90), .methodTooLong, 501),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 90))\r\n\r\n", .headerSectionTooLarge, 431),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 90))", .headerSectionTooLarge, 431),
        ("GET / HTTP/1.1\r\nHost: a\r\nA:\r\nB:\r\nC:\r\nD:\r\n\r\n", .tooManyFieldLines, 431),
    ]

    @Test(arguments: bounded)
    func `a head over a limit is refused with the status for it`(
        _ text: String, _ code: ParseError.Code, _ status: Status
    ) {
        let limits = ParseLimits(startLine: 40, headerSection: 60, fieldLines: 4)
        let octets = latin1(text)
        let whole = parseRequest(octets, cuts: [octets.count], limits: limits)
        #expect(whole.code == code)
        #expect(whole.code?.status == status)
        #expect(parseRequest(octets, cuts: 0...octets.count, limits: limits) == whole)
    }

    @Test func `a head as large as the limits is accepted`() {
        let limits = ParseLimits(startLine: 16, headerSection: 20, fieldLines: 2)
        let text = "GET / HTTP/1.1\r\nHost: a\r\nX: bcd\r\n\r\n"
        #expect(parseRequest(text, limits: limits).head?.fields.count == 2)
        let tighter = ParseLimits(startLine: 16, headerSection: 18, fieldLines: 2)
        #expect(parseRequest(text, limits: tighter).code == .headerSectionTooLarge)
        #expect(parseRequest(text, limits: ParseLimits(startLine: 15)).code == .targetTooLong)
        #expect(parseRequest(text, limits: ParseLimits(fieldLines: 1)).code == .tooManyFieldLines)
    }

    @Test func `an error says what it is and where`() {
        guard case .refused(let error) = parseRequest("GET / HTTP/1.1\r\nHost : a\r\n\r\n") else {
            return #expect(Bool(false), "refused")
        }
        #expect(error.position == 20)
        #expect(
            error.description
                == "blankBeforeColon at octet 20: There is a blank between a field name and its colon.")
    }
}
