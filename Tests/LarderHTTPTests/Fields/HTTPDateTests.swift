// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LarderHTTP

@Suite("RFC 9110 §5.6.7 Dates")
struct HTTPDateTests {
    static let now = Timestamp(seconds: 1_790_000_000)  // September 2026

    static let accepted: [(String, Int64)] = [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ("Sun Nov 06 08:49:37 1994", 784_111_777),
        ("Sun Nov 16 08:49:37 1994", 784_975_777),
        ("sUN, 06 nOV 1994 08:49:37 gmt", 784_111_777),
        ("SUNDAY, 06-NOV-94 08:49:37 Gmt", 784_111_777),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
        ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
        ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 4_102_444_800),
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
        // Fifty years ahead is still the future; beyond, it was the past.
        ("Friday, 01-Jan-60 00:00:00 GMT", 2_840_140_800),
        ("Monday, 01-Jun-76 00:00:00 GMT", 3_358_195_200),
        ("Friday, 31-Dec-76 00:00:00 GMT", 220_838_400),
        ("Saturday, 01-Jan-77 00:00:00 GMT", 220_924_800),
        ("Friday, 31-Dec-99 00:00:00 GMT", 946_598_400),
        ("Tuesday, 29-Feb-00 00:00:00 GMT", 951_782_400),
    ]

    @Test(arguments: accepted)
    func `the three forms are read in any case`(_ text: String, _ seconds: Int64) {
        #expect(HTTPDate.parse(text, now: HTTPDateTests.now)?.seconds == seconds)
    }

    @Test(arguments: [
        "", "Sun", "Sun,", "0", "-1", "784111777",
        "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 ", "Sun, 06 Nov 1994 08:49:37 GMT ",
        " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMTX",
        "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 EST", "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 006 Nov 1994 08:49:37 GMT",
        "Sun,  06 Nov 1994 08:49:37 GMT", "Sun, 06  Nov 1994 08:49:37 GMT", "Sun, 06 Nov  1994 08:49:37 GMT",
        "Sun, 06 Nov 1994  08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37  GMT", "Sun,\t06 Nov 1994 08:49:37 GMT",
        "Sun,06 Nov 1994 08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sunday 06-Nov-94 08:49:37 GMT", "Sunday, 6-Nov-94 08:49:37 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:00:61 GMT", "Sun, 06 Nov 1994 08.49.37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT",
        "Sun, 29 Feb 2023 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT", "Son, 06 Nov 1994 08:49:37 GMT",
        "06 Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "Sun Nov  6 08:49:37 94", "Sun Nov  6 08:49:37 1994 GMT",
        "Sun Nov   6 08:49:37 1994", "Sun, Nov  6 08:49:37 1994", "1994-11-06T08:49:37Z",
    ])
    func `nothing else is a date`(_ text: String) {
        #expect(HTTPDate.parse(text, now: HTTPDateTests.now) == nil)
    }

    @Test func `a two-digit year is the latest that is not more than fifty years ahead`() {
        let now = HTTPDate.parse("Tue, 01 Jun 2060 00:00:00 GMT", now: HTTPDateTests.now)!
        func year(_ digits: String, _ day: String = "01-Jun") -> String {
            HTTPDate.string(HTTPDate.parse("Monday, \(day)-\(digits) 00:00:00 GMT", now: now)!)
        }
        #expect(year("05").contains(" 2105 "))
        #expect(year("10").contains(" 2110 "))
        #expect(year("10", "02-Jun").contains(" 2010 "))
        #expect(year("11").contains(" 2011 "))
        #expect(year("60").contains(" 2060 "))
        #expect(year("99").contains(" 2099 "))
    }

    @Test func `dates that time cannot hold are the end of time`() {
        #expect(HTTPDate.parse("Fri, 31 Dec 9999 23:59:59 GMT", now: HTTPDateTests.now)?.nanoseconds == .max)
        #expect(HTTPDate.parse("Sat, 01 Jan 0000 00:00:00 GMT", now: HTTPDateTests.now)?.nanoseconds == .min)
    }

    @Test(
        arguments: [(784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT")]
            as [(Int64, String)])
    func `dates are written as IMF-fixdate`(_ seconds: Int64, _ text: String) {
        #expect(HTTPDate.string(Timestamp(seconds: seconds)) == text)
        #expect(HTTPDate.string(Timestamp(nanoseconds: seconds * 1_000_000_000 + 999_999_999)) == text)
    }

    @Test func `what is written is read back`() {
        var random = SplitMix(1)
        for _ in 0..<2000 {
            let seconds = Int64(bitPattern: random.next()) % 9_000_000_000
            let text = HTTPDate.string(Timestamp(seconds: seconds))
            #expect(text.utf8.count == HTTPDate.length)
            #expect(HTTPDate.parse(text, now: HTTPDateTests.now)?.seconds == seconds)
        }
    }

    @Test func `days and their numbers agree over eight hundred years`() {
        var expected = CivilDate(day: -150_000)
        for number in -150_000...150_000 {
            let date = CivilDate(day: number)
            guard date == expected, date.number == number else { return #expect(date == expected) }
            expected.day += 1
            if expected.day > CivilDate.days(inMonth: expected.month, of: expected.year) {
                expected = CivilDate(
                    year: expected.month == 12 ? expected.year + 1 : expected.year,
                    month: expected.month % 12 + 1, day: 1)
            }
        }
    }
}
