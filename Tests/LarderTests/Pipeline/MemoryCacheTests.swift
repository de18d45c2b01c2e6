// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderTesting
import Testing

@Suite("The cache in memory")
struct MemoryCacheTests {
    private func subject(_ path: String, partition: Partition = .shared) throws -> CacheSubject {
        let url = try #require(ResourceURL("https://api.example/\(path)").target)
        return CacheSubject(service: "s", partition: partition, url: url, stage: .parsing)
    }

    private func entity(_ text: String, seconds: Int64 = 1) -> Entity<String> {
        Entity(content: text, contentType: "text/plain", timestamp: Timestamp(seconds: seconds))
    }

    @Test func `B-23 a resource that was let go comes back from the cache`() async {
        let fixture = Fixture()
        let cache = MemoryCache<JSONValue>()
        fixture.service.configure { $0.pipeline[.parsing].cacheUsing(cache) }
        fixture.reply("a", .json(#"{"n": 1}"#))
        _ = await fixture.service.resource("a").load().response()
        await fixture.service.finishCacheWork()
        #expect(cache.count == 1)

        let again = Service("test", baseURL: Fixture.base, transport: fixture.transport, clock: fixture.clock)
        again.configure {
            $0.pipeline[.parsing].cacheUsing(cache)
            $0.expirationTime = .seconds(60)
        }
        let resource = again.resource("a")
        await resource.loadIfNeeded()?.response()
        #expect((resource.latestData?.content as? JSONValue)?["n"]?.double == 1)
        #expect(fixture.transport.sent.count == 1)
    }

    @Test func `what was last written is read, changed and removed`() throws {
        let cache = MemoryCache<String>()
        let (a, b) = (try subject("a"), try subject("a", partition: Partition("b")))
        cache.writeEntity(entity("one"), for: a)
        cache.writeEntity(entity("two"), for: a)
        #expect(cache.readEntity(for: a)?.content == "two")
        #expect(cache.readEntity(for: b) == nil)
        cache.updateEntity(for: a, timestamp: Timestamp(seconds: 9), fields: [.eTag: "\"x\""])
        #expect(cache.readEntity(for: a)?.timestamp == Timestamp(seconds: 9))
        #expect(cache.readEntity(for: a)?.eTag == "\"x\"")
        cache.removeEntity(for: a)
        cache.updateEntity(for: a, timestamp: Timestamp(seconds: 10), fields: nil)
        #expect(cache.readEntity(for: a) == nil)
        #expect(cache.count == 0)
    }

    @Test func `what is used stays when many others pass through`() throws {
        let cache = MemoryCache<String>(limit: 20)
        let used = try (0..<5).map { try subject("used/\($0)") }
        for subject in used { cache.writeEntity(entity("used"), for: subject) }
        for number in 0..<500 {
            if number.isMultiple(of: 5) { for subject in used { _ = cache.readEntity(for: subject) } }
            cache.writeEntity(entity("once"), for: try subject("once/\(number)"))
            #expect(cache.count <= 20)
        }
        for subject in used { #expect(cache.readEntity(for: subject)?.content == "used") }
    }
}
