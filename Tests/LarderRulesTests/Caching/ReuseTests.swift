// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Testing

@Suite("RFC 9111 §4 Reuse")
struct ReuseTests {
    struct Input: Sendable {
        var request = RequestHead.get()
        var stored: [StoredResponse] = []
        var policy = CachePolicy()
        var at: Double = 0

        init(
            _ request: RequestHead = .get(), _ stored: StoredResponse..., policy: CachePolicy = CachePolicy(),
            at: Double = 0
        ) {
            self.request = request
            self.stored = stored
            self.policy = policy
            self.at = at
        }
    }

    typealias Case = Row<Input, ReuseDecision>

    private static func selection(_ index: Int = 0, age: Double, ttl: Double) -> ReuseDecision.Selection {
        .init(index: index, age: .seconds(age), ttl: .seconds(ttl))
    }

    private static let minute = StoredResponse.stored(.ok("Cache-Control: max-age=60", "ETag: \"a\""))
    private static let minuteWithoutValidator = StoredResponse.stored(.ok("Cache-Control: max-age=60"))
    private static let offline = CachePolicy.with { $0.offline = true }
    private static let authorized = StoredResponse.stored(.ok(cacheControl: "max-age=60"), to: .get("Authorization: a"))
    private static func asking(_ cacheControl: String) -> RequestHead { .get("Cache-Control: " + cacheControl) }

    static let freshness: [Case] = [
        Case("nothing stored", .init(), .forward(.uriMiss, fallback: nil)),
        Case("fresh", .init(.get(), minute, at: 59.5), .answer(selection(age: 59.5, ttl: 0.5))),
        Case(
            "as old as its lifetime is stale", .init(.get(), minute, at: 60),
            .validate(selection(age: 60, ttl: 0), .stale)),
        Case(
            "stale without a validator", .init(.get(), minuteWithoutValidator, at: 61),
            .forward(.stale, fallback: selection(age: 61, ttl: -1))),
        Case("HEAD is answered from GET", .init(.head(), minute, at: 1), .answer(selection(age: 1, ttl: 59))),
        Case(
            "HEAD goes on when stale", .init(.head(), minute, at: 61),
            .forward(.stale, fallback: selection(age: 61, ttl: -1))),
        Case("an unsafe method", .init(.with(.put), minute, at: 1), .forward(.method, fallback: nil)),
        Case("an unknown method", .init(.with(Method("M-SEARCH")!), minute, at: 1), .forward(.method, fallback: nil)),
        Case("a method in another case", .init(.with(Method("get")!), minute, at: 1), .forward(.method, fallback: nil)),
        Case(
            "QUERY where content is part of the key",
            .init(
                .with(.query, "Content-Length: 4"), .stored(.ok(cacheControl: "max-age=60"), to: .with(.query)),
                policy: .with { $0.keyedByContent = true }, at: 1),
            .answer(selection(age: 1, ttl: 59))),
        Case(
            "a stale POST is asked for anew, without conditions",
            .init(
                .with(.post), .stored(.ok("Cache-Control: max-age=60", "ETag: \"a\""), to: .with(.post)),
                policy: .with { $0.keyedByContent = true }, at: 61),
            .forward(.stale, fallback: selection(age: 61, ttl: -1))),
        Case(
            "no-cache needs validation even when fresh",
            .init(.get(), .stored(.ok("Cache-Control: no-cache, max-age=60", "ETag: \"a\"")), at: 1),
            .validate(selection(age: 1, ttl: 59), .stale)),
        Case(
            "qualified no-cache does not",
            .init(.get(), .stored(.ok("Cache-Control: no-cache=\"x\", max-age=60")), at: 1),
            .answer(selection(age: 1, ttl: 59))),
        Case(
            "an override answers in spite of no-cache",
            .init(
                .get(),
                .stored(
                    .ok("Cache-Control: no-cache"),
                    policy: .with {
                        $0.expirationTime = .seconds(60); $0.expirationMode = .override
                    }), at: 1),
            .answer(selection(age: 1, ttl: 59))),
        Case(
            "invalidated", .init(.get(), minute.marked(.invalid, policy: CachePolicy()), at: 1),
            .validate(selection(age: 1, ttl: 59), .stale)),
        Case(
            "known to be another", .init(.get(), minute.marked(.stale, policy: CachePolicy()), at: 1),
            .validate(selection(age: 1, ttl: 59), .stale)),
        Case(
            "received in the future", .init(.get(), minute, at: -100),
            .validate(selection(age: 2_147_483_648, ttl: 60 - 2_147_483_648), .stale)),
    ]

    static let wishes: [Case] = [
        Case("no-cache", .init(asking("no-cache"), minute, at: 1), .validate(selection(age: 1, ttl: 59), .request)),
        Case(
            "no-cache when stale", .init(asking("no-cache"), minute, at: 61),
            .validate(selection(age: 61, ttl: -1), .stale)),
        Case(
            "Pragma: no-cache", .init(.get("Pragma: no-cache"), minute, at: 1),
            .validate(selection(age: 1, ttl: 59), .request)),
        Case(
            "Pragma next to Cache-Control", .init(.get("Pragma: no-cache", "Cache-Control: x"), minute, at: 1),
            .answer(selection(age: 1, ttl: 59))),
        Case(
            "no-store", .init(asking("no-store"), minute, at: 1),
            .forward(.request, fallback: selection(age: 1, ttl: 59))),
        Case("max-age above the age", .init(asking("max-age=1"), minute, at: 1), .answer(selection(age: 1, ttl: 59))),
        Case(
            "max-age below the age", .init(asking("max-age=1"), minute, at: 1.5),
            .validate(selection(age: 1.5, ttl: 58.5), .request)),
        Case(
            "max-age=0", .init(asking("max-age=0"), minute, at: 0.5),
            .validate(selection(age: 0.5, ttl: 59.5), .request)),
        Case(
            "min-fresh that is left", .init(asking("min-fresh=59"), minute, at: 1), .answer(selection(age: 1, ttl: 59))),
        Case(
            "min-fresh that is not", .init(asking("min-fresh=60"), minute, at: 1),
            .validate(selection(age: 1, ttl: 59), .request)),
        Case(
            "max-stale that suffices", .init(asking("max-stale=5"), minute, at: 65),
            .answerStale(selection(age: 65, ttl: -5), .maxStale)),
        Case(
            "max-stale that does not", .init(asking("max-stale=5"), minute, at: 66),
            .validate(selection(age: 66, ttl: -6), .stale)),
        Case(
            "any max-stale", .init(asking("max-stale"), minute, at: 9_000),
            .answerStale(selection(age: 9_000, ttl: -8_940), .maxStale)),
        Case(
            "max-stale is bound by max-age", .init(asking("max-stale, max-age=60"), minute, at: 65),
            .validate(selection(age: 65, ttl: -5), .stale)),
        Case(
            "only-if-cached, fresh", .init(asking("only-if-cached"), minute, at: 1), .answer(selection(age: 1, ttl: 59))
        ),
        Case("only-if-cached, stale", .init(asking("only-if-cached"), minute, at: 61), .refuse(.onlyIfCached)),
        Case(
            "only-if-cached, stale and content with it", .init(asking("only-if-cached, max-stale"), minute, at: 61),
            .answerStale(selection(age: 61, ttl: -1), .maxStale)),
        Case("only-if-cached, nothing", .init(asking("only-if-cached")), .refuse(.onlyIfCached)),
        Case(
            "unknown directives", .init(.get("Cache-Control: nothing-to-see-here", "Pragma: foo"), minute, at: 1),
            .answer(selection(age: 1, ttl: 59))),
        Case(
            "If-Match is for the origin", .init(.get("If-Match: \"a\""), minute, at: 1),
            .forward(.request, fallback: selection(age: 1, ttl: 59))),
        Case(
            "content on GET is for the origin", .init(.get("Content-Length: 3"), minute, at: 1),
            .forward(.request, fallback: selection(age: 1, ttl: 59))),
        Case("cookies do not matter", .init(.get("Cookie: a=b"), minute, at: 1), .answer(selection(age: 1, ttl: 59))),
        Case(
            "credentials do not matter for what is public", .init(.get("Authorization: x"), minute, at: 1),
            .answer(selection(age: 1, ttl: 59))),
    ]

    private static func window(_ cacheControl: String, policy: CachePolicy = CachePolicy()) -> StoredResponse {
        .stored(.ok("Cache-Control: max-age=60" + cacheControl, "ETag: \"a\""), policy: policy)
    }

    /// As stored for a user under a configured lifetime of ten minutes.
    private static func personal(_ mode: CachePolicy.ExpirationMode, _ cacheControl: String) -> StoredResponse {
        .stored(
            .ok("Cache-Control: \(cacheControl)", "ETag: \"a\""), to: .get("Cookie: a=b"),
            policy: .with {
                $0.expirationMode = mode
                $0.expirationTime = .seconds(600)
            })
    }

    @Test(
        arguments: [CachePolicy.ExpirationMode.override, .floor],
        ["max-age=0", "no-cache", "no-cache, max-age=60", "must-revalidate", "s-maxage=0"])
    func `no configured lifetime lets others use one user's response unasked`(
        _ mode: CachePolicy.ExpirationMode, _ said: String
    ) {
        let decision = Reuse.decide(
            request: .get("Cookie: c=d"), candidates: [Self.personal(mode, said)],
            policy: .with { $0.expirationMode = mode }, now: .at(1))
        guard case .validate = decision else { return #expect(Bool(false), "\(decision)") }
    }

    @Test(
        arguments: [CachePolicy.ExpirationMode.override, .floor],
        ["max-age=5", "public", "public, max-age=0", "s-maxage=5"])
    func `a configured lifetime counts where the origin lets others use the response`(
        _ mode: CachePolicy.ExpirationMode, _ said: String
    ) {
        let decision = Reuse.decide(
            request: .get("Cookie: c=d"), candidates: [Self.personal(mode, said)],
            policy: .with { $0.expirationMode = mode }, now: .at(100))
        guard case .answer(let selection) = decision else { return #expect(Bool(false), "\(decision)") }
        #expect(selection.ttl == .seconds(500))
    }

    static let stale: [Case] = [
        Case(
            "within stale-while-revalidate", .init(.get(), window(", stale-while-revalidate=5"), at: 65),
            .answerStale(selection(age: 65, ttl: -5), .staleWhileRevalidate)),
        Case(
            "behind it", .init(.get(), window(", stale-while-revalidate=5"), at: 65.5),
            .validate(selection(age: 65.5, ttl: -5.5), .stale)),
        Case(
            "a configured window",
            .init(.get(), window("", policy: .with { $0.staleWhileRevalidate = .seconds(5) }), at: 65),
            .answerStale(selection(age: 65, ttl: -5), .staleWhileRevalidate)),
        Case(
            "a broken window is none",
            .init(
                .get(), window(", stale-while-revalidate=x", policy: .with { $0.staleWhileRevalidate = .seconds(5) }),
                at: 65),
            .validate(selection(age: 65, ttl: -5), .stale)),
        Case(
            "must-revalidate", .init(.get(), window(", stale-while-revalidate=5, must-revalidate"), at: 61),
            .validate(selection(age: 61, ttl: -1), .stale)),
        Case(
            "of one client, fresh within stale-while-revalidate",
            .init(.get(), window(", stale-while-revalidate=5, no-cache=\"Set-Cookie\""), at: 1),
            .validate(selection(age: 1, ttl: 59), .stale)),
        Case(
            "of one client, for whoever takes stale ones",
            .init(asking("max-stale"), window(", no-cache=\"Set-Cookie\""), at: 61),
            .validate(selection(age: 61, ttl: -1), .stale)),
        Case(
            "offline, of one client", .init(.get(), window(", no-cache=\"Set-Cookie\""), policy: offline, at: 1),
            .refuse(.offline)),
        Case(
            "proxy-revalidate in a shared cache",
            .init(.get(), window(", stale-while-revalidate=5, proxy-revalidate"), at: 61),
            .validate(selection(age: 61, ttl: -1), .stale)),
        Case(
            "proxy-revalidate in a private cache",
            .init(
                .get(), window(", stale-while-revalidate=5, proxy-revalidate", policy: .with { $0.role = .private }),
                policy: .with { $0.role = .private }, at: 61),
            .answerStale(selection(age: 61, ttl: -1), .staleWhileRevalidate)),
        Case(
            "s-maxage in a shared cache", .init(asking("max-stale"), window(", s-maxage=60"), at: 61),
            .validate(selection(age: 61, ttl: -1), .stale)),
        Case(
            "max-stale against must-revalidate", .init(asking("max-stale"), window(", must-revalidate"), at: 61),
            .validate(selection(age: 61, ttl: -1), .stale)),
        Case(
            "a client that limits the age", .init(asking("max-age=100"), window(", stale-while-revalidate=5"), at: 61),
            .validate(selection(age: 61, ttl: -1), .stale)),
        Case("offline, fresh", .init(.get(), minute, policy: offline, at: 1), .answer(selection(age: 1, ttl: 59))),
        Case(
            "offline, stale", .init(.get(), minute, policy: offline, at: 999),
            .answerStale(selection(age: 999, ttl: -939), .offline)),
        Case(
            "offline, wishes aside", .init(asking("no-cache"), minute, policy: offline, at: 999),
            .answerStale(selection(age: 999, ttl: -939), .offline)),
        Case(
            "offline, forbidden", .init(.get(), window(", must-revalidate"), policy: offline, at: 999),
            .refuse(.offline)),
        Case("offline, nothing", .init(.get(), policy: offline), .refuse(.offline)),
        Case("offline, a write", .init(.with(.post), policy: offline), .refuse(.offline)),
    ]

    private static let english = StoredResponse.stored(
        .ok("Cache-Control: max-age=60", "Vary: Accept-Language"), to: .get("Accept-Language: en"))
    private static let german = StoredResponse.stored(
        .ok("Cache-Control: max-age=60", "Vary: Accept-Language"), to: .get("Accept-Language: de"), at: 2)
    private static let plain = StoredResponse.stored(.ok("Cache-Control: max-age=60"), at: 3)
    private static func dated(_ date: Double, receivedAt: Double) -> StoredResponse {
        .stored(.ok("Cache-Control: max-age=600", "Date: \(Timestamp.at(date).httpDate)"), at: receivedAt)
    }

    static let selecting: [Case] = [
        Case(
            "the variant", .init(.get("Accept-Language: de"), english, german, at: 4),
            .answer(selection(1, age: 2, ttl: 58))),
        Case(
            "no variant", .init(.get("Accept-Language: fr"), english, german, at: 4), .forward(.varyMiss, fallback: nil)
        ),
        Case(
            "one with Vary before one without", .init(.get("Accept-Language: en"), english, plain, at: 4),
            .answer(selection(0, age: 4, ttl: 56))),
        Case(
            "one without for the rest", .init(.get("Accept-Language: fr"), english, plain, at: 4),
            .answer(selection(1, age: 1, ttl: 59))),
        Case(
            "the most recent by Date", .init(.get(), dated(10, receivedAt: 20), dated(15, receivedAt: 15), at: 20),
            .answer(selection(1, age: 5, ttl: 595))),
        Case(
            "not one got with credentials", .init(.get("Authorization: a"), authorized, at: 1),
            .forward(.miss, fallback: nil)),
        Case(
            "one got with credentials, in a private cache",
            .init(.get(), authorized, policy: .with { $0.role = .private }, at: 1),
            .answer(selection(age: 1, ttl: 59))),
    ]

    private static func part(_ range: String, _ contentRange: String, length: Int64 = 5) -> StoredResponse {
        .stored(
            .status(206, "Cache-Control: max-age=60", "ETag: \"a\"", "Content-Range: bytes " + contentRange),
            to: .get("Range: bytes=" + range), length: length)
    }

    static let partial: [Case] = [
        Case("a part for the whole", .init(.get(), part("0-4", "0-4/10"), at: 1), .forward(.partial, fallback: nil)),
        Case("a part for HEAD", .init(.head(), part("0-4", "0-4/10"), at: 1), .forward(.partial, fallback: nil)),
        Case(
            "the same part", .init(.get("Range: bytes=0-4"), part("0-4", "0-4/10"), at: 1),
            .answer(selection(age: 1, ttl: 59))),
        Case(
            "a part of the part", .init(.get("Range: bytes=1-2"), part("0-4", "0-4/10"), at: 1),
            .answer(selection(age: 1, ttl: 59))),
        Case(
            "more than the part", .init(.get("Range: bytes=1-5"), part("0-4", "0-4/10"), at: 1),
            .forward(.partial, fallback: nil)),
        Case(
            "the end of the whole", .init(.get("Range: bytes=-5"), part("5-9", "5-9/10"), at: 1),
            .answer(selection(age: 1, ttl: 59))),
        Case(
            "from within to the end", .init(.get("Range: bytes=7-"), part("5-9", "5-9/10"), at: 1),
            .answer(selection(age: 1, ttl: 59))),
        Case(
            "the end of an unknown whole", .init(.get("Range: bytes=-3"), part("5-9", "5-9/*"), at: 1),
            .forward(.partial, fallback: nil)),
        Case(
            "a range of an unknown whole", .init(.get("Range: bytes=6-7"), part("5-9", "5-9/*"), at: 1),
            .answer(selection(age: 1, ttl: 59))),
        Case(
            "the same words when the length lies", .init(.get("Range: bytes=-5"), part("-5", "4-9/10"), at: 1),
            .answer(selection(age: 1, ttl: 59))),
        Case(
            "other words when the length lies", .init(.get("Range: bytes=6-"), part("-5", "4-9/10"), at: 1),
            .forward(.partial, fallback: nil)),
        Case(
            "If-Range that holds", .init(.get("Range: bytes=0-4", "If-Range: \"a\""), part("0-4", "0-4/10"), at: 1),
            .answer(selection(age: 1, ttl: 59))),
        Case(
            "If-Range that does not", .init(.get("Range: bytes=0-4", "If-Range: \"b\""), part("0-4", "0-4/10"), at: 1),
            .forward(.partial, fallback: nil)),
        Case(
            "a range of the whole", .init(.get("Range: bytes=0-4"), minute, at: 1), .answer(selection(age: 1, ttl: 59))),
        Case(
            "the whole before a newer part", .init(.get(), minute, part("0-4", "0-4/10"), at: 1),
            .answer(selection(age: 1, ttl: 59))),
        Case(
            "a stale part", .init(.get("Range: bytes=0-4"), part("0-4", "0-4/10"), at: 61),
            .validate(selection(age: 61, ttl: -1), .stale)),
    ]

    private func check(_ row: Case) {
        let decision = Reuse.decide(
            request: row.input.request, candidates: row.input.stored, policy: row.input.policy, now: .at(row.input.at))
        #expect(decision == row.output)
    }

    @Test(arguments: freshness) func `fresh responses answer`(_ row: Case) { check(row) }
    @Test(arguments: wishes) func `request directives are heeded`(_ row: Case) { check(row) }
    @Test(arguments: stale) func `stale responses answer where permitted`(_ row: Case) { check(row) }
    @Test(arguments: selecting) func `the right response is chosen`(_ row: Case) { check(row) }
    @Test(arguments: partial) func `parts answer for parts`(_ row: Case) { check(row) }
}

@Suite("RFC 9111 §4.2.4, RFC 5861 §4 Stale use after a failure")
struct StaleUseTests {
    struct Input: Sendable {
        var cacheControl: String
        var failure: UpstreamFailure
        var request = RequestHead.get()
        var policy = CachePolicy()
        var at: Double = 70

        init(
            _ cacheControl: String, _ failure: UpstreamFailure, _ request: RequestHead = .get(),
            policy: CachePolicy = CachePolicy(), at: Double = 70
        ) {
            self.cacheControl = cacheControl
            self.failure = failure
            self.request = request
            self.policy = policy
            self.at = at
        }
    }

    typealias Case = Row<Input, StaleUseDecision>

    private static func serve(_ reason: StaleReason, at: Double = 70) -> StaleUseDecision {
        .serve(age: .seconds(at), ttl: .seconds(60 - at), reason)
    }

    private static let day = CachePolicy.with { $0.staleIfError = .seconds(86_400) }

    static let cases: [Case] = [
        Case("disconnected", .init("", .disconnected), serve(.disconnected)),
        Case(
            "disconnected, bounded by the origin", .init(", stale-if-error=5", .disconnected),
            .doNotServe(.tooStale(allowed: .seconds(5)))),
        Case("503, nobody allowed it", .init("", .status(503)), .doNotServe(.tooStale(allowed: .zero))),
        Case("503, the origin allowed it", .init(", stale-if-error=10", .status(503)), serve(.staleIfError)),
        Case(
            "503, too late", .init(", stale-if-error=9", .status(503), policy: day),
            .doNotServe(.tooStale(allowed: .seconds(9)))),
        Case("503, the configuration allows it", .init("", .status(503), policy: day), serve(.staleIfError)),
        Case(
            "503, the client allows it", .init("", .status(503), .get("Cache-Control: stale-if-error=10")),
            serve(.staleIfError)),
        Case("500", .init("", .status(500), policy: day), serve(.staleIfError)),
        Case("501 is an answer", .init("", .status(501), policy: day), .doNotServe(.notAnError(501))),
        Case("404 is an answer", .init("", .status(404), policy: day), .doNotServe(.notAnError(404))),
        Case("must-revalidate", .init(", must-revalidate", .disconnected), .doNotServe(.forbidden(.mustRevalidate))),
        Case("proxy-revalidate", .init(", proxy-revalidate", .disconnected), .doNotServe(.forbidden(.proxyRevalidate))),
        Case("s-maxage", .init(", s-maxage=60", .disconnected), .doNotServe(.forbidden(.sMaxage))),
        Case("no-cache", .init(", no-cache", .disconnected, at: 1), .doNotServe(.forbidden(.noCache))),
        Case(
            "must-revalidate while fresh", .init(", must-revalidate", .disconnected, at: 1), serve(.disconnected, at: 1)
        ),
        Case(
            "the client wants validation", .init("", .disconnected, .get("Cache-Control: no-cache"), at: 1),
            .doNotServe(.request)),
        Case(
            "the client wants it younger", .init("", .disconnected, .get("Cache-Control: max-age=9")),
            .doNotServe(.request)),
        Case(
            "the client takes it older", .init("", .disconnected, .get("Cache-Control: max-age=9, max-stale")),
            serve(.disconnected)),
    ]

    @Test(arguments: cases)
    func `a failure and who allows what decide`(_ row: Case) {
        let stored = StoredResponse.stored(
            .ok("Cache-Control: max-age=60" + row.input.cacheControl), policy: row.input.policy)
        let decision = StaleUse.onError(
            stored, failure: row.input.failure, request: row.input.request, policy: row.input.policy,
            now: .at(row.input.at))
        #expect(decision == row.output)
    }

    @Test func `an invalidated response is never used`() {
        let stored = StoredResponse.stored(.ok(cacheControl: "max-age=60")).marked(.invalid, policy: CachePolicy())
        let decision = StaleUse.onError(
            stored, failure: .disconnected, request: .get(), policy: CachePolicy(), now: .at(1))
        #expect(decision == .doNotServe(.forbidden(.invalidated)))
    }
}
