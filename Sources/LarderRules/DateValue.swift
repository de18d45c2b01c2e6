// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// The three date formats of RFC 9110 §5.6.7, read strictly but without case (RFC 9111 §4.2).
enum DateValue {
    /// The instant that `octets` name; nil when they are in none of the formats. `now` places two-digit years: one
    /// that would be more than fifty years ahead lies in the past.
    static func parse(_ octets: UnsafeRawBufferPointer, now: Timestamp) -> Timestamp? {
        var reader = Reader(octets)
        guard let parts = reader.dateTime(now: now), reader.isAtEnd else { return nil }
        return parts
    }

    /// The one value of a field that must not occur twice; nil when absent, repeated or not a date.
    static func single(_ name: FieldName, in fields: Fields, now: Timestamp) -> Timestamp? {
        var count = 0
        var date: Timestamp?
        fields.forEach(name) { octets in
            count += 1
            date = count == 1 ? parse(octets, now: now) : nil
        }
        return date
    }

    private struct Reader {
        private let octets: UnsafeRawBufferPointer
        private var index = 0

        init(_ octets: UnsafeRawBufferPointer) { self.octets = octets }

        var isAtEnd: Bool { index == octets.count }

        mutating func dateTime(now: Timestamp) -> Timestamp? {
            guard octets.count >= 24 else { return nil }
            if octets[3] == 0x2C { return fixdate() }
            return octets[3] == 0x20 ? asctime() : rfc850(now: now)
        }

        private mutating func fixdate() -> Timestamp? {
            guard name(Reader.days) != nil, take(", "), let day = number(2), take(" "), let month = name(Reader.months),
                take(" "), let year = number(4), take(" "), let time = timeOfDay(), take(" gmt")
            else { return nil }
            return timestamp(year, month, day, time)
        }

        private mutating func rfc850(now: Timestamp) -> Timestamp? {
            guard name(Reader.longDays) != nil, take(", "), let day = number(2), take("-"), let month = name(Reader.months),
                take("-"), let shortYear = number(2), take(" "), let time = timeOfDay(), take(" gmt")
            else { return nil }
            let currentYear = Reader.year(ofDays: now.seconds.flooredQuotient(86_400))
            var year = currentYear - currentYear % 100 + shortYear
            if year > currentYear + 50 { year -= 100 }
            return timestamp(year, month, day, time)
        }

        private mutating func asctime() -> Timestamp? {
            guard name(Reader.days) != nil, take(" "), let month = name(Reader.months), take(" ") else { return nil }
            let day: Int64?
            if index < octets.count, octets[index] == 0x20 {
                index += 1
                day = number(1)
            } else {
                day = number(2)
            }
            guard let day, take(" "), let time = timeOfDay(), take(" "), let year = number(4) else { return nil }
            return timestamp(year, month, day, time)
        }

        private mutating func timeOfDay() -> Int64? {
            guard let hour = number(2), take(":"), let minute = number(2), take(":"), let second = number(2),
                hour < 24, minute < 60, second <= 60
            else { return nil }
            return hour * 3600 + minute * 60 + second
        }

        private mutating func number(_ digits: Int) -> Int64? {
            guard index + digits <= octets.count else { return nil }
            var value: Int64 = 0
            for octet in octets[index..<(index + digits)] {
                guard ASCII.isDigit(octet) else { return nil }
                value = value * 10 + Int64(octet - 0x30)
            }
            index += digits
            return value
        }

        private mutating func take(_ text: StaticString) -> Bool {
            let end = index + text.utf8CodeUnitCount
            guard end <= octets.count, UnsafeRawBufferPointer(rebasing: octets[index..<end]).isFolded(text) else { return false }
            index = end
            return true
        }

        /// The position of the name that comes next, from 1.
        private mutating func name(_ names: [StaticString]) -> Int64? {
            for (position, name) in names.enumerated() where take(name) { return Int64(position) + 1 }
            return nil
        }

        private func timestamp(_ year: Int64, _ month: Int64, _ day: Int64, _ time: Int64) -> Timestamp? {
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
            guard day >= 1, day <= lengths[Int(month) - 1] else { return nil }
            return Timestamp(seconds: Reader.days(year, month, day) * 86_400 + time)
        }

        /// Days since the epoch; years begin in March here, so that the leap day is the last of one.
        private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
            let y = month <= 2 ? year - 1 : year
            let era = y.flooredQuotient(400)
            let yearOfEra = y - era * 400
            let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
            return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        }

        private static func year(ofDays days: Int64) -> Int64 {
            var year = 1970 + days.flooredQuotient(366)
            while Reader.days(year + 1, 1, 1) <= days { year += 1 }
            return year
        }

        private static let days: [StaticString] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
        private static let longDays: [StaticString] = [
            "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
        ]
        private static let months: [StaticString] = [
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ]
    }
}

extension Int64 {
    /// The quotient rounded toward negative infinity.
    fileprivate func flooredQuotient(_ divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
