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

    private static func firstLine(_ content: [UInt8]) -> [UInt8]? {
        let line = content.prefix(200).prefix { $0 > 0x20 }
        return line.count > 2 && line.starts(with: Array("--".utf8)) ? Array(line) : nil
    }

    /// The octets between two delimiters: fields, an empty line, content.
    private static func part(_ octets: ArraySlice<UInt8>, _ nesting: Int) -> [UInt8] {
        var fields: [String] = []
        var start = octets.startIndex
        while start < octets.endIndex {
            let next = octets[start...].firstIndex(of: 0x0A).map { $0 + 1 } ?? octets.endIndex
            let line = String(decoding: octets[start..<next].filter { $0 != 0x0D && $0 != 0x0A }, as: UTF8.self)
            start = next
            if line.isEmpty { break }
            if line.hasPrefix(" ") || line.hasPrefix("\t"), !fields.isEmpty {
                fields[fields.count - 1] += line
            } else {
                fields.append(line)
            }
        }
        let content = Array(octets[start...])
        guard !content.isEmpty else { return SecretText.scrubbed(text: Array(octets)) }
        let (names, type) = read(fields)
        let isTooDeep = nesting == 0 && type?.lowercased().hasPrefix("multipart/") ?? false
        let isSecret = isTooDeep || names.contains { SecretName.isOne(parameter: Array($0.utf8)[...]) }
        let clean = isSecret ? SecretText.octets : SecretText.scrubbed(content, type: type, nesting: nesting - 1)
        return SecretText.scrubbed(text: Array(octets[..<start])) + clean
    }

    /// The names of a part, of which there should be one, and its type.
    private static func read(_ fields: [String]) -> (names: [String], type: String?) {
        var names: [String] = []
        var type: String?
        for line in fields {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            switch line[..<colon].lowercased().filter({ $0 != " " }) {
            case "content-disposition":
                // Parameters of fields are written alike, and a disposition has the form of a type's second half.
                let parameters = MediaType(lenient: "multipart/" + withoutBlanks(value))?.parameters
                if let name = parameters?["name"] { names.append(name) }
                // RFC 8187: with its character set, and percent-coded.
                if let name = parameters?["name*"]?.split(separator: "'").last {
                    names.append(PercentText.decoded(name))
                }
            case "content-type": type = String(value)
            default: break
            }
        }
        return (names, type)
    }

    /// A field's value without the blanks around the equals signs of its parameters, which do not belong there.
    private static func withoutBlanks(_ value: Substring) -> String {
        value.split(separator: "=", omittingEmptySubsequences: false).map { piece in
            var piece = piece
            while piece.last == " " { piece.removeLast() }
            return String(piece.drop { $0 == " " })
        }.joined(separator: "=")
    }
}
