// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@testable import Larder

@Suite("Refreshing ahead: when")
struct RefreshAheadTests {
    static func standing(
        lifetime: Int64 = 100, isObserved: Bool = true, uses: UInt64 = 3, at seconds: Int64 = 1_000
    ) -> RefreshAhead.Standing {
        RefreshAhead.Standing(
            responseTime: Timestamp(seconds: seconds), freshUntil: Timestamp(seconds: seconds + lifetime),
            isObserved: isObserved, uses: uses)
    }

    struct Row: Sendable {
        let label: String
        let ahead: RefreshAhead
        let standing: RefreshAhead.Standing
        let now: Int64
        let jitter: Double
        let expected: RefreshAhead.Decision

        init(
            _ label: String, _ ahead: RefreshAhead, _ standing: RefreshAhead.Standing, _ now: Int64, _ jitter: Double,
            _ expected: RefreshAhead.Decision
        ) {
            self.label = label
            self.ahead = ahead
            self.standing = standing
            self.now = now
            self.jitter = jitter
            self.expected = expected
        }
    }

    static func at(_ seconds: Int64) -> Timestamp { Timestamp(seconds: seconds) }

    static let rows: [Row] = [
        Row("not at all", .off, standing(), 1_000, 0, .drop(.off)),
        Row("at nine tenths", .watched, standing(), 1_000, 0, .wait(until: Timestamp(seconds: 1_090))),
        Row("at eight tenths", .watched, standing(), 1_000, 1, .wait(until: Timestamp(seconds: 1_080))),
        Row("its time has come", .watched, standing(), 1_090, 0, .refresh),
        Row("nobody observes", .watched, standing(isObserved: false), 1_090, 0, .drop(.isNotObserved)),
        Row("asked for often", .popular, standing(), 1_090, 0, .refresh),
        Row("asked for twice", .popular, standing(uses: 2), 1_090, 0, .drop(.isNotPopular)),
        Row("never fresh", .popular, standing(lifetime: 0), 1_090, 0, .drop(.hasNoLifetime)),
        Row("each second is too often", .watched, standing(lifetime: 1), 1_001, 0, .wait(until: at(1_005))),
        Row("a schedule", .every(.seconds(600)), standing(), 1_100, 0, .wait(until: Timestamp(seconds: 1_600))),
        Row("a schedule, a tenth earlier", .every(.seconds(600)), standing(), 1_540, 1, .refresh),
        Row("a schedule asks nobody", .every(.seconds(600)), standing(isObserved: false, uses: 0), 1_600, 0, .refresh),
        Row("at six", .daily(minutes: 360), standing(), 1_100, 0, .wait(until: Timestamp(seconds: 21_600))),
        Row("a little later", .daily(minutes: 360), standing(), 1_100, 0.5, .wait(until: Timestamp(seconds: 21_750))),
        Row("six is over", .daily(minutes: 360), standing(), 21_600, 0, .refresh),
        Row("six tomorrow", .daily(minutes: 360), standing(at: 21_600), 21_600, 0, .wait(until: at(108_000))),
    ]

    @Test(arguments: rows) func `the decision`(row: Row) {
        let decision = row.ahead.decide(row.standing, now: Timestamp(seconds: row.now), jitter: row.jitter)
        #expect(decision == row.expected, "\(row.label)")
    }

    @Test(
        arguments: [
            (3_600, 18_000), (-3_600, 25_200), (7 * 3_600, 82_800), (-7 * 3_600, 46_800), (6 * 3_600, 86_400),
        ] as [(Int64, Int64)]) func `a time of day is that of the machine`(offset: Int64, expected: Int64)
    {
        let instant = RefreshAhead.instant(minutes: 360, after: Timestamp(seconds: 1_000), offset: offset)
        #expect(instant == Timestamp(seconds: expected))
    }
}
