// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// How long what is stored answers, whose word counts, and how it is asked about afterwards.
@Suite("Scenarios: freshness and validation")
struct FreshnessScenarios {
    /// A scenario whose origin is a service with such a block.
    static func run(
        _ change: (inout ConfigureBlock) -> Void, _ body: (Scenario) async throws -> Void
    ) async throws {
        try await Scenario.run(
            { settings, origin in settings.add("api", at: origin.url("/")) { $0.configure(change) } }, body)
    }

    struct Lifetime: Sendable, CustomTestStringConvertible {
        let mode: Configuration.ExpirationMode
        let control: String
        /// The rest of the lifetime right after the load; nil when the origin is asked each time.
        let left: Int?

        var testDescription: String { "\(mode) \(control)" }
    }

    /// Each with an `expirationTime` of a minute.
    static let lifetimes = [
        Lifetime(mode: .fallback, control: "max-age=600", left: 600),
        Lifetime(mode: .fallback, control: "s-maxage=10, max-age=600", left: 10),
        Lifetime(mode: .fallback, control: "public", left: 60),
        Lifetime(mode: .cap, control: "max-age=600", left: 60), Lifetime(mode: .cap, control: "max-age=10", left: 10),
        Lifetime(mode: .floor, control: "max-age=10", left: 60),
        Lifetime(mode: .floor, control: "max-age=600", left: 600),
        Lifetime(mode: .override, control: "max-age=600", left: 60),
        Lifetime(mode: .override, control: "max-age=10", left: 60),
        Lifetime(mode: .override, control: "no-store, max-age=10", left: nil),
        Lifetime(mode: .floor, control: "no-store", left: nil),
    ]

    @Test(arguments: lifetimes) func `HT-01 expirationTime and the origin's lifetime go together by the mode`(
        _ lifetime: Lifetime
    ) async throws {
        try await Self.run {
            $0.expirationTime = Expiration(time: .seconds(60), mode: lifetime.mode)
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: \(lifetime.control)", content: "x") }
            _ = try await scene.get("/a")
            let next = try await scene.get("/a")
            guard let left = lifetime.left else {
                #expect(scene.origin.seen.count == 2)
                return
            }
            #expect(next["Cache-Status"] == "Larder; hit; ttl=\(left)")
            scene.advance(.seconds(left - 1))
            #expect(try await scene.get("/a")["Cache-Status"] == "Larder; hit; ttl=1")
            scene.advance(.seconds(1))
            #expect(try await scene.get("/a")["Cache-Status"]?.hasPrefix("Larder; fwd=stale") == true)
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test func `RS-17 within expirationTime nobody is asked, and Age says how old it is; behind it, once`() async throws
    {
        try await Scenario.run {
            $0.add("api", at: $1.url("/")) { service in
                service.configure { $0.expirationTime = Expiration(time: .seconds(60)) }
                service.configure {
                    $0.pattern.match = "/slow/**"
                    $0.expirationTime = Expiration(time: .seconds(600))
                }
            }
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok(content: "x") }
            let paths = ["/a", "/slow/a"]
            for path in paths { _ = try await scene.get(path) }
            for (seconds, age) in [(0, "0"), (59, "59")] {
                scene.advance(.seconds(seconds))
                for path in paths { #expect(try await scene.get(path)["Age"] == age) }
            }
            #expect(scene.origin.seen.count == 2)
            scene.advance(.seconds(1))
            #expect(try await scene.get("/slow/a")["Age"] == "60")
            _ = try await scene.get("/a")
            #expect(scene.origin.seen.map(\.target) == ["/a", "/slow/a", "/a"])
        }
    }

    // MARK: Asking again

    @Test(arguments: [
        (["ETag: \"1\""], "\"1\"", nil),
        (["Last-Modified: Thu, 01 Jan 1970 00:00:10 GMT"], nil, "Thu, 01 Jan 1970 00:00:10 GMT"),
        (
            ["ETag: W/\"1\"", "Last-Modified: Thu, 01 Jan 1970 00:00:10 GMT"], "W/\"1\"",
            "Thu, 01 Jan 1970 00:00:10 GMT"
        ), ([], nil, nil),
    ]) func `RS-13 the origin is shown what validators there are`(
        lines: [String], tag: String?, date: String?
    ) async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in
                OriginRequest.response(200, ["Cache-Control: max-age=10"] + lines, content: "apples")
            }
            _ = try await scene.get("/a")
            scene.advance(.seconds(20))
            // A client's own validators are about what it has, and answered from what comes back.
            _ = try await scene.get("/a", "If-None-Match: \"other\"")
            let seen = scene.origin.seen
            #expect(seen.count == 2)
            #expect(seen[0]["If-None-Match"] == nil && seen[0]["If-Modified-Since"] == nil)
            #expect(seen[1]["If-Modified-Since"] == date)
            #expect(seen[1]["If-None-Match"] == (lines.isEmpty ? "\"other\"" : tag))
        }
    }

    @Test(arguments: [false, true]) func `HT-05 a 304 renews fields and age, but not what describes the content`(
        onDisk: Bool
    ) async throws {
        try await Scenario.run(onDisk: onDisk) { (scene) async throws in
            scene.origin.answer {
                $0["If-None-Match"] == nil
                    ? .ok(
                        "Cache-Control: max-age=10", "ETag: \"1\"", "Content-Type: text/plain", "X-Round: one",
                        "X-Old: 1", "Content-Language: de", content: "apples")
                    : "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nCache-Control: max-age=60\r\nAge: 7\r\nX-Round: two\r\n"
                        + "Content-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Range: bytes 0-1/2\r\n"
                        + "Content-Language: fr\r\n\r\n"
            }
            _ = try await scene.get("/a")
            scene.advance(.seconds(20))
            let validated = try await scene.get("/a")
            if onDisk { try await scene.restart() }
            let hit = try await scene.get("/a")
            #expect(hit["Cache-Status"] == "Larder; hit; ttl=53")
            for answer in [validated, hit] {
                #expect(answer.status == 200)
                #expect(answer.text == "apples")
                #expect(answer["Age"] == "7")
                #expect(answer["X-Round"] == "two")
                #expect(answer["X-Old"] == "1")
                #expect(answer["Content-Language"] == "fr")
                #expect(answer["Content-Type"] == "text/plain")
                #expect(answer["Content-Encoding"] == nil)
                #expect(answer["Content-Range"] == nil)
                #expect(answer["Content-Length"] == "6")
            }
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test(arguments: [
        // Without Age and Date it was made when it was received.
        ([], 0), (["Age: 100"], 100), (["Date: Tue, 14 Nov 2023 22:12:30 GMT"], 50),
        (["Age: 100", "Date: Tue, 14 Nov 2023 22:12:30 GMT"], 100),
        (["Age: 5", "Date: Tue, 14 Nov 2023 22:12:30 GMT"], 50),
        // A date from the future is no age below nothing.
        (["Date: Wed, 15 Nov 2023 00:00:00 GMT"], 0),
    ]) func `HT-07 the age begins with what it was on the way here, by the larger of its two measures`(
        lines: [String], age: Int
    ) async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in
                OriginRequest.response(200, ["Cache-Control: max-age=600"] + lines, content: "apples")
            }
            _ = try await scene.get("/a")
            scene.advance(.seconds(30))
            let hit = try await scene.get("/a")
            #expect(hit["Age"] == "\(age + 30)")
            #expect(hit["Cache-Status"] == "Larder; hit; ttl=\(570 - age)")
        }
    }

    // MARK: What a client asks for

    @Test(arguments: [
        ("max-age=100", "Larder; hit; ttl=70"), ("max-age=29", nil), ("max-age=0", nil), ("no-cache", nil),
        ("min-fresh=70", "Larder; hit; ttl=70"), ("min-fresh=71", nil), ("max-stale", "Larder; hit; ttl=70"),
        ("only-if-cached", "Larder; hit; ttl=70"), ("no-transform", "Larder; hit; ttl=70"),
        ("nonsense=1", "Larder; hit; ttl=70"),
    ]) func `HT-19 a client's directives decide about its own answer, and about nobody else's`(
        directive: String, status: String?
    ) async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=100", "ETag: \"1\"", content: "apples") }
            _ = try await scene.get("/a")
            scene.advance(.seconds(30))
            scene.origin.answer { _ in .response(304, "ETag: \"1\"", "Cache-Control: max-age=70") }
            let answer = try await scene.get("/a", "Cache-Control: \(directive)")
            #expect(answer.text == "apples")
            #expect(scene.origin.seen.count == (status == nil ? 2 : 1))
            if let status { #expect(answer["Cache-Status"] == status) }
            #expect(try await scene.get("/a")["Cache-Status"] == "Larder; hit; ttl=70")
        }
    }

    @Test(arguments: [("max-stale", true), ("max-stale=20", true), ("max-stale=9", false)])
    func `HT-08 HT-19 who takes what is stale gets it as far as it says, unless the origin forbids it`(
        directive: String, isTaken: Bool
    ) async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer {
                .ok("Cache-Control: max-age=10\($0.target == "/must" ? ", must-revalidate" : "")", content: "apples")
            }
            for path in ["/a", "/must"] { _ = try await scene.get(path) }
            scene.advance(.seconds(20))
            #expect(try await scene.get("/a", "Cache-Control: \(directive)")["Age"] == (isTaken ? "20" : nil))
            _ = try await scene.get("/must", "Cache-Control: \(directive)")
            #expect(scene.origin.count(of: "/a") == (isTaken ? 1 : 2))
            #expect(scene.origin.count(of: "/must") == 2)
        }
    }

    @Test func `HT-19 what a client wants nobody to keep is not kept for it`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=100", content: "apples") }
            _ = try await scene.get("/a", "Cache-Control: no-store")
            #expect(scene.resource("/a")?.memory.snapshot.variants.isEmpty != false)
            _ = try await scene.get("/a")
            #expect(try await scene.get("/a")["Cache-Status"] == "Larder; hit; ttl=100")
            #expect(scene.origin.seen.count == 2)
        }
    }

    // MARK: Variants

    @Test func `HT-02 a write, an invalidation and a wipe are about every variant`() async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            scene.origin.answer { request in
                .ok("Cache-Control: max-age=600", "Vary: Accept-Language", content: request["Accept-Language"] ?? "")
            }
            let languages = ["de", "fr", "it"]
            func load() async throws -> Int {
                let before = scene.origin.seen.count
                for language in languages {
                    #expect(try await scene.get("/a", "Accept-Language: \(language)").text == language)
                }
                return scene.origin.seen.count - before
            }
            #expect(try await load() == 3)
            #expect(try await load() == 0)
            let subject = try scene.proxy.subject(of: scene.url("/a"))
            _ = try await scene.proxy.invalidate(subject)
            #expect(try await load() == 3)
            _ = await scene.proxy.wipe(subject, keepsStored: false)
            #expect(try await load() == 3)
            let client = try await scene.client()
            try await client.send("DELETE \(scene.url("/a")) HTTP/1.1", "Host: x")
            #expect(try await client.response().status == 200)
            #expect(try await load() == 3)
        }
    }

    @Test func `a HEAD on its way undoes no invalidation`() async throws {
        try await Scenario.run(onDisk: true) { settings, origin in
            settings.admin.token = Secret("token")
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=600", "ETag: \"1\"", content: "apples") }
            _ = try await scene.getStored("/a")
            scene.origin.answer { _ in nil }
            let client = try await scene.client()
            try await client.send("HEAD \(scene.url("/a")) HTTP/1.1", "Host: x", "Cache-Control: no-cache")
            let head = try await scene.origin.request()
            _ = try await scene.change("POST", "/-/resource/invalidate?url=\(scene.url("/a"))")
            try await head.send("HTTP/1.1 200 OK", "Content-Length: 6", "Cache-Control: max-age=600", "ETag: \"1\"")
            head.finish()
            #expect(try await client.head().status == 200)
            scene.origin.answer { _ in .ok("Cache-Control: max-age=600", "ETag: \"2\"", content: "pears") }
            #expect(try await scene.get("/a").text == "pears")
        }
    }
}
