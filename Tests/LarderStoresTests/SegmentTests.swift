// SPDX-License-Identifier: Apache-2.0
import Glibc
import Larder
import LarderHTTP
import Testing

@testable import LarderStores

/// Content that is too long for its row and too short for a file of its own.
@Suite("Segments")
struct SegmentTests {
    private static let size = 30_000

    private func expected(_ number: Int) -> [UInt8] { content("\(number)", Self.size) }

    private func fill(_ store: SQLiteStore, _ numbers: Range<Int>) async {
        for number in numbers { store.put(key("\(number)"), expected(number)) }
        await store.flush()
    }

    private func whole(_ store: SQLiteStore, _ numbers: Range<Int>) async -> Int {
        var whole = 0
        for number in numbers {
            for octets in await store.contents(key("\(number)")) {
                #expect(octets == expected(number))
                whole += 1
            }
        }
        return whole
    }

    private func room(_ directory: TemporaryDirectory) -> Int64 {
        directory.segments.reduce(0) { $0 + directory.room(of: $1) }
    }

    /// Waits until maintenance has had a turn.
    private func settle(_ store: SQLiteStore) async { for _ in 0..<3 { await store.flush() } }

    @Test func `content of middle length is written once, beside the database, and read over restarts`() async throws {
        let directory = TemporaryDirectory()
        let first = try openStore(directory)
        await fill(first, 0..<50)
        first.put(key("same"), expected(7))
        await first.flush()
        #expect(await whole(first, 0..<50) == 50)
        await first.close()
        #expect(directory.segments == ["segments/1"])
        #expect(directory.length(of: "larder.db") < 500_000)
        #expect(room(directory) <= 50 * 32_768 + 65_536)
        #expect(directory.mode(of: "segments") == 0o700 && directory.mode(of: "segments/1") == 0o600)

        let log = EventLog()
        let second = try openStore(directory, log: log)
        await fill(second, 50..<60)
        #expect(await whole(second, 0..<60) == 60)
        #expect(await second.contents(key("same")) == [expected(7)])
        #expect(directory.segments == ["segments/1", "segments/2"])
        let known = second.statistics.bytesOnDisk
        #expect(known >= 60 * 32_768 && known <= 60 * 32_768 + 2_000_000)
        await second.close()
        #expect(!log.events.contains { if case .damagedEntity = $0 { true } else { false } })
    }

    @Test(arguments: DamageTests.Harm.allCases, [false, true])
    func `a damaged segment is misses, and what is written then is sound`(
        harm: DamageTests.Harm, isOpen: Bool
    ) async throws {
        let directory = TemporaryDirectory()
        var store = try openStore(directory)
        await fill(store, 0..<10)
        if !isOpen { await store.close() }
        let file = directory.segments[0]
        switch harm {
        case .flip: directory.overwrite(file, at: 5 * 32_768 + 29_999, with: [0])
        case .zero: directory.overwrite(file, at: 0, with: [UInt8](repeating: 0, count: 400_000))
        case .cut: directory.cut(file, to: 5 * 32_768 + 100)
        case .delete: directory.delete(file)
        }
        if !isOpen { store = try openStore(directory) }
        let left = await whole(store, 0..<10)
        // A file that is open is read for as long as it is.
        let expected =
            switch harm {
            case .flip: 9
            case .zero: 0
            case .cut: 5
            case .delete: isOpen ? left : 0
            }
        #expect(left == expected)
        await store.flush()
        #expect(store.statistics.damaged == 10 - left)
        #expect(store.statistics.entries == left)
        await fill(store, 0..<10)
        await fill(store, 20..<30)
        #expect(await whole(store, 20..<30) == 10)
        await store.close()
        // And it is there: not in a file that nobody can open any more.
        let again = try openStore(directory)
        #expect(await whole(again, 20..<30) == 10)
        await again.close()
    }

    @Test func `what is removed gives its room back, and an empty segment goes`() async throws {
        let directory = TemporaryDirectory()
        let first = try openStore(directory)
        await fill(first, 0..<40)
        let before = room(directory)
        for number in 0..<40 where number % 4 > 0 { first.remove(key("\(number)")) }
        await settle(first)
        #expect(room(directory) <= before / 4 + 65_536)
        #expect(await whole(first, 0..<40) == 10)
        await first.close()
        let second = try openStore(directory)
        await fill(second, 100..<101)
        #expect(directory.segments == ["segments/1", "segments/2"])
        for number in 0..<40 { second.remove(key("\(number)")) }
        await settle(second)
        #expect(directory.segments == ["segments/2"])
        await second.wipe()
        #expect(directory.segments == [])
        await fill(second, 0..<1)
        #expect(await whole(second, 0..<1) == 1)
        await second.close()
    }

    @Test func `a version keeps its content, and gives it back when it goes`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        for number in 0..<4 {
            let time = Timestamp(seconds: Int64(number))
            let writer = store.beginWrite(
                key("a"), variant: [], head: [1], requestTime: time, responseTime: time, storedAt: time, expires: nil,
                expectedLength: nil, history: EntityHistory(limit: 2))
            writer.append(ContentChunk(expected(number)))
            writer.finish()
        }
        let numbers = await store.versions(key("a"), openable: nil).map(\.number)
        #expect(numbers.count == 3)
        for (place, number) in numbers.enumerated() {
            let version = await store.versions(key("a"), openable: number).first { $0.number == number }
            let reference = try #require(version?.record.content)
            #expect(await store.octets(of: reference) == expected(3 - place))
        }
        await settle(store)
        #expect(store.core.currentCounts.segmentBytes == 3 * 32_768)
        store.remove(key("a"))
        await settle(store)
        #expect(store.core.currentCounts.segmentBytes == 0)
        await store.close()
    }

    @Test func `without holes content stays in its row, and segments go when nothing is in them`() async throws {
        let directory = TemporaryDirectory()
        let first = try openStore(directory)
        await fill(first, 0..<10)
        await first.close()
        let second = try openStore(directory) { $0.punchesHoles = false }
        await fill(second, 10..<20)
        #expect(directory.segments == ["segments/1"])
        #expect(await whole(second, 0..<20) == 20)
        let size = directory.length(of: "segments/1")
        for number in 0..<9 { second.remove(key("\(number)")) }
        await settle(second)
        // All of it counts as long as it is there.
        #expect(second.core.currentCounts.segmentBytes >= size)
        #expect(await whole(second, 9..<20) == 11)
        second.remove(key("9"))
        await settle(second)
        #expect(directory.segments == [])
        #expect(second.core.currentCounts.segmentBytes == 0)
        await second.close()
    }

    @Test func `what a crash left in segments is given back, and strangers are left alone`() async throws {
        let directory = TemporaryDirectory()
        let first = try openStore(directory)
        await fill(first, 0..<20)
        await first.close()
        // Written, and its rows never committed: between two contents, at the end, and in a segment of its own.
        do {
            let database = try Connection(path: directory.path + "/larder.db", isWriter: true)
            for number in 4..<17 {
                let row = "keyHash = \(Int64(bitPattern: key("\(number)").hash))"
                try database.execute(
                    """
                    DELETE FROM content WHERE id = (SELECT content FROM entity WHERE \(row));
                    DELETE FROM entity WHERE \(row)
                    """)
            }
        }
        directory.overwrite("segments/1", at: 20 * 32_768, with: [UInt8](repeating: 1, count: 500_000))
        directory.write([UInt8](repeating: 1, count: 100_000), to: "segments/2")
        for name in ["x", "-1", "01", "99999999999999999999"] { directory.write([1], to: "segments/\(name)") }
        let log = EventLog()
        let second = try openStore(directory, log: log)
        await settle(second)
        #expect(!directory.segments.contains("segments/2"))
        #expect(directory.segments.count == 5)
        #expect(directory.room(of: "segments/1") <= 7 * 32_768 + 65_536)
        #expect(await whole(second, 0..<20) == 7)
        await fill(second, 4..<17)
        #expect(await whole(second, 0..<20) == 20)
        #expect(second.statistics.damaged == 0)
        await second.close()
    }

    @Test(arguments: [1 << 40, 1 << 40 - 1, 1 << 39, 3, 2, 0] as [Int64])
    func `a damaged number of a segment costs its own content alone`(number: Int64) async throws {
        let directory = TemporaryDirectory()
        let first = try openStore(directory)
        await fill(first, 0..<5)
        await first.close()
        do {
            try Connection(path: directory.path + "/larder.db", isWriter: true).execute(
                "UPDATE content SET segment = \(number) WHERE id = 1")
        }
        // Not Larder's, though it has a name of Larder's.
        try makeDirectory(directory.path + "/segments/2")
        for round in 1...2 {
            let log = EventLog()
            let store = try openStore(directory, log: log)
            await fill(store, 10 * round..<10 * round + 5)
            #expect(await whole(store, 10..<10 * round + 5) == 5 * round)
            #expect(!log.events.contains { $0.isDegraded })
            if round == 2 { #expect(await whole(store, 0..<5) == 4) }
            await store.close()
        }
    }

    @Test func `readers beside a writer that removes get the right octets or none`() async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        let limit: Int64 = 8 << 20
        let store = try openStore(directory, limit: limit, log: log) { $0.commitInterval = .milliseconds(1) }
        await withTaskGroup(of: Int.self) { group in
            for first in 0..<4 {
                group.addTask {
                    var read = 0
                    for number in 0..<1500 { read += await self.whole(store, (number + first)..<(number + first + 1)) }
                    return read
                }
            }
            for number in 0..<1500 {
                store.put(key("\(number)"), expected(number))
                if number % 7 == 0 { store.remove(key("\(max(0, number - 40))")) }
                if number % 50 == 0 { await store.flush() }
            }
            for await _ in group {}
        }
        await settle(store)
        #expect(store.statistics.damaged == 0)
        #expect(store.statistics.evictions > 0)
        #expect(directory.bytes <= limit)
        #expect(store.statistics.bytesOnDisk <= limit)
        #expect(await whole(store, 0..<1500) > 50)
        await store.close()
        #expect(!log.events.contains { if case .readFailed = $0 { true } else { false } })
    }

    /// The rows of a transaction that fails name places that are not used again.
    @Test func `a group that cannot be committed leaves nothing in segments`() throws {
        let directory = TemporaryDirectory()
        let files = SegmentFiles(directory: try StoreDirectory(directory.path))
        let home = try StoreDirectory(directory.path)
        try home.secure()
        let owned = SegmentFiles(directory: home)
        #expect(throws: DiskFailure.self) { try files.create(1) }
        let writer = SegmentWriter(owned, canPunch: true)
        directory.write([], to: "larder.db")
        let connection = try Connection(path: directory.path + "/larder.db", isWriter: true)
        _ = try Schema.prepare(connection)
        let database = try EntityDatabase(
            connection, secret: nil, segments: ContentSegments(writer: writer, rowLimit: 100, limit: 1 << 20))
        let octets = content("a", Self.size)
        let record = EntityRecord(
            variant: [], head: [], requestTime: Timestamp(seconds: 1), responseTime: Timestamp(seconds: 1),
            storedAt: Timestamp(seconds: 1), expires: nil,
            content: ContentReference(
                digest: ContentReference.empty.digest, length: Int64(octets.count),
                location: .inline(ContentChunk(octets))))
        #expect(throws: SQLiteFailure.self) {
            _ = try database.transaction { () throws(SQLiteFailure) in
                try database.insert(record, for: key("a"), blocks: nil)
                throw .corrupt("for the test")
            }
        }
        #expect(writer.occupied == 0)
        #expect(directory.room(of: "segments/1") == 0)
        _ = try database.transaction { () throws(SQLiteFailure) in
            try database.insert(record, for: key("a"), blocks: nil)
        }
        #expect(try connection.integer("SELECT place FROM content") == 32_768)
        #expect(try database.usedSegments() == [1: 32_768])
        #expect(try database.places(in: 1).map(\.offset) == [32_768])
        let place = try #require(SegmentPlace(segment: 1, offset: 32_768, length: Int64(Self.size)))
        #expect(try owned.read(place)?.withBytes { Array($0) } == octets)
    }

    @Test func `content that could not be read where it is is stored elsewhere when it comes again`() async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        let store = try openStore(directory, log: log)
        await fill(store, 0..<3)
        let place = try #require(SegmentPlace(segment: 1, offset: 0, length: Int64(Self.size)))
        let first = try #require(try store.core.segments.read(place)?.withBytes { Array($0) })
        let number = try #require((0..<3).first { expected($0) == first })
        store.core.segments.noteUnread(place)
        for _ in 0..<2 {
            store.put(key("\(number)"), first)
            await store.flush()
        }
        #expect(await whole(store, 0..<3) == 3)
        #expect(room(directory) > 3 * 32_768)
        #expect(store.statistics.damaged == 0)
        await store.close()
    }

    @Test func `content that could not be read is mended for all that share it when it comes again`() async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        let store = try openStore(directory, log: log)
        for name in ["a", "b"] { store.put(key(name), expected(1)) }
        await store.flush()
        let place = try #require(SegmentPlace(segment: 1, offset: 0, length: Int64(Self.size)))
        store.core.segments.noteUnread(place)
        directory.overwrite("segments/1", at: 0, with: [UInt8](repeating: 0, count: Self.size))
        store.put(key("c"), expected(1))
        await store.flush()
        for name in ["a", "b", "c"] { #expect(await store.contents(key(name)) == [expected(1)]) }
        #expect(store.core.currentCounts.segmentBytes == 32_768)
        for name in ["a", "b", "c"] { store.remove(key(name)) }
        await settle(store)
        #expect(store.core.currentCounts.segmentBytes == 0)
        #expect(store.statistics.damaged == 0)
        await store.close()
    }

    @Test func `a variant that cannot be read takes no other with it`() async throws {
        let directory = TemporaryDirectory()
        for variant in ["a", "b"] {
            let store = try openStore(directory)
            store.put(key("x"), variant: variant, content(variant, Self.size))
            await store.close()
        }
        let (path, away) = (directory.path + "/segments/2", directory.path + "/away")
        rename(path, away)
        // It exists, and nobody can open it.
        #expect(mknod(path, S_IFSOCK | 0o600, 0) == 0)
        let log = EventLog()
        let store = try openStore(directory, log: log)
        let records = try await store.read(key("x"), skippingUnread: true)
        #expect(records.map(\.variant) == [Array("a".utf8)])
        await #expect(throws: StoreUnavailable.self) { try await store.read(key("x")) }
        store.remove(key("x"), variant: Array("a".utf8))
        await store.flush()
        await #expect(throws: StoreUnavailable.self) { try await store.read(key("x"), skippingUnread: true) }
        rename(away, path)
        #expect(await store.contents(key("x")) == [content("b", Self.size)])
        #expect(store.statistics.damaged == 0)
        #expect(log.events.contains { if case .readFailed = $0 { true } else { false } })
        await store.close()
    }
}
