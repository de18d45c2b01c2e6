// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// Names and values as forms and queries write them (`application/x-www-form-urlencoded`).
package enum FormText {
    /// The values of the parameters of that name, decoded. Nil where readers may find others: an escape that is none,
    /// bytes that stand for no character, the name in another case or as that of an array, or behind a semicolon.
    package static func values(of name: String, in text: [UInt8]) -> [[UInt8]]? {
        var values: [[UInt8]] = []
        for pair in text.split(separator: UInt8(ascii: "&")) {
            let equals = pair.firstIndex(of: UInt8(ascii: "="))
            guard let written = decoded(pair[..<(equals ?? pair.endIndex)]) else { return nil }
            if pair.contains(UInt8(ascii: ";")) {
                for part in pair.split(separator: UInt8(ascii: ";")).dropFirst()
                where decoded(part.prefix { $0 != UInt8(ascii: "=") }).map({ isLike($0, name) }) ?? true {
                    return nil
                }
            }
            guard written.elementsEqual(name.utf8) else {
                if isLike(written, name) { return nil }
                continue
            }
            guard let value = decoded(equals.map { pair[($0 + 1)...] } ?? []),
                String(validating: value, as: UTF8.self) != nil
            else { return nil }
            values.append(value)
        }
        return values
    }

    /// True if some readers take `written` for `name`.
    private static func isLike(_ written: [UInt8], _ name: String) -> Bool {
        let stem = written.prefix { $0 != UInt8(ascii: "[") }
        return String(decoding: stem, as: UTF8.self).lowercased() == name
    }

    private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let octets = PercentText.octets(of: text)
        // An escape is one byte instead of three; a percent sign that begins none stays.
        let escapes = text.count { $0 == UInt8(ascii: "%") }
        return octets.count == text.count - 2 * escapes ? octets : nil
    }
}
