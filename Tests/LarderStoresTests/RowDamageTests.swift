// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import LarderHTTP
import Testing

@testable import LarderStores

/// Values that nobody wrote, in every column of every table: the disk or somebody's editor put them there.
@Suite("Damaged rows")
struct RowDamageTests {
    private static let count = 8

    private static let columns: [(table: String, column: String)] =
        [
            "id", "keyHash", "variantHash", "content", "requestTime", "responseTime", "storedAt", "expires", "seal",
            "key", "variant", "head", "history", "since",
        ].map { ("entity", $0) }
        + [
            "id", "keyHash", "variantHash", "content", "responseTime", "storedAt", "expires", "seal", "key", "variant",
            "head", "since",
        ].map { ("version", $0) }
        + ["id", "digestHash", "users", "length", "digest", "blocks", "octets", "segment", "place"].map {
            ("content", $0)
        }
        + ["hash", "entity"].map { ("label", $0) } + [("recentlyUsed", "keyHash")]
        + ["name", "value"].map { ("state", $0) } + ["id", "secret", "since", "seal"].map { ("contentKey", $0) }

    private static let values = [
        "9223372036854775807", "-9223372036854775808", "0", "-1", "4611686018427387904", "1e300", "-1e300", "0.5",
        "NULL", "'text'", "''", "x''", "x'00ff'", "zeroblob(3000000)", "zeroblob(6000000)",
        "cast(zeroblob(100000) AS text)",
    ]

    /// Those that are tried while the store is open as well.
    private static let whileOpen = ["9223372036854775807", "-1", "NULL", "'text'"]

    private func expected(_ number: Int) -> [UInt8] {
        content("\(number)", [0, 500, 70_000, 20_000, 300_000, 30_000][number % 6])
    }

    private func fill(_ store: SQLiteStore, from first: Int = 0) async {
        for number in first..<first + Self.count {
            // The first one becomes a version.
            for content in [[UInt8(number % 250)], expected(number)] {
                let writer = store.beginWrite(
                    key("\(number)"), variant: [], head: [1, 2, 3], requestTime: Timestamp(seconds: 1),
                    responseTime: Timestamp(seconds: 2), storedAt: Timestamp(seconds: 3), expires: nil,
                    expectedLength: nil, labels: [.group("g")], history: EntityHistory(limit: 2))
                writer.append(ContentChunk(content))
                writer.finish()
            }
        }
        await store.flush()
    }

    private func check(_ store: SQLiteStore) async -> Int {
        var whole = 0
        for number in 0..<Self.count * 2 {
            for version in await store.versions(key("\(number)"), openable: Int64(number)) {
                _ = await store.octets(of: version.record.content)
            }
            for record in (try? await store.read(key("\(number)"))) ?? [] {
                #expect(record.head == [1, 2, 3])
                guard let octets = await store.octets(of: record.content) else { continue }
                #expect(octets == expected(number))
                whole += 1
            }
        }
        return whole
    }

    /// Does all that a daemon does with a store; nothing of it may trap or serve what was not written.
    private func use(_ store: SQLiteStore, _ label: Comment) async {
        let whole = await check(store)
        #expect(whole >= 0)
        _ = try? await store.list(after: nil, limit: 100, where: EntityMatch())
        _ = store.statistics
        await fill(store, from: Self.count)
        await store.flush()
        _ = await check(store)
        await store.removeAll(where: EntityMatch(label: .group("g")))
        await fill(store)
        // The damage that reading has found is dealt with by now, and everything works.
        await store.flush()
        var left = await check(store)
        if left < Self.count {
            await fill(store)
            left = await check(store)
        }
        #expect(left >= Self.count, label)
        #expect(store.statistics.state == .open, label)
        // The longest value of all, in each label and once more in their index, takes 192 MB.
        #expect(store.statistics.bytesOnDisk < 256 << 20, label)
    }

    @Test(arguments: columns.map { "\($0.table).\($0.column)" })
    func `no value in a column traps, or has anything wrong served`(place: String) async throws {
        let parts = place.split(separator: ".").map(String.init)
        let (table, column) = (parts[0], parts[1])
        let template = try await filled()
        // Each value in every fourth column, each column with a quarter of the values; all of both take minutes.
        let offset = Self.columns.firstIndex { $0 == (table, column) } ?? 0
        let isFull = ProcessInfo.processInfo.environment["LARDER_FULL"] != nil
        for (number, value) in Self.values.enumerated() where isFull || (number + offset) % 4 == 0 {
            for isOpen in Self.whileOpen.contains(value) ? [false, true] : [false] {
                let directory = template.copied()
                let log = EventLog()
                let early = isOpen ? try openStore(directory, log: log) : nil
                do {
                    let database = try Connection(path: directory.path + "/larder.db", isWriter: true)
                    // One row, as what must be unique must stay so for SQLite to write it at all.
                    let chosen =
                        ["state", "recentlyUsed", "label"].contains(table)
                        ? "" : " WHERE id = (SELECT max(id) FROM \(table))"
                    try? database.execute("UPDATE OR IGNORE \(table) SET \(column) = \(value)\(chosen)")
                    if place == "state.value" {
                        for name in ["evictionID", "probationID"] {
                            try? database.execute("INSERT OR REPLACE INTO state VALUES ('\(name)', \(value))")
                        }
                    }
                }
                let store = try early ?? openStore(directory, log: log)
                await use(store, "\(place) = \(value), \(isOpen ? "while it was open" : "before it was opened")")
                await store.close()
            }
        }
    }

    @Test(arguments: ["entity", "content"])
    func `an impossible row takes nothing else of its segment with it`(_ table: String) async throws {
        let directory = TemporaryDirectory()
        let sizes = [20_000, 30_000, 40_000]
        let first = try openStore(directory)
        for size in sizes { first.put(key("\(size)"), content("\(size)", size)) }
        await first.flush()
        await first.close()
        do {
            let database = try Connection(path: directory.path + "/larder.db", isWriter: true)
            #expect(try database.integer("SELECT count(DISTINCT segment) FROM content WHERE segment IS NOT NULL") == 1)
            try database.execute(
                "UPDATE \(table) SET id = 9223372036854775807 WHERE id = (SELECT max(id) FROM \(table))")
        }
        let log = EventLog()
        let store = try openStore(directory, log: log)
        await store.flush()
        var whole = 0
        for size in sizes where await store.contents(key("\(size)")) == [content("\(size)", size)] { whole += 1 }
        #expect(whole == sizes.count - 1)
        await store.close()
    }

    /// A directory with a store in it that is closed.
    private func filled() async throws -> TemporaryDirectory {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        await fill(store)
        await store.close()
        return directory
    }

    @Test func `an impossible length does not count as use of the disk`() async throws {
        let directory = try await filled()
        let connection = try Connection(path: directory.path + "/larder.db", isWriter: true)
        let database = try EntityDatabase(connection, secret: nil)
        let sum = try database.sumOfFiles(noneLongerThan: 1 << 40)
        #expect(sum > 0)
        for value in ["9223372036854775807", "1099511627777", "-1", "1e300", "'text'", "x'00ff'"] {
            try connection.execute(
                "UPDATE content SET length = \(value) WHERE id = (SELECT max(id) FROM content WHERE blocks IS NOT NULL)"
            )
            let left = try database.sumOfFiles(noneLongerThan: 1 << 40)
            #expect(left >= 0 && left < sum, "\(value)")
        }
    }

    @Test func `every length of a file in turn`() async throws {
        let template = try await filled()
        for value in Self.values {
            let directory = template.copied()
            var isHarmed = true
            do {
                let database = try Connection(path: directory.path + "/larder.db", isWriter: true)
                let statement = "UPDATE content SET length = \(value), users = \(value) WHERE blocks IS NOT NULL"
                do { try database.execute(statement) } catch { isHarmed = false }
            }
            let log = EventLog()
            let store = try openStore(directory, log: log)
            let files = isHarmed ? (0..<Self.count).count { [2, 4].contains($0 % 6) } : 0
            #expect(await check(store) == Self.count - files, "\(value)")
            await use(store, "length = \(value)")
            #expect(store.statistics.evictions == 0, "what is damaged has something else evicted: \(value)")
            await store.close()
        }
    }
}

extension DamageTests {
    @Test(arguments: [100_000, 300_000, 900_000], [Harm.flip, .cut, .delete])
    func `a damaged file of moderate length is a miss from the first octet on, and at once for all`(
        size: Int, harm: Harm
    ) async throws {
        let directory = TemporaryDirectory()
        let first = try openStore(directory)
        first.put(key("a"), content("a", size))
        await first.close()
        let file = directory.contentFiles[0]
        switch harm {
        case .flip: directory.overwrite(file, at: Int64(size) - 10, with: [0])
        case .cut: directory.cut(file, to: Int64(size) - 10)
        default: directory.delete(file)
        }
        // Nothing is committed before somebody asks for it.
        let store = try openStore(directory) { $0.commitInterval = .seconds(3600) }
        let record = try #require(try await store.read(key("a")).first)
        let reader = try await store.openContent(record.content)
        if size > 256 << 10 || harm != .flip { #expect(reader == nil) }
        if let reader { #expect(try await reader.read(at: 0, count: 10) == nil) }
        #expect(try await store.openContent(record.content) == nil)
        #expect(try await store.read(key("a")).isEmpty)
        // An entity written now is sound.
        store.put(key("a"), content("a", size))
        #expect(await store.contents(key("a")) == [content("a", size)])
        await store.flush()
        #expect(await store.contents(key("a")).allSatisfy { $0 == content("a", size) })
        await store.close()
    }
}

extension TemporaryDirectory {
    /// Another one with the same files.
    fileprivate func copied() -> TemporaryDirectory {
        let copy = TemporaryDirectory()
        for file in files { copy.make(file, with: contents(of: file)) }
        return copy
    }
}
