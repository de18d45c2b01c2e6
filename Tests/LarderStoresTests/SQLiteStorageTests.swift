// SPDX-License-Identifier: Apache-2.0
import Glibc
import Larder
import LarderHTTP
import LarderTesting
import Testing

@testable import LarderStores

@Suite("Caches of services in SQLite")
struct SQLiteStorageTests {
    private struct Report: Codable, StorableContent, Equatable {
        var wind: Double
    }

    private let directory = TemporaryDirectory()
    private let clock = ManualClock()

    private func open() throws -> SQLiteStorage {
        try SQLiteStorage(directory: directory.path, limit: 64 << 20, clock: clock)
    }

    private func subject(
        _ path: String = "a", partition: Partition = .shared, variant: String = "", stage: PipelineStageKey = .rawData
    ) throws -> CacheSubject {
        let url = try #require(ResourceURL("https://api.example/\(path)").target)
        return CacheSubject(service: "s", partition: partition, url: url, variant: variant, stage: stage)
    }

    private func reopened(_ storage: SQLiteStorage) async throws -> SQLiteStorage {
        await storage.close()
        return try open()
    }

    @Test func `B-23 data of a service is there again in the next process`() async throws {
        let transport = StubTransport()
        transport.reply(.get, "https://api.example/a", StubReply(200, [.eTag: "\"1\""], body: "apples"))
        func service(_ storage: SQLiteStorage) -> Service {
            let service = Service(
                "fruit", baseURL: "https://api.example/", standardTransformers: [], transport: transport, clock: clock)
            service.configure {
                $0.pipeline[.rawData].cacheUsing(storage.cache(of: [UInt8].self))
                $0.expirationTime = .seconds(60)
            }
            return service
        }
        var storage = try open()
        let first = service(storage)
        _ = await first.resource("a").load().response()
        await first.finishCacheWork()
        storage = try await reopened(storage)
        let resource = service(storage).resource("a")
        await resource.loadIfNeeded()?.response()
        #expect(resource.latestData?.content as? [UInt8] == Array("apples".utf8))
        #expect(resource.latestData?.eTag == "\"1\"")
        #expect(transport.sent.count == 1)
        await storage.close()
    }

    @Test(arguments: [0, 1, 70_000, 3_000_000])
    func `all that is known of an entity survives`(length: Int) async throws {
        var storage = try open()
        let octets = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let entity = Entity(
            content: octets, fields: [.eTag: "\"x\"", .contentType: "text/x"], status: 203, charset: "koi8-r",
            timestamp: Timestamp(seconds: 3), requestTime: Timestamp(seconds: 1), responseTime: nil)
        try await storage.cache().writeEntity(entity, for: subject())
        storage = try await reopened(storage)
        let read = try #require(try await storage.cache(of: [UInt8].self).readEntity(for: subject()))
        #expect(read.content == octets)
        #expect(read.fields == entity.fields)
        #expect(read.status == 203)
        #expect(read.charset == "koi8-r")
        #expect(read.timestamp == entity.timestamp)
        #expect(read.requestTime == entity.requestTime)
        #expect(read.responseTime == nil)
        await storage.close()
    }

    @Test func `content of other types is kept as what it is`() async throws {
        let storage = try open()
        let now = Timestamp(seconds: 1)
        try await storage.cache().writeEntity(Entity(content: "Grüße", timestamp: now), for: subject("text"))
        try await storage.cache().writeEntity(
            Entity(content: JSONValue.array([.bool(true)]), timestamp: now), for: subject("json"))
        try await storage.cache().writeEntity(
            Entity(content: Report(wind: 3.5), timestamp: now), for: subject("report"))
        #expect(try await storage.cache(of: String.self).readEntity(for: subject("text"))?.content == "Grüße")
        #expect(
            try await storage.cache(of: JSONValue.self).readEntity(for: subject("json"))?.content
                == .array([.bool(true)]))
        #expect(
            try await storage.cache(of: Report.self).readEntity(for: subject("report"))?.content == Report(wind: 3.5))
        await #expect(throws: (any Error).self) {
            try await storage.cache(of: Report.self).readEntity(for: subject("text"))
        }
        await storage.close()
    }

    @Test func `stages, partitions and variants are apart; what was removed is not brought back`() async throws {
        let storage = try open()
        let cache = storage.cache(of: String.self)
        let subjects = try [
            subject(), subject("b"), subject(partition: Partition("me")), subject(variant: "en"),
            subject(stage: .model),
        ]
        for (number, subject) in subjects.enumerated() {
            try await cache.writeEntity(Entity(content: "\(number)", timestamp: clock.now), for: subject)
        }
        for (number, subject) in subjects.enumerated() {
            #expect(try await cache.readEntity(for: subject)?.content == "\(number)")
        }
        cache.removeEntity(for: subjects[0])
        try await cache.updateEntity(for: subjects[0], timestamp: Timestamp(seconds: 9), fields: nil)
        #expect(try await cache.readEntity(for: subjects[0]) == nil)
        try await cache.updateEntity(for: subjects[1], timestamp: Timestamp(seconds: 9), fields: [.age: "1"])
        let updated = try await cache.readEntity(for: subjects[1])
        #expect(updated?.timestamp == Timestamp(seconds: 9))
        #expect(updated?.field("age") == "1")
        await storage.removeAll()
        #expect(try await cache.readEntity(for: subjects[4]) == nil)
        await storage.close()
    }

    @Test func `a directory has one owner, and what cannot be kept is said`() async throws {
        let storage = try open()
        #expect(throws: StoreError.self) { try open() }
        let cache = storage.cache(of: [UInt8].self)
        #expect(cache.key(for: try subject(partition: Partition("a\0b"))) == nil)
        // More than an eighth of the limit.
        let long = Entity(content: [UInt8](repeating: 1, count: 9 << 20), timestamp: clock.now)
        await #expect(throws: (any Error).self) { try await cache.writeEntity(long, for: subject()) }
        await storage.close()
        #expect(try await cache.readEntity(for: subject()) == nil)
    }
}
