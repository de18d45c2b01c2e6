// SPDX-License-Identifier: Apache-2.0

/// Instants in the format of RFC 3339, written in UTC and read with any offset.
package enum ISOTime {
    /// `2026-01-31T12:00:00Z`, or with milliseconds `2026-01-31T12:00:00.123Z`.
    package static func string(_ time: Timestamp, milliseconds: Bool = false) -> String {
        let (day, second) = CivilDate.split(time.seconds)
        let date = CivilDate(day: day)
        func two(_ number: Int) -> Substring { String(100 + number).dropFirst() }
        let remainder = time.nanoseconds % 1_000_000_000
        let nanoseconds = remainder < 0 ? remainder + 1_000_000_000 : remainder
        let fraction = milliseconds ? ".\(String(1_000 + nanoseconds / 1_000_000).dropFirst())" : ""
        return "\(String(10_000 + date.year).dropFirst())-\(two(date.month))-\(two(date.day))"
            + "T\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))\(fraction)Z"
    }

    /// Parses a date and a time with an offset, exactly; digits beyond nanoseconds are dropped. Nil for anything else,
    /// and for instants that a timestamp cannot hold.
    package static func parse(_ text: some StringProtocol) -> Timestamp? {
        Array(text.utf8).withUnsafeBytes { octets -> Timestamp? in
            var reader = DateReader(octets)
            guard let year = reader.number(4), reader.skip("-"), let month = reader.number(2), reader.skip("-"),
                let day = reader.number(2), reader.skip("T") || reader.skip("t"), let time = reader.time(),
                let fraction = reader.fraction(), let offset = reader.offset(), reader.isAtEnd,
                (1...12).contains(month), (1...CivilDate.days(inMonth: month, of: year)).contains(day)
            else { return nil }
            let seconds = CivilDate(year: year, month: month, day: day).seconds + Int64(time - offset)
            let whole = Timestamp(seconds: seconds)
            return whole.seconds == seconds ? whole + .nanoseconds(fraction) : nil
        }
    }
}
