// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Testing

private typealias Parsed = CacheControl.Response

private func directives(_ change: (inout CacheControl.Response) -> Void) -> CacheControl.Response {
    var parsed = CacheControl.Response()
    parsed.source = .cacheControl
    change(&parsed)
    return parsed
}

@Suite("RFC 9111 §5.2 Cache-Control")
struct CacheControlTests {
    typealias Case = Row<[String], CacheControl.Response>

    static let responses: [Case] = [
        Case("absent", [], CacheControl.Response()),
        Case("empty", [""], directives { _ in }),
        Case("one number", ["max-age=60"], directives { $0.maxAge = .seconds(60) }),
        Case(
            "names in any case", ["MAX-Age=60, nO-StOrE"],
            directives {
                $0.maxAge = .seconds(60); $0.flags = .noStore
            }),
        Case(
            "tabs and no blanks", ["\tprivate\t,max-age=60"],
            directives {
                $0.maxAge = .seconds(60); $0.flags = .isPrivate
            }),
        Case("empty members", [",, max-age=60 ,"], directives { $0.maxAge = .seconds(60) }),
        Case(
            "several lines", ["max-age=60", "no-store"],
            directives {
                $0.maxAge = .seconds(60); $0.flags = .noStore
            }),
        Case("the first of two counts", ["max-age=1, max-age=1800"], directives { $0.maxAge = .seconds(1) }),
        Case(
            "the first of two lines counts", ["max-age=1800", "max-age=1"], directives { $0.maxAge = .seconds(1800) }),
        Case("an invalid first counts too", ["max-age=x, max-age=60"], directives { $0.maxAge = .invalid }),
        Case("quoted numbers", ["max-age=\"60\""], directives { $0.maxAge = .seconds(60) }),
        Case("a number in single quotes", ["max-age='60'"], directives { $0.maxAge = .invalid }),
        Case("letters", ["max-age=60a"], directives { $0.maxAge = .invalid }),
        Case("decimals", ["max-age=60.5"], directives { $0.maxAge = .invalid }),
        Case("a sign", ["max-age=-1"], directives { $0.maxAge = .invalid }),
        Case("no number", ["max-age"], directives { $0.maxAge = .invalid }),
        Case("nothing behind the equals sign", ["max-age="], directives { $0.maxAge = .invalid }),
        Case("a blank before the equals sign", ["max-age =60"], directives { _ in }),
        Case("a blank behind the equals sign", ["max-age= 60, public"], directives { $0.flags = .isPublic }),
        Case("beyond 31 bits", ["max-age=2147483649"], directives { $0.maxAge = .seconds(2_147_483_648) }),
        Case(
            "beyond 64 bits", ["max-age=99999999999999999999999999"],
            directives { $0.maxAge = .seconds(2_147_483_648) }),
        Case(
            "in a quoted string of another directive", ["x=\"max-age=3600, no-store\", max-age=1"],
            directives { $0.maxAge = .seconds(1) }),
        Case(
            "an escaped quote does not end a string", ["x=\"a\\\", no-store\", public"],
            directives { $0.flags = .isPublic }),
        Case(
            "a string that does not end hides nothing", ["x=\"a, no-store"],
            directives { $0.flags = .noStore }),
        Case(
            "qualified no-cache", ["no-cache=\"Set-Cookie, x-a\""],
            directives { $0.noCacheFields = [.setCookie, "X-A"] }),
        Case("qualified, as a token", ["private=x-a"], directives { $0.privateFields = ["X-A"] }),
        Case("qualified by nothing", ["no-cache=\"\""], directives { $0.flags = .noCache }),
        Case("qualified by no name", ["no-cache=\"a b\""], directives { $0.flags = .noCache }),
        Case(
            "qualified by what caching needs", ["private=\"Vary, X-A\""],
            directives { $0.flags = .isPrivate }),
        Case(
            "qualified and not", ["no-cache=\"x-a\", no-cache"],
            directives {
                $0.noCacheFields = ["X-A"]; $0.flags = .noCache
            }),
        Case(
            "semicolons restrict but permit nothing", ["private; max-age=60"],
            directives {
                $0.flags = .isPrivate; $0.maxAge = .invalid
            }),
        Case("junk restricts", ["no-store foo"], directives { $0.flags = .noStore }),
        Case("junk permits nothing", ["public foo, immutable;x"], directives { _ in }),
        Case("an argument where none is defined", ["no-store=1"], directives { $0.flags = .noStore }),
        Case(
            "extensions", ["max-age=60, stale-while-revalidate=5, stale-if-error=7, immutable, unknown=3"],
            directives {
                $0.maxAge = .seconds(60)
                $0.staleWhileRevalidate = .seconds(5)
                $0.staleIfError = .seconds(7)
                $0.flags = .immutable
            }),
        Case(
            "all flags", ["public, must-revalidate, proxy-revalidate, must-understand, no-transform, s-maxage=3"],
            directives {
                $0.flags = [.isPublic, .mustRevalidate, .proxyRevalidate, .mustUnderstand, .noTransform]
                $0.sMaxage = .seconds(3)
            }),
    ]

    @Test(arguments: responses)
    func `directives of responses`(_ row: Case) {
        let fields = Fields(lines: row.input.map { "Cache-Control: " + $0 })
        #expect(CacheControl.Response(fields) == row.output)
    }

    @Test func `a restriction at the end of sixteen kilobytes is read`() {
        let line = String(repeating: "x-filler=0123456789, ", count: 800) + "no-store"
        #expect(CacheControl.Response(Fields(lines: ["Cache-Control: " + line])).flags == .noStore)
    }

    typealias RequestCase = Row<[String], CacheControl.Request>

    private static func request(_ change: (inout CacheControl.Request) -> Void) -> CacheControl.Request {
        var parsed = CacheControl.Request()
        change(&parsed)
        return parsed
    }

    static let requests: [RequestCase] = [
        RequestCase("none", [], request { _ in }),
        RequestCase("unknown", ["Cache-Control: nothing-to-see-here", "Pragma: foo"], request { _ in }),
        RequestCase(
            "all",
            [
                "Cache-Control: no-cache, no-store, no-transform, only-if-cached, max-age=1, min-fresh=2, max-stale=3, stale-if-error=4"
            ],
            request {
                $0.noCache = true
                $0.noStore = true
                $0.noTransform = true
                $0.onlyIfCached = true
                $0.maxAge = .seconds(1)
                $0.minFresh = .seconds(2)
                $0.maxStale = .seconds(3)
                $0.staleIfError = .seconds(4)
            }),
        RequestCase("any staleness", ["Cache-Control: max-stale"], request { $0.maxStale = .seconds(2_147_483_648) }),
        RequestCase(
            "an unreadable wish is none", ["Cache-Control: max-stale=x, max-age=1.5, min-fresh=-1"], request { _ in }),
        RequestCase(
            "the first of two counts, whatever it is", ["Cache-Control: max-stale=x, max-stale, max-age=1, max-age=2"],
            request { $0.maxAge = .seconds(1) }),
        RequestCase("Pragma alone", ["Pragma: no-cache"], request { $0.noCache = true }),
        RequestCase("Pragma next to Cache-Control", ["Pragma: no-cache", "Cache-Control: foo"], request { _ in }),
    ]

    @Test(arguments: requests)
    func `directives of requests`(_ row: RequestCase) {
        #expect(CacheControl.Request(Fields(lines: row.input)) == row.output)
    }
}

@Suite("RFC 9213 §2 Targeted fields")
struct TargetedFieldTests {
    typealias Case = Row<[String], CacheControl.Response>

    private static func targeted(
        _ source: FieldName, _ change: (inout CacheControl.Response) -> Void
    ) -> CacheControl.Response {
        var parsed = directives(change)
        parsed.source = source
        return parsed
    }

    static let cases: [Case] = [
        Case(
            "replaces Cache-Control", ["CDN-Cache-Control: max-age=60", "Cache-Control: no-store"],
            targeted(.cdnCacheControl) { $0.maxAge = .seconds(60) }),
        Case(
            "the first of the list wins", ["CDN-Cache-Control: max-age=60", "Larder-Cache-Control: no-store"],
            targeted("Larder-Cache-Control") { $0.flags = .noStore }),
        Case(
            "an invalid one is as if absent", ["Larder-Cache-Control: max-age =60", "CDN-Cache-Control: max-age=1"],
            targeted(.cdnCacheControl) { $0.maxAge = .seconds(1) }),
        Case(
            "an empty one is as if absent", ["CDN-Cache-Control:", "Cache-Control: max-age=2"],
            directives { $0.maxAge = .seconds(2) }),
        Case(
            "a string is no integer", ["CDN-Cache-Control: max-age=\"60\""],
            targeted(.cdnCacheControl) { $0.maxAge = .invalid }),
        Case(
            "a decimal is none either", ["CDN-Cache-Control: max-age=60.0"],
            targeted(.cdnCacheControl) { $0.maxAge = .invalid }),
        Case(
            "nor is a negative number", ["CDN-Cache-Control: max-age=-1"],
            targeted(.cdnCacheControl) { $0.maxAge = .invalid }),
        Case(
            "false is absence", ["CDN-Cache-Control: no-store=?0, max-age=1"],
            targeted(.cdnCacheControl) { $0.maxAge = .seconds(1) }),
        Case(
            "parameters are ignored", ["CDN-Cache-Control: max-age=60;x=1, private;y"],
            targeted(.cdnCacheControl) {
                $0.maxAge = .seconds(60); $0.flags = .isPrivate
            }),
        Case(
            "of two members the last counts, as in every dictionary",
            ["CDN-Cache-Control: max-age=60", "CDN-Cache-Control: max-age=5"],
            targeted(.cdnCacheControl) { $0.maxAge = .seconds(5) }),
        Case(
            "large numbers saturate", ["CDN-Cache-Control: max-age=99999999999, no-cache=\"x-a\""],
            targeted(.cdnCacheControl) {
                $0.maxAge = .seconds(2_147_483_648); $0.noCacheFields = ["X-A"]
            }),
    ]

    @Test(arguments: cases)
    func `the target list chooses the field`(_ row: Case) {
        let parsed = CacheControl.Response(
            Fields(lines: row.input), targets: ["Larder-Cache-Control", .cdnCacheControl])
        #expect(parsed == row.output)
    }

    @Test func `without a target list the fields mean nothing`() {
        let fields = Fields(lines: ["CDN-Cache-Control: no-store", "Cache-Control: max-age=1"])
        #expect(CacheControl.Response(fields) == directives { $0.maxAge = .seconds(1) })
    }
}
