// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// Parses a number with a unit: `10 min`, `1.5 GiB`, `500ms`. Only 0 needs none.
package struct UnitText: Sendable {
    /// The value of each unit, in the smallest quantity.
    let units: [(name: String, worth: Int64)]
    /// Common units that are refused because they are ambiguous, and what is probably meant.
    let mistaken: [String: String]
    /// The unit suggested for a bare number.
    let usual: String

    package enum Failure: Error, Equatable {
        case notANumber
        /// `suggestion` is the text with a unit.
        case noUnit(suggestion: String)
        case unknownUnit(String, suggestion: String?)
        case tooLarge
    }

    package static let duration = UnitText(
        units: [
            ("us", 1_000), ("µs", 1_000), ("ms", 1_000_000),
            ("s", second), ("sec", second), ("secs", second), ("second", second), ("seconds", second),
            ("min", 60 * second), ("mins", 60 * second), ("minutes", 60 * second), ("minute", 60 * second),
            ("h", 3600 * second), ("hour", 3600 * second), ("hours", 3600 * second),
            ("d", 86_400 * second), ("day", 86_400 * second), ("days", 86_400 * second),
            ("w", 604_800 * second), ("week", 604_800 * second), ("weeks", 604_800 * second),
        ],
        mistaken: ["m": "min", "hr": "h", "hrs": "h", "msec": "ms"],
        usual: "s")

    /// The units of times, as the reference lists them.
    static let durationUnits = "us, ms; s, sec, second; min, minute; h, hour; d, day; w, week; all with or without -s"

    /// The units of sizes, as the reference lists them.
    static let sizeUnits = "B; KiB, MiB, GiB, TiB of 1024; kB, MB, GB, TB of 1000"

    package static let size = UnitText(
        units: [
            ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
            ("kB", 1_000), ("KB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000),
        ],
        mistaken: [
            "b": "B", "byte": "B", "bytes": "B", "k": "KiB", "K": "KiB", "kb": "KiB", "kib": "KiB", "m": "MiB",
            "M": "MiB", "mb": "MiB", "mib": "MiB", "g": "GiB", "G": "GiB", "gb": "GiB", "gib": "GiB", "t": "TiB",
            "T": "TiB", "tb": "TiB", "tib": "TiB",
        ],
        usual: "MiB")

    private static let second: Int64 = 1_000_000_000

    /// The quantity in `text`, rounded down to a whole one.
    package func read(_ text: String) -> Result<Int64, Failure> {
        let bytes = Array(text.utf8)
        var index = 0
        var digits: Int128 = 0
        var scale: Int128 = 1
        var hasDigits = false
        var isFraction = false
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "."), !isFraction, hasDigits {
                isFraction = true
            } else if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
                hasDigits = true
                digits = digits * 10 + Int128(byte - UInt8(ascii: "0"))
                if isFraction { scale *= 10 }
                guard digits < 1_000_000_000_000_000_000, scale <= 1_000_000_000 else { return .failure(.tooLarge) }
            } else {
                break
            }
            index += 1
        }
        guard hasDigits, bytes[index - 1] != UInt8(ascii: ".") else { return .failure(.notANumber) }
        let number = String(decoding: bytes[..<index], as: UTF8.self)
        while index < bytes.count, bytes[index] == UInt8(ascii: " ") { index += 1 }
        let unit = String(decoding: bytes[index...], as: UTF8.self)

        if unit.isEmpty {
            return digits == 0 ? .success(0) : .failure(.noUnit(suggestion: "\(number) \(usual)"))
        }
        guard let worth = units.first(where: { $0.name == unit })?.worth else {
            let meant = mistaken[unit] ?? Nearest.name(to: unit, in: units.map(\.name))
            return .failure(.unknownUnit(unit, suggestion: meant.map { "\(number) \($0)" }))
        }
        let value = digits * Int128(worth) / scale
        return value > Int128(Int64.max) ? .failure(.tooLarge) : .success(Int64(value))
    }

    /// A duration as people say it: `3 h 12 min`, the two largest units; whole milliseconds below a second.
    package static func roughly(_ duration: Duration) -> String {
        let nanoseconds = max(0, duration.wholeNanoseconds)
        guard nanoseconds > 0 else { return "0 s" }
        guard nanoseconds >= second else { return "\((nanoseconds + 500_000) / 1_000_000) ms" }
        var rest = nanoseconds / second
        var parts: [String] = []
        for (worth, unit) in [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")] as [(Int64, String)] {
            if rest >= worth { parts.append("\(rest / worth) \(unit)") } else if !parts.isEmpty { break }
            rest %= worth
            if parts.count == 2 { break }
        }
        return parts.joined(separator: " ")
    }

    /// A duration as it is written in the configuration, in the largest unit that divides it.
    package static func write(_ duration: Duration) -> String {
        let nanoseconds = duration.wholeNanoseconds
        guard nanoseconds != 0 else { return "0" }
        for (worth, unit) in [
            (86_400 * second, "day"), (3600 * second, "h"), (60 * second, "min"), (second, "s"), (1_000_000, "ms"),
        ] where nanoseconds % worth == 0 {
            let count = nanoseconds / worth
            return "\(count) \(unit == "day" && count != 1 ? "days" : unit)"
        }
        return "\(nanoseconds / 1_000) us"
    }
}
