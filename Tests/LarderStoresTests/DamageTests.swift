// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderHTTP
import Testing

@testable import LarderStores

@Suite("Damage")
struct DamageTests {
    /// Fills a store with content in rows and in files and closes it.
    private func fill(_ directory: TemporaryDirectory, count: Int = 40) async throws {
        let store = try openStore(directory)
        for number in 0..<count { store.put(key("\(number)"), expected(number)) }
        await store.close()
    }

    private func expected(_ number: Int) -> [UInt8] {
        content("\(number)", [0, 500, 5000, 40_000, 100_000, 700_000][number % 6])
    }

    /// Reads everything; nothing may be wrong. Returns how many entities were whole.
    private func check(_ store: SQLiteStore, count: Int = 40) async -> Int {
        var whole = 0
        for number in 0..<count {
            for record in (try? await store.read(key("\(number)"))) ?? [] {
                guard let octets = await store.octets(of: record.content) else { continue }
                #expect(octets == expected(number), "entity \(number) was altered")
                #expect(record.head == Array("head".utf8))
                whole += 1
            }
        }
        return whole
    }

    enum Harm: CaseIterable, Sendable {
        case flip, zero, cut, delete
    }

    @Test(arguments: Harm.allCases)
    func `an altered file of content is noticed, removed, and replaced by the next write`(
        harm: Harm
    ) async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        try await fill(directory)
        let files = directory.contentFiles
        #expect(files.count == 12)
        for file in files {
            let middle = directory.length(of: file) / 2
            switch harm {
            case .flip: directory.overwrite(file, at: middle, with: [directory.contents(of: file)[Int(middle)] ^ 1])
            case .zero: directory.overwrite(file, at: middle, with: [UInt8](repeating: 0, count: 512))
            case .cut: directory.cut(file, to: middle)
            case .delete: directory.delete(file)
            }
        }
        let store = try openStore(directory, log: log)
        #expect(await check(store) == 40 - files.count)
        #expect(log.events.filter { if case .damagedContent = $0 { true } else { false } }.count == files.count)
        await store.flush()
        #expect(directory.contentFiles == [])
        #expect(try await store.read(key("4")).isEmpty)
        for number in 0..<40 { store.put(key("\(number)"), expected(number)) }
        await store.flush()
        #expect(await check(store) == 40)
        await store.close()
    }

    @Test func `a file that is altered while it is read is not handed out`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        let bytes = content("a", 1_000_000)
        store.put(key("a"), bytes)
        await store.flush()
        let record = try #require(try await store.read(key("a")).first)
        let reader = try #require(try await store.openContent(record.content))
        let first = try #require(try await reader.read(at: 0, count: 1000))
        #expect(first.withBytes { Array($0) } == Array(bytes[0..<1000]))
        directory.overwrite(directory.contentFiles[0], at: 900_000, with: [0, 0, 0])
        #expect(try await reader.read(at: 300_000, count: 10) != nil)
        #expect(try await reader.read(at: 800_000, count: 10) == nil)
        await store.close()
    }

    @Test func `EC-16 a flipped bit anywhere in the database never alters what is served`() async throws {
        let source = TemporaryDirectory()
        try await fill(source)
        let database = source.contents(of: "larder.db")
        var random = SystemRandomNumberGenerator()
        var survivors = 0
        for _ in 0..<50 {
            let offset = Int.random(in: 0..<database.count, using: &random)
            let bit: UInt8 = 1 << UInt8.random(in: 0..<8, using: &random)
            survivors += try await harm(database, at: offset, flipping: bit)
        }
        #expect(survivors > 0)
    }

    /// The octets of the file's header that mean something, and of the schema: its names, columns, types and its
    /// version. These once left a store that could not write for ever.
    @Test func `EC-16 damage to the header or the schema ends in a database that can be used`() async throws {
        let source = TemporaryDirectory()
        try await fill(source)
        let database = source.contents(of: "larder.db")
        let schema = try #require(database.firstRange(of: Array("CREATE TABLE entity".utf8))).lowerBound
        let state = try #require(database.firstRange(of: Array("CREATE TABLE state".utf8))).lowerBound
        let header = [
            0, 16, 18, 19, 20, 21, 24, 28, 31, 35, 39, 40, 47, 52, 59, 63, 67, 71, 92, 96, 100, 103, 105, 108,
        ]
        for offset in header + [schema + 3, schema + 14, schema + 30, schema + 60, schema + 200, state + 30] {
            for bits: UInt8 in [0x01, 0x80] { try await harm(database, at: offset, flipping: bits) }
        }
    }

    /// Opens a store on a damaged copy of `database`, and expects it to serve nothing wrong and to be of use again:
    /// at once, or when reading has found the damage out. Returns how many entities were whole.
    @discardableResult
    private func harm(_ database: [UInt8], at offset: Int, flipping bits: UInt8) async throws -> Int {
        let directory = TemporaryDirectory()
        var damaged = database
        damaged[offset] ^= bits
        directory.tag()
        directory.write(damaged, to: "larder.db")
        let store = try openStore(directory)
        let whole = await check(store)
        var isStored = false
        for _ in 0..<3 where !isStored {
            store.put(key("new"), content("new", 5000))
            await store.flush()
            isStored = await store.contents(key("new")) == [content("new", 5000)]
            // The damage that the last read has reported is dealt with.
            await store.flush()
        }
        #expect(isStored, "flipped \(bits) at \(offset)")
        #expect(store.statistics.state == .open, "flipped \(bits) at \(offset)")
        #expect(directory.files.count { $0.hasPrefix("larder.db.corrupt-") } <= 1)
        await store.close()
        return whole
    }

    @Test(arguments: [0.0, 0.2, 0.5, 0.99])
    func `a database that was cut is set aside and begun anew`(fraction: Double) async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        try await fill(directory)
        directory.cut("larder.db", to: Int64(Double(directory.length(of: "larder.db")) * fraction))
        let store = try openStore(directory, log: log)
        #expect(await check(store) == 0)
        store.put(key("1"), expected(1))
        await store.flush()
        #expect(await check(store) == 1)
        // An empty file is an empty database.
        let isSetAside = log.events.contains { if case .setAside = $0 { true } else { false } }
        #expect(isSetAside == (fraction > 0))
        #expect(directory.files.contains { $0.hasPrefix("larder.db.corrupt-") } == (fraction > 0))
        await store.close()
    }

    @Test func `zeroed pages in the middle are survived without a restart`() async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        try await fill(directory)
        let store = try openStore(directory, log: log)
        let length = directory.length(of: "larder.db")
        for page in 1..<length / Schema.pageSize {
            directory.overwrite(
                "larder.db", at: page * Schema.pageSize, with: [UInt8](repeating: 0, count: Int(Schema.pageSize)))
        }
        _ = await check(store)
        await store.flush()
        for number in 0..<40 { store.put(key("\(number)"), expected(number)) }
        await store.flush()
        await store.flush()
        #expect(await check(store) == 40)
        #expect(log.events.contains { if case .setAside = $0 { true } else { false } })
        await store.close()
    }

    @Test(arguments: ["this is no database", ""])
    func `something else in the place of the database is set aside`(text: String) async throws {
        let directory = TemporaryDirectory()
        directory.tag()
        directory.write(Array(repeating: Array(text.utf8), count: 2000).flatMap { $0 }, to: "larder.db")
        let store = try openStore(directory)
        store.put(key("a"), [1])
        await store.flush()
        #expect(await store.contents(key("a")) == [[1]])
        await store.close()
    }

    @Test(arguments: [S_IFDIR, S_IFIFO])
    func `a directory or a pipe in the place of the database is set aside`(kind: mode_t) async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        try await fill(directory, count: 1)
        directory.delete(StoreDirectory.databaseName)
        let path = directory.path + "/" + StoreDirectory.databaseName
        try #require((kind == S_IFDIR ? mkdir(path, 0o700) : mkfifo(path, 0o600)) == 0)
        let store = try openStore(directory, log: log)
        store.put(key("a"), expected(1))
        await store.flush()
        #expect(await store.contents(key("a")) == [expected(1)])
        #expect(log.events.contains { if case .setAside = $0 { true } else { false } })
        await store.close()
    }

    @Test func `a log that was damaged costs at most what was in it`() async throws {
        let directory = TemporaryDirectory()
        try await fill(directory)
        let copy = TemporaryDirectory()
        let store = try openStore(directory)
        for number in 40..<80 { store.put(key("\(number)"), content("\(number)", 3000)) }
        await store.flush()
        copy.tag()
        copy.write(directory.contents(of: "larder.db"), to: "larder.db")
        copy.write(directory.contents(of: "larder.db-wal"), to: "larder.db-wal")
        await store.close()
        #expect(copy.length(of: "larder.db-wal") > 0)
        copy.overwrite("larder.db-wal", at: copy.length(of: "larder.db-wal") / 2, with: [1, 2, 3, 4, 5, 6, 7, 8])
        let reopened = try openStore(copy)
        for number in 40..<80 {
            for octets in await reopened.contents(key("\(number)")) { #expect(octets == content("\(number)", 3000)) }
        }
        #expect(await reopened.contents(key("1")) == [expected(1)])
        await reopened.close()
    }

    @Test func `a directory that is deleted while it is used comes back`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        store.put(key("a"), content("a", 100_000))
        await store.flush()
        removeTree(directory.path)
        for number in 0..<10 {
            store.put(key("\(number)"), content("\(number)", 50_000 * (number % 3)))
            await store.flush()
        }
        await store.flush()
        store.put(key("b"), content("b", 100_000))
        await store.flush()
        #expect(await store.contents(key("b")) == [content("b", 100_000)])
        #expect(store.statistics.state == .open)
        #expect(directory.files.contains("larder.db"))
        await store.close()
    }

    @Test func `a log that is deleted while it is used loses nothing, and nobody reads past it`() async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        let store = try openStore(directory, log: log)
        for round in 0..<3 {
            for number in 0..<40 where number % 3 == round { store.put(key("\(number)"), expected(number)) }
            await store.flush()
            directory.delete("larder.db-wal")
            // The next commit notices.
            store.put(key("another"), content("another", 100))
            await store.flush()
            #expect(log.events.filter { $0 == .logLost }.count == round + 1)
        }
        #expect(await check(store) == 40)
        #expect(!log.events.contains { if case .readFailed = $0 { true } else { false } })
        #expect(store.statistics.state == .open)
        await store.close()
        let reopened = try openStore(directory)
        #expect(await check(reopened) == 40)
        await reopened.close()
    }

    @Test func `a schema that is damaged while it is used is noticed by the next reader`() async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        try await fill(directory)
        let store = try openStore(directory, log: log)
        _ = await check(store)
        await store.flush()
        // Another version of the schema makes every connection read it again.
        var database = directory.contents(of: "larder.db")
        let column = try #require(database.firstRange(of: Array("responseTime".utf8))).lowerBound
        database[column] ^= 0x20
        database[43] ^= 1
        directory.overwrite("larder.db", at: 0, with: Array(database[..<Int(Schema.pageSize)]))
        for number in 0..<40 { store.put(key("\(number)"), expected(number)) }
        await store.flush()
        _ = await check(store)
        await store.flush()
        for number in 0..<40 { store.put(key("\(number)"), expected(number)) }
        await store.flush()
        #expect(await check(store) == 40)
        #expect(store.statistics.state == .open)
        await store.close()
    }

    @Test func `keys whose hashes meet are never taken for each other`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        let one = EntityKey(key("one"), hash: 42)
        let two = EntityKey(key("two"), hash: 42)
        store.put(one, content("one", 100))
        await store.flush()
        #expect(try await store.read(two).isEmpty)
        store.remove(two)
        store.updateHead(
            two, variant: [], head: [9], requestTime: Timestamp(seconds: 0), responseTime: Timestamp(seconds: 0),
            expires: nil, ifStoredAt: Timestamp(seconds: 1000))
        await store.flush()
        #expect(await store.contents(one) == [content("one", 100)])
        #expect(await store.heads(one) == ["head"])
        store.put(two, content("two", 100))
        for _ in 0..<2 {
            #expect(await store.contents(two) == [content("two", 100)])
            for octets in await store.contents(one) { #expect(octets == content("one", 100)) }
            await store.flush()
        }
        await store.close()
    }
}
