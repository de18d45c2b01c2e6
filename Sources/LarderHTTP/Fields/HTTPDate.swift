// SPDX-License-Identifier: Apache-2.0

/// The date format of HTTP (RFC 9110 §5.6.7): written as IMF-fixdate, read in all three historical forms.
///
/// Parsing is exact except for the case of letters. Anything else is rejected: guessing would make a response fresher
/// or older than its origin said.
package enum HTTPDate {
    /// Every written date has this many bytes.
    package static let length = 29

    /// Parses a date. `now` determines the century of the two-digit years of RFC 850: a date more than fifty years
    /// ahead is read as a past date. The day of the week must be valid, but is not checked against the date.
    package static func parse(_ bytes: UnsafeRawBufferPointer, now: Timestamp) -> Timestamp? {
        var reader = DateReader(bytes)
        guard let form = reader.weekday() else { return nil }
        switch form {
        case .short where reader.skip(", "):
            guard let day = reader.number(2), reader.skip(" "), let month = reader.month(), reader.skip(" "),
                let year = reader.number(4), reader.skip(" "), let time = reader.time(), reader.skip(" "),
                reader.zone(), reader.isAtEnd
            else { return nil }
            return timestamp(year, month, day, time)
        case .short:
            guard reader.skip(" "), let month = reader.month(), reader.skip(" "), let day = reader.paddedDay(),
                reader.skip(" "), let time = reader.time(), reader.skip(" "), let year = reader.number(4),
                reader.isAtEnd
            else { return nil }
            return timestamp(year, month, day, time)
        case .long:
            guard reader.skip(", "), let day = reader.number(2), reader.skip("-"), let month = reader.month(),
                reader.skip("-"), let year = reader.number(2), reader.skip(" "), let time = reader.time(),
                reader.skip(" "), reader.zone(), reader.isAtEnd
            else { return nil }
            return timestamp(fullYear(year, month, day, time, now), month, day, time)
        }
    }

    package static func parse(_ text: some StringProtocol, now: Timestamp) -> Timestamp? {
        let octets = Array(text.utf8)
        return octets.withUnsafeBytes { parse($0, now: now) }
    }

    /// Appends the 29 bytes of a date, to the second.
    package static func string(_ timestamp: Timestamp) -> String {
        String(decoding: octets(ofSecond: timestamp.seconds), as: UTF8.self)
    }

    static func octets(ofSecond second: Int64) -> [UInt8] {
        let (day, time) = CivilDate.split(second)
        let date = CivilDate(day: day)
        var output: [UInt8] = []
        output.reserveCapacity(length)
        func append(_ name: String) { output.append(contentsOf: name.utf8.prefix(3)) }
        func append(_ number: Int, _ digits: Int) {
            var divisor = digits == 4 ? 1000 : 10
            while divisor > 0 {
                output.append(0x30 + UInt8(number / divisor % 10))
                divisor /= 10
            }
        }
        append(DateReader.weekdays[CivilDate.weekday(day)])
        output += [0x2C, 0x20]
        append(date.day, 2)
        output.append(0x20)
        append(DateReader.months[date.month - 1])
        output.append(0x20)
        append(date.year, 4)
        output.append(0x20)
        append(time / 3600, 2)
        output.append(0x3A)
        append(time / 60 % 60, 2)
        output.append(0x3A)
        append(time % 60, 2)
        output += [0x20, 0x47, 0x4D, 0x54]
        return output
    }

    private static func timestamp(_ year: Int, _ month: Int, _ day: Int, _ time: Int) -> Timestamp? {
        guard day >= 1, day <= CivilDate.days(inMonth: month, of: year) else { return nil }
        return Timestamp(seconds: CivilDate(year: year, month: month, day: day).seconds + Int64(time))
    }

    /// The latest year with these last two digits whose date is not more than fifty years ahead of `now`.
    private static func fullYear(_ digits: Int, _ month: Int, _ day: Int, _ time: Int, _ now: Timestamp) -> Int {
        let limit = now.seconds
        var year = (CivilDate(day: CivilDate.split(limit).day).year + 51) / 100 * 100 + digits
        // A date fifty years before the candidate is ahead of now exactly when the candidate is more than fifty ahead.
        while year >= 100, CivilDate(year: year - 50, month: month, day: day).seconds + Int64(time) > limit {
            year -= 100
        }
        return year
    }
}
