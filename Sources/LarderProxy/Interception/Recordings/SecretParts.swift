// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules

/// The parts of `multipart` content (RFC 2046 §5.1, RFC 7578) without the content of those with a credential's name.
enum SecretParts {
    /// - Parameter nesting: how many layers of parts of parts are read; deeper ones are replaced as a whole.
    static func scrubbed(_ content: [UInt8], boundary: String?, nesting: Int) -> [UInt8] {
        var lines = boundary.map { delimiterLines(content, Array("--\($0)".utf8)) } ?? []
        // Without the parameter, or with another than is used, the first line tells.
        if lines.isEmpty, let line = firstLine(content) { lines = delimiterLines(content, line) }
        var clean: [UInt8] = []
        clean.reserveCapacity(content.count)
        var start = 0
        for line in lines {
            clean += part(content[start..<line.lowerBound], nesting) + content[line]
            start = line.upperBound
        }
        return clean + part(content[start...], nesting)
    }

    /// The lines that begin with the delimiter, and contain nothing else but its two dashes at the end, without the
    /// line's end before them, but with their own.
    private static func delimiterLines(_ content: [UInt8], _ delimiter: [UInt8]) -> [Range<Int>] {
        var lines: [Range<Int>] = []
        var start = 0
        while start < content.count {
            let next = content[start...].firstIndex(of: 0x0A).map { $0 + 1 } ?? content.count
            if content[start..<next].starts(with: delimiter), isEnd(content[(start + delimiter.count)..<next]) {
                var first = start
                if first > 0 { first -= 1 }
                if first > 0, content[first - 1] == 0x0D { first -= 1 }
                lines.append(max(first, lines.last?.upperBound ?? 0)..<next)
            }
            start = next
        }
        return lines
    }

    private static func isEnd(_ rest: ArraySlice<UInt8>) -> Bool {
        rest.drop { $0 == UInt8(ascii: "-") }.allSatisfy { ASCII.isBlank($0) || $0 == 0x0D || $0 == 0x0A }
    }

    /// The first line that may be a delimiter.
    private static func firstLine(_ content: [UInt8]) -> [UInt8]? {
        let dashes = Array("--".utf8)
        for line in content.prefix(1_000).split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            let delimiter = line.prefix { $0 > 0x20 }
            if (3...200).contains(delimiter.count), delimiter.starts(with: dashes) { return Array(delimiter) }
        }
        return nil
    }

    /// The bytes between two delimiters: fields, an empty line, content.
    private static func part(_ octets: ArraySlice<UInt8>, _ nesting: Int) -> [UInt8] {
        var fields: [ArraySlice<UInt8>] = []
        var start = octets.startIndex
        while start < octets.endIndex {
            let next = octets[start...].firstIndex(of: 0x0A).map { $0 + 1 } ?? octets.endIndex
            let line = octets[start..<next]
            start = next
            if line.allSatisfy({ $0 == 0x0D || $0 == 0x0A }) { break }
            if let first = line.first, ASCII.isBlank(first), let last = fields.popLast() {
                fields.append(octets[last.startIndex..<next])
            } else {
                fields.append(line)
            }
        }
        let content = Array(octets[start...])
        let end = fields.last?.endIndex ?? octets.startIndex
        // Without an empty line, these may be no fields.
        guard end < start else { return SecretText.scrubbed(text: Array(octets)) }
        let head = SecretText.scrubbed(text: fields.flatMap(scrubbed) + octets[end..<start])
        let (isSecret, type) = read(fields)
        let isTooDeep = nesting == 0 && type?.lowercased().hasPrefix("multipart/") ?? false
        guard !content.isEmpty, !isSecret, !isTooDeep else { return content.isEmpty ? head : head + SecretText.octets }
        return head + SecretText.scrubbed(content, type: type, nesting: nesting - 1)
    }

    /// A field's name in lower case, as lenient servers read it, and what is behind its colon.
    private static func field(_ line: ArraySlice<UInt8>) -> (name: String, value: ArraySlice<UInt8>)? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let name = line[..<colon].filter { $0 > 0x20 }.map(ASCII.lowercased)
        return (String(decoding: name, as: UTF8.self), line[(colon + 1)...])
    }

    /// The field; if its name is a credential's, without its value.
    private static func scrubbed(_ line: ArraySlice<UInt8>) -> [UInt8] {
        guard let (name, value) = field(line), let field = FieldName(name), SecretName.isOne(field: field) else {
            return Array(line)
        }
        let end = value.reversed().prefix { $0 == 0x0D || $0 == 0x0A }.count
        return Array(line[..<value.startIndex]) + value.prefix(while: ASCII.isBlank) + SecretText.octets
            + value.suffix(end)
    }

    /// The part's type; `isSecret` is true if the part has a credential's name.
    private static func read(_ fields: [ArraySlice<UInt8>]) -> (isSecret: Bool, type: String?) {
        var isSecret = false
        var type: String?
        for case let (name, value)? in fields.map(field) {
            switch name {
            case "content-disposition": isSecret = isSecret || hasSecretName(value)
            case "content-type":
                let value = String(decoding: value.filter { $0 != 0x0D && $0 != 0x0A }, as: UTF8.self)
                type = String(value.drop { $0 == " " || $0 == "\t" })
            default: break
            }
        }
        return (isSecret, type)
    }

    // MARK: Names

    private static let nameOfName = Array("name".utf8)
    /// The longest name that is read: a longer one may be any.
    private static let nameLimit = 256

    /// True if a disposition can be read so that its name is a credential's. Servers read backslashes, quotation marks
    /// that are not closed, control characters and repeated names in many ways, so this examines every possible name,
    /// even in a file's name.
    private static func hasSecretName(_ value: ArraySlice<UInt8>) -> Bool {
        var place = value.startIndex
        while let equals = equalsSign(value, &place) {
            let isContinued = value[place..<equals].contains(where: ASCII.isDigit)
            if isContinued || canBeSecret(value[(equals + 1)...]) { return true }
        }
        return false
    }

    /// The next equals sign behind a parameter's name that is `name`; the place becomes that behind the name.
    private static func equalsSign(_ value: ArraySlice<UInt8>, _ place: inout Int) -> Int? {
        while place + nameOfName.count < value.endIndex {
            let start = place
            let end = start + nameOfName.count
            guard value[start..<end].elementsEqual(nameOfName, by: { ASCII.lowercased($0) == $1 }),
                start == value.startIndex || !Token.isTokenCharacter(value[start - 1])
            else {
                place += 1
                continue
            }
            place = end
            let behind = value[end...].drop { $0 <= 0x20 || $0 == UInt8(ascii: "*") || ASCII.isDigit($0) }
            if behind.first == UInt8(ascii: "=") { return behind.startIndex }
        }
        return nil
    }

    /// True if a credential's name can be read at the beginning of a parameter's value: with a character set before it
    /// and percent-coded (RFC 8187), in quotation marks of both kinds, and in coded words (RFC 2047), which may be any.
    private static func canBeSecret(_ value: ArraySlice<UInt8>) -> Bool {
        let start = value.drop { $0 <= 0x20 }
        let isQuoted = start.first == UInt8(ascii: "\"")
        let text = isQuoted ? start.dropFirst() : start
        let end = isQuoted ? UInt8(ascii: "\"") : UInt8(ascii: ";")
        var isEscaped = false
        var name: [UInt8] = []
        for octet in text {
            let mayEnd = octet == UInt8(ascii: ";") || octet <= 0x20 && !isQuoted
            if octet == end || mayEnd && name.count < 32, canBeSecret(name: name) { return true }
            if octet == end, !isEscaped || !isQuoted { return false }
            guard name.count < nameLimit else { return true }
            isEscaped = octet == UInt8(ascii: "\\") && !isEscaped
            if !isEscaped { name.append(octet) }
        }
        return canBeSecret(name: name)
    }

    private static func canBeSecret(name: [UInt8]) -> Bool {
        name.starts(with: Array("=?".utf8))
            || name.split(separator: UInt8(ascii: "'")).contains {
                SecretName.isOne(parameter: PercentText.octets(of: $0)[...])
            }
    }
}
