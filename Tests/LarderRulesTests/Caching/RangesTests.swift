// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Testing

private func span(_ first: Int64, _ last: Int64) -> ByteRange { ByteRange(first: first, last: last) }

@Suite("RFC 9110 §14 Ranges")
struct RangesTests {
    typealias SpecifierCase = Row<[String], [RangeSpecifier.Spec]?>

    @Test(arguments: [
        SpecifierCase("both ends", ["bytes=0-9"], [.from(0, through: 9)]),
        SpecifierCase("one octet", ["bytes=7-7"], [.from(7, through: 7)]),
        SpecifierCase("to the end", ["bytes=5-"], [.from(5, through: nil)]),
        SpecifierCase("the last", ["bytes=-5"], [.suffix(5)]),
        SpecifierCase("several", ["bytes= 0-1, 4-5 ,,-2"], [.from(0, through: 1), .from(4, through: 5), .suffix(2)]),
        SpecifierCase("the unit in any case", ["BYTES=0-1"], [.from(0, through: 1)]),
        SpecifierCase(
            "beyond 64 bits", ["bytes=18446744073709551616-18446744073709551620"], [.from(.max, through: .max)]),
        SpecifierCase("absent", [], nil),
        SpecifierCase("twice", ["bytes=0-1", "bytes=2-3"], nil),
        SpecifierCase("another unit", ["lines=0-1"], nil),
        SpecifierCase("reversed", ["bytes=5-4"], nil),
        SpecifierCase("one of two reversed", ["bytes=0-1,5-4"], nil),
        SpecifierCase("negative", ["bytes=-5-10"], nil),
        SpecifierCase("nothing", ["bytes="], nil),
        SpecifierCase("no numbers", ["bytes=-"], nil),
        SpecifierCase("blanks inside", ["bytes=0 - 1"], nil),
        SpecifierCase("a blank before the equals sign", ["bytes =0-1"], nil),
        SpecifierCase(
            "more than anyone needs", ["bytes=" + Array(repeating: "0-0", count: 101).joined(separator: ",")], nil),
    ])
    func `what a Range field asks for`(_ row: SpecifierCase) {
        #expect(RangeSpecifier(Fields(lines: row.input.map { "Range: " + $0 }))?.specs == row.output)
    }

    typealias ContentRangeCase = Row<[String], ContentRange?>

    @Test(arguments: [
        ContentRangeCase("a range", ["bytes 0-4/10"], .range(span(0, 4), completeLength: 10)),
        ContentRangeCase("of an unknown whole", ["bytes 0-4/*"], .range(span(0, 4), completeLength: nil)),
        ContentRangeCase("unsatisfied", ["bytes */10"], .unsatisfied(completeLength: 10)),
        ContentRangeCase("beyond the end", ["bytes 0-10/10"], nil),
        ContentRangeCase("reversed", ["bytes 4-0/10"], nil),
        ContentRangeCase("neither", ["bytes */*"], nil),
        ContentRangeCase("other units", ["lines 0-4/10"], nil),
        ContentRangeCase("no blank", ["bytes=0-4/10"], nil),
        ContentRangeCase("too large a number", ["bytes 0-99999999999999999999/*"], nil),
        ContentRangeCase("twice", ["bytes 0-4/10", "bytes 0-4/10"], nil),
    ])
    func `what a Content-Range field says`(_ row: ContentRangeCase) {
        #expect(ContentRange(Fields(lines: row.input.map { "Content-Range: " + $0 })) == row.output)
    }

    typealias Case = Row<(range: String, length: Int64), RangeDecision>

    private static func single(_ first: Int64, _ last: Int64, of length: Int64 = 20_000) -> RangeDecision {
        .single(span(first, last), completeLength: length)
    }

    static let cases: [Case] = [
        Case("within", ("bytes=100-199", 20_000), single(100, 199)),
        Case("over the end", ("bytes=19990-30000", 20_000), single(19_990, 19_999)),
        Case("to the end", ("bytes=19990-", 20_000), single(19_990, 19_999)),
        Case("the last", ("bytes=-10", 20_000), single(19_990, 19_999)),
        Case("more than all", ("bytes=-99999999", 20_000), single(0, 19_999)),
        Case("behind the end", ("bytes=20000-", 20_000), .unsatisfiable(completeLength: 20_000)),
        Case("the last none", ("bytes=-0", 20_000), .unsatisfiable(completeLength: 20_000)),
        Case("beyond 64 bits", ("bytes=18446744073709551616-", 20_000), .unsatisfiable(completeLength: 20_000)),
        Case("some behind the end", ("bytes=30000-,0-0", 20_000), single(0, 0)),
        Case("of nothing", ("bytes=0-0", 0), .whole(.empty)),
        Case(
            "two", ("bytes=0-99,1000-1099", 20_000), .multiple([span(0, 99), span(1000, 1099)], completeLength: 20_000)),
        Case(
            "two, the later first", ("bytes=1000-1099,0-99", 20_000),
            .multiple([span(1000, 1099), span(0, 99)], completeLength: 20_000)),
        Case("two that overlap", ("bytes=0-99,50-199", 20_000), single(0, 199)),
        Case("two that touch", ("bytes=0-99,100-199", 20_000), single(0, 199)),
        Case("two that nearly touch", ("bytes=0-99,179-199", 20_000), single(0, 199)),
        Case("a third that joins two", ("bytes=0-99,1000-1099,50-1050", 20_000), single(0, 1099)),
        Case("two suffixes that overflow together", ("bytes=-10000,-9223372036854775807", 20_000), single(0, 19_999)),
        Case(
            "many small ones", ("bytes=" + (0..<20).map { "\($0 * 1000)-\($0 * 1000)" }.joined(separator: ","), 20_000),
            .whole(.wasteful)),
        Case(
            "two small parts of something small", ("bytes=0-0,150-150", 200),
            .multiple([span(0, 0), span(150, 150)], completeLength: 200)),
        Case("parts that cost more than the whole", ("bytes=0-10,150-190", 200), .whole(.wasteful)),
    ]

    @Test(arguments: cases)
    func `ranges of a complete representation`(_ row: Case) {
        let stored = StoredResponse.stored(.ok(), length: row.input.length)
        #expect(Ranges.evaluate(.get("Range: " + row.input.range), against: stored) == row.output)
    }

    typealias WholeCase = Row<(request: RequestHead, stored: StoredResponse), RangeDecision>

    @Test(arguments: [
        WholeCase("not asked", (.get(), .stored(.ok())), .whole(.notAsked)),
        WholeCase("HEAD", (.head("Range: bytes=0-1"), .stored(.ok())), .whole(.notAsked)),
        WholeCase("invalid", (.get("Range: bytes=2-1"), .stored(.ok())), .whole(.invalid)),
        WholeCase("not a 200", (.get("Range: bytes=0-1"), .stored(.status(404))), .whole(.status)),
        WholeCase("length unknown", (.get("Range: bytes=0-1"), .stored(.ok(), length: nil)), .whole(.lengthUnknown)),
        WholeCase(
            "If-Range fails", (.get("Range: bytes=0-1", "If-Range: W/\"a\""), .stored(.ok("ETag: W/\"a\""))),
            .whole(.ifRange)),
    ])
    func `reasons to send the whole`(_ row: WholeCase) {
        #expect(Ranges.evaluate(row.input.request, against: row.input.stored) == row.output)
    }

    @Test func `parts of a held part`() {
        let stored = StoredResponse.stored(
            .status(206, "Content-Range: bytes 10-19/100"), to: .get("Range: bytes=10-19"), length: 10)
        #expect(stored.extent == .parts([span(10, 19)], completeLength: 100))
        #expect(Ranges.evaluate(.get("Range: bytes=12-13"), against: stored) == Self.single(12, 13, of: 100))
        #expect(Ranges.evaluate(.get("Range: bytes=10-19"), against: stored) == .whole(.asReceived))
        #expect(!Ranges.covers(stored, .get("Range: bytes=12-13,15-16")))
    }

    @Test func `a part that is shorter than it says cannot be cut`() {
        let stored = StoredResponse.stored(
            .status(206, "Content-Range: bytes 4-9/10"), to: .get("Range: bytes=-5"), length: 5)
        #expect(stored.extent == .asReceived)
        #expect(Ranges.covers(stored, .get("Range: bytes=-5")))
        #expect(!Ranges.covers(stored, .get("Range: bytes=4-5")))
    }

    @Test func `several parts are written with their delimiters`() {
        let plan = MultipartPlan(
            [span(0, 4), span(8, 9)], completeLength: 10, contentType: Array("a/b".utf8), boundary: "XX")
        let content = Array("0123456789".utf8)
        var written: [UInt8] = []
        for part in plan.parts { written += part.head + content[Int(part.range.first)...Int(part.range.last)] }
        written += plan.end
        #expect(
            String(decoding: written, as: UTF8.self)
                == "--XX\r\nContent-Type: a/b\r\nContent-Range: bytes 0-4/10\r\n\r\n01234"
                + "\r\n--XX\r\nContent-Type: a/b\r\nContent-Range: bytes 8-9/10\r\n\r\n89\r\n--XX--\r\n")
        #expect(plan.contentLength == Int64(written.count))
        #expect(plan.contentType == "multipart/byteranges; boundary=XX")
    }
}

@Suite("RFC 9111 §3.3, §3.4 Partial content")
struct PartialContentTests {
    enum Effect: Sendable, Equatable {
        case whole(length: Int64)
        case parts([ByteRange])
        case separate(CombineDecision.SeparateReason)
    }

    struct Input: Sendable {
        var extent: StoredResponse.Extent
        var stored: [String]
        var response: [String]
        var length: Int64
        var status: Status = 206
    }

    typealias Case = Row<Input, Effect>

    private static let prefix = StoredResponse.Extent.parts([span(0, 4)], completeLength: 10)
    private static let tag = "ETag: \"a\""
    private static let old = "Last-Modified: Mon, 03 Sep 2001 00:00:00 GMT"
    private static let dated = "Date: Tue, 04 Sep 2001 00:00:00 GMT"

    static let cases: [Case] = [
        Case(
            "the rest",
            Input(extent: prefix, stored: [tag], response: [tag, "Content-Range: bytes 5-9/10"], length: 5),
            .whole(length: 10)),
        Case(
            "an overlap",
            Input(extent: prefix, stored: [tag], response: [tag, "Content-Range: bytes 3-9/10"], length: 7),
            .whole(length: 10)),
        Case(
            "a gap", Input(extent: prefix, stored: [tag], response: [tag, "Content-Range: bytes 7-9/10"], length: 3),
            .parts([span(0, 4), span(7, 9)])),
        Case(
            "a bit more",
            Input(extent: prefix, stored: [tag], response: [tag, "Content-Range: bytes 5-6/*"], length: 2),
            .parts([span(0, 6)])),
        Case(
            "another tag",
            Input(extent: prefix, stored: [tag], response: ["ETag: \"b\"", "Content-Range: bytes 5-9/10"], length: 5),
            .separate(.validator)),
        Case(
            "a weak tag",
            Input(
                extent: prefix, stored: ["ETag: W/\"a\""], response: ["ETag: W/\"a\"", "Content-Range: bytes 5-9/10"],
                length: 5), .separate(.validator)),
        Case(
            "a tag without quotes",
            Input(
                extent: prefix, stored: ["ETag: a"], response: ["ETag: a", "Content-Range: bytes 5-9/10"], length: 5),
            .separate(.validator)),
        Case(
            "no validator", Input(extent: prefix, stored: [], response: ["Content-Range: bytes 5-9/10"], length: 5),
            .separate(.validator)),
        Case(
            "a tag on one side",
            Input(
                extent: prefix, stored: [tag, old, dated], response: [old, dated, "Content-Range: bytes 5-9/10"],
                length: 5), .separate(.validator)),
        Case(
            "a strong date",
            Input(
                extent: prefix, stored: [old, dated], response: [old, dated, "Content-Range: bytes 5-9/10"], length: 5),
            .whole(length: 10)),
        Case(
            "a weak date",
            Input(
                extent: prefix, stored: [old, "Date: Mon, 03 Sep 2001 00:00:59 GMT"],
                response: [old, dated, "Content-Range: bytes 5-9/10"], length: 5), .separate(.validator)),
        Case(
            "another length",
            Input(extent: prefix, stored: [tag], response: [tag, "Content-Range: bytes 5-9/11"], length: 5),
            .separate(.completeLength)),
        Case(
            "beyond the length",
            Input(extent: prefix, stored: [tag], response: [tag, "Content-Range: bytes 5-19/*"], length: 15),
            .separate(.completeLength)),
        Case(
            "less content than it says",
            Input(extent: prefix, stored: [tag], response: [tag, "Content-Range: bytes 5-9/10"], length: 4),
            .separate(.notAPart)),
        Case(
            "a whole response", Input(extent: prefix, stored: [tag], response: [tag], length: 10, status: 200),
            .separate(.notAPart)),
        Case(
            "nothing is missing",
            Input(extent: .whole, stored: [tag], response: [tag, "Content-Range: bytes 5-9/10"], length: 5),
            .separate(.notPartial)),
    ]

    private static func held(_ extent: StoredResponse.Extent, _ lines: [String]) -> StoredResponse {
        StoredResponse(
            status: 200, fields: Fields(lines: lines), requestTime: epoch, responseTime: epoch, extent: extent,
            policy: CachePolicy())
    }

    @Test(arguments: cases)
    func `parts with a strong validator in common are combined`(_ row: Case) {
        let decision = PartialContent.combine(
            Self.held(row.input.extent, row.input.stored),
            with: ResponseHead(status: row.input.status, fields: Fields(lines: row.input.response)), to: .get(),
            contentLength: row.input.length, requestTime: epoch, responseTime: epoch, policy: CachePolicy())
        let effect: Effect =
            switch decision {
            case .separate(let reason): .separate(reason)
            case .combined(let stored, _):
                switch stored.extent {
                case .whole: .whole(length: stored.fields[.contentLength].flatMap(Int64.init) ?? -1)
                case .parts(let parts, _): .parts(parts)
                case .asReceived: .parts([])
                }
            }
        #expect(effect == row.output)
    }

    @Test func `a combined response has the newer fields and is no 206 any more`() {
        let stored = Self.held(Self.prefix, [Self.tag, "X-A: 1", "Content-Length: 10"])
        let decision = PartialContent.combine(
            stored, with: .status(206, Self.tag, "X-A: 2", "Content-Range: bytes 5-9/10", "Content-Length: 5"),
            to: .get(),
            contentLength: 5, requestTime: epoch, responseTime: epoch, policy: CachePolicy())
        guard case .combined(let combined, isForAll: true) = decision else {
            Issue.record("not combined")
            return
        }
        #expect(combined.status == 200)
        #expect(combined.fields[first: "X-A"] == "2")
        #expect(combined.fields[all: .contentLength] == ["10"])
        #expect(!combined.fields.contains(.contentRange))
    }

    typealias FillCase = Row<(extent: StoredResponse.Extent, lines: [String], request: [String]), FillDecision>

    private static func asking(
        _ wanted: ByteRange?, _ first: Int64, _ last: Int64?, isRange: Bool, _ range: String,
        _ ifRange: String = "\"a\""
    ) -> FillDecision {
        .ask(
            Filling(
                wanted: wanted, first: first, last: last, isRange: isRange, range: range, ifRange: Array(ifRange.utf8)))
    }

    private static let island = StoredResponse.Extent.parts([span(2, 4)], completeLength: 10)
    private static let two = StoredResponse.Extent.parts([span(0, 1), span(6, 9)], completeLength: 10)
    private static let open = StoredResponse.Extent.parts([span(0, 4)], completeLength: nil)

    static let fillCases: [FillCase] = [
        FillCase("the rest", (prefix, [tag], []), asking(span(0, 9), 5, 9, isRange: false, "bytes=5-")),
        FillCase(
            "a strong date", (prefix, [old, dated], []),
            asking(span(0, 9), 5, 9, isRange: false, "bytes=5-", "Mon, 03 Sep 2001 00:00:00 GMT")),
        FillCase("an end that is not known", (open, [tag], []), asking(nil, 5, nil, isRange: false, "bytes=5-")),
        FillCase("the middle", (two, [tag], []), asking(span(0, 9), 2, 5, isRange: false, "bytes=2-5")),
        FillCase("both ends", (island, [tag], []), .asItIs(.nothingHeld)),
        FillCase(
            "no beginning and no end",
            (.parts([span(2, 4)], completeLength: nil), [tag], []), .asItIs(.nothingHeld)),
        FillCase(
            "a range that begins inside", (prefix, [tag], ["Range: bytes=3-7"]),
            asking(span(3, 7), 5, 7, isRange: true, "bytes=5-7")),
        FillCase(
            "a range that ends inside", (island, [tag], ["Range: bytes=0-3"]),
            asking(span(0, 3), 0, 1, isRange: true, "bytes=0-1")),
        FillCase(
            "a range to the end", (prefix, [tag], ["Range: bytes=4-"]),
            asking(span(4, 9), 5, 9, isRange: true, "bytes=5-")),
        FillCase(
            "the last octets", (prefix, [tag], ["Range: bytes=-6"]),
            asking(span(4, 9), 5, 9, isRange: true, "bytes=5-")),
        FillCase(
            "a range without an end, of what has none", (open, [tag], ["Range: bytes=3-"]), .asItIs(.range)),
        FillCase("a range elsewhere", (prefix, [tag], ["Range: bytes=6-7"]), .asItIs(.nothingHeld)),
        FillCase("a range that is held", (prefix, [tag], ["Range: bytes=1-2"]), .asItIs(.nothingMissing)),
        FillCase("several ranges", (prefix, [tag], ["Range: bytes=1-2,5-6"]), .asItIs(.range)),
        FillCase("another unit", (prefix, [tag], ["Range: lines=1-2"]), .asItIs(.range)),
        FillCase(
            "a range of the same", (prefix, [tag], ["Range: bytes=3-7", "If-Range: \"a\""]),
            asking(span(3, 7), 5, 7, isRange: true, "bytes=5-7")),
        FillCase(
            "a range of another", (prefix, [tag], ["Range: bytes=3-7", "If-Range: \"b\""]), .asItIs(.conditional)),
        FillCase("a condition", (prefix, [tag], ["If-None-Match: \"a\""]), .asItIs(.conditional)),
        FillCase("no-store", (prefix, [tag], ["Cache-Control: no-store"]), .asItIs(.requestNoStore)),
        FillCase("a weak tag", (prefix, ["ETag: W/\"a\"", old, dated], []), .asItIs(.noStrongValidator)),
        FillCase("no validator", (prefix, [], []), .asItIs(.noStrongValidator)),
        FillCase("no ranges", (prefix, [tag, "Accept-Ranges: none"], []), .asItIs(.noRanges)),
        FillCase("all there", (.whole, [tag], []), .asItIs(.notPartial)),
        FillCase("what cannot be cut", (.asReceived, [tag], []), .asItIs(.notPartial)),
    ]

    @Test(arguments: fillCases)
    func `what is missing is asked for where that is safe and saves something`(_ row: FillCase) {
        let request = RequestHead(method: .get, target: "/a", fields: Fields(lines: row.input.request))
        #expect(
            PartialContent.fill(Self.held(row.input.extent, row.input.lines), for: request, policy: CachePolicy())
                == row.output)
    }

    /// Response fields, octets that are announced, and whether they are taken for the octets from 5 to 9.
    typealias AnswerCase = Row<(status: Status, lines: [String], length: Int64?), Bool>

    @Test(arguments: [
        AnswerCase("the rest", (206, [tag, "Content-Range: bytes 5-9/10"], 5), true),
        AnswerCase("the rest in chunks", (206, [tag, "Content-Range: bytes 5-9/10"], nil), true),
        AnswerCase("of a length not told", (206, [tag, "Content-Range: bytes 5-9/*"], 5), true),
        AnswerCase("less", (206, [tag, "Content-Range: bytes 5-8/10"], 4), false),
        AnswerCase("later", (206, [tag, "Content-Range: bytes 6-9/10"], 4), false),
        AnswerCase("sooner", (206, [tag, "Content-Range: bytes 4-9/10"], 6), false),
        AnswerCase("of something longer", (206, [tag, "Content-Range: bytes 5-9/11"], 5), false),
        AnswerCase("not as long as it says", (206, [tag, "Content-Range: bytes 5-9/10"], 4), false),
        AnswerCase("another tag", (206, ["ETag: \"b\"", "Content-Range: bytes 5-9/10"], 5), false),
        AnswerCase("a weak tag", (206, ["ETag: W/\"a\"", "Content-Range: bytes 5-9/10"], 5), false),
        AnswerCase("no tag", (206, ["Content-Range: bytes 5-9/10"], 5), false),
        AnswerCase("no range", (206, [tag], 5), false),
        AnswerCase("two ranges", (206, [tag, "Content-Range: bytes 5-9/10", "Content-Range: bytes 0-4/10"], 5), false),
        AnswerCase("a whole", (200, [tag], 10), false),
        AnswerCase("a whole that says it is a part", (200, [tag, "Content-Range: bytes 5-9/10"], 5), false),
    ])
    func `nothing but what was asked for is put behind what is held`(_ row: AnswerCase) throws {
        let stored = Self.held(Self.prefix, [Self.tag])
        guard case .ask(let filling) = PartialContent.fill(stored, for: .get(), policy: CachePolicy()) else {
            Issue.record("nothing to ask for")
            return
        }
        let response = ResponseHead(status: row.input.status, fields: Fields(lines: row.input.lines))
        let filled = PartialContent.filled(
            stored, filling, by: response, contentLength: row.input.length, to: .get(), requestTime: epoch,
            responseTime: epoch, policy: CachePolicy())
        #expect((filled != nil) == row.output)
        if let filled {
            #expect(filled.stored.extent == .whole)
            #expect(filled.range == span(5, 9))
            #expect(filled.completeLength == 10)
        }
    }

    @Test func `an end that is not told is no end`() {
        let stored = Self.held(Self.open, [Self.tag])
        guard case .ask(let filling) = PartialContent.fill(stored, for: .get(), policy: CachePolicy()) else {
            Issue.record("nothing to ask for")
            return
        }
        for (range, isTaken) in [("5-9/10", true), ("5-9/*", false), ("5-8/10", false)] {
            let filled = PartialContent.filled(
                stored, filling, by: .status(206, Self.tag, "Content-Range: bytes \(range)"), contentLength: nil,
                to: .get(), requestTime: epoch, responseTime: epoch, policy: CachePolicy())
            #expect((filled != nil) == isTaken, "\(range)")
        }
    }

    @Test func `what came of a torn response is a part if more can be put behind it`() {
        func cut(_ status: Status, _ lines: [String], length: Int64?, after count: Int64) -> StoredResponse.Extent? {
            let stored = StoredResponse(
                status: status, fields: Fields(lines: lines), requestTime: epoch, responseTime: epoch,
                contentLength: length, policy: CachePolicy())
            let cut = PartialContent.cut(stored, after: count, policy: CachePolicy())
            #expect(cut == nil || cut?.status == 200)
            #expect(cut?.fields.contains(.contentRange) != true)
            return cut?.extent
        }
        #expect(cut(200, [Self.tag], length: 10, after: 5) == Self.prefix)
        #expect(cut(200, [Self.tag], length: nil, after: 5) == Self.open)
        #expect(cut(200, [Self.old, Self.dated], length: 10, after: 5) == Self.prefix)
        #expect(cut(200, [Self.tag], length: 10, after: 0) == nil)
        #expect(cut(200, [Self.tag], length: 10, after: 10) == nil)
        #expect(cut(200, ["ETag: W/\"a\""], length: 10, after: 5) == nil)
        #expect(cut(200, [], length: 10, after: 5) == nil)
        #expect(cut(200, [Self.tag, "Accept-Ranges: none"], length: 10, after: 5) == nil)
        #expect(cut(404, [Self.tag], length: 10, after: 5) == nil)
        let part = [Self.tag, "Content-Range: bytes 2-9/20"]
        #expect(cut(206, part, length: 8, after: 3) == .parts([span(2, 4)], completeLength: 20))
        #expect(cut(206, part, length: 7, after: 3) == nil)
    }

    @Test func `held octets lie one range behind the other`() {
        #expect(Self.two.offset(of: 0) == 0)
        #expect(Self.two.offset(of: 1) == 1)
        #expect(Self.two.offset(of: 2) == nil)
        #expect(Self.two.offset(of: 6) == 2)
        #expect(Self.two.offset(of: 9) == 5)
        #expect(Self.two.offset(of: 10) == nil)
        #expect(StoredResponse.Extent.whole.offset(of: 7) == 7)
        #expect(StoredResponse.Extent.asReceived.offset(of: 0) == nil)
    }

    @Test func `ranges unite in any order`() {
        let parts = [span(0, 4), span(10, 14), span(20, 24)]
        #expect(PartialContent.union(parts, span(5, 9)) == [span(0, 14), span(20, 24)])
        #expect(PartialContent.union(parts, span(16, 18)) == [span(0, 4), span(10, 14), span(16, 18), span(20, 24)])
        #expect(PartialContent.union(parts, span(0, 99)) == [span(0, 99)])
        #expect(PartialContent.union(parts, span(30, 31)) == parts + [span(30, 31)])
        #expect(PartialContent.union([], span(1, 2)) == [span(1, 2)])
    }
}
