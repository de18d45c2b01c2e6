// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LarderHTTP

@Suite("RFC 3339 Dates and times")
struct ISOTimeTests {
    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("1994-11-06T08:49:37Z", 784_111_777_000),
            ("1994-11-06t08:49:37z", 784_111_777_000),
            ("1969-12-31T23:59:59.25Z", -750), ("2000-02-29T12:00:00Z", 951_825_600_000),
            ("2024-02-29T00:00:00+00:00", 1_709_164_800_000), ("2016-12-31T23:59:60Z", 1_483_228_800_000),
            ("2026-01-03T00:59:59+01:00", 1_767_398_399_000), ("2026-01-02T18:29:59-05:30", 1_767_398_399_000),
            ("1970-01-01T00:00:00-00:00", 0), ("1970-01-01T00:00:00.5Z", 500), ("1970-01-01T00:00:00.123+00:00", 123),
            ("1970-01-01T00:00:00.0019999999999999999Z", 1), ("1970-01-01T23:00:00+23:59", -3_540_000),
        ] as [(String, Int64)])
    func `a date and a time with an offset are an instant`(text: String, milliseconds: Int64) throws {
        let time = try #require(ISOTime.parse(text))
        let (quotient, remainder) = time.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
        #expect((remainder < 0 ? quotient - 1 : quotient) == milliseconds)
    }

    @Test func `a fraction is read to the nanosecond`() {
        #expect(ISOTime.parse("1970-01-01T00:00:01.000000001Z")?.nanoseconds == 1_000_000_001)
        #expect(ISOTime.parse("1970-01-01T00:00:01.9999999999Z")?.nanoseconds == 1_999_999_999)
    }

    @Test(arguments: [
        "", "Z", "2026", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-01-01T00:00Z",
        "2026-1-01T00:00:00Z", "26-01-01T00:00:00Z", "02026-01-01T00:00:00Z", "+2026-01-01T00:00:00Z",
        "20260101T000000Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00,5Z", "2026-01-01T00:00:00Z ",
        " 2026-01-01T00:00:00Z", "2026-01-01T00:00:00ZZ", "2026-01-01T00:00:00+01", "2026-01-01T00:00:00+0100",
        "2026-01-01T00:00:00+1:00", "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+00:60",
        "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:61Z", "2026-00-01T00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z", "2026-04-31T00:00:00Z",
        "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "0000-01-01T00:00:00Z", "1677-09-20T00:00:00Z",
        "2262-04-12T00:00:00Z", "9999-12-31T23:59:59Z", "２０２６-01-01T00:00:00Z", "2026-01-01T00:00:00.５Z",
    ])
    func `nothing else is an instant`(text: String) { #expect(ISOTime.parse(text) == nil) }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
            (784_111_777_007_999_999, "1994-11-06T08:49:37Z", "1994-11-06T08:49:37.007Z"),
            (-1, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999Z"),
            (951_782_400_120_000_000, "2000-02-29T00:00:00Z", "2000-02-29T00:00:00.120Z"),
            (.max, "2262-04-11T23:47:16Z", "2262-04-11T23:47:16.854Z"),
            (.min, "1677-09-21T00:12:43Z", "1677-09-21T00:12:43.145Z"),
        ] as [(Int64, String, String)])
    func `an instant is written to the second or the millisecond`(nanoseconds: Int64, whole: String, exact: String) {
        #expect(ISOTime.string(Timestamp(nanoseconds: nanoseconds)) == whole)
        #expect(ISOTime.string(Timestamp(nanoseconds: nanoseconds), milliseconds: true) == exact)
    }

    @Test func `what is written is read back`() {
        var random = SplitMix(2)
        for _ in 0..<2000 {
            let milliseconds = Int64(bitPattern: random.next()) % 9_000_000_000_000
            let time = Timestamp(nanoseconds: milliseconds * 1_000_000)
            #expect(ISOTime.parse(ISOTime.string(time, milliseconds: true)) == time)
        }
    }
}
