// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@testable import LarderStores

@Suite("Room and eviction")
struct EvictionTests {
    @Test(arguments: [2000, 20_000, 100_000, 400_000])
    func `B-34 everything together never takes more than the limit`(size: Int) async throws {
        let directory = TemporaryDirectory()
        let limit: Int64 = 8 << 20
        let store = try openStore(directory, limit: limit)
        let total = 3 * Int(limit) / size
        var largest: Int64 = 0
        for number in 0..<total {
            store.put(key("\(number)"), content("\(number)", size))
            if number % max(total / 60, 1) == 0 {
                await store.flush()
                largest = max(largest, directory.bytes)
            }
        }
        await store.flush()
        largest = max(largest, directory.bytes)
        #expect(largest <= limit)
        #expect(store.statistics.bytesOnDisk <= limit)
        #expect(store.statistics.evictions > 0)
        // It is full, not empty.
        #expect(store.statistics.entries * size > Int(limit) / 3)
        #expect(await store.contents(key("\(total - 1)")) == [content("\(total - 1)", size)])
        #expect(
            store.statistics.entries == (try await store.list(after: nil, limit: 100_000, where: EntityMatch())).count)
        await store.close()
        #expect(directory.bytes <= limit)
    }

    @Test func `B-34 what is used outlives a crowd that nobody asks for twice`() async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        let store = try openStore(directory, limit: 12 << 20, log: log)
        for number in 0..<100 { #expect(store.put(key("hot/\(number)"), content("\(number)", 10_000))) }
        await store.flush()
        #expect(store.statistics.entries == 100, "\(log.events)")
        for number in 0..<5000 {
            #expect(store.put(key("scan/\(number)"), content("scan \(number)", 10_000)), "\(number): \(log.events)")
            if number % 200 == 0 {
                for hot in 0..<100 { _ = try await store.read(key("hot/\(hot)")) }
                await store.flush()
            }
        }
        var kept = 0
        for number in 0..<100 { kept += try await store.read(key("hot/\(number)")).count }
        #expect(kept == 100, "\(log.events)")
        #expect(store.statistics.evictions > 3000)
        await store.close()
    }

    @Test func `what has expired is not spared for having been used`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory, limit: 12 << 20)
        for number in 0..<50 { store.put(key("old/\(number)"), expires: 999_999, content("\(number)", 10_000)) }
        for number in 0..<50 { store.put(key("new/\(number)"), expires: 1_000_001, content("\(number)", 10_000)) }
        await store.flush()
        for number in 0..<50 {
            _ = try await store.read(key("old/\(number)"))
            _ = try await store.read(key("new/\(number)"))
        }
        for number in 0..<1150 { store.put(key("\(number)"), content("x \(number)", 10_000)) }
        await store.flush()
        #expect(store.statistics.evictions > 0)
        var old = 0
        var new = 0
        for number in 0..<50 {
            old += try await store.read(key("old/\(number)")).count
            new += try await store.read(key("new/\(number)")).count
        }
        #expect(new == 50)
        #expect(old < 50)
        await store.close()
    }

    @Test func `what comes back soon after it was evicted outlives those that came with it`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory, limit: 12 << 20)
        for number in 0..<50 { store.put(key("back/\(number)"), content("back \(number)", 10_000)) }
        for number in 0..<900 { store.put(key("first/\(number)"), content("first \(number)", 10_000)) }
        await store.flush()
        #expect(try await store.read(key("back/0")).isEmpty)
        for number in 0..<50 { store.put(key("back/\(number)"), content("back \(number)", 10_000)) }
        for number in 0..<1500 { store.put(key("second/\(number)"), content("second \(number)", 10_000)) }
        await store.flush()
        var kept = 0
        for number in 0..<50 { kept += try await store.read(key("back/\(number)")).count }
        // Evicted keys are remembered in places that some have to share.
        #expect(kept > 40)
        #expect(try await store.read(key("second/0")).isEmpty)
        await store.close()
    }

    @Test func `what was used is known after a restart`() async throws {
        let directory = TemporaryDirectory()
        let first = try openStore(directory)
        for number in 0..<20 { first.put(key("\(number)"), [1]) }
        await first.flush()
        for number in 0..<20 where number % 3 == 0 { _ = try await first.read(key("\(number)")) }
        await first.close()
        let log = EventLog()
        let second = try openStore(directory, log: log)
        #expect(await log.first(where: \.isKeysLoaded) == .keysLoaded(count: 20))
        let marked = try await second.list(after: nil, limit: 100, where: EntityMatch()).filter(\.isRecentlyUsed)
        #expect(marked.count == 7)
        await second.close()
    }

    @Test func `a key that is removed leaves no mark of its use`() async throws {
        let directory = TemporaryDirectory()
        func marks() throws -> Int64 {
            try Connection(path: directory.path + "/larder.db", isWriter: false)
                .integer("SELECT count(*) FROM recentlyUsed")
        }
        for round in 0..<2 {
            let store = try openStore(directory)
            for number in 0..<3 { store.put(key("\(number)"), [1]) }
            await store.flush()
            for number in 0..<3 { _ = try await store.read(key("\(number)")) }
            if round == 1 {
                // One is marked on disk from before, the other is to be when the store closes.
                for number in 0..<2 { store.remove(key("\(number)")) }
                await store.flush()
            }
            await store.close()
            #expect(try marks() == (round == 0 ? 3 : 1))
        }
        let database = try Connection(path: directory.path + "/larder.db", isWriter: true)
        try database.execute("INSERT INTO recentlyUsed VALUES (77)")
        let store = try openStore(directory)
        await store.flush()
        await store.close()
        #expect(try marks() == 1)
    }

    @Test(arguments: [10_000, 200_000])
    func `equal content is stored once and goes with the last that has it`(size: Int) async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        for number in 0..<10 { store.put(key("\(number)"), head: "\(number)", content("same", size)) }
        await store.flush()
        func rows() throws -> Int64 {
            try Connection(path: directory.path + "/larder.db", isWriter: false).integer("SELECT count(*) FROM content")
        }
        #expect(try rows() == 1)
        #expect(directory.contentFiles.count == (size > 65_536 ? 1 : 0))
        for number in 0..<9 { store.remove(key("\(number)")) }
        await store.flush()
        #expect(await store.contents(key("9")) == [content("same", size)])
        #expect(await store.heads(key("9")) == ["9"])
        store.remove(key("9"))
        await store.flush()
        #expect(try rows() == 0)
        #expect(directory.contentFiles == [])
        await store.close()
    }

    @Test func `short content is each entity's own, and goes with it`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        let bytes = content("same", 1000)
        for number in 0..<3 { store.put(key("\(number)"), bytes) }
        await store.flush()
        let connection = try Connection(path: directory.path + "/larder.db", isWriter: true)
        func rows() throws -> Int64 { try connection.integer("SELECT count(*) FROM content") }
        #expect(try rows() == 3)
        // Whatever a damaged row says of others.
        try connection.execute("UPDATE content SET users = 7")
        store.put(key("0"), content("other", 1000))
        store.remove(key("1"))
        await store.flush()
        #expect(try rows() == 2)
        #expect(await store.contents(key("0")) == [content("other", 1000)])
        #expect(await store.contents(key("2")) == [bytes])
        await store.close()
    }

    @Test func `short content is stored beside a digest that begins with its number`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        store.put(key("long"), content("long", 10_000))
        await store.flush()
        try Connection(path: directory.path + "/larder.db", isWriter: true)
            .execute("UPDATE content SET digestHash = id + 1")
        for name in ["a", "b"] { store.put(key(name), content(name, 1000)) }
        await store.flush()
        for name in ["a", "b"] { #expect(await store.contents(key(name)) == [content(name, 1000)]) }
        for name in ["long", "a", "b"] { store.remove(key(name)) }
        await store.flush()
        let connection = try Connection(path: directory.path + "/larder.db", isWriter: false)
        #expect(try connection.integer("SELECT count(*) FROM content") == 0)
        await store.close()
    }

    @Test func `what is too long for the store is refused at once or on the way`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory, limit: 8 << 20)
        store.put(key("a"), [1])
        await store.flush()
        let writer = store.beginWrite(
            key("a"), variant: [], head: [], requestTime: Timestamp(seconds: 0), responseTime: Timestamp(seconds: 0),
            storedAt: Timestamp(seconds: 0), expires: nil, expectedLength: 2 << 20)
        #expect(writer.state == .abandoned(.tooLarge))
        // The entity that it was to replace is out of date all the same.
        #expect(!writer.finish())
        #expect(try await store.read(key("a")).isEmpty)
        #expect(!store.put(key("b"), content("b", 2 << 20)))
        await store.flush()
        #expect(directory.contentFiles == [])
        // The writer of the moment lets go of the file when it has finished.
        await store.close()
        #expect(!directory.files.contains { $0.hasPrefix("spool/") })
    }

    @Test func `more than may wait in memory is not stored`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory) {
            $0.queueLimit = 100_000
            $0.commitInterval = .seconds(3600)
        }
        for number in 0..<20 { store.put(key("\(number)"), content("\(number)", 10_000)) }
        #expect(store.statistics.pendingBytes <= 100_000)
        #expect(store.statistics.droppedWrites == 10)
        await store.flush()
        #expect(store.statistics.pendingBytes == 0)
        #expect(store.statistics.entries == 10)
        #expect(store.put(key("later"), content("later", 10_000)))
        await store.close()
    }

    @Test func `more variants than are kept are cleared away when they are read`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory) { $0.variantLimit = 3 }
        for number in 0..<10 {
            store.put(key("a"), variant: "\(number)", head: "\(number)", at: Int64(number), [1])
        }
        await store.flush()
        #expect(await store.heads(key("a")) == ["9", "8", "7"])
        await store.flush()
        #expect(store.statistics.entries == 3)
        await store.close()
    }

    @Test func `a hundred thousand entities are known soon after a start`() async throws {
        let directory = TemporaryDirectory()
        await (try openStore(directory)).close()
        do {
            let connection = try Connection(path: directory.path + "/larder.db", isWriter: true)
            try connection.execute(
                """
                WITH RECURSIVE numbers (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)
                INSERT INTO entity SELECT n, n * 7919 << 30, 0, NULL, 0, 0, 0, NULL, 0, zeroblob(60), x'', zeroblob(400),
                    0, NULL
                FROM numbers
                """)
        }
        let log = EventLog()
        let clock = ContinuousClock()
        let began = clock.now
        let store = try openStore(directory, log: log)
        let opened = clock.now
        #expect(await log.first(where: \.isKeysLoaded) == .keysLoaded(count: 100_000))
        let loaded = clock.now
        await store.flush()
        #expect(store.statistics.entries == 100_000)
        #expect(!store.mayContain(key("anything")))
        print("100,000 entities: open after \(opened - began), all keys known after \(loaded - began)")
        await store.close()
    }

    @Test(arguments: [(until: Int64.min, examined: 1), (.max, 8)])
    func `eviction looks at rows until its time is over, and goes on there`(until: Int64, examined: Int) throws {
        let directory = TemporaryDirectory()
        directory.write([], to: "larder.db")
        let connection = try Connection(path: directory.path + "/larder.db", isWriter: true)
        _ = try Schema.prepare(connection)
        let database = try EntityDatabase(connection, secret: nil)
        let time = Timestamp(seconds: 1000)
        _ = try database.transaction { () throws(SQLiteFailure) in
            for number in 1...20 {
                let record = EntityRecord(
                    variant: [], head: [], requestTime: time, responseTime: time, storedAt: time, expires: nil,
                    content: .empty)
                try database.insert(record, for: key("\(number)"), blocks: nil)
            }
        }
        for round in 1...2 {
            let effects = try database.transaction { () throws(SQLiteFailure) in
                let slice = try database.evict(
                    atMost: 8, of: 20, until: until, index: KeyIndex(), sparing: nil, now: time)
                #expect(slice.examined == examined)
                #expect(slice.evicted == examined)
            }
            #expect(Set(effects.lostKeys).count == examined)
            #expect(try connection.integer("SELECT min(id) FROM entity") == Int64(round * examined + 1))
        }
    }

    @Test func `a log that has become long is written back after the group that made it so`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory, limit: 32 << 20) { $0.rowLimit = 64 << 10 }
        store.put(key("small"), content("small", 1000))
        await store.flush()
        await store.flush()
        #expect(store.statistics.longestCheckpoint == .zero)
        for number in 0..<30 { store.put(key("\(number)"), content("\(number)", 50_000)) }
        await store.flush()
        // The writer turns to this one when it is done with what follows from the first.
        await store.flush()
        #expect(store.statistics.longestCheckpoint > .zero)
        #expect(directory.length(of: "larder.db") > 1_000_000)
        await store.close()
    }

    @Test(arguments: [true, false])
    func `a long write that is overtaken before it is committed leaves no file`(byRemoval: Bool) async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory) { $0.commitInterval = .seconds(3600) }
        store.put(key("a"), content("first", 2_000_000))
        // Waits until all of it is in its file.
        #expect(await store.contents(key("a")) == [content("first", 2_000_000)])
        if byRemoval { store.remove(key("a")) } else { store.put(key("a"), content("second", 1000)) }
        await store.flush()
        #expect(directory.contentFiles == [])
        #expect(await store.contents(key("a")) == (byRemoval ? [] : [content("second", 1000)]))
        await store.flush()
        #expect(store.statistics.bytesOnDisk < 2_000_000)
        await store.close()
    }
}
