// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@testable import LarderStores

@Suite("Digests of long content")
struct BlockDigestTests {
    private func digested(_ bytes: [UInt8], pieces: Int) -> (ContentDigest, BlockDigests) {
        let hashing = ContentHashing()
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
        let (address, blocks) = digested(bytes, pieces: pieces)
        #expect(address == LarderStoresTests.address(of: bytes))
        #expect(blocks.bytes.count == (size + 256 << 10 - 1) / (256 << 10) * 32)
        #expect(digested(content("b", size), pieces: pieces).0 != address)
    }

    @Test func `content that is made to look like the digests of other content has another address`() {
        let (address, blocks) = digested(content("a", 600_000), pieces: 4096)
        #expect(ContentDigest(of: blocks.bytes) != address)
        #expect(digested(blocks.bytes, pieces: 4096).0 != address)
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

    /// Earlier versions named a file by the digest of all of its octets.
    @Test func `a file that is named by the digest of its octets is read, and goes when its entity does`() async throws
    {
        let directory = TemporaryDirectory()
        let bytes = content("a", 600_000)
        let whole = ContentDigest(of: bytes)
        do {
            let store = try openStore(directory)
            store.put(key("a"), bytes)
            await store.close()
        }
        try rename(directory, from: address(of: bytes), to: whole, length: bytes.count)
        let store = try openStore(directory)
        #expect(await store.contents(key("a")) == [bytes])
        store.put(key("b"), bytes)
        await store.flush()
        #expect(directory.contentFiles.count == 2)
        store.put(key("a"), at: 2000, bytes)
        await store.flush()
        #expect(directory.contentFiles.map { $0.hasSuffix(address(of: bytes).hexadecimal) } == [true])
        #expect(await store.contents(key("a")) == [bytes])
        await store.close()
    }

    /// Makes what was stored what an earlier version would have stored.
    private func rename(
        _ directory: TemporaryDirectory, from new: ContentDigest, to old: ContentDigest, length: Int
    ) throws {
        let file = "content/\(new.hexadecimal.prefix(2))/\(new.hexadecimal)"
        let octets = directory.contents(of: file)
        directory.delete(file)
        makeFolder(directory.path + "/content/\(old.hexadecimal.prefix(2))")
        directory.write(octets, to: "content/\(old.hexadecimal.prefix(2))/\(old.hexadecimal)")
        let connection = try Connection(path: directory.path + "/larder.db", isWriter: true)
        let content = try connection.prepare("UPDATE content SET digestHash = ?1, digest = ?2")
        content.bind(1, hash: old.prefix)
        content.bind(2, old.bytes)
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
