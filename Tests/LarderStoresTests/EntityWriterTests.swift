// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderHTTP
import Testing

@testable import LarderStores

@Suite("An entity that is being written")
struct EntityWriterTests {
    private func begin(_ store: SQLiteStore, length: Int = 700_000) -> EntityWriter {
        store.beginWrite(
            key("a"), variant: [], head: [1], requestTime: Timestamp(seconds: 1), responseTime: Timestamp(seconds: 2),
            storedAt: Timestamp(seconds: 3), expires: nil, expectedLength: Int64(length))
    }

    /// All that was appended, as a reader gets it from where it stands.
    private func octets(of writer: EntityWriter, from start: Int64, to end: Int64) async -> [UInt8]? {
        var octets: [UInt8] = []
        while start + Int64(octets.count) < end {
            let offset = start + Int64(octets.count)
            guard let chunk = await writer.read(at: offset, count: Int(end - offset)) else { return nil }
            octets += chunk.bytes
        }
        return octets
    }

    /// Puts a file where the store has a directory.
    private func replace(_ name: String, in directory: TemporaryDirectory) {
        #expect(rename(directory.path + "/" + name, directory.path + "/elsewhere") == 0)
        let descriptor = open(directory.path + "/" + name, O_CREAT | O_WRONLY, 0o600)
        #expect(descriptor >= 0)
        close(descriptor)
    }

    private func untilItFails(_ writer: EntityWriter) async -> Bool {
        while true {
            switch writer.state {
            case .abandoned(.diskFailed): return true
            case .abandoned, .finished: return false
            case .open: await Task.yield()
            }
        }
    }

    @Test func `what a disk does not take is there for readers`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        let bytes = content("a", 700_000)
        replace("spool", in: directory)
        let writer = begin(store)
        writer.append(ContentChunk(bytes[..<400_000]))
        #expect(await untilItFails(writer))
        writer.append(ContentChunk(bytes[400_000...]))
        #expect(await octets(of: writer, from: 0, to: 400_000) == Array(bytes[..<400_000]))
        #expect(await octets(of: writer, from: 399_000, to: 400_000) == Array(bytes[399_000..<400_000]))
        #expect(await writer.read(at: 400_000, count: 1) == nil)
        #expect(!writer.finish())
        writer.abort()
        #expect(await writer.read(at: 0, count: 1) == nil)
        await store.close()
    }

    @Test func `what a disk took before it failed is read from there`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        let bytes = content("a", 700_000)
        let writer = begin(store)
        writer.append(ContentChunk(bytes[..<400_000]))
        // All of it is in the file, which cannot be given its name.
        while await writer.read(at: 0, count: 400_000) == nil { await Task.yield() }
        replace("content", in: directory)
        writer.append(ContentChunk(bytes[400_000...]))
        writer.finish()
        await store.flush()
        #expect(await untilItFails(writer))
        #expect(await octets(of: writer, from: 0, to: 700_000) == bytes)
        writer.abort()
        await store.close()
    }

    @Test(arguments: [4_000, 700_000])
    func `what a store refuses at its end is there for readers`(_ length: Int) async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        let bytes = content("a", length)
        let writer = begin(store, length: length)
        writer.append(ContentChunk(bytes[..<1_000]))
        store.core.degrade("another response did not fit")
        writer.append(ContentChunk(bytes[1_000...]))
        #expect(!writer.finish())
        #expect(writer.state == .abandoned(.unavailable))
        #expect(await octets(of: writer, from: 0, to: Int64(length)) == bytes)
        writer.abort()
        #expect(await writer.read(at: 0, count: 1) == nil)
        await store.close()
    }

    @Test(arguments: [false, true])
    func `what a store was too slow for makes what was there out of date in the end, if it is wanted`(
        isWanted: Bool
    ) async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        store.put(key("a"), [7])
        let writer = begin(store)
        writer.append(ContentChunk(content("a", 400_000)))
        writer.giveUp()
        #expect(await store.contents(key("a")) == [[7]])
        if !isWanted { writer.finishUnstored() }
        #expect(!writer.finish())
        #expect(await store.contents(key("a")) == (isWanted ? [] : [[7]]))
        await store.close()
    }

    @Test func `content that comes an octet at a time is kept in few pieces`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        let writer = begin(store, length: 3_000)
        let octets = (0..<3_000).map { UInt8(truncatingIfNeeded: $0) }
        for octet in octets { writer.append(ContentChunk([octet])) }
        #expect(await writer.read(at: 0, count: 3_000)?.count ?? 0 >= 1_024)
        #expect(await self.octets(of: writer, from: 0, to: 3_000) == octets)
        await store.close()
    }
}
