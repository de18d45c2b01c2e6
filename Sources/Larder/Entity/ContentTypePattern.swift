// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

/// A pattern for media types, such as `text/*` or `application/*+json`.
///
/// A star matches one or more characters other than `/` and `+`. Type and subtype are compared as a whole and without
/// case; parameters are ignored. A star does not match `text/event-stream`, whose content is read as it arrives and may
/// be endless: only its full name does.
public struct ContentTypePattern: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The pattern as written.
    public let text: String

    /// Makes a pattern.
    public init(_ text: String) { self.text = text }
    public init(stringLiteral value: String) { text = value }

    public var description: String { text }

    /// True if the type of a `Content-Type` value matches the pattern.
    public func matches(_ contentType: String) -> Bool {
        guard let essence = MediaType(lenient: contentType)?.essence else { return false }
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
