// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// The kind of content, by its first octets and by its type, which is often a wrong one.
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

    case binary, compressed, parts, json, form, lines, text
    case utf16(Order)

    init(_ content: [UInt8], _ media: MediaType?) {
        let start = content.prefix(64).drop { $0 <= 0x20 && $0 != 0 || $0 == 0xEF || $0 == 0xBB || $0 == 0xBF }.prefix(
            2)
        let isText = ContentKind.isText(media)
        if ContentKind.isGzip(content) {
            self = .compressed
        } else if let order = ContentKind.order(content, media) {
            self = .utf16(order)
        } else if media?.type == "multipart" {
            self = .parts
        } else if ContentKind.isJSON(start) {
            self = .json
        } else if !isText, ContentKind.isMedium(media) || content.contains(0) {
            self = .binary
        } else {
            switch media?.essence {
            case "application/x-www-form-urlencoded": self = .form
            case nil, "text/plain": self = .lines
            default: self = .text
            }
        }
    }

    static func isGzip(_ content: [UInt8]) -> Bool { content.starts(with: [0x1F, 0x8B]) }

    /// Whether the type is one of texts.
    static func isText(_ media: MediaType?) -> Bool {
        guard let media else { return false }
        if media.type == "text" { return true }
        let subtype = media.subtype
        return ["json", "xml", "javascript", "ndjson", "x-ndjson", "x-www-form-urlencoded", "graphql"].contains(subtype)
            || subtype.hasSuffix("+json") || subtype.hasSuffix("+xml")
    }

    /// Whether the type is one of pictures and sounds.
    private static func isMedium(_ media: MediaType?) -> Bool {
        ["image", "audio", "video", "font"].contains(media?.type ?? "")
    }

    /// Whether an object, or an array of objects, of texts or of arrays begins so. A form may begin with a bracket too.
    private static func isJSON(_ start: ArraySlice<UInt8>) -> Bool {
        guard let first = start.first else { return false }
        let second = start.dropFirst().first ?? UInt8(ascii: "\"")
        switch first {
        case UInt8(ascii: "\""): return true
        case UInt8(ascii: "{"): return second == UInt8(ascii: "\"") || second <= 0x20
        case UInt8(ascii: "["):
            return second == UInt8(ascii: "\"") || second == UInt8(ascii: "{") || second == UInt8(ascii: "[")
                || second <= 0x20
        default: return false
        }
    }

    /// The order of octets, by their mark, by the type, or by JSON's first character.
    private static func order(_ content: [UInt8], _ media: MediaType?) -> Order? {
        guard content.count >= 4 else { return nil }
        switch (content[0], content[1]) {
        case (0xFE, 0xFF): return isMedium(media) ? nil : .big
        case (0xFF, 0xFE): return isMedium(media) ? nil : .little
        case (0, UInt8(ascii: "{")), (0, UInt8(ascii: "[")), (0, UInt8(ascii: "\"")):
            return content[2] == 0 ? .big : nil
        case (UInt8(ascii: "{"), 0), (UInt8(ascii: "["), 0), (UInt8(ascii: "\""), 0):
            return content[3] == 0 ? .little : nil
        default: break
        }
        guard content.prefix(64).contains(0) else { return nil }
        switch media?.parameters["charset"]?.lowercased() {
        case "utf-16be": return .big
        case "utf-16", "utf-16le": return .little
        default: return nil
        }
    }
}
