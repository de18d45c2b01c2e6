// SPDX-License-Identifier: Apache-2.0

/// Reads the parts of a date one after the other.
struct DateReader {
    static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    enum WeekdayForm { case short, long }

    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    /// Takes `text` when it is next, octet by octet.
    mutating func skip(_ text: String) -> Bool {
        guard bytes[position...].starts(with: text.utf8) else { return false }
        position += text.utf8.count
        return true
    }

    /// Takes the name of a weekday; a long one is a sign of RFC 850.
    mutating func weekday() -> WeekdayForm? {
        for name in DateReader.weekdays where take(name) { return .long }
        for name in DateReader.weekdays where take(name.prefix(3)) { return .short }
        return nil
    }

    mutating func month() -> Int? {
        for (index, name) in DateReader.months.enumerated() where take(name) { return index + 1 }
        return nil
    }

    mutating func zone() -> Bool { take("GMT") }

    /// Takes exactly so many digits.
    mutating func number(_ digits: Int) -> Int? {
        guard position + digits <= bytes.count else { return nil }
        var value = 0
        for octet in bytes[position..<(position + digits)] {
            guard ASCII.isDigit(octet) else { return nil }
            value = value * 10 + Int(octet - 0x30)
        }
        position += digits
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

    private mutating func take(_ name: some StringProtocol) -> Bool {
        let count = name.utf8.count
        guard position + count <= bytes.count else { return false }
        let octets = bytes[position..<(position + count)]
        guard octets.lazy.map(ASCII.lowercased).elementsEqual(name.utf8.lazy.map(ASCII.lowercased)) else {
            return false
        }
        position += count
        return true
    }
}
