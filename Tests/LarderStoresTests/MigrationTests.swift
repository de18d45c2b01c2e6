// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@testable import LarderStores

@Suite("Migrations")
struct MigrationTests {
    @Test func `EC-16 a database of version 1 is brought up to date with all that is in it`() async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        do {
            let connection = try makeDatabase(directory, Array(Migration.all.prefix(1)))
            for number in 1...20 {
                try putEarlier(content("\(number)", 200), under: key("\(number)"), row: Int64(number), into: connection)
            }
        }
        let store = try openStore(directory, log: log)
        #expect(log.events.contains(.migrated(Migration.all.dropFirst().map(\.name))))
        for number in 1...20 { #expect(await store.contents(key("\(number)")) == [content("\(number)", 200)]) }
        // They are counted after the store is open.
        await store.flush()
        #expect(store.statistics.entries == 20)
        await store.close()
        let again = EventLog()
        let second = try openStore(directory, log: again)
        await second.close()
        #expect(!again.events.contains { if case .migrated = $0 { true } else { false } })
    }

    @Test func `EC-16 a database of a later version is refused and left as it is`() async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        do {
            let connection = try makeDatabase(directory, Migration.all)
            try connection.execute("PRAGMA user_version = \(Migration.all.count + 1)")
        }
        let error = #expect(throws: StoreError.self) { try openStore(directory, log: log) }
        #expect(
            error?.message == "\(directory.path) was last used by a newer version of Larder (schema "
                + "\(Migration.all.count + 1); this one knows \(Migration.all.count)). Install that version again, "
                + "or give the cache a directory of its own (cache.path).")
        #expect(log.events.isEmpty)
        let connection = try Connection(path: directory.path + "/larder.db", isWriter: false)
        #expect(try connection.integer("PRAGMA user_version") == Int64(Migration.all.count + 1))
    }

    @Test func `EC-16 a database with an impossible version is damaged and is set aside`() async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        do {
            let connection = try makeDatabase(directory, Migration.all)
            try connection.execute("PRAGMA user_version = 65536")
        }
        let store = try openStore(directory, log: log)
        let reasons = log.events.compactMap { if case .setAside(_, let reason) = $0 { reason } else { nil } }
        #expect(reasons == ["its schema has version 65536, this Larder knows \(Migration.all.count)"])
        store.put(key("a"), [1])
        await store.flush()
        #expect(await store.contents(key("a")) == [[1]])
        await store.close()
    }

    @Test func `the database of another program is left alone`() async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        directory.write([], to: "larder.db")
        do {
            let connection = try Connection(path: directory.path + "/larder.db", isWriter: true)
            try connection.execute("CREATE TABLE entity (id INTEGER PRIMARY KEY)")
        }
        #expect(throws: StoreError.self) { try openStore(directory, log: log) }
        #expect(log.events.isEmpty)
        let connection = try Connection(path: directory.path + "/larder.db", isWriter: false)
        #expect(try connection.integer("SELECT count(*) FROM entity") == 0)
    }

    @Test func `every step was written for the one before it`() throws {
        for count in 1...Migration.all.count {
            let directory = TemporaryDirectory()
            let connection = try makeDatabase(directory, Array(Migration.all.prefix(count)))
            #expect(try connection.integer("PRAGMA user_version") == Int64(count))
            #expect(try connection.text("PRAGMA integrity_check") == "ok")
            #expect(try connection.integer("PRAGMA page_size") == Schema.pageSize)
            #expect(try connection.integer("PRAGMA auto_vacuum") == 2)
        }
    }
}
