// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderRules
import Testing

@Suite("What is left of a quota")
struct RateLimitLeftTests {
    static let now = Timestamp(seconds: 1_700_000_000)

    static let told: [(Fields, RateLimit.Left)] = [
        (["RateLimit": "\"default\";r=50;t=30"], RateLimit.Left(remaining: 50, reset: .seconds(30), name: "default")),
        (
            ["RateLimit": "\"a\";r=50;t=30, \"b\";r=3;t=600"],
            RateLimit.Left(remaining: 3, reset: .seconds(600), name: "b")
        ),
        (
            ["RateLimit": "limit=100, remaining=7, reset=5"],
            RateLimit.Left(remaining: 7, limit: 100, reset: .seconds(5))
        ),
        (["RateLimit-Remaining": "4", "RateLimit-Reset": "9"], RateLimit.Left(remaining: 4, reset: .seconds(9))),
        (
            ["X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": "1700000060"],
            RateLimit.Left(remaining: 4_999, limit: 5_000, reset: .seconds(60))
        ),
        (
            ["X-RateLimit-Remaining": "3", "X-RateLimit-Reset": "1700000060000"],
            RateLimit.Left(remaining: 3, reset: .seconds(60))
        ),
        (
            [
                "X-RateLimit-Resource": "search", "X-RateLimit-Limit": "30", "X-RateLimit-Remaining": "3",
                "X-RateLimit-Reset": "60",
            ], RateLimit.Left(remaining: 3, limit: 30, reset: .seconds(60), name: "search")
        ),
    ]

    @Test(arguments: told) func `is read in the forms that are in use`(fields: Fields, expected: RateLimit.Left) {
        #expect(RateLimit.left(fields, now: Self.now) == expected)
    }

    @Test(arguments: ["X-RateLimit-Resource", "RateLimit"]) func `takes no more of a name than names need`(
        field: String
    ) {
        let name = String(repeating: "n", count: 60_000)
        var fields: Fields =
            field == "RateLimit"
            ? ["RateLimit": "\"\(name)\";r=3;t=60"] : ["X-RateLimit-Remaining": "3", "X-RateLimit-Reset": "60"]
        if field != "RateLimit" { fields["X-RateLimit-Resource"] = name }
        #expect(RateLimit.left(fields, now: Self.now)?.name == String(name.prefix(64)))
    }

    static let untold: [Fields] = [
        [:], ["X-RateLimit-Remaining": "3"], ["RateLimit": "x"], ["RateLimit": "\"a\";r=3"],
        ["X-RateLimit-Remaining": "-1", "X-RateLimit-Reset": "5"],
    ]

    @Test(arguments: untold) func `is not known otherwise`(fields: Fields) {
        #expect(RateLimit.left(fields, now: Self.now) == nil)
    }
}
