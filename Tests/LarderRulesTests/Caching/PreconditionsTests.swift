// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Testing

private let monday = "Mon, 03 Sep 2001 00:00:00 GMT"
private let tuesday = "Tue, 04 Sep 2001 00:00:00 GMT"

@Suite("RFC 9110 §13 Preconditions")
struct PreconditionsTests {
    struct Input: Sendable {
        var request: RequestHead
        var response: ResponseHead
        var evaluator = Preconditions.Evaluator.cache

        init(_ request: RequestHead, _ response: ResponseHead, as evaluator: Preconditions.Evaluator = .cache) {
            self.request = request
            self.response = response
            self.evaluator = evaluator
        }
    }

    typealias Case = Row<Input, PreconditionDecision>

    private static let tagged = ResponseHead.ok("ETag: \"a\"", "Last-Modified: \(monday)")
    private static let byTag = PreconditionDecision.notModified(by: .ifNoneMatch)
    private static let byDate = PreconditionDecision.notModified(by: .ifModifiedSince)
    private static func noneMatch(_ tags: String) -> RequestHead { .get("If-None-Match: " + tags) }

    static let cases: [Case] = [
        Case("none", .init(.get(), tagged), .proceed),
        Case("the tag", .init(noneMatch("\"a\""), tagged), byTag),
        Case("another tag", .init(noneMatch("\"b\""), tagged), .proceed),
        Case("the second of three", .init(noneMatch("\"b\", \"a\", \"c\""), tagged), byTag),
        Case("the last of three", .init(noneMatch("\"b\",\"c\",\"a\""), tagged), byTag),
        Case("on a second line", .init(.get("If-None-Match: \"b\"", "If-None-Match: \"a\""), tagged), byTag),
        Case("a comma inside", .init(noneMatch("\"b,\\\", \"a,b\""), .ok("ETag: \"a,b\"")), byTag),
        Case("a part of a tag is no tag", .init(noneMatch("\"x,\"a\",y\""), .ok("ETag: \"a\"")), .proceed),
        Case("weak against strong", .init(noneMatch("W/\"a\""), tagged), byTag),
        Case("weak against weak", .init(noneMatch("W/\"a\""), .ok("ETag: W/\"a\"")), byTag),
        Case("a lower-case mark is none", .init(noneMatch("w/\"a\""), tagged), .proceed),
        Case("a mark without slash is none", .init(noneMatch("W\"a\""), tagged), .proceed),
        Case("a broken tag equals itself", .init(noneMatch("w/\"a\""), .ok("ETag: w/\"a\"")), byTag),
        Case("without quotes both", .init(noneMatch("abc"), .ok("ETag: abc")), byTag),
        Case("without quotes stored", .init(noneMatch("\"abc\""), .ok("ETag: abc")), .proceed),
        Case("without quotes asked", .init(noneMatch("abc"), .ok("ETag: \"abc\"")), .proceed),
        Case("beyond ASCII", .init(noneMatch("\"\u{FC}\""), .ok("ETag: \"\u{FC}\"")), byTag),
        Case("any", .init(noneMatch("*"), .ok()), byTag),
        Case("no tag stored", .init(noneMatch("\"a\""), .ok()), .proceed),
        Case(
            "the tag before the date", .init(.get("If-None-Match: \"b\"", "If-Modified-Since: \(tuesday)"), tagged),
            .proceed),
        Case("the same date", .init(.get("If-Modified-Since: \(monday)"), tagged), byDate),
        Case("a later date", .init(.get("If-Modified-Since: \(tuesday)"), tagged), byDate),
        Case(
            "an earlier date", .init(.get("If-Modified-Since: \(monday)"), .ok("Last-Modified: \(tuesday)")), .proceed),
        Case("another format", .init(.get("If-Modified-Since: Monday, 03-Sep-01 00:00:00 GMT"), tagged), byDate),
        Case("no date", .init(.get("If-Modified-Since: x"), tagged), .proceed),
        Case(
            "two dates", .init(.get("If-Modified-Since: \(monday)", "If-Modified-Since: \(tuesday)"), tagged), .proceed),
        Case("Date stands in", .init(.get("If-Modified-Since: \(tuesday)"), .ok("Date: \(tuesday)")), byDate),
        Case("Date is later", .init(.get("If-Modified-Since: \(monday)"), .ok("Date: \(tuesday)")), .proceed),
        Case("receipt stands in", .init(.get("If-Modified-Since: \(epoch.httpDate)"), .ok()), byDate),
        Case("HEAD", .init(.head("If-None-Match: \"a\""), tagged), byTag),
        Case("OPTIONS", .init(.with(.options, "If-None-Match: \"a\""), tagged), .proceed),
        Case("another status", .init(noneMatch("\"a\""), .status(404, "ETag: \"a\"")), .proceed),
        Case("a cache leaves If-Match to the origin", .init(.get("If-Match: \"b\""), tagged), .proceed),
        Case(
            "If-Match fails", .init(.with(.put, "If-Match: \"b\""), tagged, as: .origin),
            .preconditionFailed(by: .ifMatch)),
        Case(
            "If-Match is strong", .init(.with(.put, "If-Match: W/\"a\""), .ok("ETag: W/\"a\""), as: .origin),
            .preconditionFailed(by: .ifMatch)),
        Case("If-Match holds", .init(.with(.put, "If-Match: \"a\""), tagged, as: .origin), .proceed),
        Case(
            "If-Unmodified-Since fails",
            .init(.with(.put, "If-Unmodified-Since: \(monday)"), .ok("Last-Modified: \(tuesday)"), as: .origin),
            .preconditionFailed(by: .ifUnmodifiedSince)),
        Case(
            "If-Match before If-Unmodified-Since",
            .init(
                .with(.put, "If-Match: \"a\"", "If-Unmodified-Since: \(monday)"),
                .ok("ETag: \"a\"", "Last-Modified: \(tuesday)"), as: .origin), .proceed),
        Case(
            "If-None-Match of a write fails", .init(.with(.put, "If-None-Match: *"), tagged, as: .origin),
            .preconditionFailed(by: .ifNoneMatch)),
    ]

    @Test(arguments: cases)
    func `conditions are evaluated in order`(_ row: Case) {
        let decision = Preconditions.evaluate(
            row.input.request, against: row.input.response, receivedAt: epoch, as: row.input.evaluator)
        #expect(decision == row.output)
    }

    @Test func `a stored response is evaluated as a cache does`() {
        let stored = StoredResponse.stored(Self.tagged)
        #expect(Preconditions.evaluate(.get("If-None-Match: \"a\"", "If-Match: \"b\""), against: stored) == Self.byTag)
    }

    typealias RangeCase = Row<(ifRange: [String], stored: [String]), Bool>

    @Test(arguments: [
        RangeCase("absent", ([], []), true),
        RangeCase("the tag", (["\"a\""], ["ETag: \"a\""]), true),
        RangeCase("another tag", (["\"b\""], ["ETag: \"a\""]), false),
        RangeCase("a weak tag", (["W/\"a\""], ["ETag: W/\"a\""]), false),
        RangeCase("no tag stored", (["\"a\""], []), false),
        RangeCase("the date", ([monday], ["Last-Modified: \(monday)", "Date: \(tuesday)"]), true),
        RangeCase("a later date", ([tuesday], ["Last-Modified: \(monday)", "Date: \(tuesday)"]), false),
        RangeCase(
            "a date that is not strong",
            ([monday], ["Last-Modified: \(monday)", "Date: Mon, 03 Sep 2001 00:00:59 GMT"]), false),
        RangeCase("receipt stands in for Date", ([monday], ["Last-Modified: \(monday)"]), true),
        RangeCase("no date", (["x"], ["Last-Modified: \(monday)", "Date: \(tuesday)"]), false),
        RangeCase("twice", (["\"a\"", "\"a\""], ["ETag: \"a\""]), false),
    ])
    func `If-Range needs a strong validator`(_ row: RangeCase) {
        let request = Fields(lines: row.input.ifRange.map { "If-Range: " + $0 })
        let stored = StoredResponse.stored(ResponseHead(fields: Fields(lines: row.input.stored)))
        #expect(Preconditions.ifRangeHolds(request, for: stored) == row.output)
    }

    @Test func `a 304 carries what guides caches and nothing about content`() {
        let fields = Fields(lines: [
            "Content-Type: a/b", "Content-Length: 3", "ETag: \"a\"", "Cache-Control: x", "Vary: y",
            "Content-Encoding: gzip", "Expires: z",
            "Content-Location: /l", "X-A: 1", "Last-Modified: \(monday)",
        ])
        #expect(
            Preconditions.notModifiedFields(fields)
                == Fields(lines: [
                    "ETag: \"a\"", "Cache-Control: x", "Vary: y", "Expires: z", "Content-Location: /l", "X-A: 1",
                ]))
    }
}
