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

    @Test func `content that cannot be opened is neither damaged nor lost`() async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        let store = try openStore(directory, log: log)
        store.put(key("a"), bytes)
        await store.flush()
        let record = try #require(try await store.read(key("a")).first)
        let path = directory.path + "/" + directory.contentFiles[0]
        // What is in its place exists, and nobody can open it.
        rename(path, path + ".away")
        #expect(mknod(path, S_IFSOCK | 0o600, 0) == 0)
        await #expect(throws: StoreUnavailable.self) { try await store.openContent(record.content) }
        rename(path + ".away", path)
        #expect(await store.contents(key("a")) == [bytes])
        #expect(!log.events.contains(where: isDamage))
        await store.close()
    }

    @Test func `content is not lost because too many reads wait`() async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        let store = try openStore(directory, log: log)
        store.put(key("a"), bytes)
        await store.flush()
        let record = try #require(try await store.read(key("a")).first)
        let reader = try #require(try await store.openContent(record.content))
        await store.refusingReads {
            await #expect(throws: StoreUnavailable.self) { try await store.openContent(record.content) }
            await #expect(throws: StoreUnavailable.self) { try await reader.read(at: 0, count: 10) }
        }
        #expect(try await reader.read(at: 0, count: 10)?.withBytes { Array($0) } == Array(bytes[0..<10]))
        #expect(await store.contents(key("a")) == [bytes])
        #expect(!log.events.contains(where: isDamage))
        await store.close()
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
