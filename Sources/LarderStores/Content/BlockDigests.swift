// SPDX-License-Identifier: Apache-2.0

/// The digests of the parts of a file, so that each can be checked as it is read, without reading the rest.
struct BlockDigests: Sendable {
    /// In octets; the last block may be shorter.
    static let blockLength = 256 << 10

    /// One digest after another.
    private(set) var bytes: [UInt8] = []

    init() {}

    /// Takes what was stored; nil if it does not fit content of this length.
    init?(_ bytes: [UInt8], length: Int64) {
        let blocks = (length + Int64(Self.blockLength) - 1) / Int64(Self.blockLength)
        guard bytes.count == Int(blocks) * ContentDigest.length else { return nil }
        self.bytes = bytes
    }

    mutating func append(_ digest: ContentDigest) { bytes += digest.bytes }

    func matches(_ digest: ContentDigest, block: Int) -> Bool {
        let start = block * ContentDigest.length
        return bytes[start..<start + ContentDigest.length].elementsEqual(digest.bytes)
    }
}

/// Digests content as it comes by: the whole of it, and each block. Belongs to one thread at a time.
final class ContentHashing {
    private let whole = ContentDigest.Hashing()
    private let block = ContentDigest.Hashing()
    private var inBlock = 0
    private var blocks = BlockDigests()

    func update(_ bytes: UnsafeRawBufferPointer) {
        whole.update(bytes)
        var rest = bytes
        while rest.count > 0 {
            let part = UnsafeRawBufferPointer(rebasing: rest.prefix(BlockDigests.blockLength - inBlock))
            block.update(part)
            inBlock += part.count
            if inBlock == BlockDigests.blockLength { endBlock() }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(part.count))
        }
    }

    func finish() -> (ContentDigest, BlockDigests) {
        if inBlock > 0 { endBlock() }
        return (whole.finish(), blocks)
    }

    private func endBlock() {
        blocks.append(block.finish())
        inBlock = 0
    }
}
