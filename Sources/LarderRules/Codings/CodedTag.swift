// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Entity tags of content in another coding than it was received in (RFC 9110 §8.8.3.3): the origin's, followed by the
/// coding and a digest of the coded bytes.
///
/// Two of them are equal only if the bytes are, whichever encoder wrote them; and the origin's own can be recovered.
package enum CodedTag {
    private static let mark = ";larder."
    /// Hexadecimal digits of the digest.
    package static let digestLength = 16

    /// The tag of content in `coding`, as weak as the origin's; nil when the origin's does not follow the grammar.
    package static func make(_ original: EntityTag, _ coding: ServedCoding, digest: some StringProtocol) -> EntityTag? {
        guard original.isWellFormed else { return nil }
        let octets =
            original.octets.dropLast() + Array("\(mark)\(coding.rawValue).\(digest.prefix(digestLength))\"".utf8)
        return Array(octets).withUnsafeBytes { EntityTag($0) }
    }

    /// The origin's tag and the coding; nil for a tag that was not made here.
    package static func split(_ tag: EntityTag) -> (original: EntityTag, coding: ServedCoding)? {
        guard tag.isWellFormed else { return nil }
        let octets = tag.octets
        let mark = Array(mark.utf8)
        // From the end: the origin's tag may have been made by another Larder.
        guard octets.count > mark.count + digestLength + 3,
            octets.dropLast().suffix(digestLength).allSatisfy(isDigit)
        else { return nil }
        let front = octets.dropLast(digestLength + 1)
        guard front.last == 0x2E, let semicolon = front.lastIndex(of: 0x3B) else { return nil }
        let suffix = front[semicolon...].dropLast()
        guard suffix.starts(with: mark),
            let coding = ServedCoding(rawValue: String(decoding: suffix.dropFirst(mark.count), as: UTF8.self))
        else { return nil }
        let original = Array(octets[..<semicolon]) + [0x22]
        return (original.withUnsafeBytes { EntityTag($0) }, coding)
    }

    private static func isDigit(_ octet: UInt8) -> Bool {
        ASCII.isDigit(octet) || (0x61...0x66).contains(octet)
    }

    /// Restores the origin's tags in the conditions of a request. `If-Range` stays: parts of one coding are no parts of
    /// another.
    package static func restoreConditions(in fields: inout Fields) {
        for name in [FieldName.ifMatch, .ifNoneMatch] { fields.replaceEntityTags(name) { split($0)?.original } }
    }

    /// Replaces the tag in a 304 of the origin by the one that the client has for its content.
    package static func translate(_ response: inout Fields, askedWith request: Fields) {
        guard let eTag = response.entityTag, case .tags(let tags) = EntityTagList(.ifNoneMatch, in: request) else {
            return
        }
        guard !tags.contains(eTag),
            let known = tags.first(where: { split($0)?.original.weaklyMatches(eTag) ?? false })
        else { return }
        response.remove(.eTag)
        known.octets.withUnsafeBytes { response.append(.eTag, bytes: $0) }
    }
}
