// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Testing

@Suite("RFC 9110 §12.5.3 Content codings for clients")
struct RecodingTests {
    private static let json = "Content-Type: application/json"
    private static let tag = "ETag: \"a\""
    private static let coded = "\"a;larder.br.0123456789abcdef\""

    // MARK: What may be given in other codings

    struct Stored: Sendable {
        var lines: [String]
        var length: Int64? = 10_000
        var status: Status = 200
        var offered: [ServedCoding] = [.br, .gzip]

        init(_ lines: String..., length: Int64? = 10_000, status: Status = 200, offered: [ServedCoding] = [.br, .gzip])
        {
            self.lines = lines
            self.length = length
            self.status = status
            self.offered = offered
        }

        var response: StoredResponse {
            StoredResponse(
                ResponseHead(status: status, fields: Fields(lines: lines)), to: .get("Accept-Encoding: gzip"),
                requestTime: epoch, responseTime: epoch, contentLength: length,
                policy: .with { $0.codings = offered })
        }
    }

    static let recodable: [Row<Stored, ServedCoding?>] = [
        Row("JSON", Stored(json), .identity),
        Row("text with parameters", Stored("Content-Type: text/html; charset=utf-8"), .identity),
        Row("a suffix", Stored("Content-Type: image/svg+xml"), .identity),
        Row("in gzip", Stored(json, "Content-Encoding: gzip"), .gzip),
        Row("in gzip by its old name", Stored(json, "Content-Encoding: X-GZip"), .gzip),
        Row("in zstd", Stored(json, "Content-Encoding: zstd"), .zstd),
        Row("said to be in none", Stored(json, "Content-Encoding: identity"), .identity),
        Row("of unknown length", Stored(json, length: nil), .identity),
        Row("nobody asked for it", Stored(json, offered: []), nil),
        Row("no-transform", Stored(json, "Cache-Control: max-age=60, no-transform"), nil),
        Row("an image", Stored("Content-Type: image/png"), nil),
        Row("an archive", Stored("Content-Type: application/gzip"), nil),
        Row("octets", Stored("Content-Type: application/octet-stream"), nil),
        Row("events", Stored("Content-Type: text/event-stream"), nil),
        Row("no type", Stored(), nil),
        Row("two types", Stored(json, "Content-Type: text/plain"), nil),
        Row("two codings", Stored(json, "Content-Encoding: br, gzip"), nil),
        Row("a coding nobody knows", Stored(json, "Content-Encoding: compress"), nil),
        Row("too long", Stored(json, length: Recoding.longest + 1), nil),
        Row("an error", Stored(json, status: 404), nil),
        Row("a part", Stored(json, "Content-Range: bytes 0-9999/20000", status: 206), nil),
    ]

    @Test(arguments: recodable)
    func `what may be given in other codings`(row: Row<Stored, ServedCoding?>) {
        #expect(row.input.response.recoding?.stored == row.output, "\(row.label)")
    }

    @Test func `a response for all codings matches requests whatever they accept`() {
        let all = Stored(Self.json, "Vary: Accept-Encoding, Accept").response.variance
        let one = Stored(Self.json, "Vary: Accept-Encoding, Accept", offered: []).response.variance
        #expect(all.matches(RequestHead.get("Accept-Encoding: br").fields))
        #expect(all.matches(RequestHead.get().fields))
        #expect(!all.matches(RequestHead.get("Accept: text/plain").fields))
        #expect(!one.matches(RequestHead.get("Accept-Encoding: br").fields))
        #expect(all != one)
        #expect(all.spanningCodings(false) == one)
    }

    // MARK: Weights

    static let weights: [Row<String, [Int]>] = [
        // identity, gzip, br, zstd
        Row("gzip, br", "gzip, br", [1, 1000, 1000, 0]),
        Row("weights", "gzip;q=0.5, br;q=0.25, identity;q=0.125", [125, 500, 250, 0]),
        Row("nothing", "", [1, 0, 0, 0]),
        Row("anything", "*", [1, 1000, 1000, 1000]),
        Row("anything but gzip", "*;q=0.5, gzip;q=0", [1, 0, 500, 500]),
        Row("no identity", "identity;q=0, br", [0, 0, 1000, 0]),
        Row("nothing else", "br, *;q=0", [0, 0, 1000, 0]),
        Row("identity although nothing else", "identity;q=0.5, *;q=0", [500, 0, 0, 0]),
        Row("names in any case", "GZip, X-GZIP;q=0", [1, 1000, 0, 0]),
        Row("blanks", " gzip ; q=0.5 ,, br", [1, 500, 1000, 0]),
        Row("what cannot be read is left out", "gzip;q=2, br;level=3, zstd", [1, 0, 0, 1000]),
    ]

    @Test(arguments: weights)
    func `what a client accepts`(row: Row<String, [Int]>) {
        let accepted = AcceptedCodings(RequestHead.get("Accept-Encoding: " + row.input).fields)
        #expect(ServedCoding.allCases.map(accepted.weight(of:)) == row.output, "\(row.label)")
    }

    // MARK: Choosing

    struct Choice: Sendable {
        var stored: Stored
        var request: RequestHead

        init(_ stored: Stored, _ lines: String...) {
            self.stored = stored
            request = RequestHead(method: .get, target: "/a", fields: Fields(lines: lines))
        }
    }

    private static let plain = Stored(json, tag)
    private static let gzipped = Stored(json, tag, "Content-Encoding: gzip")
    private static func accept(_ value: String) -> String { "Accept-Encoding: " + value }

    static let choices: [Row<Choice, CodingDecision>] = [
        Row("nothing accepted", Choice(plain), CodingDecision(.identity)),
        Row("the operator's preference", Choice(plain, accept("gzip, br")), CodingDecision(.br)),
        Row("the client's preference", Choice(plain, accept("gzip, br;q=0.5")), CodingDecision(.gzip)),
        Row("identity preferred", Choice(plain, accept("identity, gzip;q=0.5")), CodingDecision(.identity)),
        Row("as good as identity", Choice(plain, accept("identity, gzip")), CodingDecision(.gzip)),
        Row("not offered", Choice(plain, accept("zstd")), CodingDecision(.identity)),
        Row("anything", Choice(plain, accept("*")), CodingDecision(.br)),
        Row("nothing acceptable", Choice(plain, accept("identity;q=0, deflate")), CodingDecision(.identity)),
        Row("tiny", Choice(Stored(json, length: 511), accept("br")), CodingDecision(.identity)),
        Row("as it came, at the same weight", Choice(gzipped, accept("gzip, br")), CodingDecision(.gzip)),
        Row("another at a higher weight", Choice(gzipped, accept("gzip;q=0.5, br")), CodingDecision(.br)),
        Row("undone", Choice(gzipped), CodingDecision(.identity)),
        Row("undone, as nothing else is accepted", Choice(gzipped, accept("deflate")), CodingDecision(.identity)),
        Row("undone and done otherwise", Choice(gzipped, accept("br")), CodingDecision(.br)),
        Row("the request says no-transform", Choice(gzipped, "Cache-Control: no-transform"), CodingDecision(.gzip)),
        Row(
            "what the client has as it came", Choice(plain, accept("br"), "If-None-Match: \"a\""),
            CodingDecision(.identity)),
        Row(
            "what the client has in a coding", Choice(plain, accept("gzip, br;q=0.1"), "If-None-Match: \(coded)"),
            CodingDecision(.br)),
        Row(
            "what it has and does not accept any more", Choice(plain, accept("gzip"), "If-None-Match: \(coded)"),
            CodingDecision(.gzip)),
        Row(
            "something else it has", Choice(plain, accept("br"), "If-None-Match: \"b\""), CodingDecision(.br)),
        Row(
            "a range is of what came", Choice(plain, accept("br"), "Range: bytes=0-9"), CodingDecision(.identity)),
        Row(
            "a range of what is not acceptable is none",
            Choice(gzipped, accept("br"), "Range: bytes=0-9"), CodingDecision(.br, ignoresRange: true)),
        Row(
            "a range of a known form",
            Choice(plain, accept("br, gzip"), "Range: bytes=10-", "If-Range: \(coded)"), CodingDecision(.br)),
        Row(
            "a range of the form that came",
            Choice(plain, accept("br, gzip"), "Range: bytes=10-", "If-Range: \"a\""), CodingDecision(.identity)),
        Row(
            "a date tells no codings apart",
            Choice(plain, accept("br"), "Range: bytes=10-", "If-Range: Mon, 03 Sep 2001 00:00:00 GMT"),
            CodingDecision(.br, ignoresRange: true)),
    ]

    @Test(arguments: choices)
    func `what a client gets`(row: Row<Choice, CodingDecision>) throws {
        let stored = row.input.stored.response
        let recoding = try #require(stored.recoding)
        let decision = recoding.decide(
            row.input.request.fields, eTag: stored.facts.eTag, length: stored.contentLength)
        #expect(decision == row.output, "\(row.label)")
    }

    // MARK: Tags

    static let tags: [Row<String, String?>] = [
        Row("strong", "\"a\"", "\"a;larder.br.0123456789abcdef\""),
        Row("weak", "W/\"a\"", "W/\"a;larder.br.0123456789abcdef\""),
        Row("empty", "\"\"", "\";larder.br.0123456789abcdef\""),
        Row("one of another Larder", coded, "\"a;larder.br.0123456789abcdef;larder.br.0123456789abcdef\""),
        Row("no tag", "abc", nil),
    ]

    @Test(arguments: tags)
    func `a coded tag has the origin's in it`(row: Row<String, String?>) {
        let original = EntityTag(row.input)
        let made = CodedTag.make(original, .br, digest: "0123456789abcdef0123")
        #expect(made?.description == row.output, "\(row.label)")
        let split = made.flatMap(CodedTag.split)
        #expect(split?.original == (made == nil ? nil : original))
        #expect(split?.coding == (made == nil ? nil : .br))
    }

    @Test(
        arguments: [
            "\"a\"", "\"a;larder.br.0123456789abcde\"", "\"a;larder.br.0123456789abcdeg\"", "*", "",
            "\"a;larder.lzma.0123456789abcdef\"", "\"larder.br.0123456789abcdef\"", "a;larder.br.0123456789abcdef",
        ])
    func `what was not made here is the origin's own`(tag: String) {
        #expect(CodedTag.split(EntityTag(tag)) == nil)
    }

    @Test func `conditions go inbound with the tags that the origin knows, parts excepted`() {
        var fields = RequestHead.get(
            "If-None-Match: \"b\", W/\(Self.coded)", "If-Match: \(Self.coded)", "If-Range: \(Self.coded)"
        ).fields
        CodedTag.restoreConditions(in: &fields)
        #expect(fields[.ifNoneMatch] == "\"b\", W/\"a\"")
        #expect(fields[.ifMatch] == "\"a\"")
        #expect(fields[.ifRange] == Self.coded)
    }

    @Test func `a 304 comes back with the tag that was asked with`() {
        var fields = Fields(lines: ["ETag: \"a\""])
        CodedTag.translate(&fields, askedWith: RequestHead.get("If-None-Match: \"b\", \(Self.coded)").fields)
        #expect(fields[.eTag] == Self.coded)
        CodedTag.translate(&fields, askedWith: RequestHead.get("If-None-Match: \"c\"").fields)
        #expect(fields[.eTag] == Self.coded)
    }
}
