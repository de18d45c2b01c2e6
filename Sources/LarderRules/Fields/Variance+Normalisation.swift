// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

extension Variance {
    /// The normal form of a value, for fields whose specification allows changes that keep the meaning
    /// (RFC 9110 §12.5.2 to §12.5.4): case, blanks, a weight of one, and the order of members with different weights.
    /// Members of equal weight stay in order, as some origins read a preference into it. Any other field, and any
    /// malformed value, stays unchanged.
    static func normalised(_ value: [UInt8], of name: FieldName) -> [UInt8] {
        guard name == .acceptLanguage || name == .acceptEncoding || name == .acceptCharset,
            value.count <= longestNormalised
        else { return value }
        var members: [(text: [UInt8], weight: Int)] = []
        for member in value.split(separator: 0x2C) {
            let text = member.filter { !ASCII.isBlank($0) }.map(ASCII.lowercased)
            if text.isEmpty { continue }
            guard let parsed = weighted(text), !hasInnerBlank(member) else { return value }
            members.append(parsed)
        }
        // Sorting is stable only with the position as second key.
        let sorted = members.enumerated().sorted { ($1.element.weight, $0.offset) < ($0.element.weight, $1.offset) }
        return Array(
            sorted.map { $0.element.weight == 1000 ? $0.element.text : $0.element.text + weight($0.element.weight) }
                .joined(separator: [0x2C]))
    }

    /// Bytes: a longer value is compared unchanged, as it may be compared with many.
    static let longestNormalised = 1024

    /// Splits `text` at its weight; nil when it is not a token with, at most, a weight.
    static func weighted(_ text: [UInt8]) -> (text: [UInt8], weight: Int)? {
        let parts = text.split(separator: 0x3B, omittingEmptySubsequences: false)
        guard parts.count <= 2, let token = parts.first, token.allSatisfy(Token.isTokenCharacter), !token.isEmpty else {
            return nil
        }
        guard parts.count == 2 else { return (Array(token), 1000) }
        guard let weight = thousandths(Array(parts[1])) else { return nil }
        return (Array(token), weight)
    }

    /// RFC 9110 §12.4.2: a weight has at most three decimals and is at most one.
    static func thousandths(_ parameter: [UInt8]) -> Int? {
        guard parameter.count >= 3, parameter[0] == 0x71, parameter[1] == 0x3D, parameter.count <= 7 else { return nil }
        let digits = parameter[2...]
        guard let first = digits.first, first == 0x30 || first == 0x31 else { return nil }
        var weight = first == 0x31 ? 1000 : 0
        guard digits.count > 1 else { return weight }
        guard digits[digits.startIndex + 1] == 0x2E else { return nil }
        var scale = 100
        for digit in digits.dropFirst(2) {
            guard ASCII.isDigit(digit) else { return nil }
            weight += Int(digit - 0x30) * scale
            scale /= 10
        }
        return weight <= 1000 ? weight : nil
    }

    private static func weight(_ thousandths: Int) -> [UInt8] { Array(";q=\(thousandths)".utf8) }

    /// Blanks are allowed before and after a member and its semicolon, not inside a token.
    private static func hasInnerBlank(_ member: ArraySlice<UInt8>) -> Bool {
        member.split(separator: 0x3B).contains { part in
            part.withUnsafeBytes { ASCII.trimmed($0).contains(where: ASCII.isBlank) }
        }
    }
}
