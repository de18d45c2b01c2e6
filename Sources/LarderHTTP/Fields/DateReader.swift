// SPDX-License-Identifier: Apache-2.0

/// Reads the parts of a date one after the other.
struct DateReader {
    static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The first three letters of each, in lower case, as one number: every response's `Date` is read by them.
    private static let weekdayKeys = weekdays.map { key(of: $0.utf8.prefix(3)) }
    private static let monthKeys = months.map { key(of: $0.utf8) }

    enum WeekdayForm { case short, long }

    /// The bytes that are not read yet: taken from the front, they need no index that could be wrong.
    private var rest: Slice<UnsafeRawBufferPointer>

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// Takes `text` when it is next, byte by byte.
    mutating func skip(_ text: StaticString) -> Bool {
        guard text.withUTF8Buffer({ rest.starts(with: $0) }) else { return false }
        rest.removeFirst(text.utf8CodeUnitCount)
        return true
    }

    /// Takes the name of a weekday; a long one is a sign of RFC 850.
    mutating func weekday() -> WeekdayForm? {
        guard let day = abbreviation(in: DateReader.weekdayKeys) else { return nil }
        guard let next = rest.first, ASCII.isAlpha(next) else { return .short }
        return take(DateReader.weekdays[day].dropFirst(3)) ? .long : .short
    }

    mutating func month() -> Int? { abbreviation(in: DateReader.monthKeys).map { $0 + 1 } }

    /// Takes three letters; which of `keys` they are.
    private mutating func abbreviation(in keys: [UInt32]) -> Int? {
        guard let index = keys.firstIndex(of: DateReader.key(of: rest.prefix(3))) else { return nil }
        rest.removeFirst(3)
        return index
    }

    private static func key(of octets: some Sequence<UInt8>) -> UInt32 {
        octets.reduce(0) { $0 << 8 | UInt32(ASCII.lowercased($1)) }
    }

    mutating func zone() -> Bool { take("GMT") }

    /// Takes exactly so many digits.
    mutating func number(_ digits: Int) -> Int? {
        var value = 0
        for _ in 0..<digits {
            guard let octet = rest.popFirst(), ASCII.isDigit(octet) else { return nil }
            value = value * 10 + Int(octet - 0x30)
        }
        return value
    }

    /// Takes a day as asctime writes it: one digit has a space before it.
    mutating func paddedDay() -> Int? { skip(" ") ? number(1) : number(2) }

    /// Takes `08:49:37` as seconds of the day. A leap second is the first of the next minute.
    mutating func time() -> Int? {
        guard let hour = number(2), skip(":"), let minute = number(2), skip(":"), let second = number(2),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    /// Takes `.5` as nanoseconds; 0 where no fraction is.
    mutating func fraction() -> Int64? {
        guard skip(".") else { return 0 }
        guard let first = rest.first, ASCII.isDigit(first) else { return nil }
        var (value, unit): (Int64, Int64) = (0, 100_000_000)
        while let octet = rest.first, ASCII.isDigit(octet) {
            rest.removeFirst()
            value += Int64(octet - 0x30) * unit
            unit /= 10
        }
        return value
    }

    /// Takes `Z` or `+01:00` as the seconds by which a clock is ahead of UTC.
    mutating func offset() -> Int? {
        if skip("Z") || skip("z") { return 0 }
        let isBehind = skip("-")
        guard isBehind || skip("+"), let hour = number(2), skip(":"), let minute = number(2), hour < 24, minute < 60
        else { return nil }
        return (hour * 3600 + minute * 60) * (isBehind ? -1 : 1)
    }

    private mutating func take(_ name: some StringProtocol) -> Bool {
        let count = name.utf8.count
        guard rest.prefix(count).lazy.map(ASCII.lowercased).elementsEqual(name.utf8.lazy.map(ASCII.lowercased)) else {
            return false
        }
        rest.removeFirst(count)
        return true
    }
}
