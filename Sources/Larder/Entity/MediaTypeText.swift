// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

/// The parts of a `Content-Type` value (RFC 9110 §8.3.1), names in lower case.
struct MediaTypeText: Sendable, Equatable {
    let type: String
    let subtype: String
    private let parameters: [(name: String, value: String)]

    static func == (a: MediaTypeText, b: MediaTypeText) -> Bool {
        a.type == b.type && a.subtype == b.subtype && a.parameters.elementsEqual(b.parameters, by: ==)
    }

    /// Reads a value; nil when it does not begin with a media type.
    init?(_ text: String) {
        var rest = Array(text.utf8)[...]
        guard let essence = MediaTypeText.takeUntil(UInt8(ascii: ";"), &rest) else { return nil }
        let parts = essence.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, FieldName(parts[0]) != nil, FieldName(parts[1]) != nil else { return nil }
        type = parts[0].lowercased()
        subtype = parts[1].lowercased()
        var parameters: [(String, String)] = []
        while !rest.isEmpty, let item = MediaTypeText.takeUntil(UInt8(ascii: ";"), &rest) {
            guard let equals = item.firstIndex(of: "=") else { continue }
            parameters.append(
                (item[..<equals].lowercased(), MediaTypeText.unquoted(item[item.index(after: equals)...])))
        }
        self.parameters = parameters
    }

    /// The value of the first parameter with that lower-case name.
    func parameter(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// The text up to an unquoted separator, trimmed; `rest` goes on behind it.
    private static func takeUntil(_ separator: UInt8, _ rest: inout ArraySlice<UInt8>) -> String? {
        var isQuoted = false
        var index = rest.startIndex
        while index < rest.endIndex, isQuoted || rest[index] != separator {
            if rest[index] == UInt8(ascii: "\\"), isQuoted {
                index += 1
            } else if rest[index] == UInt8(ascii: "\"") {
                isQuoted.toggle()
            }
            index += 1
        }
        let end = min(index, rest.endIndex)
        var part = rest[..<end]
        while let first = part.first, ASCII.isBlank(first) { part.removeFirst() }
        while let last = part.last, ASCII.isBlank(last) { part.removeLast() }
        rest = rest[min(end + 1, rest.endIndex)...]
        return String(decoding: part, as: UTF8.self)
    }

    private static func unquoted(_ text: Substring) -> String {
        guard text.utf8.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return String(text) }
        var result = ""
        var isEscaped = false
        for character in text.dropFirst().dropLast() {
            if character == "\\", !isEscaped {
                isEscaped = true
            } else {
                result.append(character)
                isEscaped = false
            }
        }
        return result
    }
}

/// A pattern for media types, such as `text/*` or `application/*+json`.
///
/// A star stands for one or more characters other than `/` and `+`. Type and subtype are compared as a whole and
/// without case; parameters are ignored. A star does not match `text/event-stream`, whose content is read as it arrives
/// and may be endless: only its own name does.
public struct ContentTypePattern: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The pattern as written.
    public let text: String

    /// Makes a pattern.
    public init(_ text: String) { self.text = text }
    public init(stringLiteral value: String) { text = value }

    public var description: String { text }

    /// Whether a `Content-Type` value is of a type the pattern stands for.
    public func matches(_ contentType: String) -> Bool {
        guard let media = MediaTypeText(contentType) else { return false }
        let essence = "\(media.type)/\(media.subtype)"
        if essence == "text/event-stream" { return text.lowercased() == essence }
        return ContentTypePattern.matches(Array(text.lowercased().utf8)[...], Array(essence.utf8)[...])
    }

    private static func matches(_ pattern: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
        var pattern = pattern
        var text = text
        while let first = pattern.first {
            pattern.removeFirst()
            guard first == UInt8(ascii: "*") else {
                guard text.first == first else { return false }
                text.removeFirst()
                continue
            }
            let reach = text.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "+") }.count
            guard reach >= 1 else { return false }
            return (1...reach).contains { matches(pattern, text.dropFirst($0)) }
        }
        return text.isEmpty
    }
}
