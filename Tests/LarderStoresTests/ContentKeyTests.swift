// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@testable import LarderStores

@Suite("The key of a database")
struct ContentKeyTests {
    private static let sizes = [0, 300, 40_000, 100_000, 700_000]

    private func expected(_ number: Int) -> [UInt8] { content("\(number)", Self.sizes[number % Self.sizes.count]) }

    private func fill(_ directory: TemporaryDirectory) async throws {
        let store = try openStore(directory)
        for number in 0..<10 { store.put(key("\(number)"), expected(number)) }
        await store.close()
    }

    private func isKeyLost(_ event: StoreEvent) -> Bool { event == .keyLost }

    @Test(arguments: [
        "DELETE FROM contentKey", "UPDATE contentKey SET secret = randomblob(64)",
        "UPDATE contentKey SET secret = x'00'", "UPDATE contentKey SET secret = 'text'",
        "UPDATE contentKey SET since = 3", "UPDATE contentKey SET since = -1", "UPDATE contentKey SET seal = 0.5",
        "UPDATE contentKey SET id = 2",
    ])
    func `without its key what was stored is not read, the rest works, and it is said once`(
        damage: String
    ) async throws {
        let directory = TemporaryDirectory()
        try await fill(directory)
        do { try Connection(path: directory.path + "/larder.db", isWriter: true).execute(damage) }
        let log = EventLog()
        let store = try openStore(directory, log: log)
        for number in 0..<10 {
            let contents = await store.contents(key("\(number)"))
            #expect(contents == (number % 5 == 0 ? [[]] : []))
        }
        store.put(key("new"), content("1", 300))
        store.put(key("new file"), content("3", 100_000))
        await store.flush()
        #expect(await store.contents(key("new")) == [content("1", 300)])
        #expect(await store.contents(key("new file")) == [content("3", 100_000)])
        // What was found is gone, with its files.
        #expect(store.statistics.entries == 4)
        #expect(store.statistics.damaged == 0)
        #expect(directory.contentFiles.count == 1)
        await store.close()
        #expect(log.events.count(where: isKeyLost) == 1)

        let second = EventLog()
        let again = try openStore(directory, log: second)
        #expect(await again.contents(key("new")) == [content("1", 300)])
        #expect(await again.contents(key("new file")) == [content("3", 100_000)])
        #expect(!second.events.contains(where: isKeyLost))
        await again.close()
    }

    @Test func `the secret of a database stays, and another database has another`() async throws {
        let directory = TemporaryDirectory()
        let other = TemporaryDirectory()
        let first = try openStore(directory)
        let secret = try #require(first.core.key?.secret)
        await first.close()
        let second = try openStore(directory)
        let third = try openStore(other)
        #expect(second.core.key?.secret == secret)
        #expect(third.core.key != nil && third.core.key?.secret != secret)
        await second.close()
        await third.close()
    }

    @Test func `content that was being written while everything was wiped is stored`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        let bytes = content("a", 700_000)
        let writer = store.beginWrite(
            key("a"), variant: [], head: [1], requestTime: Timestamp(seconds: 1), responseTime: Timestamp(seconds: 2),
            storedAt: Timestamp(seconds: 3), expires: nil, expectedLength: 700_000)
        writer.append(ContentChunk(bytes[..<400_000]))
        await store.wipe()
        writer.append(ContentChunk(bytes[400_000...]))
        #expect(writer.finish())
        await store.flush()
        #expect(await store.contents(key("a")) == [bytes])
        await store.close()
    }

    @Test func `equal content is stored once, but not with what an earlier version stored`() async throws {
        let directory = TemporaryDirectory()
        let bytes = content("a", 9000)
        do {
            let connection = try makeDatabase(directory)
            try putEarlier(bytes, under: key("old"), into: connection)
        }
        let store = try openStore(directory)
        for name in ["a", "b"] { store.put(key(name), bytes) }
        await store.flush()
        for name in ["old", "a", "b"] { #expect(await store.contents(key(name)) == [bytes]) }
        await store.close()
        let connection = try Connection(path: directory.path + "/larder.db", isWriter: true)
        #expect(try connection.integer("SELECT count(*) FROM content") == 2)
        #expect(try connection.integer("SELECT users FROM content WHERE length(digest) = 16") == 2)
        #expect(try connection.integer("SELECT users FROM content WHERE length(digest) = 32") == 1)
    }

    @Test(arguments: [16, 32])
    func `content that was altered in its row is found out, whoever stored it`(length: Int) async throws {
        let directory = TemporaryDirectory()
        do {
            let connection = try makeDatabase(directory)
            try putEarlier(content("old", 300), under: key("old"), into: connection)
        }
        do {
            let store = try openStore(directory)
            store.put(key("new"), content("new", 300))
            await store.close()
        }
        do {
            try Connection(path: directory.path + "/larder.db", isWriter: true).execute(
                "UPDATE content SET octets = cast(replace(octets, '[', '(') AS blob) WHERE length(digest) = \(length)")
        }
        let log = EventLog()
        let store = try openStore(directory, log: log)
        #expect(await store.contents(key("old")) == (length == 32 ? [] : [content("old", 300)]))
        #expect(await store.contents(key("new")) == (length == 16 ? [] : [content("new", 300)]))
        #expect(store.statistics.damaged == 1)
        await store.close()
    }
}
