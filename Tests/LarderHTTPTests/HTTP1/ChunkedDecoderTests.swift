// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LarderHTTP

/// The outcome of decoding: octets, trailers and what was consumed, or the error.
enum Decoded: Equatable {
    case complete(String, trailers: Fields = [:], consumed: Int)
    case incomplete(String)
    case refused(ParseError.Code)
}

/// Feeds `text` in pieces that end at `cuts`; no octet is fed twice.
func decode(_ text: String, _ framing: BodyFraming, cuts: [Int], limits: ParseLimits = ParseLimits()) -> Decoded {
    let octets = latin1(text)
    var decoder = FramingDecoder(framing, limits: limits)
    var content: [UInt8] = []
    var consumed = 0
    var start = 0
    for cut in cuts {
        let piece = Array(octets[start..<cut])
        do throws(ParseError) {
            let result = try piece.withUnsafeBufferPointer { piece throws(ParseError) in
                try decoder.decode(UnsafeRawBufferPointer(piece).bytes) { content.append(contentsOf: piece[$0]) }
            }
            consumed += result.consumed
            if result.isComplete {
                return .complete(String(latin1: content), trailers: decoder.trailers, consumed: consumed)
            }
            guard result.consumed == piece.count else { return .refused(ParseError.Code("stuck", "all is consumed")) }
        } catch {
            return .refused(error.code)
        }
        start = cut
    }
    return .incomplete(String(latin1: content))
}

@Suite("RFC 9112 §7.1 Chunked content")
struct ChunkedDecoderTests {
    static let accepted: [(String, Decoded)] = [
        ("0\r\n\r\n", .complete("", consumed: 5)),
        ("5\r\nhello\r\n0\r\n\r\n", .complete("hello", consumed: 15)),
        ("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\nGET /", .complete("hello world", consumed: 26)),
        ("A\r\n0123456789\r\na\r\n0123456789\r\n00\r\n\r\n", .complete("01234567890123456789", consumed: 36)),
        ("0000000000000003\r\n\r\n0\r\n0\r\n\r\n", .complete("\r\n0", consumed: 28)),
        ("3;a\r\nabc\r\n0;b=c\r\n\r\n", .complete("abc", consumed: 19)),
        ("3 ; a = b\t;\tc=\"d;\\\"\r\"\r\nabc\r\n0\r\n\r\n", .refused(.malformedChunkExtension)),
        ("3 ; a = b\t;\tc=\"d;\\\"e\" ;f\r\nabc\r\n0\r\n\r\n", .complete("abc", consumed: 36)),
        (
            "3\r\nabc\r\n0\r\nServer-Timing: db\r\nX: \r\n\r\nrest",
            .complete("abc", trailers: ["Server-Timing": "db", "X": ""], consumed: 37)
        ),
        (
            "0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nHost: b\r\nAuthorization: x\r\nSet-Cookie: a=b\r\n"
                + "Cache-Control: no-store\r\nContent-Type: text/html\r\nConnection: X\r\nTrailer: X\r\n"
                + "Authentication-Info: z\r\nX-Checksum: 1\r\n\r\n",
            .complete("", trailers: ["X-Checksum": "1"], consumed: 212)
        ),
    ]

    @Test(arguments: accepted)
    func `content is the same whole, octet by octet and cut anywhere`(_ text: String, _ expected: Decoded) {
        let count = text.unicodeScalars.count
        #expect(decode(text, .chunked, cuts: [count]) == expected)
        #expect(decode(text, .chunked, cuts: Array(0...count)) == expected)
        for cut in 0...count { #expect(decode(text, .chunked, cuts: [cut, count]) == expected) }
    }

    @Test func `a part is not an error`() {
        let text = "5\r\nhello\r\n0\r\nX: y\r\n\r\n"
        for cut in 0..<text.utf8.count {
            #expect(decode(text, .chunked, cuts: [cut]) == .incomplete(String("hello".prefix(max(0, cut - 3)))))
        }
    }

    static let refused: [(String, ParseError.Code)] = [
        ("\r\n", .malformedChunkSize),
        ("g\r\n", .malformedChunkSize),
        (" 5\r\nhello\r\n0\r\n\r\n", .malformedChunkSize),
        ("+5\r\nhello\r\n0\r\n\r\n", .malformedChunkSize),
        ("-1\r\n", .malformedChunkSize),
        (";a\r\n\r\n", .malformedChunkSize),
        ("0x5\r\nhello\r\n0\r\n\r\n", .malformedChunkExtension),
        ("5_0\r\n", .malformedChunkExtension),
        ("5 \r\nhello\r\n0\r\n\r\n", .malformedChunkExtension),
        ("5\t\r\nhello\r\n0\r\n\r\n", .malformedChunkExtension),
        ("5 5\r\n", .malformedChunkExtension),
        ("5,5\r\n", .malformedChunkExtension),
        ("5\nhello\r\n0\r\n\r\n", .bareLineFeed),
        ("5\rhello\r\n0\r\n\r\n", .bareCarriageReturn),
        ("5\r\r\nhello\r\n0\r\n\r\n", .bareCarriageReturn),
        ("5\u{0}\r\n", .malformedChunkExtension),
        ("5;\r\nhello\r\n", .malformedChunkExtension),
        ("5;a=\r\nhello\r\n", .malformedChunkExtension),
        ("5;a =\r\nhello\r\n", .malformedChunkExtension),
        ("5;a b\r\nhello\r\n", .malformedChunkExtension),
        ("5;a \r\nhello\r\n", .malformedChunkExtension),
        ("5;a=\"b\r\nhello\r\n", .malformedChunkExtension),
        ("5;a=\"b\"c\r\nhello\r\n", .malformedChunkExtension),
        ("5;a\nhello\r\n0\r\n\r\n", .bareLineFeed),
        ("5;a=\"\n\"\r\nhello\r\n0\r\n\r\n", .bareLineFeed),
        ("5;a\rb\r\nhello\r\n0\r\n\r\n", .bareCarriageReturn),
        ("5\r\nhello0\r\n\r\n", .missingChunkEnd),
        ("5\r\nhello\n0\r\n\r\n", .missingChunkEnd),
        ("5\r\nhello\r0\r\n\r\n", .missingChunkEnd),
        ("4\r\nhello\r\n0\r\n\r\n", .missingChunkEnd),
        ("6\r\nhello\r\n0\r\n\r\n", .missingChunkEnd),
        ("8000000000000000\r\n", .chunkTooLarge),
        ("FFFFFFFFFFFFFFFF\r\n", .chunkTooLarge),
        ("10000000000000000\r\n", .chunkTooLarge),
        ("00000000000000005\r\nhello\r\n", .chunkTooLarge),
        ("0\r\nX: a\n\r\n", .bareLineFeed),
        ("0\r\n\n", .bareLineFeed),
        ("0\r\n\rX", .bareCarriageReturn),
        ("0\r\nX: a\r\n b\r\n\r\n", .lineFolding),
        ("0\r\nX : a\r\n\r\n", .blankBeforeColon),
        ("0\r\nGET / HTTP/1.1\r\n\r\n", .malformedFieldName),
        ("0\r\nGET\r\n\r\n", .missingColon),
        ("0\r\nX: \u{0}\r\n\r\n", .nul),
    ]

    @Test(arguments: refused)
    func `what is malformed is refused by name however it arrives`(_ text: String, _ code: ParseError.Code) {
        let count = text.unicodeScalars.count
        #expect(decode(text, .chunked, cuts: [count]) == .refused(code))
        #expect(decode(text, .chunked, cuts: Array(0...count)) == .refused(code))
        for cut in 0...count { #expect(decode(text, .chunked, cuts: [cut, count]) == .refused(code)) }
    }

    @Test func `extensions are bounded for the whole message`() {
        let limits = ParseLimits(chunkExtensions: 8)
        let chunk = "1;ab\r\nx\r\n"
        #expect(decode(chunk + chunk, .chunked, cuts: [18], limits: limits) == .incomplete("xx"))
        let three = chunk + chunk + chunk
        #expect(decode(three, .chunked, cuts: [27], limits: limits) == .refused(.chunkExtensionsTooLarge))
    }

    @Test func `trailers are bounded in size and number however they arrive`() {
        let limits = ParseLimits(fieldLines: 3, trailerSection: 20)
        let long = "0\r\nX: 0123456789abcdef\r\n\r\n"
        #expect(decode(long, .chunked, cuts: [long.utf8.count], limits: limits) == .refused(.trailerSectionTooLarge))
        #expect(
            decode(long, .chunked, cuts: Array(0...long.utf8.count), limits: limits)
                == .refused(.trailerSectionTooLarge))
        let many = "0\r\nA:\r\nA:\r\nA:\r\nA:\r\n\r\n"
        #expect(decode(many, .chunked, cuts: [many.utf8.count], limits: limits) == .refused(.tooManyFieldLines))
        let fits = "0\r\nX: 0123456789abc\r\n\r\n"
        #expect(
            decode(fits, .chunked, cuts: [fits.utf8.count], limits: limits)
                == .complete("", trailers: ["X": "0123456789abc"], consumed: fits.utf8.count))
        let none = "0\r\n\r\n"
        #expect(
            decode(none, .chunked, cuts: Array(0...5), limits: ParseLimits(trailerSection: 0))
                == .complete("", consumed: 5))
    }
}

@Suite("RFC 9112 §6.3 Content")
struct ContentDecoderTests {
    @Test func `content of a known length ends after it`() {
        let text = "hello, next"
        for cut in 0...text.utf8.count {
            #expect(decode(text, .length(5), cuts: [cut, text.utf8.count]) == .complete("hello", consumed: 5))
        }
        #expect(decode(text, .length(12), cuts: [11]) == .incomplete(text))
        #expect(decode(text, .length(0), cuts: [11]) == .complete("", consumed: 0))
        #expect(decode(text, .none, cuts: [11]) == .complete("", consumed: 0))
    }

    @Test func `content until close ends with the connection`() throws {
        var decoder = FramingDecoder(.untilClose)
        let result = try Array("abc".utf8).withUnsafeBytes { try decoder.decode($0.bytes) { _ in } }
        #expect(result == (3, false))
        #expect(!decoder.isComplete)
        #expect(decoder.remainingLength == nil)
        try decoder.finish()
        #expect(decoder.isComplete)
        #expect(decoder.remainingLength == 0)
    }

    @Test(arguments: [BodyFraming.length(4), .chunked])
    func `a connection that ends early cuts content short`(_ framing: BodyFraming) throws {
        var decoder = FramingDecoder(framing)
        _ = try Array("3\r\n".utf8).withUnsafeBytes { try decoder.decode($0.bytes) { _ in } }
        #expect(throws: ParseError(.contentCutShort)) { try decoder.finish() }
        var empty = FramingDecoder(.length(0))
        #expect(empty.isComplete)
        try empty.finish()
    }

    @Test func `what is left of a known length can be asked for`() throws {
        var decoder = FramingDecoder(.length(10))
        #expect(decoder.remainingLength == 10)
        _ = try Array("abc".utf8).withUnsafeBytes { try decoder.decode($0.bytes) { _ in } }
        #expect(decoder.remainingLength == 7)
    }
}
