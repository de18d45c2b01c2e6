// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderProxy
import LarderSettings
import LarderStores
import LarderTesting
import Testing

/// A client's answers when something is, or is not, stored.
@Suite("Scenarios: caching")
struct CachingScenarios {
    static let fresh = "Cache-Control: max-age=60"

    @Test func `the second request is answered from memory, with its age`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, "ETag: \"1\"", content: "apples") }
            let first = try await scene.get("/a")
            #expect(first.status == 200)
            #expect(first.text == "apples")
            #expect(first["Cache-Status"] == "Larder; fwd=uri-miss; fwd-status=200; stored")
            scene.advance(.seconds(10))
            let second = try await scene.get("/a")
            #expect(second.text == "apples")
            #expect(second["Age"] == "10")
            #expect(second["Cache-Status"] == "Larder; hit; ttl=50")
            #expect(second["ETag"] == "\"1\"")
            #expect(scene.origin.count(of: "/a") == 1)
            try await eventually("it is counted") { scene.count(.hit) == 1 && scene.count(.miss) == 1 }
        }
    }

    @Test func `RS-11 a stale response is validated, and a 304 makes it fresh again`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { request in
                request["If-None-Match"] == "\"1\""
                    ? .response(304, "ETag: \"1\"", Self.fresh, "X-Round: two")
                    : .ok(Self.fresh, "ETag: \"1\"", content: "apples")
            }
            _ = try await scene.get("/a")
            scene.advance(.seconds(61))
            let validated = try await scene.get("/a")
            #expect(validated.status == 200)
            #expect(validated.text == "apples")
            #expect(validated["X-Round"] == "two")
            #expect(validated["Cache-Status"] == "Larder; fwd=stale; fwd-status=304")
            let hit = try await scene.get("/a")
            #expect(hit["Cache-Status"] == "Larder; hit; ttl=60")
            #expect(scene.origin.count(of: "/a") == 2)
        }
    }

    @Test func `a 200 to a validation replaces what is stored`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer {
                $0["If-None-Match"] == nil
                    ? .ok(Self.fresh, "ETag: \"1\"", content: "old") : .ok(Self.fresh, "ETag: \"2\"", content: "new")
            }
            _ = try await scene.get("/a")
            scene.advance(.seconds(61))
            #expect(try await scene.get("/a").text == "new")
            let hit = try await scene.get("/a")
            #expect(hit.text == "new")
            #expect(hit["ETag"] == "\"2\"")
            #expect(hit["Cache-Status"] == "Larder; hit; ttl=60")
        }
    }

    @Test func `a 304 about another representation has the request sent again without conditions`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { request in
                guard request["If-None-Match"] == nil else { return .response(304, "ETag: \"other\"") }
                return .ok(Self.fresh, "ETag: \"1\"", content: "apples")
            }
            _ = try await scene.get("/a")
            scene.advance(.seconds(61))
            let answer = try await scene.get("/a")
            #expect(answer.status == 200)
            #expect(answer.text == "apples")
            #expect(answer["ETag"] == "\"1\"")
            #expect(scene.origin.seen.map { $0["If-None-Match"] } == [nil, "\"1\"", nil])
        }
    }

    @Test func `HT-08 an error of the origin is covered by stale data for as long as the origin allows`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in
                .ok("Cache-Control: max-age=10, stale-if-error=100", "ETag: \"1\"", content: "apples")
            }
            _ = try await scene.get("/a")
            scene.origin.answer { _ in .response(503, content: "broken") }
            scene.advance(.seconds(50))
            let stale = try await scene.get("/a")
            #expect(stale.status == 200)
            #expect(stale.text == "apples")
            #expect(stale["Cache-Status"] == "Larder; fwd=stale; fwd-status=503; ttl=-40; detail=stale-if-error")
            scene.advance(.seconds(100))
            #expect(try await scene.get("/a").status == 503)
            try await eventually("it is counted") { scene.count(.stale) == 1 }
        }
    }

    @Test func `an error of the origin is covered for all who ask at once, and it is asked once`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=10, stale-if-error=100", content: "apples") }
            _ = try await scene.get("/a")
            scene.origin.answer { _ in nil }
            scene.advance(.seconds(50))
            var clients: [Wire] = []
            for _ in 0..<5 {
                let client = try await scene.client()
                try await client.get(scene.url("/a"))
                clients.append(client)
            }
            let asked = try await scene.origin.request()
            try await eventually("the others wait") { scene.interest(in: "/a") == clients.count }
            try await asked.reply(503, content: "broken")
            for client in clients {
                let answer = try await client.response()
                #expect(answer.status == 200 && answer.text == "apples")
                #expect(answer["Cache-Status"]?.hasSuffix("detail=stale-if-error") == true)
            }
            #expect(scene.origin.count(of: "/a") == 2)
        }
    }

    @Test(arguments: ["GET", "HEAD"])
    func `an error of the origin is covered for those who ask alone, too`(method: String) async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=10, stale-if-error=100", content: "apples") }
            _ = try await scene.get("/a")
            scene.origin.answer { _ in .response(503, content: "broken") }
            scene.advance(.seconds(50))
            let client = try await scene.client()
            try await client.send("\(method) \(scene.url("/a")) HTTP/1.1", "Host: \(scene.origin.authority)")
            let answer = try await client.response(to: method)
            #expect(answer.status == 200)
            #expect(answer["Cache-Status"]?.hasSuffix("detail=stale-if-error") == true)
        }
    }

    @Test func `an origin that cannot be reached is covered by stale data`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=10", "Connection: close", content: "apples") }
            _ = try await scene.get("/a")
            await scene.origin.refuse()
            scene.advance(.seconds(50))
            let stale = try await scene.get("/a")
            #expect(stale.status == 200)
            #expect(stale.text == "apples")
            #expect(try await scene.get("/other").status == 502)
        }
    }

    @Test func `HT-08 must-revalidate forbids stale data even when the origin is gone`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in
                .ok("Cache-Control: max-age=10, must-revalidate", "Connection: close", content: "apples")
            }
            _ = try await scene.get("/a")
            await scene.origin.refuse()
            scene.advance(.seconds(50))
            #expect(try await scene.get("/a").status >= 500)
        }
    }

    @Test func `HT-08 a stale response is served at once while it is validated behind it`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in
                .ok("Cache-Control: max-age=10, stale-while-revalidate=100", "ETag: \"1\"", content: "old")
            }
            _ = try await scene.get("/a")
            scene.origin.answer { _ in nil }
            scene.advance(.seconds(20))
            let stale = try await scene.get("/a")
            #expect(stale.text == "old")
            #expect(stale["Cache-Status"] == "Larder; hit; ttl=-10; detail=stale-while-revalidate")
            let validation = try await scene.origin.request()
            #expect(validation["If-None-Match"] == "\"1\"")
            // Others get it too, and nobody asks twice.
            #expect(try await scene.get("/a").text == "old")
            try await validation.reply("Cache-Control: max-age=10", "ETag: \"2\"", content: "new")
            let hit = try await scene.get("/a") { $0.text == "new" }
            #expect(hit["Cache-Status"] == "Larder; hit; ttl=10")
            #expect(scene.origin.count(of: "/a") == 2)
        }
    }

    @Test func `HT-19 only-if-cached asks nobody`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: "apples") }
            let missing = try await scene.get("/a", "Cache-Control: only-if-cached")
            #expect(missing.status == 504)
            #expect(scene.origin.seen.isEmpty)
            _ = try await scene.get("/a")
            #expect(try await scene.get("/a", "Cache-Control: only-if-cached").text == "apples")
            scene.advance(.seconds(100))
            #expect(try await scene.get("/a", "Cache-Control: only-if-cached").status == 504)
            #expect(scene.origin.count(of: "/a") == 1)
        }
    }

    @Test func `HT-02 each variant is stored and served for its own requests`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { request in
                .ok(Self.fresh, "Vary: Accept-Language", content: request["Accept-Language"] ?? "none")
            }
            for _ in 0..<2 {
                for language in ["de", "fr"] {
                    #expect(try await scene.get("/a", "Accept-Language: \(language)").text == language)
                }
                #expect(try await scene.get("/a").text == "none")
            }
            #expect(scene.origin.count(of: "/a") == 3)
            try await eventually("they are counted") { scene.count(.hit) == 3 }
        }
    }

    @Test(arguments: ["Cache-Control: no-store", "Cache-Control: private", "Cache-Control: max-age=60\r\nVary: *"])
    func `what must not be kept is asked for each time`(line: String) async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok(line, content: "apples") }
            for _ in 0..<3 { #expect(try await scene.get("/a").text == "apples") }
            #expect(scene.origin.count(of: "/a") == 3)
            #expect(scene.resource("/a")?.memory.snapshot.variants.isEmpty != false)
        }
    }

    @Test func `EC-01 what a block keeps from the cache is in neither memory nor store`() async throws {
        try await Scenario.run(onDisk: true) {
            $0.add("api", at: $1.url("/")) { service in
                service.configure { $0.caching = Configuration.Caching.none }
                service.configure {
                    $0.pattern.match = "/kept"
                    $0.caching = .perStage
                }
            }
        } _: { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, content: $0.target) }
            func entries() async -> Int? {
                await scene.proxy.diskTier?.store.flush()
                return scene.proxy.diskTier?.store.statistics.entries
            }
            for _ in 0..<2 { #expect(try await scene.get("/secret").text == "/secret") }
            #expect(await entries() == 0)
            #expect(scene.resource("/secret")?.memory.snapshot.variants.isEmpty != false)
            #expect(scene.origin.seen.count == 2)
            for _ in 0..<2 { _ = try await scene.get("/kept") }
            #expect(await entries() == 1)
            #expect(scene.origin.seen.count == 3)
        }
    }

    @Test func `a client's own validator is answered from what is stored`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, "ETag: \"1\"", "Content-Type: text/plain", content: "apples") }
            _ = try await scene.get("/a")
            let same = try await scene.get("/a", "If-None-Match: \"1\"")
            #expect(same.status == 304)
            #expect(same["ETag"] == "\"1\"")
            #expect(same["Content-Type"] == nil)
            #expect(try await scene.get("/a", "If-None-Match: \"2\"").text == "apples")
            #expect(scene.origin.count(of: "/a") == 1)
        }
    }

    @Test func `RS-09 no-cache in a request has the origin asked, and what it says is stored`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: "old") }
            _ = try await scene.get("/a")
            scene.origin.answer { _ in .ok(Self.fresh, content: "new") }
            #expect(try await scene.get("/a", "Cache-Control: no-cache").text == "new")
            #expect(try await scene.get("/a").text == "new")
            #expect(scene.origin.count(of: "/a") == 2)
        }
    }

    @Test func `an origin that cannot be reached is left alone for retryTime`() async throws {
        try await Scenario.run { settings, _ in
            settings.add("gone", at: "http://127.0.0.1:1/") { $0.configure { $0.retryTime = .seconds(30) } }
        } _: { (scene) async throws in
            func ask(isAsked: Bool) async throws {
                let client = try await scene.client()
                try await client.get("http://127.0.0.1:1/a")
                let response = try await client.response()
                #expect(response.status == 502)
                #expect(response["Cache-Status"] == "Larder; \(isAsked ? "fwd=uri-miss" : "detail=retry-time")")
                #expect((response["Retry-After"] == "30") == !isAsked)
                await client.close()
            }
            try await ask(isAsked: true)
            try await ask(isAsked: false)
            #expect(scene.count(.upstreamRequests) == 1)
            scene.advance(.seconds(31))
            try await ask(isAsked: true)
            #expect(scene.count(.upstreamRequests) == 2)
        }
    }

    @Test func `an origin that answered badly is asked again`() async throws {
        try await Scenario.run {
            $0.add("api", at: $1.url("/")) { $0.configure { $0.retryTime = .seconds(30) } }
        } _: { (scene) async throws in
            scene.origin.answer { _ in "HTTP/1.1 nonsense\r\n\r\n" }
            #expect(try await scene.get("/a").status == 502)
            scene.origin.answer { _ in .ok(content: "apples") }
            #expect(try await scene.get("/a").text == "apples")
        }
    }
}
