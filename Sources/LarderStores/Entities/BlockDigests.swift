// SPDX-License-Identifier: Apache-2.0

/// The digests of the parts of a file, so that each can be checked as it is read, without reading the rest.
struct BlockDigests: Sendable {
    /// In octets; the last block may be shorter.
    static let blockLength = 256 << 10

    /// The digests, concatenated.
    private(set) var bytes: [UInt8] = []

    init() {}

    /// Reads stored digests; nil if they do not fit content of this length.
    init?(_ bytes: [UInt8], length: Int64) {
        guard length > 0, bytes.count % ContentDigest.length == 0 else { return nil }
        // Of the number of blocks, not of the length, which may be any number.
        let blocks = Int64(bytes.count / ContentDigest.length)
        guard (length - 1) / Int64(Self.blockLength) + 1 == blocks else { return nil }
        self.bytes = bytes
    }

    mutating func append(_ digest: ContentDigest) { digest.withBytes { bytes.append(contentsOf: $0) } }

    /// The address of the content with these digests: the digest of the only block, which is the content, else the
    /// digest of the digests with all bits inverted, which no content constructed to equal the digests can have.
    var address: ContentDigest {
        if bytes.count == ContentDigest.length, let only = bytes.withUnsafeBytes({ ContentDigest($0) }) { return only }
        return ContentDigest(of: bytes).inverted
    }

    func matches(_ digest: ContentDigest, block: Int) -> Bool {
        let start = block * ContentDigest.length
        guard block >= 0, start + ContentDigest.length <= bytes.count else { return false }
        return digest.withBytes { bytes[start..<start + ContentDigest.length].elementsEqual($0) }
    }
}

/// Digests content as it arrives, each octet once. Belongs to one thread at a time.
final class ContentHashing {
    private let block = ContentDigest.Hashing()
    private var inBlock = 0
    private var blocks = BlockDigests()

    func update(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while rest.count > 0 {
            let part = UnsafeRawBufferPointer(rebasing: rest.prefix(BlockDigests.blockLength - inBlock))
            block.update(part)
            inBlock += part.count
            if inBlock == BlockDigests.blockLength { endBlock() }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(part.count))
        }
    }

    /// The address of the content, and the digests of its blocks.
    func finish() -> (ContentDigest, BlockDigests) {
        if inBlock > 0 { endBlock() }
        return (blocks.address, blocks)
    }

    private func endBlock() {
        blocks.append(block.finish())
        inBlock = 0
    }
}
