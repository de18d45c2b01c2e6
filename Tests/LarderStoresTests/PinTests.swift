// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@testable import LarderStores

@Suite("Pins")
struct PinTests {
    private static let limit: Int64 = 12 << 20
    private static let crowd = 2_000

    /// Fills the disk, and more than that.
    private func crowd(_ store: SQLiteStore, _ name: String) async {
        for number in 0..<Self.crowd {
            store.put(key("\(name)/\(number)"), content("\(name) \(number)", 10_000))
            if number % 250 == 0 { await store.flush() }
        }
        await store.flush()
    }

    private func kept(_ store: SQLiteStore, _ name: String, of count: Int) async throws -> Int {
        var kept = 0
        for number in 0..<count { kept += try await store.read(key("\(name)/\(number)")).count }
        return kept
    }

    @Test func `what is pinned is not evicted, nor after a restart, until it is unpinned`() async throws {
        let directory = TemporaryDirectory()
        let first = try openStore(directory, limit: Self.limit)
        for number in 0..<200 { first.put(key("train/\(number)"), expires: 1, content("\(number)", 10_000)) }
        await first.flush()
        let keys = (0..<200).map { key("train/\($0)") }
        #expect(await first.pin(keys))
        #expect(first.statistics.pinned == 200)
        await crowd(first, "a")
        #expect(try await kept(first, "train", of: 200) == 200)
        await first.close()

        let second = try openStore(directory, limit: Self.limit)
        #expect(second.statistics.pinned == 200)
        #expect(second.isPinned(key("train/7")) && !second.isPinned(key("train/200")))
        await crowd(second, "b")
        #expect(try await kept(second, "train", of: 200) == 200)
        #expect(second.statistics.evictions > 500)
        #expect(await second.unpin(keys))
        #expect(second.statistics.pinned == 0 && !second.isPinned(key("train/7")))
        await second.close()
        let third = try openStore(directory, limit: Self.limit)
        #expect(third.statistics.pinned == 0)
        await third.close()
    }

    @Test func `a pin is of the key: what replaces an entity is pinned, and what was removed comes back pinned`()
        async throws
    {
        let directory = TemporaryDirectory()
        let store = try openStore(directory, limit: Self.limit)
        store.put(key("train/0"), content("old", 10_000))
        await store.flush()
        #expect(await store.pin([key("train/0")]))
        store.put(key("train/0"), at: 2000, content("new", 20_000))
        await store.flush()
        #expect(await store.pins()?.map(\.bytes) == [20_000])
        await crowd(store, "a")
        #expect(await store.contents(key("train/0")) == [content("new", 20_000)])
        store.remove(key("train/0"))
        await store.flush()
        let pins = await store.pins()
        #expect(pins?.map(\.key) == [key("train/0")] && pins?.map(\.variants) == [0])
        store.put(key("train/0"), content("again", 10_000))
        await store.flush()
        await crowd(store, "b")
        #expect(await store.contents(key("train/0")) == [content("again", 10_000)])
        await store.close()
    }

    @Test func `pins that fill the disk make room as well, and the log says so`() async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        let store = try openStore(directory, limit: Self.limit, log: log)
        #expect(await store.pin((0..<Self.crowd).map { key("a/\($0)") }))
        await crowd(store, "a")
        #expect(await store.contents(key("a/1999")) == [content("a 1999", 10_000)])
        #expect(log.events.filter { $0 == .pinsYielded }.count == 1)
        #expect(directory.bytes <= Self.limit)
        await store.close()
    }

    @Test func `nothing is pinned in a store that is closed`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        await store.close()
        #expect(!(await store.pin([key("train/0")])))
        #expect(await store.pins()?.isEmpty == true)
    }
}
