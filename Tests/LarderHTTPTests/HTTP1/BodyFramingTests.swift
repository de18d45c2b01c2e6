// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LarderHTTP

@Suite("RFC 9112 §6 Framing")
struct BodyFramingTests {
    static let requests: [(String, Fields, Result<BodyFraming, ParseError.Code>)] = [
        ("nothing", [:], .success(.none)),
        ("length 0", ["Content-Length": "0"], .success(.length(0))),
        ("a length", ["Content-Length": "12"], .success(.length(12))),
        ("leading zeros", ["Content-Length": "0012"], .success(.length(12))),
        ("the largest length", ["Content-Length": "9223372036854775807"], .success(.length(UInt64(Int.max)))),
        ("too large a length", ["Content-Length": "9223372036854775808"], .failure(.lengthTooLarge)),
        ("a length that wraps", ["Content-Length": "18446744073709551617"], .failure(.lengthTooLarge)),
        ("a very long length", ["Content-Length": "99999999999999999999999999"], .failure(.lengthTooLarge)),
        ("an empty length", ["Content-Length": ""], .failure(.malformedLength)),
        ("a plus sign", ["Content-Length": "+5"], .failure(.malformedLength)),
        ("a minus sign", ["Content-Length": "-5"], .failure(.malformedLength)),
        ("a blank inside", ["Content-Length": "1 2"], .failure(.malformedLength)),
        ("hexadecimal", ["Content-Length": "0x5"], .failure(.malformedLength)),
        ("a fraction", ["Content-Length": "5.0"], .failure(.malformedLength)),
        ("an underscore", ["Content-Length": "1_0"], .failure(.malformedLength)),
        ("a superscript digit", ["Content-Length": "\u{b2}"], .failure(.malformedLength)),
        ("a list of equal lengths", ["Content-Length": "5, 5"], .failure(.malformedLength)),
        ("a list of different lengths", ["Content-Length": "5, 6"], .failure(.malformedLength)),
        ("equal lengths on two lines", ["Content-Length": "5", "Content-Length": "5"], .failure(.severalLengths)),
        ("different lengths", ["Content-Length": "5", "content-length": "6"], .failure(.severalLengths)),
        ("chunked", ["Transfer-Encoding": "chunked"], .success(.chunked)),
        ("chunked in capitals", ["Transfer-Encoding": "CHUNKED"], .success(.chunked)),
        (
            "CL.TE", ["Content-Length": "5", "Transfer-Encoding": "chunked"], .failure(.lengthAndTransferCoding)
        ),
        (
            "TE.CL", ["Transfer-Encoding": "chunked", "Content-Length": "5"], .failure(.lengthAndTransferCoding)
        ),
        (
            "length 0 and chunked", ["Transfer-Encoding": "chunked", "Content-Length": "0"],
            .failure(.lengthAndTransferCoding)
        ),
        ("chunked twice", ["Transfer-Encoding": "chunked, chunked"], .failure(.chunkedNotFinal)),
        (
            "chunked on two lines", ["Transfer-Encoding": "chunked", "Transfer-Encoding": "chunked"],
            .failure(.chunkedNotFinal)
        ),
        ("identity last", ["Transfer-Encoding": "chunked, identity"], .failure(.chunkedNotFinal)),
        (
            "identity on a line of its own", ["Transfer-Encoding": "chunked", "Transfer-Encoding": "identity"],
            .failure(.chunkedNotFinal)
        ),
        ("identity alone", ["Transfer-Encoding": "identity"], .failure(.chunkedNotFinal)),
        ("gzip alone", ["Transfer-Encoding": "gzip"], .failure(.chunkedNotFinal)),
        ("xchunked", ["Transfer-Encoding": "xchunked"], .failure(.chunkedNotFinal)),
        ("x-chunked", ["Transfer-Encoding": "x, chunked, x"], .failure(.chunkedNotFinal)),
        ("gzip then chunked", ["Transfer-Encoding": "gzip, chunked"], .failure(.unknownTransferCoding)),
        (
            "gzip then chunked on two lines", ["Transfer-Encoding": "gzip", "Transfer-Encoding": "chunked"],
            .failure(.unknownTransferCoding)
        ),
        ("an empty coding", ["Transfer-Encoding": ""], .failure(.malformedTransferCoding)),
        ("a trailing comma", ["Transfer-Encoding": "chunked,"], .failure(.malformedTransferCoding)),
        ("a leading comma", ["Transfer-Encoding": ",chunked"], .failure(.malformedTransferCoding)),
        (
            "an empty second line", ["Transfer-Encoding": "chunked", "Transfer-Encoding": ""],
            .failure(.malformedTransferCoding)
        ),
        ("a parameter", ["Transfer-Encoding": "chunked;a=b"], .failure(.malformedTransferCoding)),
        ("quotes", ["Transfer-Encoding": "\"chunked\""], .failure(.malformedTransferCoding)),
        ("an open quote", ["Transfer-Encoding": "\"chunked"], .failure(.malformedTransferCoding)),
        ("two words", ["Transfer-Encoding": "chunked x"], .failure(.malformedTransferCoding)),
        ("a letter with an accent", ["Transfer-Encoding": "chunk\u{e9}d"], .failure(.malformedTransferCoding)),
    ]

    @Test(arguments: requests)
    func `the framing of a request is certain or refused`(
        _ label: String, _ fields: Fields, _ expected: Result<BodyFraming, ParseError.Code>
    ) {
        let head = RequestHead(method: .post, fields: fields)
        #expect(framing { () throws(ParseError) in try BodyFraming(request: head) } == expected)
    }

    @Test func `an unknown transfer coding is 501 and an uncertain length 400`() {
        #expect(ParseError(.unknownTransferCoding).status == 501)
        #expect(ParseError(.chunkedNotFinal).status == 400)
        #expect(ParseError(.lengthAndTransferCoding).status == 400)
    }

    @Test(
        arguments: [["Transfer-Encoding": "chunked"], ["Transfer-Encoding": "chunked", "Content-Length": "3"]]
            as [Fields])
    func `HTTP 1 0 has no transfer codings`(_ fields: Fields) {
        #expect(throws: ParseError(.transferCodingInHTTP10)) {
            try BodyFraming(request: RequestHead(method: .post, version: .http10, fields: fields))
        }
        #expect(throws: ParseError(.transferCodingInHTTP10)) {
            try BodyFraming(response: ResponseHead(version: .http10, fields: fields), to: .get)
        }
    }

    @Test func `a CONNECT request has no content`() throws {
        #expect(throws: ParseError(.contentInConnect)) {
            try BodyFraming(request: RequestHead(method: .connect, fields: ["Content-Length": "1"]))
        }
        #expect(throws: ParseError(.contentInConnect)) {
            try BodyFraming(request: RequestHead(method: .connect, fields: ["Transfer-Encoding": "chunked"]))
        }
        #expect(try BodyFraming(request: RequestHead(method: .connect)) == .none)
    }

    static let responses: [(Method, Status, Fields, Result<BodyFraming, ParseError.Code>)] = [
        (.get, 200, [:], .success(.untilClose)),
        (.get, 200, ["Content-Length": "3"], .success(.length(3))),
        (.get, 200, ["Transfer-Encoding": "Chunked"], .success(.chunked)),
        (.get, 500, ["Transfer-Encoding": "chunked"], .success(.chunked)),
        (.get, 200, ["Transfer-Encoding": "chunked", "Content-Length": "3"], .failure(.lengthAndTransferCoding)),
        (.get, 200, ["Transfer-Encoding": "gzip"], .failure(.chunkedNotFinal)),
        (.get, 200, ["Transfer-Encoding": "gzip, chunked"], .failure(.unknownTransferCoding)),
        (.get, 200, ["Content-Length": "3", "Content-Length": "4"], .failure(.severalLengths)),
        (.get, 200, ["Content-Length": "three"], .failure(.malformedLength)),
        (.head, 200, ["Content-Length": "3"], .success(.none)),
        (.head, 200, ["Transfer-Encoding": "chunked"], .success(.none)),
        (.head, 200, ["Content-Length": "-3"], .failure(.malformedLength)),
        (.get, 204, ["Content-Length": "3"], .success(.none)),
        (.get, 205, ["Content-Length": "3"], .success(.none)),
        (.get, 205, [:], .success(.none)),
        (.get, 304, ["Content-Length": "3"], .success(.none)),
        (.get, 304, ["Transfer-Encoding": "chunked"], .success(.none)),
        (.get, 100, ["Transfer-Encoding": "chunked"], .success(.none)),
        (.get, 103, [:], .success(.none)),
        (.get, 101, ["Content-Length": "3"], .success(.none)),
        (.connect, 200, ["Content-Length": "3"], .success(.none)),
        (.connect, 200, ["Transfer-Encoding": "chunked", "Content-Length": "3"], .success(.none)),
        (.connect, 403, ["Content-Length": "3"], .success(.length(3))),
    ]

    @Test(arguments: responses)
    func `the framing of a response depends on the request and the status`(
        _ method: Method, _ status: Status, _ fields: Fields, _ expected: Result<BodyFraming, ParseError.Code>
    ) {
        let head = ResponseHead(status: status, fields: fields)
        #expect(framing { () throws(ParseError) in try BodyFraming(response: head, to: method) } == expected)
    }

    @Test func `the length that a response to HEAD announces can be read`() throws {
        #expect(try BodyFraming.contentLength(["Content-Length": "30"]) == 30)
        #expect(try BodyFraming.contentLength([:]) == nil)
    }

    private func framing(
        _ body: () throws(ParseError) -> BodyFraming
    ) -> Result<BodyFraming, ParseError.Code> {
        do throws(ParseError) { return .success(try body()) } catch { return .failure(error.code) }
    }
}

extension ParseError.Code: Error {}
