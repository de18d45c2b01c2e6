// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@testable import LarderRules

@Suite("RFC 9110 §10.2.3: when to ask again")
struct RateLimitTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var status: Status
        var fields: Fields
        var pause: Int64?
        var testDescription: String { "\(status) \(fields)" }

        init(_ status: Status, _ fields: Fields, _ pause: Int64?) {
            (self.status, self.fields, self.pause) = (status, fields, pause)
        }
    }

    /// The second 2 000 000 000 is 2033-05-18 03:33:20.
    static let now = Timestamp(seconds: 2_000_000_000)

    @Test(arguments: [
        Case(503, ["Retry-After": "120"], 120),
        Case(429, ["Retry-After": "120"], 120),
        Case(403, ["Retry-After": "120"], 120),
        Case(503, ["Retry-After": "Wed, 18 May 2033 03:33:50 GMT"], 30),
        Case(503, ["Retry-After": "Wed, 18 May 2033 03:33:10 GMT"], nil),
        Case(503, ["Retry-After": "0"], nil),
        Case(503, ["Retry-After": "soon"], nil),
        Case(503, ["Retry-After": "-1"], nil),
        Case(503, ["Retry-After": "1.5"], nil),
        Case(503, ["Retry-After": "99999999999999999999"], 2_147_483_648),
        Case(503, [:], nil),
        Case(429, [:], nil),
        Case(200, ["Retry-After": "120"], nil),
        Case(301, ["Retry-After": "120"], nil),
        Case(500, ["Retry-After": "120"], nil),
        Case(429, ["RateLimit": "\"default\";r=0;t=30"], 30),
        Case(429, ["RateLimit": "\"burst\";r=0;t=5, \"daily\";r=0;t=900, \"hourly\";r=7;t=9999"], 900),
        Case(429, ["RateLimit": "\"default\";r=3;t=30"], nil),
        Case(429, ["RateLimit": "\"default\";r=0"], nil),
        Case(429, ["RateLimit": "\"default\";r=0;t=-5"], nil),
        Case(429, ["RateLimit": "limit=100, remaining=0, reset=30"], 30),
        Case(429, ["RateLimit": "limit=100, remaining=1, reset=30"], nil),
        Case(429, ["RateLimit": "((("], nil),
        Case(429, ["RateLimit-Remaining": "0", "RateLimit-Reset": "30"], 30),
        Case(429, ["RateLimit-Remaining": "1", "RateLimit-Reset": "30"], nil),
        Case(429, ["RateLimit-Remaining": "0"], nil),
        Case(403, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2000000060"], 60),
        Case(403, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "60"], 60),
        Case(403, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1999999999"], nil),
        Case(403, ["X-RateLimit-Remaining": "12", "X-RateLimit-Reset": "2000000060"], nil),
        Case(503, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2000000060"], nil),
        Case(200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2000000060"], nil),
        Case(429, ["Retry-After": "10", "RateLimit": "\"default\";r=0;t=30"], 10),
    ])
    func `HT-06 a refusal says how long to stay away`(case: Case) {
        let response = ResponseHead(status: `case`.status, fields: `case`.fields)
        #expect(RetryAfter.pause(response, now: Self.now) == `case`.pause.map { .seconds($0) })
    }
}
