// SPDX-License-Identifier: Apache-2.0

/// The media type of content (RFC 9110 §8.3.1). Type and subtype are kept in lower case.
package struct MediaType: Hashable, Sendable {
    package let type: String
    package let subtype: String
    package let parameters: Parameters

    /// Reads `type "/" subtype parameters`; nil when `bytes` are anything else.
    ///
    /// - Parameter isLenient: reads malformed parameters, which origins do send, as far as they have name and value.
    package init?(_ bytes: UnsafeRawBufferPointer, isLenient: Bool = false) {
        let essence = bytes.prefix { $0 != 0x3B && !ASCII.isBlank($0) }
        guard let slash = essence.firstIndex(of: 0x2F) else { return nil }
        let type = UnsafeRawBufferPointer(rebasing: essence[..<slash])
        let subtype = UnsafeRawBufferPointer(rebasing: essence[(slash + 1)...])
        guard Token.isToken(type), Token.isToken(subtype),
            let parameters = Parameters(
                bytes.assumingMemoryBound(to: UInt8.self).span.extracting(essence.endIndex...), isLenient: isLenient)
        else { return nil }
        self.type = String(decoding: type.lazy.map(ASCII.lowercased), as: UTF8.self)
        self.subtype = String(decoding: subtype.lazy.map(ASCII.lowercased), as: UTF8.self)
        self.parameters = parameters
    }

    package init?(_ text: some StringProtocol) { self.init(text, isLenient: false) }

    /// Reads a value whose parameters may be malformed.
    package init?(lenient text: some StringProtocol) { self.init(text, isLenient: true) }

    private init?(_ text: some StringProtocol, isLenient: Bool) {
        let octets = Array(text.utf8)
        let value = octets.withUnsafeBytes { MediaType($0, isLenient: isLenient) }
        guard let value else { return nil }
        self = value
    }

    /// Type and subtype without the parameters: `text/html`.
    package var essence: String { "\(type)/\(subtype)" }

    /// True if it is JSON, by its name or its suffix (RFC 6839 §3.1).
    package var isJSON: Bool { subtype == "json" || subtype.hasSuffix("+json") }
}

extension ResponseHead {
    /// True if the content is a stream of events, which may have no end.
    package var isEventStream: Bool { fields[.contentType].flatMap { MediaType($0) }?.essence == "text/event-stream" }
}

extension MediaType: CustomStringConvertible {
    package var description: String { essence + parameters.description }
}
