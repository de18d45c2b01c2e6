// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Testing

@Suite("RFC 9111 §4.2 Freshness")
struct FreshnessTests {
    struct Input: Sendable {
        var status: Status = 200
        var lines: [String]
        var policy = CachePolicy()
    }

    typealias Case = Row<Input, Freshness.Lifetime>
    private typealias Lifetime = Freshness.Lifetime

    private static func date(_ seconds: Double) -> String { Timestamp.at(seconds).httpDate }
    private static let privateCache = CachePolicy.with { $0.role = .private }

    static let explicit: [Case] = [
        Case("nothing", Input(lines: []), Lifetime(.zero, .none)),
        Case("max-age", Input(lines: ["Cache-Control: max-age=60"]), Lifetime(.seconds(60), .maxAge)),
        Case(
            "s-maxage in a shared cache", Input(lines: ["Cache-Control: max-age=60, s-maxage=5"]),
            Lifetime(.seconds(5), .sMaxage)),
        Case(
            "s-maxage in a private cache",
            Input(lines: ["Cache-Control: max-age=60, s-maxage=5"], policy: privateCache),
            Lifetime(.seconds(60), .maxAge)),
        Case(
            "max-age before Expires",
            Input(lines: ["Cache-Control: max-age=0", "Expires: \(date(600))", "Date: \(date(0))"]),
            Lifetime(.zero, .maxAge)),
        Case(
            "Expires less Date", Input(lines: ["Expires: \(date(50))", "Date: \(date(-10))"]),
            Lifetime(.seconds(60), .expires)),
        Case("Expires less receipt", Input(lines: ["Expires: \(date(50))"]), Lifetime(.seconds(50), .expires)),
        Case("Expires in the past", Input(lines: ["Expires: \(date(-50))"]), Lifetime(.zero, .expires)),
        Case("Expires: 0", Input(lines: ["Expires: 0"]), Lifetime(.zero, .expires, isInvalid: true)),
        Case(
            "Expires twice", Input(lines: ["Expires: \(date(50))", "Expires: \(date(60))"]),
            Lifetime(.zero, .expires, isInvalid: true)),
        Case(
            "Expires in local time", Input(lines: ["Expires: Sun, 09 Sep 2001 02:46:40 AEST"]),
            Lifetime(.zero, .expires, isInvalid: true)),
        Case(
            "Expires in the last century's format", Input(lines: ["Expires: Sunday, 09-Sep-01 01:47:40 GMT"]),
            Lifetime(.seconds(60), .expires)),
        Case(
            "Expires as C writes it", Input(lines: ["Expires: Sun Sep  9 01:47:40 2001"]),
            Lifetime(.seconds(60), .expires)),
        Case(
            "Expires in odd case", Input(lines: ["Expires: sun, 09 sEP 2001 01:47:40 gmt"]),
            Lifetime(.seconds(60), .expires)),
        Case(
            "Expires at the end of time", Input(lines: ["Expires: Fri, 31 Dec 9999 23:59:59 GMT"]),
            Lifetime(.seconds(2_147_483_648), .expires)),
        Case(
            "a broken max-age hides Expires", Input(lines: ["Cache-Control: max-age=a", "Expires: \(date(50))"]),
            Lifetime(.zero, .maxAge, isInvalid: true)),
        Case(
            "an unreadable max-age does not", Input(lines: ["Cache-Control: max-age =1", "Expires: \(date(50))"]),
            Lifetime(.seconds(50), .expires)),
    ]

    static let heuristic: [Case] = [
        Case(
            "a tenth of the time since the last change", Input(lines: ["Last-Modified: \(date(-600))"]),
            Lifetime(.seconds(60), .heuristic)),
        Case(
            "counted to Date", Input(lines: ["Last-Modified: \(date(-600))", "Date: \(date(-100))"]),
            Lifetime(.seconds(50), .heuristic)),
        Case(
            "at most a day", Input(lines: ["Last-Modified: \(date(-86_400_000))"]),
            Lifetime(.seconds(86_400), .heuristic)),
        Case("not from the future", Input(lines: ["Last-Modified: \(date(1))"]), Lifetime(.zero, .none)),
        Case(
            "not when Expires is broken", Input(lines: ["Last-Modified: \(date(-600))", "Expires: x"]),
            Lifetime(.zero, .expires, isInvalid: true)),
        Case(
            "for other statuses only when public", Input(status: 599, lines: ["Last-Modified: \(date(-600))"]),
            Lifetime(.zero, .none)),
        Case(
            "for other statuses when public",
            Input(status: 599, lines: ["Last-Modified: \(date(-600))", "Cache-Control: public"]),
            Lifetime(.seconds(60), .heuristic)),
        Case(
            "a private cache takes private for it",
            Input(
                status: 599, lines: ["Last-Modified: \(date(-600))", "Cache-Control: private"], policy: privateCache),
            Lifetime(.seconds(60), .heuristic)),
        Case(
            "not against Pragma", Input(lines: ["Last-Modified: \(date(-600))", "Pragma: no-cache"]),
            Lifetime(.zero, .none)),
        Case(
            "another Pragma is nothing", Input(lines: ["Last-Modified: \(date(-600))", "Pragma: foo"]),
            Lifetime(.seconds(60), .heuristic)),
    ]

    private static func mode(_ mode: CachePolicy.ExpirationMode) -> CachePolicy {
        .with {
            $0.expirationTime = .seconds(30)
            $0.retryTime = .seconds(2)
            $0.expirationMode = mode
        }
    }

    static let configured: [Case] = [
        Case(
            "fallback, the origin says", Input(lines: ["Cache-Control: max-age=60"], policy: mode(.fallback)),
            Lifetime(.seconds(60), .maxAge)),
        Case(
            "fallback, it does not", Input(lines: [], policy: mode(.fallback)), Lifetime(.seconds(30), .expirationTime)),
        Case(
            "fallback, but not cacheable", Input(status: 302, lines: [], policy: mode(.fallback)),
            Lifetime(.zero, .none)),
        Case(
            "fallback against Pragma", Input(lines: ["Pragma: no-cache"], policy: mode(.fallback)),
            Lifetime(.zero, .none)),
        Case(
            "fallback before heuristics", Input(lines: ["Last-Modified: \(date(-600))"], policy: mode(.fallback)),
            Lifetime(.seconds(30), .expirationTime)),
        Case(
            "fallback, an error", Input(status: 404, lines: [], policy: mode(.fallback)),
            Lifetime(.seconds(2), .retryTime)),
        Case(
            "fallback, an error that is not cacheable", Input(status: 500, lines: [], policy: mode(.fallback)),
            Lifetime(.zero, .none)),
        Case(
            "fallback, an error with a date",
            Input(status: 404, lines: ["Last-Modified: \(date(-600))"], policy: mode(.fallback)),
            Lifetime(.seconds(60), .heuristic)),
        Case(
            "cap above", Input(lines: ["Cache-Control: max-age=60"], policy: mode(.cap)),
            Lifetime(.seconds(30), .expirationTime)),
        Case(
            "cap below", Input(lines: ["Cache-Control: max-age=6"], policy: mode(.cap)), Lifetime(.seconds(6), .maxAge)),
        Case(
            "floor above", Input(lines: ["Cache-Control: max-age=60"], policy: mode(.floor)),
            Lifetime(.seconds(60), .maxAge)),
        Case(
            "floor below", Input(lines: ["Cache-Control: max-age=6"], policy: mode(.floor)),
            Lifetime(.seconds(30), .expirationTime)),
        Case(
            "floor is not for errors", Input(status: 500, lines: ["Cache-Control: max-age=6"], policy: mode(.floor)),
            Lifetime(.seconds(6), .maxAge)),
        Case(
            "override", Input(lines: ["Cache-Control: max-age=60"], policy: mode(.override)),
            Lifetime(.seconds(30), .expirationTime)),
        Case(
            "override, any status", Input(status: 302, lines: [], policy: mode(.override)),
            Lifetime(.seconds(30), .expirationTime)),
        Case(
            "override, an error", Input(status: 500, lines: ["Cache-Control: max-age=60"], policy: mode(.override)),
            Lifetime(.seconds(2), .retryTime)),
        Case(
            "override, an origin that wants rest",
            Input(status: 503, lines: ["Retry-After: 9"], policy: mode(.override)),
            Lifetime(.seconds(9), .retryTime)),
        Case(
            "override, an origin that wants more rest than it may",
            Input(status: 503, lines: ["Retry-After: 100000"], policy: mode(.override)),
            Lifetime(.seconds(60), .retryTime)),
        Case(
            "override without a time changes nothing",
            Input(lines: ["Cache-Control: max-age=60"], policy: .with { $0.expirationMode = .override }),
            Lifetime(.seconds(60), .maxAge)),
    ]

    private func check(_ row: Case) {
        let stored = StoredResponse.stored(
            ResponseHead(status: row.input.status, fields: Fields(lines: row.input.lines)), policy: row.input.policy)
        #expect(stored.facts.lifetime == row.output)
    }

    @Test(arguments: explicit) func `the origin names a lifetime`(_ row: Case) { check(row) }
    @Test(arguments: heuristic) func `a lifetime is made up`(_ row: Case) { check(row) }
    @Test(arguments: configured) func `the configuration has a say`(_ row: Case) { check(row) }

    @Test func `a response as old as its lifetime is stale`() {
        let stored = StoredResponse.stored(.ok(cacheControl: "max-age=60"))
        #expect(Freshness.isFresh(stored, at: .at(59.999_999_999)))
        #expect(!Freshness.isFresh(stored, at: .at(60)))
    }

    @Test func `a clock that was set back makes everything stale`() {
        let stored = StoredResponse.stored(.ok(cacheControl: "max-age=60"))
        #expect(Freshness.isFresh(stored, at: .at(-1)))
        #expect(!Freshness.isFresh(stored, at: .at(-1.5)))
        #expect(Age.currentAge(of: stored, at: .at(-1.5)) == .seconds(2_147_483_648))
    }

    @Test func `what is stale on arrival is not fresh a moment before`() {
        let stored = StoredResponse.stored(.ok("Cache-Control: max-age=60", "Age: 60"))
        #expect(!Freshness.isFresh(stored, at: .at(-0.5)))
    }

    @Test func `what the origin asks for in Retry-After is read in both forms`() {
        #expect(RetryAfter.delay(Fields(lines: ["Retry-After: 120"]), now: epoch) == .seconds(120))
        #expect(RetryAfter.delay(Fields(lines: ["Retry-After: \(Self.date(90))"]), now: epoch) == .seconds(90))
        #expect(RetryAfter.delay(Fields(lines: ["Retry-After: \(Self.date(-90))"]), now: epoch) == .zero)
        #expect(RetryAfter.delay(Fields(lines: ["Retry-After: soon"]), now: epoch) == nil)
        #expect(RetryAfter.delay(Fields(), now: epoch) == nil)
    }
}

@Suite("RFC 9111 §4.2.3 Age")
struct AgeTests {
    struct Input: Sendable {
        var lines: [String]
        var sent: Double = 0
        var received: Double = 0
        var now: Double
    }

    typealias Case = Row<Input, Duration>

    private static func date(_ seconds: Double) -> String { "Date: " + Timestamp.at(seconds).httpDate }

    static let cases: [Case] = [
        Case("resident time", Input(lines: [], now: 5.5), .seconds(5.5)),
        Case("an age it arrived with", Input(lines: ["Age: 30"], now: 5), .seconds(35)),
        Case("time in flight counts for Age", Input(lines: ["Age: 30"], sent: -2, now: 5), .seconds(37)),
        Case("time in flight counts without Age", Input(lines: [], sent: -2, now: 5), .seconds(7)),
        Case("Date implies more", Input(lines: ["Age: 30", date(-100)], now: 5), .seconds(105)),
        Case(
            "Date within the second of receipt implies nothing", Input(lines: [date(0)], received: 0.9, now: 0.9),
            .seconds(0.9)),
        Case("Date in the future implies nothing", Input(lines: ["Age: 120", date(3600)], now: 5), .seconds(125)),
        Case("the first member counts", Input(lines: ["Age: 30, 0"], now: 0), .seconds(30)),
        Case("the first line counts", Input(lines: ["Age: 30", "Age: 0"], now: 0), .seconds(30)),
        Case("letters are ignored", Input(lines: ["Age: abc"], now: 0), .zero),
        Case("decimals are ignored", Input(lines: ["Age: 7200.0"], now: 0), .zero),
        Case("parameters are ignored with the rest", Input(lines: ["Age: 7200;foo=111"], now: 0), .zero),
        Case("a sign is ignored with the rest", Input(lines: ["Age: -5"], now: 0), .zero),
        Case("2³² + 1 does not wrap", Input(lines: ["Age: 4294967297"], now: 9), .seconds(2_147_483_648)),
        Case("beyond 64 bits", Input(lines: ["Age: 99999999999999999999"], now: 9), .seconds(2_147_483_648)),
        Case(
            "before the epoch", Input(lines: ["Date: Mon, 01 Jan 0001 00:00:00 GMT"], now: 0), .seconds(2_147_483_648)),
    ]

    @Test(arguments: cases)
    func `messages and clocks determine the age`(_ row: Case) {
        let stored = StoredResponse(
            status: 200, fields: Fields(lines: row.input.lines), requestTime: .at(row.input.sent),
            responseTime: .at(row.input.received), policy: CachePolicy())
        // Ages that come from `received` being later than `sent` are part of the expectation.
        #expect(Age.currentAge(of: stored, at: .at(row.input.now)) == row.output)
    }

    @Test func `the pure model counts from receipt`() {
        let policy = CachePolicy.with {
            $0.expirationTime = .seconds(30); $0.expirationMode = .override
        }
        let stored = StoredResponse.stored(.ok("Age: 1000"), policy: policy)
        #expect(Age.currentAge(of: stored, at: .at(5)) == .seconds(5))
    }
}
