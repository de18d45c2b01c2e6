// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderSettings
import LarderTesting
import Testing

/// Redirects that Larder follows for a service's clients (`followRedirects`).
@Suite("Scenarios: redirects that are followed")
struct RedirectScenarios {
    private static func moved(to location: String, _ lines: String...) -> String {
        OriginRequest.response(302, ["Location: \(location)"] + lines, content: "")
    }

    /// A service with credentials, whose origin redirects each path to where `target` leads.
    private static func run(
        network: Bool = false, _ target: @escaping @Sendable (ScriptedOrigin) -> String,
        _ body: (Scenario) async throws -> Void
    ) async throws {
        try await Scenario.run { settings, origin in
            if network { settings.access.allow = (try? [AddressRange.read("192.0.2.0/24").get()]) ?? [] }
            settings.add("api", at: origin.url("/")) { service in
                service.configure {
                    $0.followRedirects = true
                    $0.headers = [HeaderEdit(name: "X-Api-Key", value: Secret("secret"))]
                }
            }
        } _: { (scene) async throws in
            let location = target(scene.origin)
            scene.origin.answer { request in
                request.target.hasPrefix("/there")
                    ? .ok("Cache-Control: max-age=60", content: "\(request["X-Api-Key"] ?? "none")")
                    : Self.moved(to: location, "Cache-Control: max-age=60")
            }
            try await body(scene)
        }
    }

    @Test func `what a redirect leads to is kept for the URL that was asked for`() async throws {
        try await Self.run({ $0.url("/there") }) { (scene) async throws in
            for hits in [false, true] {
                let answer = try await scene.get("/a")
                #expect(answer.status == 200)
                #expect(answer.text == "secret")
                #expect(answer["Cache-Status"]?.contains("hit") == hits)
            }
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test func `a redirect without a lifetime is the reason why nothing is kept, not the origin's response`()
        async throws
    {
        try await Scenario.run { settings, origin in
            settings.add("api", at: origin.url("/")) { service in service.configure { $0.followRedirects = true } }
        } _: { (scene) async throws in
            let location = scene.origin.url("/there")
            scene.origin.answer { request in
                request.target == "/there"
                    ? .ok("Cache-Control: max-age=60", content: "there") : Self.moved(to: location)
            }
            for _ in 1...2 {
                let answer = try await scene.get("/a")
                #expect(answer.text == "there")
                #expect(answer["Cache-Status"]?.contains("detail=\"redirect-not-cacheable, redirected\"") == true)
                // Other caches must not keep it for that URL either.
                #expect(answer["Cache-Control"]?.contains("no-store") == true)
            }
            #expect(scene.origin.count(of: "/there") == 2)
        }
    }

    @Test func `another origin gets no credentials, neither the client's nor the configured ones`() async throws {
        try await Self.run({ "http://localhost:\($0.port)/there" }) { (scene) async throws in
            let answer = try await scene.get(
                "/a", "Authorization: Bearer mine", "Cookie: id=1", "Referer: http://page.test/x",
                "Sec-Fetch-Mode: cors")
            #expect(answer.text == "none")
            let request = try #require(scene.origin.seen.last)
            #expect(request["Host"] == "localhost:\(scene.origin.port)")
            #expect(request["Authorization"] == nil)
            #expect(request["Cookie"] == nil)
            // Nor does it hear of the page whose request it is.
            for name in ["Referer", "Sec-Fetch-Mode"] { #expect(request[name] == nil) }
        }
    }

    @Test func `a circle ends`() async throws {
        try await Self.run({ $0.url("/circle") }) { (scene) async throws in
            #expect(try await scene.get("/a").status == 302)
            #expect(scene.origin.seen.count <= 6)
        }
    }

    @Test func `where the network is served a redirect leads nobody inside`() async throws {
        try await Self.run(network: true, { "http://localhost:\($0.port)/there" }) { (scene) async throws in
            // The response to a client here would be the network's too.
            let peer = try #require(SocketAddress("192.0.2.7:40000"))
            for client in [try await scene.client(), try await scene.client(from: peer)] {
                try await client.get(scene.url("/a"))
                #expect(try await client.response().status == 403)
            }
            #expect(scene.origin.count(of: "/there") == 0)
        }
    }

    // MARK: Blocks

    /// A service at `/api/`, with a block that has credentials and one that refuses everything.
    private static func runBlocks(_ body: (Scenario) async throws -> Void) async throws {
        try await Scenario.run { settings, origin in
            settings.add("api", at: origin.url("/api/")) { service in
                service.configure { $0.followRedirects = true }
                service.configure {
                    $0.pattern.match = "/pub/**"
                    $0.headers = [HeaderEdit(name: "Authorization", value: Secret("pub"))]
                }
                service.configure {
                    $0.pattern.match = "/own/**"
                    $0.headers = [HeaderEdit(name: "X-Block", value: Secret("own"))]
                }
                service.configure {
                    $0.pattern.match = "/admin/**"
                    $0.headers = [HeaderEdit(name: "Authorization", value: Secret("admin"))]
                    $0.decorate.deny = .set(DenyRule())
                }
            }
        } _: { (scene) async throws in
            scene.origin.answer { request in
                if let mark = request.target.firstRange(of: "?to=") {
                    return Self.moved(to: String(request.target[mark.upperBound...]))
                }
                let seen = ["Authorization", "X-Block", "Cookie"].map { request[$0] ?? "none" }
                return .ok("Cache-Control: no-store", content: seen.joined(separator: " "))
            }
            try await body(scene)
        }
    }

    @Test(arguments: [
        ("/api/pub/b", "pub none id=1"), ("/api/other", "none none id=1"), ("/api/own/x", "none own id=1"),
        ("/outside/of/base", "none none none"),
        // Out and in again: the credentials of neither block.
        ("/outside?to=/api/own/x", "none none none"), ("/api/other?to=/api/own/x", "none own id=1"),
    ])
    func `fields go where their block applies, and no credentials out of the base`(
        target: String, expected: String
    ) async throws {
        try await Self.runBlocks { (scene) async throws in
            let answer = try await scene.get("/api/pub/go?to=\(target)", "Cookie: id=1")
            #expect(answer.status == 200)
            #expect(answer.text == expected)
        }
    }

    @Test(arguments: ["/api/admin/x", "/api/other?to=/api/admin/x", "/api/pub/..%2fadmin/x"])
    func `no redirect leads where a block refuses`(target: String) async throws {
        try await Self.runBlocks { (scene) async throws in
            let answer = try await scene.get("/api/pub/go?to=\(target)")
            #expect(answer.status == 302)
            let followed = scene.origin.seen.dropFirst()
            #expect(!followed.contains { $0.target.hasPrefix("/api/admin") || $0.target.contains("%2f") })
            let last = target.split(separator: "?to=").last.map(String.init) ?? ""
            #expect(answer["Location"] == (target.contains("?to=") ? scene.origin.url(last) : last))
        }
    }

    @Test func `a redirect to a URL that is not kept is followed for each client, and none to one that is offline`()
        async throws
    {
        try await Scenario.run { settings, origin in
            settings.add("api", at: origin.url("/")) { service in
                service.configure { $0.followRedirects = true }
                service.configure {
                    $0.pattern.match = "/me"
                    $0.caching = Configuration.Caching.none
                }
                service.configure {
                    $0.pattern.match = "/far"
                    $0.offline = .on
                }
            }
        } _: { (scene) async throws in
            scene.origin.answer { request in
                request.target.hasPrefix("/go")
                    ? Self.moved(to: String(request.target.dropFirst(3)), "Cache-Control: max-age=60")
                    : .ok("Cache-Control: max-age=60", content: request["Cookie"] ?? "nobody")
            }
            for user in ["anna", "bob"] { #expect(try await scene.get("/go/me", "Cookie: \(user)").text == user) }
            #expect(try await scene.get("/go/far").status == 302)
            #expect(scene.origin.count(of: "/far") == 0)
        }
    }

    // MARK: What is stored

    /// A service whose `/x` redirects each user to another file, which is for everyone; two users ask one after the
    /// other.
    private static func ask(
        _ field: String, _ lines: String..., configured: Expiration? = nil, everyone: Bool = false
    ) async throws -> [String] {
        var texts: [String] = []
        try await Scenario.run { settings, origin in
            settings.add("api", at: origin.url("/")) { service in
                service.configure {
                    $0.followRedirects = true
                    $0.expirationTime = configured
                    $0.everyone = everyone
                }
            }
        } _: { (scene) async throws in
            scene.origin.answer { request in
                if request.target.hasPrefix("/of") {
                    return .ok("Cache-Control: public, max-age=600", content: request.target)
                }
                let user = request[field]?.split(separator: " ").last.map(String.init) ?? "nobody"
                return OriginRequest.response(302, ["Location: /of/\(user)"] + lines, content: "")
            }
            for user in ["alice", "bob"] { texts.append(try await scene.get("/x", "\(field): Basic \(user)").text) }
        }
        return texts
    }

    static let personal = ["Cookie", "Authorization", "X-Api-Key", "Accept-Language"]

    @Test(arguments: personal, ["no-store", "private, max-age=60", "no-cache", "max-age=0", "must-understand"])
    func `a redirect for one user is not another's`(field: String, directives: String) async throws {
        let texts = try await Self.ask(field, "Cache-Control: \(directives)")
        #expect(texts == ["/of/alice", "/of/bob"])
    }

    @Test(arguments: personal) func `what a redirect varies by tells users apart`(field: String) async throws {
        let texts = try await Self.ask(field, "Cache-Control: public, max-age=60", "Vary: \(field)")
        #expect(texts == ["/of/alice", "/of/bob"])
    }

    @Test(arguments: personal) func `a redirect that says nothing is not stored`(field: String) async throws {
        #expect(try await Self.ask(field) == ["/of/alice", "/of/bob"])
    }

    @Test func `the permission to share comes from the origin that saw the credential`() async throws {
        let field = "Authorization"
        #expect(try await Self.ask(field, "Cache-Control: max-age=60") == ["/of/alice", "/of/bob"])
        #expect(try await Self.ask(field, "Cache-Control: public, max-age=60") == ["/of/alice", "/of/alice"])
    }

    @Test func `a configured lifetime stores what redirects that say nothing lead to`() async throws {
        let hour = Expiration(time: .seconds(3600), mode: .floor)
        #expect(try await Self.ask("Accept-Language", configured: hour) == ["/of/alice", "/of/alice"])
        #expect(try await Self.ask("Authorization", configured: hour) == ["/of/alice", "/of/bob"])
        #expect(
            try await Self.ask("Authorization", configured: hour, everyone: true) == ["/of/alice", "/of/alice"])
    }

    @Test(arguments: [Configuration.ExpirationMode.override, .floor], ["max-age=0", "no-cache, max-age=60"])
    func `no configured lifetime makes a redirect another's that the origin wants to be asked for`(
        mode: Configuration.ExpirationMode, directives: String
    ) async throws {
        let hour = Expiration(time: .seconds(3600), mode: mode)
        for field in ["Cookie", "X-Api-Key"] {
            let texts = try await Self.ask(field, "Cache-Control: \(directives)", configured: hour)
            #expect(texts == ["/of/alice", "/of/bob"])
        }
        let anonymous = try await Self.ask(
            "Accept-Language", "Cache-Control: \(directives)", "Set-Cookie: s=1", configured: hour)
        #expect(anonymous == ["/of/alice", "/of/bob"])
    }

    @Test(arguments: ["public", "public, max-age=0, stale-while-revalidate=60"], ["max-stale", "max-age=60"])
    func `a redirect for one user leads to nothing for others, though that calls itself public`(
        directives: String, wish: String
    ) async throws {
        let line = "Cache-Control: max-age=0"
        try await Self.run({ $0.url("/there") }) { (scene) async throws in
            scene.origin.answer { request in
                let user = request["Cookie"] ?? "nobody"
                if request.target.hasPrefix("/of") {
                    return .ok("Cache-Control: \(directives)", content: request.target)
                }
                return Self.moved(to: "/of/\(user)", line)
            }
            #expect(try await scene.getStored("/x", "Cookie: ann").text == "/of/ann")
            scene.advance(.seconds(1))
            #expect(try await scene.get("/x", "Cookie: ben", "Cache-Control: \(wish)").text == "/of/ben")
        }
    }

    // MARK: Validation

    /// An origin whose `/x` leads to `place`, and whose files all have the same validators.
    private static func answer(_ scene: Scenario, _ place: Lock<String>, _ validator: String) {
        scene.origin.answer { request in
            if request.target == "/x" {
                return Self.moved(to: place.withLock { $0 }, "Cache-Control: max-age=0")
            }
            if request["If-None-Match"] != nil || request["If-Modified-Since"] != nil {
                return .response(304, validator)
            }
            let lines = ["Cache-Control: max-age=0", validator, "Accept-Ranges: bytes"]
            guard let range = request["Range"] else {
                return OriginRequest.response(
                    200, lines, content: String(repeating: request.target.last ?? "?", count: 10))
            }
            let isFirst = range == "bytes=0-4"
            return OriginRequest.response(
                206, lines + ["Content-Range: bytes \(isFirst ? "0-4" : "5-9")/10"],
                content: String(repeating: request.target.last ?? "?", count: 5))
        }
    }

    static let validators = ["ETag: \"1\"", "Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT"]

    @Test(arguments: validators, [false, true])
    func `RFC 9110 §15.4 what redirects lead to is not confirmed by another file`(
        validator: String, isRestarted: Bool
    ) async throws {
        try await Self.runOnDisk { (scene) async throws in
            let place = Lock("/v1")
            Self.answer(scene, place, validator)
            #expect(try await scene.getStored("/x").text == "1111111111")
            if isRestarted { try await scene.restart() }
            // Where it still leads, the origin is asked whether that has changed.
            #expect(try await scene.getStored("/x").text == "1111111111")
            #expect(
                scene.origin.seen.last?["If-None-Match"] != nil || scene.origin.seen.last?["If-Modified-Since"] != nil)
            #expect(scene.origin.seen.last?.target == "/v1")
            place.withLock { $0 = "/v2" }
            #expect(try await scene.getStored("/x").text == "2222222222")
            #expect(scene.origin.seen.allSatisfy { $0.target != "/x" || $0["If-None-Match"] == nil })
            // The URL itself has a file now.
            scene.origin.answer { request in
                request["If-None-Match"] != nil || request["If-Modified-Since"] != nil
                    ? .response(304, validator) : .ok("Cache-Control: max-age=0", validator, content: "itself")
            }
            #expect(try await scene.getStored("/x").text == "itself")
            Self.answer(scene, place, validator)
            #expect(try await scene.getStored("/x").text == "2222222222")
        }
    }

    @Test(arguments: [false, true])
    func `RFC 9110 §15.3.7.3 parts from two places are never combined`(isRange: Bool) async throws {
        try await Self.runOnDisk { (scene) async throws in
            let place = Lock("/v1")
            Self.answer(scene, place, "ETag: \"1\"")
            #expect(try await scene.getStored("/x", "Range: bytes=0-4").text == "11111")
            place.withLock { $0 = "/v2" }
            if isRange { #expect(try await scene.getStored("/x", "Range: bytes=5-9").text == "22222") }
            #expect(try await scene.getStored("/x").text == "2222222222")
        }
    }

    @Test func `RFC 9110 §13.1.5 a client's own conditions are not about where redirects lead`() async throws {
        try await Self.runOnDisk { (scene) async throws in
            let place = Lock("/v2")
            Self.answer(scene, place, "ETag: \"1\"")
            let part = try await scene.get("/x", "Range: bytes=5-9", "If-Range: \"0\"")
            #expect(part.status == 200 && part.text == "2222222222")
            #expect(try await scene.get("/y", "If-Match: \"0\"").status == 200)
            #expect(try await scene.get("/x", "If-Match: \"0\"").status == 302)
            #expect(try await scene.get("/x").text == "2222222222")
        }
    }

    @Test func `RFC 9111 §4.3.5 a HEAD says nothing of what another redirect led to`() async throws {
        try await Self.runOnDisk { (scene) async throws in
            let place = Lock("/v1")
            scene.origin.answer { request in
                request.target == "/x"
                    ? Self.moved(to: place.withLock { $0 }, "Cache-Control: max-age=60")
                    : .ok("Cache-Control: max-age=60", "ETag: \"1\"", "X-File: \(request.target)", content: "123")
            }
            #expect(try await scene.getStored("/x")["X-File"] == "/v1")
            place.withLock { $0 = "/v2" }
            let client = try await scene.client()
            try await client.send("HEAD \(scene.url("/x")) HTTP/1.1", "Host: x", "Cache-Control: no-cache")
            #expect(try await client.head().status == 200)
            #expect(try await scene.getStored("/x")["X-File"] == "/v1")
        }
    }

    @Test func `a HEAD that failed where it led to was not redirected`() async throws {
        try await Self.runOnDisk { (scene) async throws in
            scene.origin.answer { request in
                request.target == "/x" ? Self.moved(to: "/v1") : OriginRequest.response(403, [], content: "")
            }
            let client = try await scene.client()
            try await client.send("HEAD \(scene.url("/x")) HTTP/1.1", "Host: x")
            let head = try await client.head()
            #expect(head.status == 302 && !head.text.contains("redirected"), "\(head.text)")
            #expect(scene.origin.count(of: "/v1") == 1)
        }
    }

    private static func runOnDisk(_ body: (Scenario) async throws -> Void) async throws {
        try await Scenario.run(onDisk: true) { settings, origin in
            settings.add("api", at: origin.url("/")) { service in service.configure { $0.followRedirects = true } }
        } _: { scene in
            try await body(scene)
        }
    }

    @Test func `those who wait for the same redirects ask for themselves where these are not stored`() async throws {
        try await Self.run({ $0.url("/there") }) { (scene) async throws in
            scene.origin.answer { request in
                let user = request["X-User"] ?? ""
                if request.target == "/there/\(user)" { return .ok("Cache-Control: max-age=60", content: user) }
                return Self.moved(to: "/there/\(user)", "Cache-Control: private")
            }
            async let first = scene.get("/a", "X-User: a")
            async let second = scene.get("/a", "X-User: b")
            #expect(try await first.text == "a")
            #expect(try await second.text == "b")
        }
    }

    @Test func `the fields that redirects add are bounded`() async throws {
        try await Self.run({ $0.url("/there") }) { (scene) async throws in
            scene.origin.answer { request in
                let hop = request.target.count
                if hop > 4 { return .ok("Cache-Control: max-age=60", content: "end") }
                let lines = (0..<100).map { "X-A\(hop)-\($0): " + String(repeating: "v", count: 300) }
                return OriginRequest.response(302, ["Location: \(request.target)a"] + lines, content: "")
            }
            let answer = try await scene.get("/a")
            #expect(answer.text == "end")
            #expect(answer.head.lines.count { $0.name.hasPrefix("X-A") } <= 27)
        }
    }
}
