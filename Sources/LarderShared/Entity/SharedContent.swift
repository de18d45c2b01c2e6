// SPDX-License-Identifier: Apache-2.0
package import LarderHTTP
package import LarderStores

/// Content cut into pieces for the engine, and put together from them.
package enum SharedContent {
    package struct Piece: Sendable {
        package let digest: ContentDigest
        package let octets: [UInt8]
    }

    /// The content of an entity that is in memory, and its pieces where it is not in the entity itself. It has at most
    /// `SharedEntity.pieceLimit` of them.
    package static func cut(_ chunks: [ContentChunk]) -> (SharedEntity.Content, [Piece]) {
        let length = chunks.reduce(0) { $0 + $1.count }
        var octets: [UInt8] = []
        octets.reserveCapacity(length)
        for chunk in chunks { octets.append(contentsOf: chunk.bytes) }
        if length <= SharedEntity.inlineLimit { return (.inline(octets), []) }
        let pieces = stride(from: 0, to: length, by: SharedEntity.pieceLength).map { start in
            let piece = Array(octets[start..<min(start + SharedEntity.pieceLength, length)])
            return Piece(digest: ContentDigest(of: piece), octets: piece)
        }
        return (.pieces(pieces.map(\.digest), length: Int64(length)), pieces)
    }

    /// The chunk of a stored piece; nil if the piece does not match `digest`.
    package static func chunk(_ found: [UInt8], _ digest: ContentDigest) -> ContentChunk? {
        ContentDigest(of: found) == digest ? ContentChunk(found) : nil
    }

    /// How many pieces content has, which is not empty.
    package static func count(of length: Int64) -> Int { Int((length - 1) / Int64(SharedEntity.pieceLength)) + 1 }

    /// How many lists the digests of so many pieces fill.
    package static func lists(of pieces: Int) -> Int { (pieces - 1) / SharedEntity.listLength + 1 }

    /// The digests in a stored list; nil if the list does not match `digest` or does not contain `count` digests.
    package static func digests(_ found: [UInt8], _ digest: ContentDigest, count: Int) -> [ContentDigest]? {
        guard found.count == count * SharedEntity.digestLength, ContentDigest(of: found) == digest else { return nil }
        return stride(from: 0, to: found.count, by: SharedEntity.digestLength).compactMap { start in
            ContentDigest(Array(found[start..<start + SharedEntity.digestLength]))
        }
    }

    /// A list of digests as a piece.
    package static func list(_ digests: ArraySlice<ContentDigest>) -> Piece {
        let octets = digests.flatMap(\.bytes)
        return Piece(digest: ContentDigest(of: octets), octets: octets)
    }

    /// How many bytes the piece at `index` has.
    package static func length(of index: Int, in length: Int64) -> Int64 {
        min(Int64(SharedEntity.pieceLength), length - Int64(index) * Int64(SharedEntity.pieceLength))
    }
}
