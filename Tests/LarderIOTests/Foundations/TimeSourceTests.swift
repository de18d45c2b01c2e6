// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import LarderIO

@Suite("Clocks")
struct TimeSourceTests {
    @Test(arguments: [
        (0, 7, 7), (-1, 999_999_999, -1), (1_795_694_400, 5, 1_795_694_400_000_000_005),
        (9_223_372_036, 999_999_999, 9_223_372_000_999_999_999), (Int.max, 0, 9_223_372_000_000_000_000),
        (Int.min, 0, -9_223_372_000_000_000_000),
    ])
    func `any time of a machine is one in nanoseconds`(seconds: Int, nanoseconds: Int, expected: Int64) {
        #expect(SystemTime.nanoseconds(of: timespec(tv_sec: seconds, tv_nsec: nanoseconds)) == expected)
    }
}
