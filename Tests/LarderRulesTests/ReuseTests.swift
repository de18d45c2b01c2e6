// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Testing

@Suite("RFC 9111 §4 Reuse")
struct ReuseTests {
    struct Situation: Sendable {
        var request = RequestHead.get()
        var stored: [StoredResponse] = []
        var policy = CachePolicy()
        var at: Double = 0
    }

    typealias Case = Row<Situation, ReuseDecision>

    private static func selection(_ index: Int, age: Double, ttl: Double) -> ReuseDecision.Selection {
        .init(index: index, age: .seconds(age), ttl: .seconds(ttl))
    }

    static let cases: [Case] = [
        Case("nothing stored", .init(), .forward(.uriMiss, fallback: nil)),
        Case(
            "fresh", .init(stored: [.stored(.ok(cacheControl: "max-age=60"))], at: 59.5),
            .answer(selection(0, age: 59.5, ttl: 0.5))),
        Case(
            "as old as its lifetime is stale", .init(stored: [.stored(.ok(cacheControl: "max-age=60"))], at: 60),
            .forward(.stale, fallback: selection(0, age: 60, ttl: 0))),
        Case(
            "stale with a validator",
            .init(stored: [.stored(.ok("Cache-Control: max-age=60", "ETag: \"a\""))], at: 61),
            .validate(selection(0, age: 61, ttl: -1), .stale)),
        Case(
            "no-cache needs validation even when fresh",
            .init(stored: [.stored(.ok("Cache-Control: no-cache, max-age=60", "ETag: \"a\""))], at: 1),
            .validate(selection(0, age: 1, ttl: 59), .stale)),
        Case(
            "an unsafe method is forwarded",
            .init(request: .with(.put), stored: [.stored(.ok(cacheControl: "max-age=60"))], at: 1),
            .forward(.method, fallback: nil)),
    ]

    @Test(arguments: cases)
    func `a request and what is stored decide`(_ row: Case) {
        let decision = Reuse.decide(
            request: row.input.request, candidates: row.input.stored, policy: row.input.policy, now: .at(row.input.at))
        #expect(decision == row.output)
    }
}
