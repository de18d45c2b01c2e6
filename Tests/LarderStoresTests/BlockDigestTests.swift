// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@testable import LarderStores

@Suite("Digests of long content")
struct BlockDigestTests {
    private static let secret = ContentSecret.make()

    private func digested(
        _ bytes: [UInt8], pieces: Int, _ secret: ContentSecret? = secret
    ) -> (StoredDigest, BlockDigests) {
        let hashing = ContentHashing(secret)
        bytes.withUnsafeBytes { all in
            for start in stride(from: 0, to: all.count, by: pieces) {
                hashing.update(UnsafeRawBufferPointer(rebasing: all[start..<min(start + pieces, all.count)]))
            }
        }
        return hashing.finish()
    }

    @Test(arguments: [20, 4096, 256 << 10, 256 << 10 + 1, 600_000, 512 << 10], [4096, 100_000, 1 << 20])
    func `the address depends on the octets, not on the pieces they come in`(size: Int, pieces: Int) {
        let bytes = content("a", size)
        for (secret, length) in [(Self.secret, 16), (nil, 32)] {
            let (address, blocks) = digested(bytes, pieces: pieces, secret)
            #expect(address == LarderStoresTests.address(of: bytes, StoredHashing(secret)))
            #expect(blocks.bytes.count == (size + 256 << 10 - 1) / (256 << 10) * length)
            #expect(digested(content("b", size), pieces: pieces, secret).0 != address)
            #expect(BlockDigests(blocks.bytes, length: Int64(size), secret: secret) != nil)
            let other = secret == nil ? Self.secret : nil
            #expect(BlockDigests(blocks.bytes, length: Int64(size), secret: other) == nil)
        }
    }

    @Test func `content that is made to look like the digests of other content has another address`() {
        for secret in [Self.secret, nil] {
            let (address, blocks) = digested(content("a", 600_000), pieces: 4096, secret)
            let plain = blocks.bytes.withUnsafeBytes { StoredHashing(secret).digest(of: $0) }
            #expect(plain != address)
            #expect(digested(blocks.bytes, pieces: 4096, secret).0 != address)
        }
    }

    @Test func `the same long content lies on disk once`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        for name in ["a", "b"] { store.put(key(name), content("same", 600_000)) }
        await store.flush()
        #expect(directory.contentFiles.count == 1)
        store.remove(key("a"))
        await store.flush()
        #expect(await store.contents(key("b")) == [content("same", 600_000)])
        await store.close()
    }

    /// Earlier versions had the SHA-256 of the blocks, and even earlier ones that of all octets for the file as well.
    @Test(arguments: [false, true])
    func `a file that an earlier version named is read, and goes when its entity does`(isEarliest: Bool) async throws {
        let directory = TemporaryDirectory()
        let bytes = content("a", 600_000)
        let (blocksAddress, blocks) = digested(bytes, pieces: 4096, nil)
        let old = isEarliest ? .sha256(ContentDigest(of: bytes)) : blocksAddress
        do {
            let store = try openStore(directory)
            store.put(key("a"), bytes)
            await store.close()
            try rename(directory, from: address(of: bytes, in: store), to: old, blocks: blocks, length: bytes.count)
        }
        let store = try openStore(directory)
        #expect(await store.contents(key("a")) == [bytes])
        store.put(key("b"), bytes)
        await store.flush()
        #expect(directory.contentFiles.count == 2)
        store.put(key("a"), at: 2000, bytes)
        await store.flush()
        #expect(directory.contentFiles.map { $0.hasSuffix(address(of: bytes, in: store).hexadecimal) } == [true])
        #expect(await store.contents(key("a")) == [bytes])
        await store.close()
    }

    @Test func `a file with the digests of an earlier version is checked as it is read`() async throws {
        let directory = TemporaryDirectory()
        let bytes = content("a", 600_000)
        let (old, blocks) = digested(bytes, pieces: 4096, nil)
        do {
            let store = try openStore(directory)
            store.put(key("a"), bytes)
            await store.close()
            try rename(directory, from: address(of: bytes, in: store), to: old, blocks: blocks, length: bytes.count)
        }
        directory.overwrite(directory.contentFiles[0], at: 500_000, with: [0])
        let log = EventLog()
        let store = try openStore(directory, log: log)
        #expect(await store.contents(key("a")) == [nil])
        await store.flush()
        #expect(try await store.read(key("a")).isEmpty)
        #expect(log.events.contains { if case .damagedContent(old, _) = $0 { true } else { false } })
        await store.close()
    }

    /// Makes what was stored what an earlier version would have stored.
    private func rename(
        _ directory: TemporaryDirectory, from new: StoredDigest, to old: StoredDigest, blocks: BlockDigests, length: Int
    ) throws {
        let file = "content/\(new.hexadecimal.prefix(2))/\(new.hexadecimal)"
        let octets = directory.contents(of: file)
        directory.delete(file)
        makeFolder(directory.path + "/content/\(old.hexadecimal.prefix(2))")
        directory.write(octets, to: "content/\(old.hexadecimal.prefix(2))/\(old.hexadecimal)")
        let connection = try Connection(path: directory.path + "/larder.db", isWriter: true)
        let content = try connection.prepare("UPDATE content SET digestHash = ?1, digest = ?2, blocks = ?3")
        content.bind(1, hash: old.prefix)
        content.bind(2, old.bytes)
        content.bind(3, blocks.bytes)
        try content.run()
        let time = Timestamp(seconds: 1000)
        let checksum = RowChecksum(
            requestTime: Timestamp(seconds: 999), responseTime: time, storedAt: time, expires: nil, digest: old,
            length: Int64(length))
        let entity = try connection.prepare("UPDATE entity SET seal = ?1")
        entity.bind(
            1,
            checksum.value(key: key("a").bytes, variant: [], head: Array("head".utf8), using: ContentDigest.Hashing()))
        try entity.run()
    }

    private func makeFolder(_ path: String) { try? makeDirectory(path) }
}
