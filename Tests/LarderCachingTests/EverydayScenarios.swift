// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderPeers
import LarderRules
import LarderSettings
import LarderTesting
import Testing

@testable import LarderProxy

/// Everyday fetches, with clients and origins as they are.
@Suite("Scenarios: every day")
struct EverydayScenarios {
    static let fresh = "Cache-Control: max-age=600"

    static func run(
        onDisk: Bool = false, _ change: @escaping (inout ServiceSettings) -> Void = { _ in },
        block: @escaping (inout ConfigureBlock) -> Void = { _ in }, _ body: (Scenario) async throws -> Void
    ) async throws {
        try await Scenario.run(onDisk: onDisk) { settings, origin in
            settings.add("api", at: origin.url("/")) { service in
                change(&service)
                service.configure { block(&$0) }
            }
        } _: {
            try await body($0)
        }
    }

    static func isHit(_ message: WireMessage) -> Bool { message["Cache-Status"]?.hasPrefix("Larder; hit") == true }

    // MARK: Requests

    @Test(arguments: ["GET", "HEAD"]) func `a request with no octets of content is like any other`(
        method: String
    )
        async throws
    {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: "apples") }
            for round in 0..<3 {
                let client = try await scene.client()
                try await client.send("\(method) \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 0")
                let response = try await client.response(to: method)
                #expect(response.status == 200)
                #expect(Self.isHit(response) == (method == "GET" && round > 0))
                // The connection is as it was.
                try await client.get(scene.url("/b"))
                #expect(try await client.response().text == "apples")
                await client.close()
            }
            #expect(scene.origin.seen.allSatisfy { $0["Content-Length"] == nil })
            #expect(Self.isHit(try await scene.get("/a")) == (method == "GET"))
        }
    }

    @Test(
        arguments: [
            ("Cache-Control: no-cache", IgnoredRequest.noCache), ("Cache-Control: max-age=0", .maxAge),
            ("Cache-Control: no-store", .noStore), ("Pragma: no-cache", .pragma),
            ("Cache-Control: max-age=0, no-cache", [.noCache, .maxAge]),
            ("Cache-Control: No-Cache, x=\"a,no-store\"", .noCache),
        ] as [(String, IgnoredRequest)]) func `what clients want is not heeded where the configuration says so`(
            line: String, ignored: IgnoredRequest
        )
        async throws
    {
        for isIgnored in [true, false] {
            try await Self.run(block: { $0.ignoreRequest = isIgnored ? ignored : [] }) { (scene) async throws in
                scene.origin.answer { _ in .ok(Self.fresh, content: "apples") }
                _ = try await scene.get("/a")
                for _ in 0..<2 {
                    // A response a second old is older than `max-age=0` allows.
                    scene.advance(.seconds(1))
                    #expect(Self.isHit(try await scene.get("/a", line)) == isIgnored)
                }
                _ = try await scene.get("/b", line)
                #expect(
                    Self.isHit(try await scene.get("/b")) == (isIgnored || !line.contains("no-store"))
                        || line.contains("x="))
                // It is not forwarded either.
                let sent = scene.origin.seen.last { $0.target == "/b" }
                if isIgnored { #expect(sent?["Cache-Control"]?.contains("no-cache") != true && sent?["Pragma"] == nil) }
            }
        }
    }

    @Test func `who asks for what is stored alone is heeded all the same`() async throws {
        try await Self.run(block: { $0.ignoreRequest = [.noCache, .maxAge, .noStore, .pragma] }) {
            (scene) async throws in
            #expect(try await scene.get("/a", "Cache-Control: max-age=0, only-if-cached").status == 504)
            #expect(scene.origin.seen.isEmpty)
        }
    }

    // MARK: Responses

    @Test(
        arguments: [
            ("no-store, max-age=600", IgnoredResponse.Directives.noStore, "no-store"),
            ("no-cache, max-age=600", .noCache, "no-cache"),
            ("private, max-age=600", .isPrivate, "private"),
            (
                "no-store, private, no-cache, max-age=600", [.noStore, .isPrivate, .noCache],
                "no-store private no-cache"
            ),
        ] as [(String, IgnoredResponse.Directives, String)])
    func `what the origin says is not heeded where the configuration says so`(
        directives: String, ignored: IgnoredResponse.Directives, words: String
    ) async throws {
        for onDisk in [false, true] {
            try await Self.run(
                onDisk: onDisk,
                block: {
                    $0.ignoreResponse = IgnoredResponse(ignored)
                    $0.everyone = true
                }
            ) { (scene) async throws in
                scene.origin.answer { _ in .ok("Cache-Control: \(directives)", content: "apples") }
                let first = try await scene.get("/a")
                #expect(
                    first["Cache-Status"]?.contains("stored; detail=\"ignored \(words)\"") == true, "\(first.head.text)"
                )
                if onDisk { try await scene.restart() }
                for _ in 0..<3 {
                    let again = try await scene.get("/a")
                    #expect(again["Cache-Status"] == "Larder; hit; ttl=600; detail=\"ignored \(words)\"")
                    #expect(again["Cache-Control"] == directives)
                }
            }
        }
    }

    @Test func `what may be one user's is not everyone's because the origin is not heeded`() async throws {
        let ignored = IgnoredResponse([.noStore, .noCache])
        try await Self.run(block: { $0.ignoreResponse = ignored }) { (scene) async throws in
            for (path, directives) in [("/a", "no-store, max-age=600"), ("/b", "no-cache, max-age=600"), ("/c", "x")] {
                scene.origin.answer {
                    .ok("Cache-Control: \(directives)", content: $0["Cookie"] ?? $0["X-Api-Key"] ?? "nobody")
                }
                for user in ["anna", "ben"] {
                    #expect(try await scene.get(path, "Cookie: \(user)").text == user)
                    #expect(try await scene.get(path, "X-Api-Key: \(user)").text == user)
                }
                #expect(try await scene.get(path).text == "nobody")
            }
        }
    }

    @Test func `where users are apart, what is private is kept for each, and for nobody in particular not at all`()
        async throws
    {
        try await Self.run(
            { $0.privacy = .partitioned },
            block: {
                $0.ignoreResponse = IgnoredResponse([.noStore, .isPrivate])
            }
        ) { (scene) async throws in
            scene.origin.answer {
                .ok("Cache-Control: no-store, private, max-age=600", content: $0["Cookie"] ?? "nobody")
            }
            for round in 0..<2 {
                for user in ["anna", "ben"] {
                    let answer = try await scene.get("/a", "Cookie: \(user)")
                    #expect(answer.text == user && Self.isHit(answer) == (round == 1))
                }
                #expect(!Self.isHit(try await scene.get("/a")))
            }
        }
    }

    @Test func `fields that Vary names may make no difference`() async throws {
        try await Self.run(block: { $0.ignoreResponse = IgnoredResponse(vary: ["User-Agent"]) }) {
            (scene) async throws in
            scene.origin.answer {
                .ok(Self.fresh, "Vary: Accept-Language, User-Agent", content: $0["Accept-Language"] ?? "")
            }
            for (agent, language, isHit) in [
                ("a", "de", false), ("b", "de", true), ("b", "fr", false), ("c", "fr", true),
            ] {
                let answer = try await scene.get("/a", "User-Agent: \(agent)", "Accept-Language: \(language)")
                #expect(answer.text == language && Self.isHit(answer) == isHit)
                #expect(answer["Vary"] == "Accept-Language, User-Agent")
            }
        }
    }

    @Test func `a cookie keeps out what names no lifetime, unless it is ignored`() async throws {
        for isIgnored in [false, true] {
            try await Self.run(block: {
                $0.expirationTime = Expiration(time: .seconds(60))
                if isIgnored { ($0.ignoreResponse, $0.everyone) = (IgnoredResponse(.setCookie), true) }
            }) { (scene) async throws in
                scene.origin.answer { _ in .ok("Set-Cookie: id=1", content: "apples") }
                #expect(try await scene.get("/a")["Set-Cookie"] == "id=1")
                let second = try await scene.get("/a")
                #expect(Self.isHit(second) == isIgnored && (second["Set-Cookie"] == nil) == isIgnored)
            }
        }
    }

    @Test(arguments: [
        (429, "Retry-After: 30", true), (429, "X: 1", false), (503, "Retry-After: 30", true), (404, "X: 1", false),
    ])
    func `the first who is told to come back later gets what is stored, like those after`(
        status: Int, line: String, isStale: Bool
    ) async throws {
        try await Self.run(block: { $0.staleIfError = .seconds(3600) }) { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=10", "ETag: \"1\"", content: "apples") }
            _ = try await scene.get("/a")
            scene.advance(.seconds(20))
            scene.origin.answer { _ in .response(status, line, content: "later") }
            for _ in 0..<2 { #expect((try await scene.get("/a").text == "apples") == isStale) }
        }
    }

    /// Where the operator gives errors a lifetime too, and where the origin does.
    @Test(arguments: [true, false], [true, false])
    func `a stored response outlasts an error that could take its place`(
        isOverridden: Bool, hasValidator: Bool
    ) async throws {
        try await Self.run(
            onDisk: true,
            block: {
                $0.expirationTime = Expiration(time: .seconds(60), mode: isOverridden ? .override : .fallback)
                $0.retryTime = .seconds(10)
                $0.staleIfError = .seconds(86_400)
            }
        ) { (scene) async throws in
            let validator: [String] = hasValidator ? ["ETag: \"1\""] : []
            scene.origin.answer { _ in OriginRequest.response(200, validator, content: "apples") }
            _ = try await scene.get("/a")
            _ = try await scene.getStored("/a")
            scene.advance(.seconds(100))
            scene.origin.answer { _ in .response(503, "Cache-Control: max-age=10", content: "ill") }
            let before = scene.origin.count(of: "/a")
            for number in 0..<4 {
                let response = try await scene.get("/a")
                #expect(response.text == "apples", "request \(number)")
                #expect(response["Cache-Status"]?.contains("ttl=-") == true)
            }
            #expect(scene.origin.count(of: "/a") == before + 1)
            // Whoever insists has the error, and it still takes nothing away.
            #expect(try await scene.get("/a", "Cache-Control: no-cache").status == 503)
            #expect(try await scene.get("/a").text == "apples")
            try await scene.restart()
            #expect(try await scene.get("/a").text == "apples")
            scene.advance(.seconds(11))
            scene.origin.answer { _ in .ok(content: "pears") }
            #expect(try await scene.get("/a").text == "pears")
        }
    }

    @Test func `an error that another field of the request has caused keeps nothing from those without it`()
        async throws
    {
        try await Self.run(block: { $0.staleIfError = .seconds(86_400) }) { (scene) async throws in
            scene.origin.answer { request in
                request["X-Mood"] == nil
                    ? .ok("Cache-Control: max-age=5", content: "apples")
                    : .response(503, "Vary: X-Mood", "Cache-Control: max-age=3600", content: "ill")
            }
            _ = try await scene.get("/a")
            scene.advance(.seconds(10))
            #expect(try await scene.get("/a", "X-Mood: bad").text == "apples")
            #expect(try await scene.get("/a", "X-Mood: bad")["Cache-Status"]?.contains("retry-time") == true)
            #expect(try await scene.get("/a")["Cache-Status"]?.contains("fwd=stale") == true)
        }
    }

    @Test func `an error is not in the way any longer than the response that answers for it`() async throws {
        try await Self.run(block: { $0.staleIfError = .seconds(20) }) { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=5", content: "apples") }
            _ = try await scene.get("/a")
            scene.advance(.seconds(10))
            scene.origin.answer { _ in .response(503, "Cache-Control: max-age=3600", content: "ill") }
            #expect(try await scene.get("/a").text == "apples")
            scene.origin.answer { _ in .ok(content: "pears") }
            scene.advance(.seconds(14))
            #expect(try await scene.get("/a").text == "apples")
            scene.advance(.seconds(2))
            #expect(try await scene.get("/a").text == "pears")
        }
    }

    @Test func `an error that is stored does not answer for a newer one`() async throws {
        try await Self.run(block: {
            $0.expirationTime = Expiration(time: .seconds(60), mode: .override)
            $0.retryTime = .seconds(10)
            $0.staleIfError = .seconds(3600)
        }) { (scene) async throws in
            scene.origin.answer { _ in .response(404, content: "not there") }
            #expect(try await scene.get("/a").status == 404)
            scene.advance(.seconds(20))
            scene.origin.answer { _ in .response(503, content: "ill") }
            #expect(try await scene.get("/a").text == "ill")
        }
    }

    // MARK: Lifetimes, queries, writes

    @Test func `statuses have lifetimes of their own`() async throws {
        let times: [Status: Duration] = [200: .seconds(3600), 404: .seconds(60), 403: .seconds(10)]
        try await Self.run(block: { $0.expirationTime = Expiration(time: .zero, byStatus: times) }) {
            (scene) async throws in
            for (status, lifetime) in [(200, 3600), (404, 60), (403, 10), (410, 0), (301, 0), (500, 0)] {
                scene.origin.answer { _ in .response(status, content: "\(status)") }
                #expect(try await scene.get("/\(status)").status == status)
                scene.advance(.seconds(max(lifetime, 2) - 1))
                #expect(Self.isHit(try await scene.get("/\(status)")) == (lifetime > 0), "\(status)")
                scene.advance(.seconds(2))
                #expect(!Self.isHit(try await scene.get("/\(status)")), "\(status)")
                // The origin's own word comes first.
                scene.origin.answer { _ in .response(status, "Cache-Control: max-age=7200", content: "\(status)") }
                _ = try await scene.get("/own/\(status)")
                #expect(try await scene.get("/own/\(status)")["Cache-Status"]?.contains("ttl=7200") == true)
            }
        }
    }

    @Test func `query parameters that make no difference are left out`() async throws {
        try await Self.run({ $0.ignoreQuery = ["utm_*", "fbclid", "*id"].map { NamePattern($0) } }) {
            (scene) async throws in
            scene.origin.answer { $0.method == "GET" ? .ok(Self.fresh, content: $0.target) : nil }
            #expect(try await scene.get("/a?b=1&utm_source=x&c=2").text == "/a?b=1&c=2")
            for query in ["b=1&c=2", "fbclid=1&b=1&c=2&utm_=", "b=1&%75tm_x=3&c=2", "gclid&b=1&c=2"] {
                let answer = try await scene.get("/a?\(query)")
                #expect(Self.isHit(answer) && answer.text == "/a?b=1&c=2", "\(query)")
            }
            #expect(try await scene.get("/a?utm_source=x").text == "/a")
            #expect(try await scene.get("/a?butm_x=1").text == "/a?butm_x=1")
            let writer = try await scene.client()
            try await writer.send("DELETE \(scene.url("/a?utm_x=1&b=1&c=2")) HTTP/1.1", "Host: x")
            let request = try await scene.origin.request()
            #expect(request.target == "/a?b=1&c=2")
            try await request.reply(204)
            _ = try await writer.response()
            #expect(!Self.isHit(try await scene.get("/a?b=1&c=2")))
        }
    }

    @Test(arguments: [false, true]) func `a write whose client leaves is a write`(isBroken: Bool) async throws {
        try await Self.run { (scene) async throws in
            scene.origin.answer { $0.method == "GET" ? .ok(Self.fresh, content: "old") : nil }
            _ = try await scene.get("/a")
            let writer = try await scene.client()
            try await writer.send("POST \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 3", content: "new")
            let request = try await scene.origin.request()
            try await request.content()
            scene.origin.answer { $0.method == "GET" ? .ok(Self.fresh, content: "new") : nil }
            if isBroken { await request.reset() } else { await writer.close() }
            let answer = try await scene.get("/a", until: { $0.text == "new" })
            #expect(!Self.isHit(answer))
            if !isBroken { await request.close() }
        }
    }

    @Test func `a write that never reached the origin changes nothing`() async throws {
        try await Self.run { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: "old") }
            _ = try await scene.get("/a")
            await scene.origin.refuse()
            for wire in scene.origin.wires { await wire.close() }
            let writer = try await scene.client()
            try await writer.send("DELETE \(scene.url("/a")) HTTP/1.1", "Host: x")
            #expect(try await writer.response().status >= 500)
            #expect(Self.isHit(try await scene.get("/a")))
        }
    }

    @Test(arguments: [
        (["Content-Location: /q", fresh], true), (["Content-Location: /r", fresh], false), ([fresh], false),
        (["Content-Location: /q"], false), (["Content-Location: /q", "Cache-Control: max-age=600, no-store"], false),
        (["Content-Location: /q", "Cache-Control: max-age=600, private"], false),
    ]) func `RFC 9110 §9.3.3 what a POST gets may be what GET would get`(lines: [String], isKept: Bool) async throws {
        try await Self.run { (scene) async throws in
            let writer = try await scene.client()
            try await writer.send("POST \(scene.url("/q")) HTTP/1.1", "Host: x", "Content-Length: 3", content: "new")
            let request = try await scene.origin.request()
            try await request.content()
            try await request.wire.write(OriginRequest.response(200, lines, content: "state"))
            request.finish()
            #expect(try await writer.response().text == "state")
            scene.origin.answer { _ in .ok(content: "got") }
            let answer = try await scene.get("/q")
            #expect(Self.isHit(answer) == isKept && answer.text == (isKept ? "state" : "got"))
        }
    }
}
