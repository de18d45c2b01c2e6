// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Synchronization
import Testing

@testable import LarderStores

/// Entities that are found by what they have in common.
@Suite("Labels", .timeLimit(.minutes(1)))
struct LabelTests {
    static let red = EntityLabel.group("red")
    static let blue = EntityLabel.group("blue")

    private func put(
        _ store: SQLiteStore, _ key: EntityKey, _ labels: [EntityLabel], size: Int = 100,
        history: EntityHistory = EntityHistory()
    ) {
        let bytes = content(key.url, size)
        let writer = store.beginWrite(
            key, variant: [], head: Array("head".utf8), requestTime: Timestamp(seconds: 1),
            responseTime: Timestamp(seconds: 1), storedAt: Timestamp(seconds: 1), expires: nil, expectedLength: nil,
            labels: labels, history: history)
        writer.append(ContentChunk(bytes))
        writer.finish()
    }

    private func isThere(_ store: SQLiteStore, _ key: EntityKey) async throws -> Bool {
        try await !store.read(key).isEmpty
    }

    @Test(arguments: StoreConformanceTests.StoreKind.allCases, [false, true])
    func `what has a label goes at once, whether it was committed or not`(
        kind: StoreConformanceTests.StoreKind, isCommitted: Bool
    ) async throws {
        let directory = TemporaryDirectory()
        let store = try kind.open(directory)
        put(store, key("a"), [Self.red, Self.blue])
        put(store, key("b"), [Self.blue])
        put(store, key("c"), [])
        put(store, key("d"), [Self.red])
        if isCommitted { await store.flush() }
        store.beginRemoval(EntityMatch(label: Self.red), because: .wiped)
        #expect(try await !isThere(store, key("a")))
        #expect(try await isThere(store, key("b")))
        #expect(try await isThere(store, key("c")))
        #expect(try await !isThere(store, key("d")))
        put(store, key("d"), [Self.red])
        #expect(try await isThere(store, key("d")), "what is stored afterwards stays")
        await store.flush()
        #expect(try await !isThere(store, key("a")))
        #expect(try await isThere(store, key("d")))
        #expect(
            try await store.list(after: nil, limit: 10, where: EntityMatch(label: Self.blue)).map(\.key) == [key("b")])
        await store.close()
    }

    @Test func `a label that nothing has costs nothing`() async throws {
        let (one, other) = (TemporaryDirectory(), TemporaryDirectory())
        let store = try openStore(one)
        put(store, key("a"), [Self.red])
        #expect(store.mayContain(Self.red))
        await store.flush()
        let log = EventLog()
        let second = try openStore(other, log: log)
        await log.first { $0.isKeysLoaded }
        #expect(!second.mayContain(Self.red))
        await store.close()
        await second.close()
    }

    @Test func `only what matches besides is meant`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        put(store, key("a"), [Self.red])
        put(
            store, EntityKey(service: "api", partition: "", stage: "rawData", url: "http://other.example/a"), [Self.red]
        )
        let removed = await store.removeAll(where: EntityMatch(urlPrefix: "http://other.example/", label: Self.red))
        #expect(removed == 1)
        #expect(try await isThere(store, key("a")))
        await store.close()
    }

    @Test func `thousands with one label go in slices, and their labels with them`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        for number in 0..<2100 { put(store, key("\(number)"), number % 7 == 0 ? [Self.blue] : [Self.red, Self.blue]) }
        await store.flush()
        store.beginRemoval(EntityMatch(label: Self.red), because: .wiped)
        for number in [1, 2099, 700] { #expect(try await isThere(store, key("\(number)")) == (number % 7 == 0)) }
        // Done when this one is.
        await store.removeAll(where: EntityMatch(label: Self.red))
        #expect(store.statistics.entries == 300)
        await store.close()
        let connection = try Connection(path: directory.path + "/larder.db", isWriter: false)
        #expect(try connection.integer("SELECT count(*) FROM label") == 300)
        #expect(
            try connection.integer("SELECT count(*) FROM label WHERE entity NOT IN (SELECT id FROM entity)") == 0)
    }

    @Test func `labels go with their row: removed, replaced, evicted`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        put(store, key("a"), [Self.red])
        put(store, key("b"), [Self.red])
        await store.flush()
        store.remove(key("a"))
        put(store, key("b"), [Self.blue])
        await store.flush()
        #expect(try await store.list(after: nil, limit: 10, where: EntityMatch(label: Self.red)).isEmpty)
        #expect(try await store.list(after: nil, limit: 10, where: EntityMatch(label: Self.blue)).count == 1)
        await store.close()
    }

    @Test func `labels are known after a restart, and rows of labels without their entity do no harm`() async throws {
        let directory = TemporaryDirectory()
        let first = try openStore(directory)
        put(first, key("a"), [Self.red])
        await first.close()
        let connection = try Connection(path: directory.path + "/larder.db", isWriter: true)
        let stray = try connection.prepare("INSERT INTO label (hash, entity) VALUES (?1, ?2)")
        for (number, label) in [(77, Self.red), (78, Self.blue)] {
            stray.bind(1, hash: label.hash)
            stray.bind(2, Int64(number))
            try stray.run()
        }
        let log = EventLog()
        let store = try openStore(directory, log: log)
        await log.first { $0.isKeysLoaded }
        #expect(store.mayContain(Self.red))
        #expect(await store.removeAll(where: EntityMatch(label: Self.blue)) == 0)
        #expect(await store.removeAll(where: EntityMatch(label: Self.red)) == 1)
        #expect(try await !isThere(store, key("a")))
        await store.close()
    }

    @Test func `labels are forgotten some time after their entities`() async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        let store = try openStore(directory, log: log) { $0.idleInterval = .milliseconds(1) }
        await log.first { $0.isKeysLoaded }
        put(store, key("stays"), [Self.red])
        for number in 0..<20 {
            put(store, key("\(number)"), (0..<100).map { .group("\(number) \($0)") })
            store.remove(key("\(number)"))
        }
        await store.flush()
        #expect(store.core.labels.count == 2001)
        store.core.labelLimit.store(2000, ordering: .relaxed)
        // In a turn of maintenance.
        while store.mayContain(.group("7 7")) { await store.flush() }
        #expect(store.mayContain(Self.red) && store.core.labels.count == 1)
        await store.close()
    }

    @Test func `a new head may bring other labels`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        put(store, key("a"), [Self.red])
        await store.flush()
        store.updateHead(
            key("a"), variant: [], head: Array("new".utf8), requestTime: Timestamp(seconds: 2),
            responseTime: Timestamp(seconds: 2), expires: nil, ifStoredAt: Timestamp(seconds: 1), labels: [Self.blue])
        await store.flush()
        #expect(await store.removeAll(where: EntityMatch(label: Self.red)) == 0)
        #expect(await store.heads(key("a")) == ["new"])
        #expect(await store.removeAll(where: EntityMatch(label: Self.blue)) == 1)
        await store.close()
    }

    @Test(arguments: [EntityHistory(), EntityHistory(limit: 3)])
    func `what is removed by its label does not bring back what it replaced`(history: EntityHistory) async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory) { $0.commitInterval = .seconds(3600) }
        put(store, key("a"), [Self.blue], history: history)
        await store.flush()
        put(store, key("a"), [Self.red], history: history)
        store.beginRemoval(EntityMatch(label: Self.red), because: .superseded)
        #expect(try await !isThere(store, key("a")))
        await store.flush()
        #expect(try await !isThere(store, key("a")))
        await store.close()
    }

    @Test func `an upgraded database knows what lies in partitions`() async throws {
        let directory = TemporaryDirectory()
        do {
            directory.write([], to: "larder.db")
            let connection = try Connection(path: directory.path + "/larder.db", isWriter: true)
            _ = try Schema.prepare(connection, migrations: Array(Migration.all.prefix(2)))
            let entity = try connection.prepare(
                "INSERT INTO entity VALUES (?1, ?2, 0, NULL, 0, 0, 0, NULL, 0, ?3, ?4, ?4)")
            for (number, partition) in ["", "anna", "ben"].enumerated() {
                let key = key("a", partition: partition)
                entity.bind(1, Int64(number + 1))
                entity.bind(2, hash: key.hash)
                entity.bind(3, key.bytes)
                entity.bind(4, [UInt8]())
                try entity.run()
            }
        }
        let store = try openStore(directory)
        let label = EntityLabel.url(key("a").url, service: "api", stage: "rawData")
        #expect(await store.removeAll(where: EntityMatch(service: "api", label: label)) == 2)
        #expect(store.statistics.entries == 1)
        await store.close()
    }

    @Test func `several labels are removed in the transactions of one`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        let labels = (0..<200).map { EntityLabel.group("\($0)") }
        for number in 0..<20 { put(store, key("\(number)"), [labels[number * 10], labels[number * 10 + 1]]) }
        put(store, key("other"), [.group("other")])
        await store.flush()
        let before = store.core.currentCounts.transactions
        store.beginRemoval(EntityMatch(urlPrefix: "http://origin.example/"), labels: labels, because: .superseded)
        #expect(try await !isThere(store, key("7")))
        #expect(await store.removalsEnd())
        #expect(store.core.currentCounts.transactions - before <= 1)
        #expect(try await isThere(store, key("other")))
        await store.close()
        let second = try openStore(directory)
        for number in 0..<20 { #expect(try await !isThere(second, key("\(number)"))) }
        #expect(try await isThere(second, key("other")))
        await second.close()
    }

    @Test func `many removals in progress share their transactions`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        let labels = (0..<40).map { EntityLabel.group("\($0)") }
        for number in 0..<4_000 { put(store, key("\(number)"), [labels[number % 40]]) }
        await store.flush()
        let before = store.core.currentCounts.transactions
        for label in labels { store.beginRemoval(EntityMatch(label: label), because: .superseded) }
        #expect(await store.removalsEnd())
        // Four thousand rows, a thousand in each; and a transaction for each that was taken before the others came.
        #expect(store.core.currentCounts.transactions - before <= 50)
        #expect(store.statistics.entries == 0)
        await store.close()
    }
}
