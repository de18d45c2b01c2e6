// SPDX-License-Identifier: Apache-2.0

/// An opaque validator of a representation (RFC 9110 §8.8.3), kept byte by byte as it was received.
///
/// Some origins send tags without quotes, and clients return them unchanged. Such a tag is never repaired: it is
/// compared as a whole.
package struct EntityTag: Hashable, Sendable {
    package let octets: [UInt8]
    /// The start of the quoted part: after `W/` for a weak tag.
    private let opaqueStart: Int

    package init(_ bytes: UnsafeRawBufferPointer) {
        octets = Array(bytes)
        opaqueStart = EntityTag.opaqueStart(bytes.bytes) ?? 0
    }

    package init(_ text: some StringProtocol) {
        let octets = Array(text.utf8)
        self = octets.withUnsafeBytes { EntityTag($0) }
    }

    /// True if the tag is marked as weak. A malformed one with that prefix is not strong either.
    package var isWeak: Bool {
        octets.count >= 2 && ASCII.lowercased(octets[0]) == 0x77 && octets[1] == 0x2F
    }

    /// True if the tag follows the grammar.
    package var isWellFormed: Bool { EntityTag.opaqueStart(octets.span.bytes) != nil }

    /// Weak comparison (RFC 9110 §8.8.3.2): the quoted parts are equal.
    package func weaklyMatches(_ other: EntityTag) -> Bool {
        octets[opaqueStart...].elementsEqual(other.octets[other.opaqueStart...])
    }

    /// Strong comparison (RFC 9110 §8.8.3.2): both tags are strong, and they are equal.
    package func stronglyMatches(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && octets == other.octets
    }

    private static func opaqueStart(_ bytes: RawSpan) -> Int? {
        let start = bytes.byteCount >= 2 && bytes[0] == 0x57 && bytes[1] == 0x2F ? 2 : 0
        return quotedEnd(bytes, from: start) == bytes.byteCount ? start : nil
    }

    /// The position behind the closing quote. There are no escapes: a backslash is a byte like others.
    fileprivate static func quotedEnd(_ bytes: RawSpan, from start: Int) -> Int? {
        guard start < bytes.byteCount, bytes[start] == 0x22 else { return nil }
        for position in (start + 1)..<bytes.byteCount {
            let octet = bytes[position]
            if octet == 0x22 { return position + 1 }
            guard octet > 0x20, octet != 0x7F else { return nil }
        }
        return nil
    }
}

extension EntityTag: CustomStringConvertible {
    package var description: String { String(latin1: octets) }
}

extension Fields {
    /// The `ETag` of a response; nil when there is none. The first of several counts.
    package var entityTag: EntityTag? { withFirst(.eTag) { EntityTag($0) } }
}

/// The value of `If-Match` or `If-None-Match` (RFC 9110 §13.1.1, §13.1.2): any representation, or a list of tags.
package enum EntityTagList: Hashable, Sendable {
    case any
    case tags([EntityTag])

    /// Reads all lines with that name; nil when there is none.
    package init?(_ name: FieldName, in fields: Fields) {
        var tags: [EntityTag] = []
        var isPresent = false
        fields.forEach(name) { value in
            isPresent = true
            EntityTagList.append(value.bytes, to: &tags)
        }
        guard isPresent else { return nil }
        self = tags.count == 1 && tags[0].octets == [0x2A] ? .any : .tags(tags)
    }

    /// Anything that is not a tag extends to the next comma and is kept unchanged.
    private static func append(_ bytes: RawSpan, to tags: inout [EntityTag]) {
        var position = 0
        while position < bytes.byteCount {
            if bytes[position] == 0x2C || ASCII.isBlank(bytes[position]) {
                position += 1
                continue
            }
            let isWeak = bytes[position] == 0x57 && position + 1 < bytes.byteCount && bytes[position + 1] == 0x2F
            var end = EntityTag.quotedEnd(bytes, from: isWeak ? position + 2 : position) ?? position
            while end < bytes.byteCount, bytes[end] != 0x2C { end += 1 }
            bytes.extracting(position..<end).withUnsafeBytes { tags.append(EntityTag(ASCII.trimmed($0))) }
            position = end
        }
    }
}

extension Fields {
    /// Replaces entity tags in the lines with that name; `*` stays.
    package mutating func replaceEntityTags(_ name: FieldName, by replacement: (EntityTag) -> EntityTag?) {
        guard case .tags(let tags) = EntityTagList(name, in: self) else { return }
        let replaced = tags.map { replacement($0) ?? $0 }
        guard replaced != tags else { return }
        remove(name)
        Array(replaced.map(\.octets).joined(separator: Array(", ".utf8))).withUnsafeBytes { append(name, bytes: $0) }
    }
}
