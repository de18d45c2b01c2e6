// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderSettings
import Testing

@Suite("Numbers with units")
struct UnitTextTests {
    @Test(arguments: [
        ("5s", Duration.seconds(5)), ("30 s", .seconds(30)), ("10 min", .seconds(600)), ("1 h", .seconds(3_600)),
        ("1 day", .seconds(86_400)), ("2 weeks", .seconds(1_209_600)), ("500 ms", .milliseconds(500)),
        ("250us", .microseconds(250)), ("1.5 h", .seconds(5_400)), ("0", .zero), ("0 s", .zero),
        ("0.5 ms", .microseconds(500)), ("10 mins", .seconds(600)), ("2 w", .seconds(1_209_600)),
    ])
    func `a duration is a number and a unit`(text: String, duration: Duration) {
        #expect(UnitText.duration.read(text) == .success(duration.wholeNanoseconds))
    }

    @Test(arguments: [
        ("256 MiB", 268_435_456), ("64KiB", 65_536), ("10 GiB", 10_737_418_240), ("1 TiB", 1_099_511_627_776),
        ("12 B", 12), ("1.5 KiB", 1_536), ("5 MB", 5_000_000), ("0", 0),
    ])
    func `a size is a number and a unit`(text: String, bytes: Int64) {
        #expect(UnitText.size.read(text) == .success(bytes))
    }

    @Test(arguments: [
        ("", UnitText.Failure.notANumber), ("s", .notANumber), ("-1 s", .notANumber), ("1. s", .notANumber),
        (".5 s", .notANumber), ("5", .noUnit(suggestion: "5 s")), ("1.5", .noUnit(suggestion: "1.5 s")),
        ("5 m", .unknownUnit("m", suggestion: "5 min")), ("5 S", .unknownUnit("S", suggestion: "5 s")),
        ("5 s 3 ms", .unknownUnit("s 3 ms", suggestion: nil)), ("1.5.2 h", .unknownUnit(".2 h", suggestion: nil)),
        ("99999999999999999999 s", .tooLarge), ("1000000000000 s", .tooLarge),
    ])
    func `what is no duration is refused with what was probably meant`(text: String, failure: UnitText.Failure) {
        #expect(UnitText.duration.read(text) == .failure(failure))
    }

    @Test(arguments: [
        ("64", UnitText.Failure.noUnit(suggestion: "64 MiB")), ("64K", .unknownUnit("K", suggestion: "64 KiB")),
        ("64 kib", .unknownUnit("kib", suggestion: "64 KiB")), ("64 Mib", .unknownUnit("Mib", suggestion: "64 MiB")),
        ("9000000 TiB", .tooLarge),
    ])
    func `what is no size is refused with what was probably meant`(text: String, failure: UnitText.Failure) {
        #expect(UnitText.size.read(text) == .failure(failure))
    }

    @Test(arguments: [
        (Duration.zero, "0"), (.milliseconds(50), "50 ms"), (.seconds(30), "30 s"), (.seconds(90), "90 s"),
        (.seconds(120), "2 min"), (.seconds(3_600), "1 h"), (.seconds(86_400), "1 day"), (.seconds(172_800), "2 days"),
        (.microseconds(1_500), "1500 us"),
    ])
    func `a duration is written in the largest unit that divides it, and reads back`(
        duration: Duration, text: String
    ) {
        #expect(UnitText.write(duration) == text)
        #expect(UnitText.duration.read(text) == .success(duration.wholeNanoseconds))
    }

    @Test(arguments: [
        (0, "0"), (1, "1 B"), (1_024, "1 KiB"), (65_536, "64 KiB"), (1_536, "1536 B"), (10 << 30, "10 GiB"),
        (3 << 40, "3 TiB"),
    ])
    func `a size is written in the largest unit that divides it, and reads back`(bytes: Int, text: String) {
        #expect(ByteCount(bytes).description == text)
        #expect(UnitText.size.read(text) == .success(Int64(bytes)))
    }

    @Test(arguments: [
        ("lisen", "listen"), ("base_url", "baseURL"), ("BASEURL", "baseURL"), ("thread", "threads"),
        ("lsiten", "listen"), ("zzz", nil), ("", nil), ("a", nil),
        ("base", "baseURL"), ("log", nil), ("thr", "threads"),
    ])
    func `a misspelt name is near the one that was meant`(text: String, name: String?) {
        #expect(Nearest.name(to: text, in: ["listen", "threads", "baseURL", "b", "logFile", "logLevel"]) == name)
    }

    @Test(
        arguments: [
            (.zero, "0 s"), (.milliseconds(250), "250 ms"), (.seconds(59.9), "59 s"), (.seconds(557), "9 min 17 s"),
            (.seconds(3_600), "1 h"), (.seconds(3_661), "1 h 1 min"), (.seconds(3_601), "1 h"),
            (.seconds(31_535_999), "364 d 23 h"),
        ] as [(Duration, String)])
    func `a duration is said in its two largest units`(duration: Duration, text: String) {
        #expect(UnitText.roughly(duration) == text)
    }
}
