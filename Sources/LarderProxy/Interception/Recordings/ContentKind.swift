// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// The kind of content, by its first bytes and by its type, which is often a wrong one.
enum ContentKind: Equatable {
    /// Text in UTF-16.
    enum Order {
        case big, little

        func decoded(_ octets: [UInt8]) -> [UInt8] {
            let units = stride(from: 0, to: octets.count - 1, by: 2).map { index in
                let (first, second) = (UInt16(octets[index]), UInt16(octets[index + 1]))
                return self == .big ? first << 8 | second : second << 8 | first
            }
            return Array(String(decoding: units, as: UTF16.self).utf8)
        }

        func encoded(_ text: [UInt8]) -> [UInt8] {
            String(decoding: text, as: UTF8.self).utf16.flatMap { unit in
                let (high, low) = (UInt8(unit >> 8), UInt8(unit & 0xFF))
                return self == .big ? [high, low] : [low, high]
            }
        }
    }

    case binary, compressed, parts, form, formLikeJSON, lines, text
    case utf16(Order)

    init(_ content: [UInt8], _ media: MediaType?) {
        let isText = ContentKind.isText(media)
        if ContentKind.isGzip(content) {
            self = .compressed
        } else if let order = ContentKind.order(content, media) {
            self = .utf16(order)
        } else if media?.type == "multipart" {
            self = .parts
        } else {
            let isJSON = ContentKind.isJSON(content)
            guard isJSON || isText || !ContentKind.isMedium(media) && !content.contains(0) else {
                self = .binary
                return
            }
            switch media?.essence {
            case "application/x-www-form-urlencoded":
                self = !isJSON ? .form : ContentKind.hasParameters(content) ? .formLikeJSON : .text
            case nil, "text/plain": self = .lines
            default: self = .text
            }
        }
    }

    static func isGzip(_ content: [UInt8]) -> Bool { content.starts(with: [0x1F, 0x8B]) }

    /// True if the type is one of texts.
    static func isText(_ media: MediaType?) -> Bool {
        guard let media else { return false }
        if media.type == "text" { return true }
        let subtype = media.subtype
        return ["json", "xml", "javascript", "ndjson", "x-ndjson", "x-www-form-urlencoded", "graphql"].contains(subtype)
            || subtype.hasSuffix("+json") || subtype.hasSuffix("+xml")
    }

    /// True if the type is one of pictures and sounds.
    private static func isMedium(_ media: MediaType?) -> Bool {
        ["image", "audio", "video", "font"].contains(media?.type ?? "")
    }

    /// True if JSON with names or texts in it seems to begin. A form may begin with such a mark too.
    private static func isJSON(_ content: [UInt8]) -> Bool {
        let start = content.drop { $0 <= 0x20 && $0 != 0 || $0 == 0xEF || $0 == 0xBB || $0 == 0xBF }
        guard let first = start.first else { return false }
        let second = start.dropFirst().first ?? UInt8(ascii: "\"")
        switch first {
        case UInt8(ascii: "\""): return true
        case UInt8(ascii: "{"): return second == UInt8(ascii: "\"") || second <= 0x20
        case UInt8(ascii: "["):
            return second <= 0x20 || ASCII.isDigit(second) || "\"{[-tfn".utf8.contains(second)
        default: return false
        }
    }

    /// True if what begins like JSON may be a form, since what separates parameters is outside of strings, or since it
    /// breaks off in one.
    private static func hasParameters(_ content: [UInt8]) -> Bool {
        var isInString = false
        var isEscaped = false
        for octet in content {
            switch octet {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\""): isInString.toggle()
            case UInt8(ascii: "\\"): isEscaped = isInString
            case UInt8(ascii: "="), UInt8(ascii: "&"): if !isInString { return true }
            default: break
            }
        }
        return isInString
    }

    /// The order of bytes, by their mark, by JSON's first character, or by the type.
    private static func order(_ content: [UInt8], _ media: MediaType?) -> Order? {
        guard content.count >= 4 else { return nil }
        switch (content[0], content[1]) {
        case (0xFE, 0xFF): return .big
        case (0xFF, 0xFE): return .little
        default: break
        }
        guard content.prefix(64).contains(0) else { return nil }
        if let order = orderOfJSON(content) { return order }
        switch media?.parameters["charset"]?.lowercased() {
        case "utf-16be": return .big
        case "utf-16", "utf-16le": return .little
        default: return nil
        }
    }

    /// The order in which JSON seems to begin, behind blanks, with a character of ASCII behind its first.
    private static func orderOfJSON(_ content: [UInt8]) -> Order? {
        var place = 0
        while place + 4 <= content.count {
            let (first, second) = (content[place], content[place + 1])
            let character = first | second
            guard first == 0 || second == 0 else { return nil }
            if "{[\"".utf8.contains(character) {
                return content[first == 0 ? place + 2 : place + 3] == 0 ? (first == 0 ? .big : .little) : nil
            }
            guard character <= 0x20, character > 0 else { return nil }
            place += 2
        }
        return nil
    }
}
