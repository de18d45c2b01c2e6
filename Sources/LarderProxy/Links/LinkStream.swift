// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderCodings
import LarderHTTP
import LarderIO
import LarderRules

/// The content of one response on its way to a client of the gateway: decoded, and its links mapped, as it arrives.
/// Confined to its loop.
final class LinkStream {
    private var scanner: LinkScanner
    private let decoder: LarderCodings.ContentDecoder?

    /// The most octets that content may decode to.
    private static let limit = 1 << 30

    init?(_ map: LinkMap, undoing coding: ServedCoding) {
        scanner = LinkScanner(map)
        guard coding != .identity else {
            decoder = nil
            return
        }
        guard let decoder = try? ContentCoding(token: coding.rawValue)?.decoder(limit: LinkStream.limit) else {
            return nil
        }
        self.decoder = decoder
    }

    func take(_ chunks: [ContentChunk]) throws -> [ContentChunk] {
        var result: [UInt8] = []
        for chunk in chunks {
            guard let decoder else {
                result += scanner.take(chunk.bytes)
                continue
            }
            var plain: [UInt8] = []
            try decoder.decode(Array(chunk.bytes), into: &plain)
            result += scanner.take(plain)
        }
        return result.isEmpty ? [] : [ContentChunk(result)]
    }

    /// The rest at the end of the content.
    func finish() throws -> [ContentChunk] {
        try decoder?.finish()
        let rest = scanner.take([], isLast: true)
        return rest.isEmpty ? [] : [ContentChunk(rest)]
    }
}

/// Entity tags of content with mapped links: the origin's, with a digest of the map appended. The same URL on the
/// gateway keeps its tag only while its links are mapped the same.
enum LinkTag {
    private static let mark = Array(";larder-links.".utf8)
    private static let length = mark.count + 16 + 1

    static func make(_ original: EntityTag, digest: String) -> EntityTag? {
        guard original.isWellFormed else { return nil }
        let octets = Array(original.octets.dropLast()) + mark + Array(digest.utf8) + [UInt8(ascii: "\"")]
        return octets.withUnsafeBytes { EntityTag($0) }
    }

    /// The origin's tag, if `tag` was made with this digest.
    static func original(of tag: EntityTag, digest: String) -> EntityTag? {
        let end = mark + Array(digest.utf8) + [UInt8(ascii: "\"")]
        guard tag.isWellFormed, tag.octets.count > length, tag.octets.suffix(length).elementsEqual(end) else {
            return nil
        }
        return (Array(tag.octets.dropLast(length)) + [UInt8(ascii: "\"")]).withUnsafeBytes { EntityTag($0) }
    }
}
