// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// Caches of a program's own (`cacheUsing`) count for a daemon's clients as for the program.
@Suite("Scenarios: caches in Swift")
struct HostedResourceScenarios {
    static let fresh = "Cache-Control: max-age=600"
    static let json = "Content-Type: application/json"

    private func run(
        onDisk: Bool = false, privacy: ServicePrivacy = .shared,
        configuring configure: @escaping @Sendable (Service) -> Void, _ body: (Scenario, Service) async throws -> Void
    ) async throws {
        let given = Lock<Service?>(nil)
        try await Scenario.run(onDisk: onDisk) { settings, origin in
            settings.admin.token = Secret("token")
            settings.add("shop", at: origin.url("/")) {
                $0.privacy = privacy
                $0.declare = { service in
                    given.withLock { $0 = service }
                    configure(service)
                }
            }
        } _: { (scene) async throws in
            try await body(scene, try #require(given.withLock { $0 }))
        }
    }

    private func runParsed(
        _ cache: some EntityCache, onDisk: Bool = false, privacy: ServicePrivacy = .shared,
        _ body: (Scenario, Service) async throws -> Void
    ) async throws {
        try await run(onDisk: onDisk, privacy: privacy) { service in
            service.configure {
                $0.pipeline.add(.json)
                $0.pipeline[.parsing].cacheUsing(cache)
            }
        } _: { (scene, service) async throws in
            try await body(scene, service)
        }
    }

    @Test func `EC-14 a cache has nothing of the former user of a service with credentials of its own`() async throws {
        let cache = RecordingCache<JSONValue>()
        try await runParsed(cache, privacy: .private) { (scene, service) async throws in
            scene.origin.answer { .ok(Self.fresh, Self.json, content: "[\"\($0["Authorization"] ?? "nobody")\"]") }
            for user in ["ann", "bob"] {
                let bearer = HeaderEdit(name: .authorization, value: Secret(user))
                try await scene.reload { settings in
                    settings.services[0].configure = []
                    settings.services[0].configure { $0.headers = [bearer] }
                }
                await service.finishCacheWork()
                #expect(try await scene.getStored("/a").text == "[\"\(user)\"]")
                // Nothing in memory.
                try await scene.restart()
                #expect(try await scene.getStored("/b").text == "[\"\(user)\"]")
            }
        }
    }

    // MARK: Reading and writing

    @Test func `EC-02 EC-17 clients get what a cache has when memory has nothing, and loads fill it`() async throws {
        let cache = RecordingCache<JSONValue>()
        try await runParsed(cache) { (scene, service) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, "ETag: \"1\"", content: "[ 1 ]") }
            #expect(try await scene.getStored("/a").text == "[1]")
            await service.finishCacheWork()
            let stored = try #require(cache["/a"])
            #expect(stored.content == [1] && stored.eTag == "\"1\"" && stored.timestamp == scene.proxy.now)
            scene.advance(.seconds(100))
            try await scene.restart()
            let answer = try await scene.getStored("/a")
            #expect(answer.text == "[1]")
            #expect(answer["Cache-Status"] == "Larder; hit; ttl=500")
            #expect(answer["Age"] == "100")
            #expect(answer["Content-Type"]?.hasPrefix("application/json") == true)
            // A tag of these octets, not the origin's.
            #expect(answer["ETag"] != nil && answer["ETag"] != "\"1\"")
            #expect(scene.origin.count(of: "/a") == 1)
            // From memory then.
            #expect(try await scene.getStored("/a")["Cache-Status"] == "Larder; hit; ttl=500")
            #expect(cache.log.count { $0 == "read /a" } == 2)
        }
    }

    @Test func `EC-02 the origin's octets are kept where nothing transforms them`() async throws {
        let cache = RecordingCache<[UInt8]>()
        try await run { service in
            service.configure { $0.pipeline[.rawData].cacheUsing(cache) }
        } _: { (scene, service) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, "Content-Type: image/png", "ETag: \"1\"", content: "pixels") }
            #expect(try await scene.getStored("/a").text == "pixels")
            await service.finishCacheWork()
            #expect(cache["/a"]?.content == Array("pixels".utf8))
            try await scene.restart()
            let answer = try await scene.getStored("/a")
            #expect(answer.text == "pixels" && answer["ETag"] == "\"1\"" && answer["Content-Type"] == "image/png")
            #expect(answer["Cache-Status"] == "Larder; hit; ttl=600")
            #expect(scene.origin.count(of: "/a") == 1)
        }
    }

    @Test func `EC-03 the last stage is read first, and one whose entity fails later is passed over`() async throws {
        let parsed = RecordingCache<JSONValue>()
        let models = RecordingCache<JSONValue>()
        try await run { service in
            service.configure {
                $0.pipeline.add(.json)
                $0.pipeline[.parsing].cacheUsing(parsed)
                $0.pipeline[.model].add(
                    ResponseContentTransformer { (entity: Entity<JSONValue>) in entity.content["name"] })
                $0.pipeline[.model].cacheUsing(models)
            }
        } _: { (scene, service) async throws in
            func stored(_ json: JSONValue) -> Entity<JSONValue> {
                Entity(
                    content: json, fields: [.contentType: "application/json", .cacheControl: "max-age=600"],
                    timestamp: scene.proxy.now)
            }
            parsed["/a"] = stored(["name": "early"])
            models["/a"] = stored("late")
            parsed["/b"] = stored(["name": "early"])
            parsed["/c"] = stored(["nameless": true])
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, content: #"{"name":"new"}"#) }
            #expect(try await scene.getStored("/a").text == "\"late\"")
            #expect(try await scene.getStored("/b").text == "\"early\"")
            #expect(try await scene.getStored("/c").text == "\"new\"")
            await service.finishCacheWork()
            // Later stages are filled; what was there is unchanged.
            #expect(models["/b"]?.content == "early" && models["/c"]?.content == "new")
            #expect(models["/a"]?.content == "late")
            #expect(scene.origin.seen.map(\.target) == ["/c"])
        }
    }

    @Test func `EC-06 EC-12 hits renew nothing, and a 304 renews what a cache has`() async throws {
        let cache = RecordingCache<JSONValue>()
        try await runParsed(cache) { (scene, service) async throws in
            scene.origin.answer { request in
                request["If-None-Match"] == "\"1\""
                    ? .response(304, Self.fresh, "ETag: \"1\"", "X-Round: 2")
                    : .ok(Self.fresh, Self.json, "ETag: \"1\"", "X-Round: 1", content: "[1]")
            }
            _ = try await scene.getStored("/a")
            await service.finishCacheWork()
            for round in 1...5 {
                scene.advance(.seconds(100))
                try await scene.restart()
                #expect(try await scene.getStored("/a")["Cache-Status"] == "Larder; hit; ttl=\(600 - 100 * round)")
            }
            scene.advance(.seconds(101))
            try await scene.restart()
            let validated = try await scene.getStored("/a")
            #expect(validated["Cache-Status"]?.contains("fwd=stale; fwd-status=304") == true)
            #expect(validated.text == "[1]")
            try await eventually("the cache knows") { cache["/a"]?.fields["X-Round"] == "2" }
            #expect(cache["/a"]?.timestamp == scene.proxy.now && cache["/a"]?.content == [1])
            scene.advance(.seconds(100))
            try await scene.restart()
            #expect(try await scene.getStored("/a")["Cache-Status"] == "Larder; hit; ttl=500")
            #expect(scene.origin.count(of: "/a") == 2)
        }
    }

    @Test func `the program and its clients share what a cache has`() async throws {
        let cache = RecordingCache<JSONValue>()
        try await runParsed(cache) { (scene, service) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, content: "[1]") }
            _ = try await scene.getStored("/a")
            await service.finishCacheWork()
            let resource = service.resource("/a")
            await resource.loadIfNeeded()?.response()
            #expect(resource.latestData?.json == [1])
            _ = try await service.resource("/b").load().entity()
            await service.finishCacheWork()
            #expect(try await scene.getStored("/b")["Cache-Status"]?.hasPrefix("Larder; hit") == true)
            #expect(scene.origin.seen.map(\.target) == ["/a", "/b"])
        }
    }

    // MARK: Rules

    @Test func `EC-01 EC-05 no write, no refusal and nothing that forbids it is kept`() async throws {
        let cache = RecordingCache<JSONValue>()
        try await runParsed(cache) { (scene, service) async throws in
            scene.origin.answer { request in
                switch request.target {
                case "/no-store": .ok("Cache-Control: no-store", Self.json, content: "[1]")
                case "/private": .ok("Cache-Control: private, max-age=600", Self.json, content: "[1]")
                case "/varies": .ok(Self.fresh, Self.json, "Vary: Accept-Language", content: "[1]")
                case "/group": .ok(Self.fresh, Self.json, "Cache-Groups: \"g\"", content: "[1]")
                case "/gone": .response(404, Self.fresh, Self.json, content: "[1]")
                case "/bad": .ok(Self.fresh, Self.json, content: "no JSON")
                default: .ok(Self.fresh, Self.json, content: "[1]")
                }
            }
            for path in ["/no-store", "/private", "/varies", "/group", "/gone", "/bad"] {
                _ = try await scene.getStored(path)
            }
            let client = try await scene.client()
            try await client.send("POST \(scene.url("/post")) HTTP/1.1", "Host: x", "Content-Length: 0")
            #expect(try await client.response().status == 200)
            await service.finishCacheWork()
            #expect(cache.log.filter { $0.hasPrefix("write") }.isEmpty)
            // Nor do clients get what the program alone may have.
            for (path, line) in [("/own", "private"), ("/secret", "no-store")] {
                cache[path] = Entity(
                    content: [2], fields: [.contentType: "application/json", .cacheControl: line],
                    timestamp: scene.proxy.now)
                #expect(try await scene.getStored(path).text == "[1]")
            }
        }
    }

    @Test func `EC-14 what belongs to one user is in no cache`() async throws {
        let cache = RecordingCache<JSONValue>()
        try await runParsed(cache, privacy: .partitioned) { (scene, service) async throws in
            scene.origin.answer { head in .ok(Self.fresh, Self.json, content: "[\"\(head["Authorization"] ?? "")\"]") }
            for user in ["ann", "bob", "ann"] {
                #expect(try await scene.getStored("/a", "Authorization: \(user)").text == "[\"\(user)\"]")
            }
            await service.finishCacheWork()
            #expect(cache.log.isEmpty)
        }
    }

    @Test func `EC-07 HT-04 RS-29 what is written to, overridden or wiped is in no cache either`() async throws {
        let cache = RecordingCache<JSONValue>()
        try await runParsed(cache) { (scene, service) async throws in
            let answers = Lock(0)
            scene.origin.answer { _ in
                let number = answers.withLock { count in
                    count += 1
                    return count
                }
                return .ok(Self.fresh, Self.json, content: "[\(number)]")
            }
            for path in ["/a", "/b", "/c", "/d"] { _ = try await scene.getStored(path) }
            let client = try await scene.client()
            try await client.send("PUT \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 0")
            _ = try await client.response()
            #expect(try await scene.override("/b", "[0]", Self.json).status == 200)
            service.wipeResources(matching: "/c", .memoryAndCaches)
            service.wipeResources(matching: "/d")
            await service.finishCacheWork()
            #expect(cache["/a"] == nil && cache["/b"] == nil && cache["/c"] == nil)
            #expect(cache["/d"]?.content == [4])
            try await scene.restart()
            #expect(try await scene.getStored("/a").text == "[6]")
            #expect(try await scene.getStored("/d").text == "[4]")
        }
    }

    @Test func `RS-26 what was invalidated is validated, whoever read it from a cache`() async throws {
        let cache = RecordingCache<JSONValue>()
        try await runParsed(cache) { (scene, service) async throws in
            scene.origin.answer { request in
                request["If-None-Match"] != nil
                    ? .response(304, Self.fresh) : .ok(Self.fresh, Self.json, "ETag: \"1\"", content: "[1]")
            }
            _ = try await scene.getStored("/a")
            service.invalidateResources(matching: "/a")
            await service.finishCacheWork()
            try await scene.restart()
            #expect(try await scene.getStored("/a")["Cache-Status"]?.contains("fwd-status=304") == true)
        }
    }

    // MARK: Trouble

    @Test func `EC-16 B-23 a cache that fails costs clients nothing, and is told of`() async throws {
        let cache = RecordingCache<JSONValue>()
        cache.breakDown()
        try await runParsed(cache) { (scene, service) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, content: "[1]") }
            for path in ["/a", "/b", "/c"] { #expect(try await scene.getStored(path).text == "[1]") }
            await service.finishCacheWork()
            #expect(try await scene.getStored("/a")["Cache-Status"] == "Larder; hit; ttl=600")
            let lines = scene.log.values.filter { $0.contains("a cache of the program's own is in trouble") }
            #expect(lines.count == 1 && lines.first?.contains("reading at parsing failed") == true)
        }
    }

    @Test func `EC-16 a cache that never answers is waited for a few seconds`() async throws {
        try await runParsed(SilentCache()) { (scene, _) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, content: "[1]") }
            let response = try await scene.lettingTimePass(reaching: Resource.cachePatience) {
                try await scene.getStored("/a")
            }
            #expect(response.text == "[1]")
            #expect(try await scene.getStored("/a")["Cache-Status"]?.hasPrefix("Larder; hit") == true)
        }
    }

    @Test func `a store and a cache beside each other lose nothing`() async throws {
        let cache = RecordingCache<JSONValue>()
        try await runParsed(cache, onDisk: true) { (scene, _) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, content: "[1]") }
            _ = try await scene.getStored("/a")
            try await scene.restart()
            #expect(try await scene.getStored("/a")["Cache-Status"]?.hasPrefix("Larder; hit") == true)
            cache["/b"] = Entity(
                content: [2], fields: [.contentType: "application/json", .cacheControl: "max-age=600"],
                timestamp: scene.proxy.now)
            #expect(try await scene.getStored("/b").text == "[2]")
            #expect(scene.origin.seen.map(\.target) == ["/a"])
        }
    }
}

/// A cache whose reads never end.
private struct SilentCache: EntityCache {
    func key(for subject: CacheSubject) -> String? { subject.url.string }

    func readEntity(for key: String) async throws -> Entity<JSONValue>? {
        await withUnsafeContinuation { (_: UnsafeContinuation<Entity<JSONValue>?, Never>) in }
    }

    func writeEntity(_ entity: Entity<JSONValue>, for key: String) {}
    func removeEntity(for key: String) {}
}
