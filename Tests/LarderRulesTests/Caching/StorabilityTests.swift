// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Testing

@Suite("RFC 9111 §3 Storability")
struct StorabilityTests {
    struct Input: Sendable {
        var request = RequestHead.get()
        var response: ResponseHead
        var policy = CachePolicy()
    }

    typealias Case = Row<Input, StorabilityDecision>

    private static let privateCache = CachePolicy.with { $0.role = .private }
    private static let authorized = RequestHead.get("Authorization: Basic x")
    private static let ranged = RequestHead.get("Range: bytes=0-4")
    private static let fresh = "Cache-Control: max-age=60"
    private static let overriding = CachePolicy.with {
        $0.expirationTime = .seconds(9)
        $0.expirationMode = .override
    }

    static let cases: [Case] = [
        Case("nothing but a cacheable status", Input(response: .ok()), .store(.heuristicallyCacheable, .durable)),
        Case("a lifetime", Input(response: .ok(fresh)), .store(.explicit(.maxAge), .durable)),
        Case(
            "s-maxage in a shared cache", Input(response: .status(299, "Cache-Control: s-maxage=1")),
            .store(.explicit(.sMaxage), .durable)),
        Case(
            "s-maxage in a private cache",
            Input(response: .status(299, "Cache-Control: s-maxage=1"), policy: privateCache),
            .doNotStore(.cacheable)),
        Case("Expires", Input(response: .status(499, "Expires: 0")), .store(.explicit(.expires), .durable)),
        Case("public", Input(response: .status(599, "Cache-Control: public")), .store(.marked, .memory)),
        Case("201 without a lifetime", Input(response: .status(201)), .doNotStore(.cacheable)),
        Case("302 without a lifetime", Input(response: .status(302, "Set-Cookie: a=b")), .doNotStore(.cacheable)),
        Case("400 without a lifetime", Input(response: .status(400)), .doNotStore(.cacheable)),
        Case("401 without a lifetime", Input(response: .status(401)), .doNotStore(.cacheable)),
        Case("403 without a lifetime", Input(response: .status(403)), .doNotStore(.cacheable)),
        Case(
            "403 under a configured lifetime", Input(response: .status(403), policy: .service), .doNotStore(.cacheable)),
        Case("500 with a lifetime", Input(response: .status(500, fresh)), .store(.explicit(.maxAge), .memory)),
        Case("502 without", Input(response: .status(502, "Last-Modified: x")), .doNotStore(.cacheable)),
        Case(
            "501 without is not written down", Input(response: .status(501)), .store(.heuristicallyCacheable, .memory)),
        Case("404 without", Input(response: .status(404)), .store(.heuristicallyCacheable, .durable)),
        Case(
            "404 for the retry time", Input(response: .status(404), policy: .service),
            .store(.heuristicallyCacheable, .memory)),
        Case(
            "anything by configuration",
            Input(
                response: .status(302),
                policy: .with {
                    $0.expirationTime = .seconds(9); $0.expirationMode = .override
                }),
            .store(.configured, .durable)),
        Case(
            "one user's is nobody else's by configuration",
            Input(request: .get("Cookie: a=b"), response: .ok(), policy: overriding), .doNotStore(.cacheable)),
        Case(
            "nor is one that sets a cookie", Input(response: .ok("Set-Cookie: a=b"), policy: overriding),
            .doNotStore(.cacheable)),
        Case(
            "for validation, where the origin wants that for each use",
            Input(response: .ok("Cache-Control: max-age=0", "Set-Cookie: a=b"), policy: overriding),
            .store(.explicit(.maxAge), .durable)),
        Case(
            "by configuration, where the origin lets others use it",
            Input(response: .ok(fresh, "Set-Cookie: a=b"), policy: overriding), .store(.explicit(.maxAge), .durable)),
        Case(
            "by configuration, where the origin calls it public",
            Input(request: .get("Cookie: a=b"), response: .ok("Cache-Control: public"), policy: overriding),
            .store(.marked, .durable)),
        Case(
            "by configuration, where it is for everyone",
            Input(
                request: .get("Cookie: a=b"), response: .ok(),
                policy: .with {
                    $0.expirationTime = .seconds(9)
                    $0.expirationMode = .override
                    $0.ignoredResponse.isForEveryone = true
                }), .store(.configured, .durable)),
        Case("interim", Input(response: .status(103, fresh)), .doNotStore(.status)),
        Case("304", Input(response: .status(304, fresh)), .doNotStore(.status)),
        Case("407", Input(response: .status(407, fresh)), .doNotStore(.status)),
        Case("412", Input(response: .status(412, fresh)), .doNotStore(.status)),
        Case("416", Input(request: ranged, response: .status(416, fresh)), .doNotStore(.status)),
        Case("no-store", Input(response: .ok("Cache-Control: max-age=60, no-store")), .doNotStore(.noStore)),
        Case(
            "no-store, ignored",
            Input(
                response: .ok("Cache-Control: no-store"),
                policy: .with { $0.ignoredResponse = IgnoredResponse(.noStore) }),
            .store(.heuristicallyCacheable, .durable)),
        Case(
            "no-store with must-understand, understood",
            Input(response: .ok("Cache-Control: max-age=60, no-store, must-understand")),
            .store(.explicit(.maxAge), .durable)),
        Case(
            "must-understand, not understood",
            Input(response: .status(299, "Cache-Control: max-age=60, must-understand")),
            .doNotStore(.mustUnderstand)),
        Case(
            "no-store in the request", Input(request: .get("Cache-Control: no-store"), response: .ok(fresh)),
            .doNotStore(.requestNoStore)),
        Case("private", Input(response: .ok("Cache-Control: private, max-age=60")), .doNotStore(.notPrivate)),
        Case(
            "private in a private cache", Input(response: .status(299, "Cache-Control: private"), policy: privateCache),
            .store(.marked, .durable)),
        Case("private and public", Input(response: .ok("Cache-Control: public, private")), .doNotStore(.notPrivate)),
        Case(
            "qualified private", Input(response: .ok("Cache-Control: private=\"x-a\"")),
            .store(.heuristicallyCacheable, .durable)),
        Case("Authorization", Input(request: authorized, response: .ok(fresh)), .doNotStore(.authorization)),
        Case(
            "Authorization, named by Connection",
            Input(request: .get("Authorization: Basic x", "Connection: Authorization"), response: .ok(fresh)),
            .doNotStore(.authorization)),
        Case(
            "Authorization and public", Input(request: authorized, response: .ok("Cache-Control: public")),
            .store(.marked, .durable)),
        Case(
            "Authorization and must-revalidate",
            Input(request: authorized, response: .ok("Cache-Control: must-revalidate")),
            .doNotStore(.cacheable)),
        Case(
            "Authorization and s-maxage", Input(request: authorized, response: .ok("Cache-Control: s-maxage=1")),
            .store(.explicit(.sMaxage), .durable)),
        Case(
            "Authorization in a private cache", Input(request: authorized, response: .ok(), policy: privateCache),
            .store(.heuristicallyCacheable, .durable)),
        Case(
            "Authorization in a partition",
            Input(request: authorized, response: .ok(), policy: .with { $0.storesAuthorized = true }),
            .store(.heuristicallyCacheable, .durable)),
        Case(
            "content on GET", Input(request: .get("Content-Length: 4"), response: .ok(fresh)),
            .doNotStore(.requestContent)),
        Case(
            "chunked content on GET", Input(request: .get("Transfer-Encoding: chunked"), response: .ok(fresh)),
            .doNotStore(.requestContent)),
        Case(
            "no content on GET", Input(request: .get("Content-Length: 0"), response: .ok(fresh)),
            .store(.explicit(.maxAge), .durable)),
        Case("Vary: *", Input(response: .ok(fresh, "Vary: *")), .doNotStore(.vary)),
        Case("Vary: , *", Input(response: .ok(fresh, "Vary: , *")), .doNotStore(.vary)),
        Case("Vary that is none", Input(response: .ok(fresh, "Vary: a b")), .doNotStore(.vary)),
        Case("Set-Cookie", Input(response: .ok(fresh, "Set-Cookie: a=b")), .store(.explicit(.maxAge), .durable)),
        Case(
            "a part", Input(request: ranged, response: .status(206, "Content-Range: bytes 0-4/10")),
            .store(.heuristicallyCacheable, .durable)),
        Case(
            "a part nobody asked for", Input(response: .status(206, fresh, "Content-Range: bytes 0-4/10")),
            .doNotStore(.contentRange)),
        Case(
            "a part without position", Input(request: ranged, response: .status(206, fresh)), .doNotStore(.contentRange)
        ),
        Case(
            "a part that lies", Input(request: ranged, response: .status(206, fresh, "Content-Range: bytes 0-99999/5")),
            .doNotStore(.contentRange)),
        Case(
            "a part in other units",
            Input(request: ranged, response: .status(206, fresh, "Content-Range: lines 0-4/5")),
            .doNotStore(.contentRange)),
        Case(
            "several parts",
            Input(
                request: .get("Range: bytes=0-1,4-5"),
                response: .status(206, fresh, "Content-Type: multipart/byteranges; boundary=x")),
            .store(.explicit(.maxAge), .durable)),
        Case("HEAD", Input(request: .head(), response: .ok(fresh)), .doNotStore(.method)),
        Case("PUT", Input(request: .with(.put), response: .ok(fresh)), .doNotStore(.method)),
        Case("POST", Input(request: .with(.post), response: .ok(fresh)), .doNotStore(.method)),
        Case(
            "POST with a lifetime and its own location",
            Input(request: .with(.post), response: .ok(fresh, "Content-Location: a")),
            .store(.explicit(.maxAge), .durable)),
        Case(
            "POST with another location", Input(request: .with(.post), response: .ok(fresh, "Content-Location: /b")),
            .doNotStore(.method)),
        Case(
            "POST with its own location and no lifetime",
            Input(request: .with(.post), response: .ok("Content-Location: /a")),
            .doNotStore(.method)),
        Case(
            "QUERY keyed by content",
            Input(
                request: .with(.query, "Content-Length: 4"), response: .ok(fresh),
                policy: .with { $0.keyedByContent = true }),
            .store(.explicit(.maxAge), .durable)),
        Case(
            "QUERY keyed by content, with a heuristic lifetime",
            Input(request: .with(.query), response: .ok(), policy: .with { $0.keyedByContent = true }),
            .store(.heuristicallyCacheable, .durable)),
        Case(
            "POST keyed by content",
            Input(request: .with(.post), response: .ok(fresh), policy: .with { $0.keyedByContent = true }),
            .store(.explicit(.maxAge), .durable)),
        Case(
            "POST keyed by content, without a lifetime",
            Input(request: .with(.post), response: .ok(), policy: .with { $0.keyedByContent = true }),
            .doNotStore(.method)),
        Case(
            "POST keyed by content, with a configured lifetime",
            Input(
                request: .with(.post), response: .ok(),
                policy: .with {
                    $0.keyedByContent = true
                    $0.expirationTime = .seconds(1)
                }),
            .store(.heuristicallyCacheable, .durable)),
        Case("QUERY", Input(request: .with(.query), response: .ok(fresh)), .doNotStore(.method)),
        Case(
            "a targeted field decides alone",
            Input(
                response: .status(299, "CDN-Cache-Control: private", "Cache-Control: max-age=60"),
                policy: .with { $0.targets = [.cdnCacheControl] }),
            .doNotStore(.notPrivate)),
    ]

    @Test(arguments: cases)
    func `request, response and policy decide`(_ row: Case) {
        let decision = Storability.decide(
            request: row.input.request, target: target, response: row.input.response, policy: row.input.policy,
            responseTime: epoch)
        #expect(decision == row.output)
    }

    @Test(arguments: cases)
    func `the conditions explain the decision`(_ row: Case) {
        let conditions = Storability.conditions(
            request: row.input.request, target: target, response: row.input.response, policy: row.input.policy,
            responseTime: epoch)
        #expect(conditions.map(\.condition) == StorageCondition.allCases)
        let failed = conditions.first { !$0.passed }?.condition
        if case .doNotStore(let condition) = row.output { #expect(failed == condition) } else { #expect(failed == nil) }
    }

    @Test func `a condition names the field responsible`() {
        let conditions = Storability.conditions(
            request: Self.authorized, target: target, response: .ok("Cache-Control: private", "Vary: *"),
            policy: CachePolicy(),
            responseTime: epoch)
        let failures = conditions.filter { !$0.passed }
        #expect(
            failures == [
                .init(.notPrivate, passed: false, field: .cacheControl),
                .init(.authorization, passed: false, field: .authorization),
                .init(.vary, passed: false, field: .vary),
                .init(.cacheable, passed: false, field: .authorization),
            ])
    }
}

@Suite("RFC 9111 §3.1 Stored fields")
struct StoredFieldTests {
    typealias Case = Row<(lines: [String], policy: CachePolicy), [String]>

    static let cases: [Case] = [
        Case(
            "what belongs to the connection goes",
            (
                [
                    "Connection: X-Hop", "X-Hop: 1", "Keep-Alive: a", "Upgrade: x", "TE: x", "Trailer: x",
                    "Proxy-Authenticate: x",
                    "Proxy-Authentication-Info: x", "Proxy-Authorization: x", "Proxy-Connection: x",
                    "Transfer-Encoding: chunked", "X-A: 1",
                ], CachePolicy()
            ),
            ["X-A: 1"]),
        Case(
            "unknown fields stay", (["Public-Key-Pins: a", "Set-Cookie2: b", "Clear-Site-Data: c"], CachePolicy()),
            ["Public-Key-Pins: a", "Set-Cookie2: b", "Clear-Site-Data: c"]),
        Case(
            "Connection cannot take away what caching needs",
            (["Connection: cache-control, etag", "Cache-Control: no-cache", "ETag: \"a\""], CachePolicy()),
            ["Cache-Control: no-cache", "ETag: \"a\""]),
        Case(
            "qualified no-cache",
            (["Cache-Control: no-cache=\"X-A, set-cookie\"", "X-A: 1", "Set-Cookie: a", "X-B: 2"], CachePolicy()),
            ["Cache-Control: no-cache=\"X-A, set-cookie\"", "X-B: 2"]),
        Case(
            "qualified private", (["Cache-Control: private=\"X-A\"", "X-A: 1", "X-B: 2"], CachePolicy()),
            ["Cache-Control: private=\"X-A\"", "X-B: 2"]),
        Case(
            "qualified private in a private cache",
            (["Cache-Control: private=\"X-A\"", "X-A: 1"], .with { $0.role = .private }),
            ["Cache-Control: private=\"X-A\"", "X-A: 1"]),
        Case(
            "cookies in a private cache", (["Set-Cookie: a=1", "Set-Cookie: b=2"], .with { $0.role = .private }),
            ["Set-Cookie: a=1", "Set-Cookie: b=2"]),
        Case(
            "cookies in a shared cache", (["Set-Cookie: a=1", "Set-Cookie: b=2", "X-A: 1"], CachePolicy()), ["X-A: 1"]),
    ]

    @Test(arguments: cases)
    func `what is kept of a header section`(_ row: Case) {
        let stored = StoredResponse.stored(
            ResponseHead(fields: Fields(lines: row.input.lines)), policy: row.input.policy)
        #expect(stored.fields == Fields(lines: row.output + ["Date: \(epoch.httpDate)"]))
    }

    typealias DateCase = Row<[String], [String]>

    @Test(arguments: [
        DateCase("absent", [], [epoch.httpDate]),
        DateCase("present", ["Mon, 03 Sep 2001 00:00:00 GMT"], ["Mon, 03 Sep 2001 00:00:00 GMT"]),
        DateCase("no date", ["yesterday"], [epoch.httpDate]),
        DateCase("twice", ["Mon, 03 Sep 2001 00:00:00 GMT", "Tue, 04 Sep 2001 00:00:00 GMT"], [epoch.httpDate]),
    ])
    func `what is kept has the date of receipt if it has none of its own`(_ row: DateCase) {
        let stored = StoredResponse.stored(
            ResponseHead(fields: Fields(lines: row.input.map { "Date: " + $0 })), at: 0.7)
        #expect(stored.fields[all: .date] == row.output)
    }

    @Test(arguments: StorabilityTests.cases)
    func `what a store returns has the same facts`(_ row: StorabilityTests.Case) {
        let stored = StoredResponse.stored(row.input.response, to: row.input.request, at: 0.7, policy: row.input.policy)
        let returned = StoredResponse(
            requestMethod: stored.requestMethod, requestedRange: stored.requestedRange,
            traces: stored.traces,
            variance: stored.variance, status: stored.status, fields: stored.fields, requestTime: stored.requestTime,
            responseTime: stored.responseTime,
            contentLength: stored.contentLength, policy: row.input.policy)
        #expect(returned.fields == stored.fields)
        #expect(returned.facts == stored.facts)
        #expect(returned.extent == stored.extent)
    }
}
