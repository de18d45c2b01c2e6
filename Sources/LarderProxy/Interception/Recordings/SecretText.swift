// SPDX-License-Identifier: Apache-2.0

import LarderCodings
package import LarderHTTP
import LarderRules
import LarderSettings

/// Removes secrets from shared data: by the names of fields, parameters and members.
package enum SecretText {
    package static let replacement = "REDACTED"
    static let octets = Array(replacement.utf8)

    /// The URL without user information and the values of secret parameters, in its fragment too, and in URLs that
    /// are values of others.
    package static func scrubbed(url: String) -> String {
        String(decoding: SecretParameters.scrubbed(Array(url.utf8), .url), as: UTF8.self)
    }

    /// The URL as it may be in a log: up to its query, without user information and the secret parameters of its path
    /// (`;jsessionid=…`).
    package static func logged(url: String) -> String {
        let plain = url.utf8.firstIndex(of: UInt8(ascii: "?")).map { String(url[..<$0]) } ?? url
        return plain.utf8.contains { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "#") }
            ? scrubbed(url: plain) : plain
    }

    /// The value of a field that is no credential, without the secrets of the URLs and the JSON in the value.
    package static func scrubbed(_ value: String, of field: FieldName) -> String {
        let redaction = redaction(of: Array(value.utf8), urls.contains(field) ? .url : .text)
        return redaction.isChanged ? String(decoding: redaction.result, as: UTF8.self) : value
    }

    /// Fields whose value is one URL, or ends with one: nothing in it is outside.
    private static let urls: Set<FieldName> = [.location, "Content-Location", "Referer", "Refresh"]

    /// Removes secrets from forms, parts of forms, and text with JSON or URLs; other content is unchanged. JSON is
    /// recognised under any type: many clients call it a form, or text.
    package static func scrubbed(_ content: [UInt8], type: String?) -> [UInt8] {
        scrubbed(content, type: type, nesting: 1)
    }

    /// - Parameter nesting: how many layers of parts of parts are read.
    static func scrubbed(_ content: [UInt8], type: String?, nesting: Int) -> [UInt8] {
        let media = type.flatMap { MediaType(lenient: $0) }
        let kind = ContentKind(content, media)
        switch kind {
        case .compressed: return scrubbed(compressed: content, type: type, isText: ContentKind.isText(media), nesting)
        case .parts: return SecretParts.scrubbed(content, boundary: media?.parameters["boundary"], nesting: nesting)
        case .binary: return content
        case .utf16(let order):
            let text = order.decoded(content)
            let clean = scrubbed(text, type: media.map { "\($0.essence)" }, nesting: nesting)
            return clean == text ? content : order.encoded(clean)
        case .text: return scrubbed(text: content)
        case .form: return SecretParameters.scrubbed(content, .form)
        case .formLikeJSON: return scrubbed(text: SecretParameters.scrubbed(content, .form))
        case .lines: return scrubbed(text: SecretParameters.scrubbed(content, .lines))
        }
    }

    /// Text of which nothing else is known.
    static func scrubbed(text: [UInt8]) -> [UInt8] { redaction(of: text, .text).result }

    static func redaction(
        of text: [UInt8], _ place: SecretParameters.Place, _ layers: SecretLayers = SecretLayers()
    ) -> Redaction {
        SecretMembers.redaction(of: text, place, layers)
    }

    /// Content that is compressed though nothing says so, or once more than is said: as it is without secrets in it,
    /// else decoded. If it cannot be decoded and is called text, it is replaced; else it may be a part of an archive.
    private static func scrubbed(
        compressed content: [UInt8], type: String?, isText: Bool, _ nesting: Int
    ) -> [UInt8] {
        var decoded = content
        for _ in 0..<3 where ContentKind.isGzip(decoded) {
            guard let next = try? ContentCoding.gzip.decode(decoded, limit: Recording.contentLimit) else {
                return isText ? octets : content
            }
            decoded = next
        }
        guard !ContentKind.isGzip(decoded) else { return isText ? octets : content }
        let clean = scrubbed(decoded, type: isText ? type : nil, nesting: nesting)
        return clean == decoded ? content : clean
    }
}

/// Text in which some bytes are replaced, in order. Without replacements the text is not copied.
struct Redaction {
    private let text: [UInt8]
    private var clean: [UInt8] = []
    /// The bytes of the text before this are in `clean`, or replaced.
    private var copied = 0
    private(set) var isChanged = false

    init(_ text: [UInt8]) { self.text = text }

    /// Replaces a range that follows all ranges replaced before.
    mutating func replace(_ range: Range<Int>, with octets: [UInt8]) {
        guard !text[range].elementsEqual(octets) else { return }
        if !isChanged { clean.reserveCapacity(text.count) }
        isChanged = true
        clean += text[copied..<range.lowerBound]
        clean += octets
        copied = range.upperBound
    }

    var result: [UInt8] { isChanged ? clean + text[copied...] : text }
}

/// The number of levels of nested text that are decoded in the search for secrets. It bounds time and stack: text that
/// is nested deeper is replaced as a whole.
struct SecretLayers {
    /// Strings in strings.
    static let ofStrings = 8
    /// Percent-coding of percent-coded text.
    static let ofPercent = 4

    /// How many layers of strings may still be decoded.
    private(set) var strings = SecretLayers.ofStrings
    /// True if parameters' values are decoded. Not in what has been: all of it is decoded together then.
    private(set) var readsPercent = true

    /// The layers in a string; nil if that is not to be decoded.
    var inString: SecretLayers? {
        var layers = self
        layers.strings -= 1
        return layers.strings > 0 ? layers : nil
    }

    /// The layers in a parameter's value.
    var inPercent: SecretLayers {
        var layers = self
        layers.readsPercent = false
        layers.strings = min(strings, SecretLayers.ofPercent)
        return layers
    }
}
