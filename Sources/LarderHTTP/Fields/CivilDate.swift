// SPDX-License-Identifier: Apache-2.0

/// A day of the Gregorian calendar and its number since 1970-01-01, in both directions.
struct CivilDate: Hashable {
    var year: Int
    var month: Int
    var day: Int

    init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// The date of a day number. Years are counted from March, so that the leap day is the last of its year.
    init(day number: Int) {
        let shifted = number + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// The day number; a day beyond its month counts on into the next.
    var number: Int {
        let marchYear = month <= 2 ? year - 1 : year
        let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Seconds since the epoch at the start of the day.
    var seconds: Int64 { Int64(number) * 86_400 }

    static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The number of the day a second is in, and the seconds since its start.
    static func split(_ second: Int64) -> (day: Int, time: Int) {
        let (quotient, remainder) = Int(second).quotientAndRemainder(dividingBy: 86_400)
        return remainder < 0 ? (quotient - 1, remainder + 86_400) : (quotient, remainder)
    }

    /// 0 for Sunday.
    static func weekday(_ number: Int) -> Int { ((number + 4) % 7 + 7) % 7 }
}
