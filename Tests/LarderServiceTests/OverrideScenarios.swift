// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// Responses that operators put in the place of the origins'.
@Suite("Scenarios: overrides")
struct OverrideScenarios {
    static let fresh = "Cache-Control: max-age=600"

    /// A daemon that takes changes over TCP.
    private func run(
        onDisk: Bool = false, _ configure: (inout Settings, ScriptedOrigin) -> Void = { _, _ in },
        _ body: (Scenario) async throws -> Void
    ) async throws {
        try await Scenario.run(
            onDisk: onDisk,
            { settings, origin in
                settings.admin.token = Secret("token")
                configure(&settings, origin)
            }, body)
    }

    @Test func `RS-23 HT-17 an override is what clients get, marked, with its own tag and nothing of the origin's`()
        async throws
    {
        try await run { (scene) async throws in
            scene.origin.answer { _ in
                .ok("Cache-Control: public, max-age=60", "ETag: \"theirs\"", "X-Theirs: 1", content: "theirs")
            }
            _ = try await scene.get("/a")
            let events = try await scene.events(about: "/a")
            _ = try await events.next()
            let answer = try await scene.override("/a", "{\"ours\": 1}", "Content-Type: application/json")
            #expect(answer.status == 200, "\(answer.text)")
            let told = try await events.next()
            #expect(told.name == "newData")
            #expect(told.json["source"]?.string == "localOverride")
            #expect(told.state["isUpToDate"]?.bool == true)
            #expect(told.state["latestData"]?["isOverride"]?.bool == true)
            #expect(told.state["latestError"] == .null)

            for _ in 0..<3 {
                let got = try await scene.get("/a")
                #expect(got.text == "{\"ours\": 1}")
                #expect(got["Content-Type"] == "application/json")
                #expect(got["Cache-Status"]?.contains("hit") == true)
                #expect(got["Cache-Status"]?.contains("detail=override") == true)
                #expect(got["Cache-Control"] == "private, no-cache")
                #expect(got["X-Theirs"] == nil)
                #expect(got["Last-Modified"] == nil)
                let tag = try #require(got["ETag"])
                #expect(tag.hasPrefix("\"override-"))
                #expect(try await scene.get("/a", "If-None-Match: \(tag)").status == 304)
                #expect(try await scene.get("/a", "If-None-Match: \"theirs\"").status == 200)
            }
            #expect(try await scene.get("/a", "Range: bytes=2-5").text == "ours")
            #expect(scene.origin.seen.count == 1)

            let shown = try await scene.ask("/-/resources?url=\(scene.url("/a"))")
            #expect(shown["state"]?.string == "overridden")
            #expect(shown["variants"]?[0]?["override"]?.bool == true)
            #expect(shown["where"]?.string == "memory")
            let explained = try await scene.ask("/-/explain?url=\(scene.url("/a"))")
            #expect(explained["outcome"]?.string?.contains("It is an override") == true)
            #expect(explained["cacheStatus"]?.string?.contains("detail=override") == true)
        }
    }

    @Test func `RS-25 an override removes what is stored, is not stored itself, and is gone after a restart`()
        async throws
    {
        try await run(onDisk: true) { (scene) async throws in
            scene.origin.answer { request in
                .ok(
                    Self.fresh, "ETag: \"1\"", "Vary: Accept-Language",
                    content: "for \(request["Accept-Language"] ?? "-")")
            }
            for language in ["de", "fr"] { _ = try await scene.get("/a", "Accept-Language: \(language)") }
            _ = try await scene.override("/a", "ours")
            for language in ["de", "fr", "it"] {
                #expect(try await scene.get("/a", "Accept-Language: \(language)").text == "ours")
            }
            try await scene.restart()
            let before = scene.origin.seen.count
            for language in ["de", "fr"] {
                #expect(try await scene.get("/a", "Accept-Language: \(language)").text == "for \(language)")
            }
            #expect(scene.origin.seen.count == before + 2)
        }
    }

    @Test(arguments: [10, 6 << 20], ["max-age=600", "no-store"])
    func `B-04 a load that is under way when the override comes never takes its place`(
        length: Int, storing: String
    )
        async throws
    {
        try await run(onDisk: true) { (scene) async throws in
            let reader = try await scene.client("the reader")
            try await reader.get(scene.url("/a"))
            let load = try await scene.origin.request()
            let content = String(repeating: "t", count: length)
            try await load.send(
                "HTTP/1.1 200 OK", "Content-Length: \(length)", "Cache-Control: \(storing)", "ETag: \"1\"",
                content: String(content.dropLast()))
            try await reader.hasReceived(length - 1)
            _ = try await scene.override("/a", "ours")
            try await load.write("t")
            load.finish()
            #expect(try await reader.response().text == content)
            #expect(try await scene.get("/a").text == "ours")
            try await scene.restart()
            scene.origin.answer { _ in .ok("Cache-Control: no-store", content: "new") }
            #expect(try await scene.get("/a").text == "new")
        }
    }

    @Test func `B-04 what is loaded after an override is asked for without validators, and takes its place`()
        async throws
    {
        try await run({ $0.add("api", at: $1.url("/")) { _ in } }) { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, "ETag: \"1\"", content: "theirs") }
            _ = try await scene.get("/a")
            let answer = try await scene.override("/a", "ours", query: "&for=1%20h")
            #expect(answer.text.contains("\"ttl\": 3600"))
            scene.advance(.seconds(3599))
            #expect(try await scene.get("/a").text == "ours")
            scene.advance(.seconds(2))
            #expect(try await scene.get("/a").text == "theirs")
            let asked = try #require(scene.origin.seen.last)
            #expect(asked["If-None-Match"] == nil)
            #expect(asked["If-Modified-Since"] == nil)
            #expect(try await scene.get("/a")["Cache-Status"]?.contains("override") == false)
        }
    }

    @Test(arguments: ["Cache-Control: max-age=600", "Cache-Control: no-store", "Cache-Control: no-store\r\nVary: X"])
    func `a load that succeeds ends an override, whether or not what it brings is kept`(line: String) async throws {
        try await run { (scene) async throws in
            _ = try await scene.override("/a", "ours")
            scene.origin.answer { _ in .ok(line, content: "theirs") }
            let loaded = try await scene.change("POST", "/-/resource/load?url=\(scene.url("/a"))")
            #expect(loaded.status == 200)
            #expect(try await scene.get("/a").text == "theirs")
        }
    }

    @Test func `a stale override stands in for an origin that fails, still marked`() async throws {
        try await run({ settings, origin in
            settings.add("api", at: origin.url("/")) { $0.configure { $0.staleIfError = .seconds(600) } }
        }) { (scene) async throws in
            _ = try await scene.override("/a", "ours", query: "&for=10%20s")
            scene.advance(.seconds(20))
            scene.origin.answer { _ in .response(503, "Cache-Control: no-store") }
            let got = try await scene.get("/a")
            #expect(got.text == "ours")
            #expect(got["Cache-Status"]?.contains("fwd=stale; fwd-status=503") == true)
            #expect(got["Cache-Status"]?.contains("detail=override") == true)
            #expect(try await scene.change("POST", "/-/resource/wipe?url=\(scene.url("/a"))").status == 200)
            #expect(try await scene.get("/a").status == 503)
        }
    }

    @Test func `RS-25 an override is for one partition, and stays when memory is short`() async throws {
        try await run({
            $0.cache.memory = .mebibytes(1)
            $0.add("api", at: $1.url("/")) { $0.privacy = .partitioned }
        }) { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, content: $0["Authorization"] ?? "nobody") }
            let answer = try await scene.override("/a", "ours", query: "&header=Authorization:%20mine&for=1%20day")
            #expect(answer.text.contains("\"partition\""))
            for number in 0..<200 {
                scene.origin.answer {
                    .ok(Self.fresh, content: ($0["Authorization"] ?? "nobody") + String(repeating: ".", count: 20_000))
                }
                _ = try await scene.get("/\(number)")
            }
            #expect(scene.proxy.registry.evicted > 0)
            #expect(try await scene.get("/a", "Authorization: mine").text == "ours")
            #expect(try await scene.get("/a", "Authorization: yours").text.hasPrefix("yours"))
        }
    }

    @Test func `overrides are bounded in number and size`() async throws {
        try await run({ settings, _ in settings.cache.memory = .mebibytes(1) }) { (scene) async throws in
            let large = try await scene.override("/large", String(repeating: "x", count: 70_000))
            #expect(large.status == 413)
            #expect(try await scene.override("/larger", String(repeating: "x", count: 1_100_000)).status == 413)
            var statuses: Set<Int> = []
            for number in 0..<8 {
                statuses.insert(try await scene.override("/\(number)", String(repeating: "x", count: 60_000)).status)
            }
            #expect(statuses == [200, 409])
            // Overrides that ended make room.
            for number in 0..<8 {
                _ = try await scene.change("POST", "/-/resource/wipe?url=\(scene.url("/\(number)"))")
            }
            #expect(try await scene.override("/9", String(repeating: "x", count: 60_000)).status == 200)
        }
    }

    @Test func `a reload leaves an override as it is, and nothing puts it through a pipeline`() async throws {
        try await run({ settings, origin in
            settings.add("api", at: origin.url("/")) { $0.configure { _ in } }
        }) { (scene) async throws in
            _ = try await scene.override("/a", "ours", query: "&for=1%20h")
            try await scene.reload { settings in
                settings.services[0].configure[0].expirationTime = Expiration(time: .seconds(5), mode: .override)
            }
            scene.advance(.seconds(100))
            #expect(try await scene.get("/a").text == "ours")
        }
    }

    @Test(arguments: [
        ("url=nothing", "", 400), ("", "", 400), ("url=http://a/&x=1", "", 400), ("url=http://a/&for=5", "", 400),
        ("url=http://a/&for=0", "", 400), ("url=http://a/&for=400%20days", "", 400),
        ("url=http://a/", "Content-Type: nonsense", 400), ("url=http://a/", "Content-Encoding: gzip", 415),
        ("url=http://a/", "Content-Range: bytes 0-1/2", 400), ("url=http://a/&header=nonsense", "", 400),
    ]) func `what is wrong is refused by name`(query: String, line: String, status: Int) async throws {
        try await run { (scene) async throws in
            let answer = try await scene.change("PUT", "/-/resource?\(query)", line, content: "ours")
            #expect(answer.status == status, "\(answer.text)")
        }
    }

    @Test func `who may not change anything overrides nothing`() async throws {
        try await run { (scene) async throws in
            let client = try await scene.client()
            try await client.send(
                "PUT /-/resource?url=\(scene.url("/a")) HTTP/1.1", "Host: localhost", "Content-Length: 0")
            #expect(try await client.response().status == 403)
            let reader = try await scene.client()
            try await reader.send("GET /-/resource?url=\(scene.url("/a")) HTTP/1.1", "Host: localhost")
            let refused = try await reader.response()
            #expect(refused.status == 405)
            #expect(refused["Allow"] == "PUT, OPTIONS")
        }
    }
}
