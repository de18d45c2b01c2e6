// SPDX-License-Identifier: Apache-2.0

/// The digests of the parts of a file, so that each can be checked as it is read, without reading the rest.
struct BlockDigests: Sendable {
    /// In bytes; the last block may be shorter.
    static let blockLength = 256 << 10

    /// The digests, concatenated.
    private(set) var bytes: [UInt8] = []
    /// The secret that they were made with; nil for SHA-256.
    let secret: ContentSecret?

    init(_ secret: ContentSecret?) { self.secret = secret }

    /// Reads stored digests; nil if they do not fit content of this length.
    init?(_ bytes: [UInt8], length: Int64, secret: ContentSecret?) {
        let digest = Self.digestLength(secret)
        guard length > 0, bytes.count % digest == 0 else { return nil }
        // Compares numbers of blocks, not lengths: the length may be any number.
        let blocks = Int64(bytes.count / digest)
        guard (length - 1) / Int64(Self.blockLength) + 1 == blocks else { return nil }
        self.bytes = bytes
        self.secret = secret
    }

    mutating func append(_ digest: StoredDigest) { digest.withBytes { bytes.append(contentsOf: $0) } }

    /// The address of the content with these digests: the digest of the only block, which is the content, else the
    /// digest of the digests with all bits inverted, which no content constructed to equal the digests can have.
    func address(by hashing: StoredHashing) -> StoredDigest {
        if bytes.count == digestLength, let only = bytes.withUnsafeBytes({ StoredDigest($0) }) { return only }
        return bytes.withUnsafeBytes { hashing.digest(of: $0) }.inverted
    }

    func matches(_ octets: UnsafeRawBufferPointer, block: Int) -> Bool {
        let start = block * digestLength
        guard block >= 0, start + digestLength <= bytes.count else { return false }
        return StoredHashing(secret).digest(of: octets).withBytes {
            bytes[start..<start + digestLength].elementsEqual($0)
        }
    }

    private var digestLength: Int { Self.digestLength(secret) }

    private static func digestLength(_ secret: ContentSecret?) -> Int {
        secret == nil ? ContentDigest.length : KeyedDigest.length
    }
}

/// Digests content as it arrives, each byte once. Belongs to one thread at a time.
final class ContentHashing {
    private let block: StoredHashing
    private var inBlock = 0
    private var blocks: BlockDigests

    init(_ secret: ContentSecret?) {
        block = StoredHashing(secret)
        if case .keyed(let hashing) = block {
            blocks = BlockDigests(hashing.secret)
        } else {
            blocks = BlockDigests(nil)
        }
    }

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
    func finish() -> (StoredDigest, BlockDigests) {
        if inBlock > 0 { endBlock() }
        return (blocks.address(by: block), blocks)
    }

    private func endBlock() {
        blocks.append(block.finish())
        inBlock = 0
    }
}
