// SPDX-License-Identifier: Apache-2.0
import Glibc
import Larder
import LarderHTTP
import Testing

@testable import LarderStores

/// Reads that fail for reasons that have nothing to do with what is stored.
@Suite("A store that cannot read")
struct UnavailableTests {
    private let bytes = content("a", 700_000)

    private func isDamage(_ event: StoreEvent) -> Bool {
        if case .damagedContent = event { true } else { false }
    }

    /// Has what is stored not be readable while `body` runs, after which it is, and has not been called damaged.
    private func staysStored(
        _ body: (SQLiteStore, ContentReference, TemporaryDirectory) async throws -> Void
    ) async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        let store = try openStore(directory, log: log)
        store.put(key("a"), bytes)
        await store.flush()
        let record = try #require(try await store.read(key("a")).first)
        try await body(store, record.content, directory)
        #expect(await store.contents(key("a")) == [bytes])
        #expect(!log.events.contains(where: isDamage))
        await store.close()
    }

    @Test func `content that cannot be opened is neither damaged nor lost`() async throws {
        try await staysStored { (store, content, directory) async throws in
            let path = directory.path + "/" + directory.contentFiles[0]
            // What is in its place exists, and nobody can open it.
            rename(path, path + ".away")
            #expect(mknod(path, S_IFSOCK | 0o600, 0) == 0)
            await #expect(throws: StoreUnavailable.self) { try await store.openContent(content) }
            rename(path + ".away", path)
        }
    }

    @Test func `content is not lost because too many reads wait`() async throws {
        try await staysStored { (store, content, _) async throws in
            let reader = try #require(try await store.openContent(content))
            try await store.refusingReads { () async throws in
                await #expect(throws: StoreUnavailable.self) { try await store.openContent(content) }
                await #expect(throws: StoreUnavailable.self) { try await reader.read(at: 0, count: 10) }
            }
            #expect(try await reader.read(at: 0, count: 10)?.withBytes { Array($0) } == Array(bytes[0..<10]))
        }
    }

    @Test func `a read that fails is no damage, and a file that ends early is`() async throws {
        try await staysStored { (store, content, _) async throws in
            // The first page of a process cannot be read by anybody: EIO, as from a failing disk.
            let descriptor = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
            #expect(throws: DiskFailure(errno: EIO, operation: "read it")) {
                try readChunk(descriptor, at: 0, count: 10, path: "it")
            }
            let reader = StoredContent(
                descriptor: descriptor, length: content.length, blocks: BlockDigests(nil), digest: content.digest,
                core: store.core)
            await #expect(throws: StoreUnavailable.self) { try await reader.read(at: 0, count: 10) }
            let empty = open("/dev/null", O_RDONLY | O_CLOEXEC)
            #expect(try readChunk(empty, at: 0, count: 10, path: "it") == nil)
            close(empty)
        }
    }

    @Test func `a list says that it is not whole`() async throws {
        try await staysStored { (store, _, _) async throws in
            try await store.refusingReads { () async throws in
                await #expect(throws: StoreUnavailable.self) {
                    try await store.list(after: nil, limit: 10, where: EntityMatch())
                }
            }
            #expect(try await store.list(after: nil, limit: 10, where: EntityMatch()).count == 1)
        }
    }

    @Test(arguments: [true, false])
    func `nothing is missing because too many reads wait`(isCommitted: Bool) async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory) { $0.commitInterval = .seconds(3600) }
        store.put(key("a"), [1, 2, 3])
        if isCommitted { await store.flush() }
        await store.refusingReads {
            await #expect(throws: StoreUnavailable.self) { try await store.read(key("a")) }
        }
        #expect(await store.contents(key("a")) == [[1, 2, 3]])
        await store.close()
    }

    @Test func `no file is missing while the directory is`() throws {
        let parent = TemporaryDirectory()
        let path = parent.path + "/store"
        try makeDirectory(path)
        let files = ContentFiles(directory: try StoreDirectory(path))
        try files.prepare()
        let digest = StoredDigest.sha256(ContentDigest(of: bytes))
        #expect(try files.open(digest) == nil)
        rename(path, path + ".away")
        #expect(throws: DiskFailure.self) { try files.open(digest) }
        try makeDirectory(path)
        #expect(throws: DiskFailure.self) { try files.open(digest) }
    }
}
