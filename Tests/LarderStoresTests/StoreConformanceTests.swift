// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@testable import LarderStores

/// The duties of any store, whatever is behind it. A new kind of store is added to `StoreKind`.
@Suite("What a store promises")
struct StoreConformanceTests {
    enum StoreKind: CaseIterable, Sendable {
        case sqlite
        /// Everything that is longer than nothing goes to a file.
        case sqliteInFiles
        /// Every operation waits for others a good while, so that readers see what is not committed.
        case sqliteHesitant

        func open(_ directory: TemporaryDirectory) throws -> SQLiteStore {
            switch self {
            case .sqlite: try openStore(directory)
            case .sqliteInFiles: try openStore(directory) { $0.inlineLimit = 0 }
            case .sqliteHesitant: try openStore(directory) { $0.commitInterval = .seconds(3600) }
            }
        }
    }

    private func withStore(
        _ kind: StoreKind, _ body: (SQLiteStore) async throws -> Void
    ) async throws {
        let directory = TemporaryDirectory()
        let store = try kind.open(directory)
        try await body(store)
        await store.close()
    }

    @Test(arguments: StoreKind.allCases, [0, 1, 4096, 70_000, 600_000])
    func `what was stored is read back, before and after it is committed`(kind: StoreKind, size: Int) async throws {
        try await withStore(kind) { (store) async throws in
            let bytes = content("a", size)
            #expect(store.put(key("a"), variant: "v", head: "the head", at: 77, expires: 99, bytes))
            for _ in 0..<2 {
                let records = try await store.read(key("a"))
                let record = try #require(records.first)
                #expect(records.count == 1)
                #expect(record.variant == Array("v".utf8))
                #expect(record.head == Array("the head".utf8))
                #expect(record.requestTime == Timestamp(seconds: 76))
                #expect(record.responseTime == Timestamp(seconds: 77))
                #expect(record.storedAt == Timestamp(seconds: 77))
                #expect(record.expires == Timestamp(seconds: 99))
                #expect(record.content.length == Int64(size))
                #expect(
                    record.content.digest == (size > 0 ? address(of: bytes, in: store) : ContentReference.empty.digest))
                #expect(await store.octets(of: record.content) == bytes)
                await store.flush()
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `keys that differ in any part are different`(kind: StoreKind) async throws {
        try await withStore(kind) { (store) async throws in
            let keys = [
                key("a"), key("a", service: "other"), key("a", partition: "p"), key("a", stage: "parsing"), key("b"),
            ]
            for (index, key) in keys.enumerated() { store.put(key, content("\(index)", 100)) }
            for _ in 0..<2 {
                for (index, key) in keys.enumerated() {
                    #expect(await store.contents(key) == [content("\(index)", 100)])
                }
                #expect(try await store.read(key("c")).isEmpty)
                await store.flush()
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `variants of a key are kept beside each other, the latest first`(kind: StoreKind) async throws {
        try await withStore(kind) { (store) async throws in
            for (time, variant) in ["one", "two", "three"].enumerated() {
                store.put(key("a"), variant: variant, head: variant, at: Int64(time), [1])
            }
            #expect(await store.heads(key("a")) == ["three", "two", "one"])
            await store.flush()
            #expect(await store.heads(key("a")) == ["three", "two", "one"])
            store.put(key("a"), variant: "one", head: "one again", at: 10, [2])
            #expect(await store.heads(key("a")) == ["one again", "three", "two"])
            store.remove(key("a"), variant: Array("three".utf8))
            #expect(await store.heads(key("a")) == ["one again", "two"])
            await store.flush()
            #expect(await store.heads(key("a")) == ["one again", "two"])
        }
    }

    @Test(arguments: StoreKind.allCases, [false, true])
    func `the last of a write and a removal wins`(kind: StoreKind, isCommittedBetween: Bool) async throws {
        try await withStore(kind) { (store) async throws in
            store.put(key("removed"), content("removed", 100_000))
            store.put(key("kept"), content("old", 100_000))
            if isCommittedBetween { await store.flush() }
            store.remove(key("removed"))
            store.remove(key("kept"))
            if isCommittedBetween { await store.flush() }
            store.put(key("kept"), content("new", 100_000))
            for _ in 0..<2 {
                #expect(await store.contents(key("removed")) == [])
                #expect(await store.contents(key("kept")) == [content("new", 100_000)])
                await store.flush()
            }
        }
    }

    @Test(arguments: StoreKind.allCases, [10, 100_000])
    func `a validation changes the head of the version it is about`(kind: StoreKind, size: Int) async throws {
        try await withStore(kind) { (store) async throws in
            func update(_ head: String, ifStoredAt seconds: Int64) {
                store.updateHead(
                    key("a"), variant: [], head: Array(head.utf8), requestTime: Timestamp(seconds: 2000),
                    responseTime: Timestamp(seconds: 2001), expires: Timestamp(seconds: 3000),
                    ifStoredAt: Timestamp(seconds: seconds))
            }
            store.put(key("a"), head: "old", at: 1000, content("a", size))
            update("fresh", ifStoredAt: 1000)
            #expect(await store.heads(key("a")) == ["fresh"])
            await store.flush()
            #expect(await store.heads(key("a")) == ["fresh"])
            update("fresher", ifStoredAt: 1000)
            update("for another", ifStoredAt: 999)
            #expect(await store.heads(key("a")) == ["fresher"])
            await store.flush()
            let record = try #require(try await store.read(key("a")).first)
            #expect(record.head == Array("fresher".utf8))
            #expect(record.responseTime == Timestamp(seconds: 2001))
            #expect(record.storedAt == Timestamp(seconds: 1000))
            #expect(await store.octets(of: record.content) == content("a", size))
        }
    }

    @Test(arguments: StoreKind.allCases, [10, 100_000])
    func `a removal of one version leaves those that replaced it`(kind: StoreKind, size: Int) async throws {
        try await withStore(kind) { (store) async throws in
            func remove(storedAt seconds: Int64) {
                store.remove(key("a"), variant: [], because: .unusable, ifStoredAt: Timestamp(seconds: seconds))
            }
            for isCommitted in [false, true] {
                store.put(key("a"), at: 1000, content("old", size))
                if isCommitted { await store.flush() }
                store.put(key("a"), head: "new", at: 2000, content("new", size))
                if isCommitted { await store.flush() }
                remove(storedAt: 1000)
                #expect(await store.contents(key("a")) == [content("new", size)])
                store.updateHead(
                    key("a"), variant: [], head: Array("newer".utf8), requestTime: Timestamp(seconds: 3000),
                    responseTime: Timestamp(seconds: 3000), expires: nil, ifStoredAt: Timestamp(seconds: 2000))
                #expect(await store.heads(key("a")) == ["newer"])
                await store.flush()
                #expect(await store.heads(key("a")) == ["newer"])
                if isCommitted { store.put(key("a"), at: 2000, content("newest", size)) }
                remove(storedAt: 2000)
                #expect(await store.contents(key("a")) == [])
                await store.flush()
                #expect(await store.contents(key("a")) == [])
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a validation never brings back what was removed`(kind: StoreKind) async throws {
        try await withStore(kind) { (store) async throws in
            store.put(key("a"), at: 1000, [1])
            await store.flush()
            store.remove(key("a"))
            store.updateHead(
                key("a"), variant: [], head: [1], requestTime: Timestamp(seconds: 1),
                responseTime:
                    Timestamp(seconds: 1), expires: nil, ifStoredAt: Timestamp(seconds: 1000))
            #expect(try await store.read(key("a")).isEmpty)
            await store.flush()
            #expect(try await store.read(key("a")).isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `content that is not as long as was said is not stored, and what was there stays`(
        kind: StoreKind
    ) async throws {
        try await withStore(kind) { (store) async throws in
            store.put(key("a"), content("whole", 90_000))
            #expect(!store.put(key("a"), content("short", 80_000), expectedLength: 90_000))
            #expect(!store.put(key("a"), content("long", 100_000), expectedLength: 90_000))
            await store.flush()
            #expect(await store.contents(key("a")) == [content("whole", 90_000)])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a writer that is given up stores nothing`(kind: StoreKind) async throws {
        try await withStore(kind) { (store) async throws in
            for size in [10, 100_000] {
                let writer = store.beginWrite(
                    key("a"), variant: [], head: [], requestTime: Timestamp(seconds: 0),
                    responseTime: Timestamp(seconds: 0), storedAt: Timestamp(seconds: 0), expires: nil,
                    expectedLength: nil)
                writer.append(ContentChunk(content("a", size)))
                writer.abort()
                #expect(writer.state == .abandoned(.aborted))
                #expect(!writer.finish())
            }
            await store.flush()
            #expect(try await store.read(key("a")).isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the head may be decided at the end`(kind: StoreKind) async throws {
        try await withStore(kind) { (store) async throws in
            let writer = store.beginWrite(
                key("a"), variant: [], head: [1], requestTime: Timestamp(seconds: 0),
                responseTime: Timestamp(seconds: 0), storedAt: Timestamp(seconds: 0), expires: nil,
                expectedLength: nil)
            writer.append(ContentChunk(content("a", 100_000)))
            #expect(writer.finish(head: [2, 3]))
            let record = try #require(try await store.read(key("a")).first)
            #expect(record.head == [2, 3])
        }
    }

    @Test(arguments: StoreKind.allCases, [1000, 1_000_000])
    func `what is being written can be read back at any place`(kind: StoreKind, size: Int) async throws {
        try await withStore(kind) { (store) async throws in
            let bytes = content("a", size)
            let writer = store.beginWrite(
                key("a"), variant: [], head: [1], requestTime: Timestamp(seconds: 0),
                responseTime: Timestamp(seconds: 0), storedAt: Timestamp(seconds: 0), expires: nil,
                expectedLength: nil)
            var appended = 0
            for piece in stride(from: 0, to: size, by: size / 10) {
                writer.append(ContentChunk(bytes[piece..<piece + size / 10]))
                appended += size / 10
                for offset in [0, appended / 3, appended - 1] {
                    let chunk = await writer.read(at: Int64(offset), count: 50)
                    let read = try #require(chunk?.withBytes { Array($0) })
                    #expect(!read.isEmpty && read.count <= 50)
                    #expect(read == Array(bytes[offset..<offset + read.count]))
                }
                #expect(await writer.read(at: Int64(appended), count: 1) == nil)
            }
            writer.finish()
            await store.flush()
            var again: [UInt8] = []
            while let chunk = await writer.read(at: Int64(again.count), count: 100_000) {
                again += chunk.withBytes { Array($0) }
            }
            #expect(again == bytes)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `many entities are removed by what they have in common`(kind: StoreKind) async throws {
        try await withStore(kind) { (store) async throws in
            for number in 0..<30 { store.put(key("x/\(number)"), content("\(number)", 50)) }
            await store.flush()
            for number in 30..<60 { store.put(key("x/\(number)"), content("\(number)", 50)) }
            store.put(key("y"), [1])
            store.put(key("x/0", service: "other"), [1])
            let match = EntityMatch(service: "api", urlPrefix: "http://origin.example/x")
            #expect(await store.removeAll(where: match) == 60)
            store.put(key("x/7"), content("later", 50))
            for _ in 0..<2 {
                #expect(try await store.read(key("x/3")).isEmpty)
                #expect(try await store.read(key("x/33")).isEmpty)
                #expect(await store.contents(key("x/7")) == [content("later", 50)])
                #expect(await store.contents(key("y")) == [[1]])
                #expect(await store.contents(key("x/0", service: "other")) == [[1]])
                await store.flush()
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `after a wipe nothing is left and storing goes on`(kind: StoreKind) async throws {
        try await withStore(kind) { (store) async throws in
            store.put(key("a"), content("a", 100))
            store.put(key("b"), content("b", 100_000))
            await store.flush()
            store.put(key("c"), content("c", 100_000))
            await store.wipe()
            for name in ["a", "b", "c"] { #expect(try await store.read(key(name)).isEmpty) }
            store.put(key("a"), content("again", 100_000))
            await store.flush()
            #expect(await store.contents(key("a")) == [content("again", 100_000)])
            #expect(store.statistics.entries == 1)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a listing shows everything that matches, a page at a time`(kind: StoreKind) async throws {
        try await withStore(kind) { (store) async throws in
            for number in 0..<25 {
                store.put(key("\(number)", service: number % 2 == 0 ? "even" : "odd"), variant: "v", [1, 2, 3])
            }
            await store.flush()
            var urls: [String] = []
            var row: Int64?
            while true {
                let page = try await store.list(after: row, limit: 4, where: EntityMatch(service: "even"))
                guard let last = page.last else { break }
                #expect(page.count <= 4)
                for line in page {
                    #expect(line.length == 3)
                    #expect(line.variant == Array("v".utf8))
                    urls.append(String(line.key.url.split(separator: "/").last ?? ""))
                }
                row = last.row
            }
            #expect(urls.sorted() == stride(from: 0, to: 25, by: 2).map(String.init).sorted())
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a store can be closed and opened again`(kind: StoreKind) async throws {
        let directory = TemporaryDirectory()
        for round in 0..<3 {
            let store = try kind.open(directory)
            for number in 0..<round * 20 {
                #expect(await store.contents(key("\(number)")) == [content("\(number)", number * 5000)])
            }
            for number in round * 20..<(round + 1) * 20 {
                store.put(key("\(number)"), content("\(number)", number * 5000))
            }
            await store.close()
            #expect(try await store.read(key("0")).isEmpty)
            #expect(!store.put(key("late"), [1]))
            #expect(store.statistics.state == .closed)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a key that may not be there is not there`(kind: StoreKind) async throws {
        try await withStore(kind) { (store) async throws in
            store.put(key("a"), [1])
            #expect(store.mayContain(key("a")))
            await store.flush()
            #expect(store.mayContain(key("a")))
            store.remove(key("a"))
            await store.flush()
            #expect(try await store.read(key("a")).isEmpty)
            #expect(try await store.read(key("never")).isEmpty)
        }
    }

    @Test(arguments: [1, 40_000, 100_000])
    func `content that somebody keeps in other pieces is stored as it was appended`(size: Int) async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        let bytes = content("a", size)
        for (name, kept) in [("same", [ContentChunk(bytes)]), ("cut", [ContentChunk(bytes.dropLast())]), ("none", [])] {
            let writer = store.beginWrite(
                key(name), variant: [], head: [], requestTime: Timestamp(seconds: 1),
                responseTime: Timestamp(seconds: 1), storedAt: Timestamp(seconds: 1), expires: nil, expectedLength: nil,
                labels: [])
            for start in stride(from: 0, to: size, by: 9000) {
                writer.append(ContentChunk(bytes[start..<min(start + 9000, size)]))
            }
            #expect(writer.finish(sharing: kept))
            #expect(await writer.read(at: 0, count: 1)?.withBytes { Array($0) } == [bytes[0]])
            #expect(await store.contents(key(name)) == [bytes])
        }
        await store.close()
    }
}
