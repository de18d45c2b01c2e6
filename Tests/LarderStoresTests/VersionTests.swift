// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@testable import LarderStores

/// Entities that newer ones supersede, and how many of them are kept.
@Suite("Versions of entities")
struct VersionTests {
    private static let kept = EntityHistory(limit: 3)

    /// The versions, each as its content and the seconds it was seen from and to; `*` is current.
    private func lines(_ store: SQLiteStore, _ key: EntityKey) async -> [String] {
        var lines: [String] = []
        for version in await store.versions(key, openable: nil) {
            let opened = await store.versions(key, openable: version.number).first { $0.number == version.number }
            let octets = await opened.asyncMap { await store.octets(of: $0.record.content) } ?? nil
            let text = octets.map { String(decoding: $0.prefix { $0 != 0x20 }, as: UTF8.self) } ?? "lost"
            let mark = version.isCurrent ? "*" : ""
            lines.append("\(mark)\(text) \(version.since.seconds)-\(version.record.responseTime.seconds)")
        }
        return lines
    }

    private func put(
        _ store: SQLiteStore, _ key: EntityKey, _ text: String, at seconds: Int64, variant: String = "",
        length: Int = 0, labels: [EntityLabel] = [], history: EntityHistory = VersionTests.kept
    ) {
        let time = Timestamp(seconds: seconds)
        let writer = store.beginWrite(
            key, variant: Array(variant.utf8), head: [7], requestTime: time, responseTime: time, storedAt: time,
            expires: nil, expectedLength: nil, labels: labels, history: history)
        let octets = Array(text.utf8)
        writer.append(ContentChunk(octets + [UInt8](repeating: 0x20, count: max(0, length - octets.count))))
        writer.finish()
    }

    private func run(_ body: (SQLiteStore) async throws -> Void) async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        let store = try openStore(directory, log: log)
        await log.first(where: \.isKeysLoaded)
        try await body(store)
        await store.close()
        #expect(try invariants(of: directory).isEmpty)
    }

    /// The contradictions in a closed database.
    private func invariants(of directory: TemporaryDirectory) throws -> [String] {
        let database = try Connection(path: directory.path + "/larder.db", isWriter: true)
        var faults: [String] = []
        let checks = [
            "users": """
            SELECT count(*) FROM content WHERE users != (SELECT count(*) FROM entity WHERE content = content.id)
                + (SELECT count(*) FROM version WHERE content = content.id)
            """,
            "labels": """
            SELECT count(*) FROM label WHERE entity NOT IN (SELECT id FROM entity UNION SELECT id FROM version)
            """,
            "rows": "SELECT count(*) FROM version JOIN entity ON version.id = entity.id",
        ]
        for (name, query) in checks where try database.integer(query) != 0 { faults.append(name) }
        let files = try database.integer("SELECT count(*) FROM content WHERE blocks IS NOT NULL")
        if files != Int64(directory.contentFiles.count) { faults.append("files") }
        return faults
    }

    @Test(arguments: [0, 500, 300_000], [false, true])
    func `the last versions of each variant are kept, and no reader gets them`(length: Int, isSlow: Bool) async throws {
        try await run { (store) async throws in
            for number in 1...6 {
                put(store, key("a"), "v\(number)", at: Int64(number) * 10, length: length)
                put(store, key("a"), "w\(number)", at: Int64(number) * 10, variant: "w", length: length)
                // Without it they are committed together; content in files must not overtake other content.
                if isSlow || length > 1000 { await store.flush() }
            }
            #expect(await store.contents(key("a")).count == 2)
            #expect(try await store.read(key("a")).allSatisfy { $0.responseTime.seconds == 60 })
            for name in ["v", "w"] {
                let known = await lines(store, key("a")).filter { $0.contains(name) }
                #expect(known == ["*\(name)6 60-60", "\(name)5 50-50", "\(name)4 40-40", "\(name)3 30-30"])
            }
            #expect(try await store.list(after: nil, limit: 100, where: EntityMatch()).count == 2)
            #expect(store.statistics.entries == 2)
        }
    }

    @Test(arguments: [false, true]) func `content that is the same makes no version, and is seen longer`(
        isSlow: Bool
    ) async throws {
        try await run { (store) async throws in
            for (time, text) in [(10, "a"), (20, "a"), (30, "b"), (40, "b"), (50, "a"), (60, "a")] {
                put(store, key("a"), text, at: Int64(time))
                if isSlow { await store.flush() }
            }
            #expect(await lines(store, key("a")) == ["*a 50-60", "b 30-40", "a 10-20"])
            store.updateHead(
                key("a"), variant: [], head: [8], requestTime: Timestamp(seconds: 90),
                responseTime: Timestamp(seconds: 90), expires: nil, ifStoredAt: Timestamp(seconds: 60))
            #expect(await lines(store, key("a")) == ["*a 50-90", "b 30-40", "a 10-20"])
        }
    }

    @Test func `what was validated just before it was superseded was seen until then`() async throws {
        try await run { (store) async throws in
            put(store, key("a"), "a", at: 10)
            await store.flush()
            store.updateHead(
                key("a"), variant: [], head: [8], requestTime: Timestamp(seconds: 20),
                responseTime: Timestamp(seconds: 20), expires: nil, ifStoredAt: Timestamp(seconds: 10))
            put(store, key("a"), "b", at: 30)
            #expect(await lines(store, key("a")) == ["*b 30-30", "a 10-20"])
        }
    }

    @Test func `equal content is stored once, however many versions have it`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        for number in 1...4 {
            put(store, key("a"), "odd", at: Int64(number) * 20, length: 300_000)
            await store.flush()
            put(store, key("a"), "even", at: Int64(number) * 20 + 10, length: 300_000)
            await store.flush()
        }
        #expect(await lines(store, key("a")).count == 4)
        #expect(directory.contentFiles.count == 2)
        await store.close()
    }

    @Test func `where nothing is to be kept nothing is, and what was kept goes with the next entity`() async throws {
        try await run { (store) async throws in
            for number in 1...3 { put(store, key("a"), "\(number)", at: Int64(number), history: EntityHistory()) }
            #expect(await lines(store, key("a")) == ["*3 3-3"])
            put(store, key("a"), "4", at: 4)
            #expect(await lines(store, key("a")) == ["*4 4-4", "3 3-3"])
            put(store, key("a"), "5", at: 5, history: EntityHistory(limit: 3, isVersion: false))
            put(store, key("a"), "6", at: 6)
            #expect(await lines(store, key("a")) == ["*6 6-6", "4 4-4", "3 3-3"])
            put(store, key("a"), "7", at: 7, history: EntityHistory(limit: 1))
            #expect(await lines(store, key("a")) == ["*7 7-7", "6 6-6"])
            put(store, key("a"), "8", at: 8, history: EntityHistory())
            #expect(await lines(store, key("a")) == ["*8 8-8"])
        }
    }

    @Test(arguments: RemovalReason.all, [false, true])
    func `a wipe leaves nothing, an invalidation leaves versions`(reason: RemovalReason, isSlow: Bool) async throws {
        try await run { (store) async throws in
            func fill(_ url: String, labels: [EntityLabel] = []) async {
                for number in 1...2 { put(store, key(url), "\(number)", at: Int64(number), labels: labels) }
                if isSlow { await store.flush() }
            }
            let expected: [String] =
                switch reason {
                case .wiped: []
                case .superseded: ["2 2-2", "1 1-1"]
                case .unusable: isSlow ? ["1 1-1"] : []
                }
            await fill("key")
            store.remove(key("key"), because: reason)
            await fill("variant")
            store.remove(key("variant"), variant: [], because: reason)
            for url in ["key", "variant"] {
                #expect(try await store.read(key(url)).isEmpty)
                #expect(await lines(store, key(url)) == expected)
            }
            guard reason != .unusable else { return }
            await fill("all/1")
            await fill("group/1", labels: [.group("g")])
            store.beginRemoval(EntityMatch(label: .group("g")), because: reason)
            #expect(try await store.read(key("group/1")).isEmpty)
            await store.removeAll(where: EntityMatch(urlPrefix: key("all/").url), because: reason)
            for url in ["all/1", "group/1"] {
                #expect(try await store.read(key(url)).isEmpty)
                #expect(await lines(store, key(url)) == expected, "\(url)")
            }
            // Content that comes back as it was has been there all the time.
            put(store, key("all/1"), "2", at: 9)
            #expect(await lines(store, key("all/1")) == (reason == .wiped ? ["*2 9-9"] : ["*2 2-9", "1 1-1"]))
            // An entity dropped before it was committed may still be taken for stored.
            guard isSlow || reason == .superseded else { return }
            for url in ["key", "variant", "all/1", "group/1"] { store.remove(key(url)) }
            await store.flush()
            for url in ["key", "variant", "all/1", "group/1"] { #expect(!store.mayContain(key(url))) }
        }
    }

    @Test(arguments: [0, 1, 2, 3])
    func `a wipe that is not done yet leaves nothing, whatever follows it`(next: Int) async throws {
        try await run { (store) async throws in
            for number in 1...2 {
                put(store, key("a"), "\(number)", at: Int64(number), labels: [.group("g")])
                await store.flush()
            }
            next % 2 == 0 ? store.remove(key("a")) : store.remove(key("a"), variant: [])
            switch next {
            case 0: store.remove(key("a"), because: .superseded)
            case 1: store.remove(key("a"), variant: [], because: .unusable)
            case 2: store.beginRemoval(EntityMatch(urlPrefix: key("a").url), because: .superseded)
            default: put(store, key("a"), "3", at: 3)
            }
            #expect(await lines(store, key("a")) == (next < 3 ? [] : ["*3 3-3"]))
        }
    }

    @Test func `partitions and services keep versions of their own`() async throws {
        try await run { (store) async throws in
            let places = [key("a"), key("a", partition: "anna"), key("a", service: "other")]
            for (index, place) in places.enumerated() {
                for number in 1...2 { put(store, place, "\(index)\(number)", at: Int64(number)) }
            }
            for (index, place) in places.enumerated() {
                #expect(await lines(store, place) == ["*\(index)2 2-2", "\(index)1 1-1"])
            }
            store.remove(places[1])
            #expect(await lines(store, places[1]) == [])
            #expect(await lines(store, places[0]).count == 2)
        }
    }

    @Test func `versions survive a restart, wipes of everything spare none`() async throws {
        let directory = TemporaryDirectory()
        let first = try openStore(directory)
        for number in 1...5 {
            put(first, key("a"), "\(number)", at: Int64(number), length: 100_000)
            await first.flush()
        }
        let before = await first.versions(key("a"), openable: nil).map(\.number)
        await first.close()
        let second = try openStore(directory)
        #expect(await second.versions(key("a"), openable: nil).map(\.number) == before)
        put(second, key("a"), "6", at: 6, length: 100_000)
        let after = await second.versions(key("a"), openable: nil).map(\.number)
        #expect(after.dropFirst() == before.dropLast())
        await second.wipe()
        #expect(await second.versions(key("a"), openable: nil).isEmpty)
        #expect(directory.contentFiles.isEmpty)
        await second.close()
    }

    @Test func `versions make room before any entity does`() async throws {
        let directory = TemporaryDirectory()
        let limit: Int64 = 16 << 20
        let store = try openStore(directory, limit: limit)
        for number in 0..<40 { put(store, key("\(number)"), "kept \(number)", at: 1, length: 100_000) }
        await store.flush()
        for round in 1...20 {
            for number in 0..<10 {
                put(
                    store, key("\(number)"), "\(round) \(number)", at: Int64(round + 1), length: 100_000,
                    history: EntityHistory(limit: 100))
            }
            await store.flush()
        }
        #expect(store.statistics.evictions > 0)
        #expect(store.statistics.entries == 40)
        for number in 0..<40 { #expect(await store.contents(key("\(number)")).count == 1) }
        #expect(store.statistics.bytesOnDisk <= limit)
        await store.close()
        #expect(try invariants(of: directory).isEmpty)
    }

    @Test func `EC-16 a database without versions is brought up to date, its entities become some`() async throws {
        let directory = TemporaryDirectory()
        do {
            let database = try makeDatabase(directory, Array(Migration.all.prefix(4)))
            try putEarlier(Array("old".utf8), under: key("a"), at: 1, into: database)
        }
        let log = EventLog()
        let store = try openStore(directory, log: log)
        #expect(log.events.contains(.migrated(Migration.all.dropFirst(4).map(\.name))))
        put(store, key("a"), "new", at: 2)
        #expect(await lines(store, key("a")) == ["*new 2-2", "old 1-1"])
        await store.close()
    }

    @Test func `a damaged version is no version`() async throws {
        let directory = TemporaryDirectory()
        do {
            let store = try openStore(directory)
            for number in 1...3 { put(store, key("a"), "\(number)", at: Int64(number)) }
            await store.close()
            let database = try Connection(path: directory.path + "/larder.db", isWriter: true)
            try database.execute("UPDATE version SET head = x'00' WHERE storedAt = 2000000000")
        }
        let log = EventLog()
        let store = try openStore(directory, log: log)
        #expect(await lines(store, key("a")) == ["*3 3-3", "1 1-1"])
        #expect(log.events.contains { if case .damagedEntity = $0 { true } else { false } })
        await store.close()
        #expect(try invariants(of: directory).isEmpty)
    }
}

extension RemovalReason {
    fileprivate static let all: [RemovalReason] = [.wiped, .superseded, .unusable]
}

extension Optional {
    fileprivate func asyncMap<Result>(_ body: (Wrapped) async -> Result) async -> Result? {
        guard let self else { return nil }
        return await body(self)
    }
}
