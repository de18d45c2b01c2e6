// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// One user's responses are not another's, and secrets stay where they belong.
@Suite("Scenarios: privacy")
struct PrivacyScenarios {
    static let fresh = "Cache-Control: max-age=600"

    @Test(arguments: [false, true]) func `users of a partitioned service never see each other's data`(
        onDisk: Bool
    ) async throws {
        try await Scenario.run(onDisk: onDisk) {
            $0.add("api", at: $1.url("/")) { $0.privacy = .partitioned }
        } _: { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, "ETag: \"1\"", content: "for \($0["Authorization"] ?? "nobody")") }
            for round in 0..<2 {
                for user in ["anna", "ben", "Anna", "anna "] {
                    let answer = try await scene.get("/a", "Authorization: Bearer \(user)")
                    #expect(answer.text == "for Bearer \(user.trimmingSuffix(" "))")
                    #expect(
                        (answer["Cache-Status"]?.hasPrefix("Larder; hit") == true) == (round == 1 || user == "anna "))
                }
                #expect(try await scene.get("/a").text == "for nobody")
            }
            #expect(scene.origin.seen.count == 4)
        }
    }

    @Test func `a shared cache keeps nothing that was got with credentials, unless it may`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer {
                .ok(
                    $0.target == "/public" ? "Cache-Control: public, max-age=600" : Self.fresh,
                    content: $0["Authorization"] ?? "nobody")
            }
            for user in ["anna", "ben"] {
                #expect(try await scene.get("/a", "Authorization: \(user)").text == user)
            }
            #expect(try await scene.get("/a").text == "nobody")
            #expect(try await scene.get("/public", "Authorization: anna").text == "anna")
            #expect(try await scene.get("/public", "Authorization: ben").text == "anna")
        }
    }

    @Test(arguments: [false, true]) func `the cache of one user keeps what is that user's alone`(
        onDisk: Bool
    ) async throws {
        try await Scenario.run(onDisk: onDisk) {
            $0.add("api", at: $1.url("/")) { $0.privacy = .private }
        } _: { (scene) async throws in
            scene.origin.answer { request in
                request.target == "/no-store"
                    ? .ok("Cache-Control: private, no-store", content: "x")
                    : .ok("Cache-Control: private, max-age=600, s-maxage=0", "Set-Cookie: id=1", content: "mine")
            }
            for round in 0..<2 {
                let answer = try await scene.get("/a", "Authorization: anna")
                #expect(answer.text == "mine")
                #expect(answer["Set-Cookie"] == "id=1")
                #expect((answer["Cache-Status"] == "Larder; hit; ttl=600") == (round == 1))
                if onDisk { try await scene.restart() }
            }
            // There is one user, whatever the credentials.
            #expect(try await scene.get("/a").text == "mine")
            for _ in 0..<2 { _ = try await scene.get("/no-store") }
            #expect(scene.origin.seen.count == 3)
        }
    }

    @Test func `the one user is on this machine, clients elsewhere share`() async throws {
        try await Scenario.run {
            $0.access.allow = (try? [AddressRange.read("192.0.2.0/24").get()]) ?? []
            $0.add("api", at: $1.url("/")) { $0.privacy = .private }
        } _: { (scene) async throws in
            scene.origin.answer { .ok("Cache-Control: private, max-age=600", content: $0["Authorization"] ?? "nobody") }
            #expect(try await scene.get("/a", "Authorization: anna").text == "anna")
            #expect(try await scene.get("/a").text == "anna")
            for _ in 0..<2 {
                let client = try await scene.client(from: try #require(SocketAddress("192.0.2.7:1")))
                for (lines, text) in [(["Authorization: ben"], "ben"), ([], "nobody")] {
                    try await client.get(scene.url("/a"), lines)
                    #expect(try await client.response().text == text)
                }
                await client.close()
            }
            #expect(scene.origin.seen.count == 5)
        }
    }

    @Test func `a cookie that comes with a 304 is its own client's, and nobody else's`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { request in
                request["If-None-Match"] == nil
                    ? .ok("Cache-Control: max-age=10", "ETag: \"1\"", content: "x")
                    : "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nSet-Cookie: id=1\r\nSet-Cookie: b=2\r\n\r\n"
            }
            _ = try await scene.get("/a")
            scene.advance(.seconds(20))
            let validated = try await scene.get("/a")
            #expect(validated.text == "x")
            #expect(validated.head[all: "Set-Cookie"] == ["id=1", "b=2"])
            let hit = try await scene.get("/a")
            #expect(hit["Cache-Status"]?.contains("hit") == true)
            #expect(hit["Set-Cookie"] == nil)
        }
    }

    @Test func `a service that is shared again does not show what partitions hold`() async throws {
        try await Scenario.run {
            $0.add("api", at: $1.url("/")) { $0.privacy = .partitioned }
        } _: { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, content: $0["Authorization"] ?? "nobody") }
            _ = try await scene.get("/a", "Authorization: anna")
            try await scene.reload { $0.services[0].privacy = .shared }
            #expect(try await scene.get("/a").text == "nobody")
            #expect(try await scene.get("/a", "Authorization: ben").text == "nobody")
        }
    }

    @Test func `a cookie that was set for one client is not handed to another`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, "Set-Cookie: id=1", content: "x") }
            #expect(try await scene.get("/a")["Set-Cookie"] == "id=1")
            #expect(try await scene.get("/a")["Set-Cookie"] == nil)
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `CF-17 configured credentials go to their service and nowhere else`() async throws {
        try await Scenario.run {
            $0.add("api", at: $1.url("/v1/")) {
                $0.configure { $0.headers = [HeaderEdit(name: .authorization, value: Secret("Bearer configured"))] }
            }
        } _: { (scene) async throws in
            scene.origin.answer { .ok("Cache-Control: no-store", content: $0["Authorization"] ?? "none") }
            #expect(try await scene.get("/v1/a").text == "Bearer configured")
            #expect(try await scene.get("/v2/a").text == "none")
            #expect(try await scene.get("/v1").text == "Bearer configured")
            #expect(try await scene.get("/v1x/a").text == "none")
            #expect(try await scene.get("/v1/../v2/a").text == "none")
            #expect(try await scene.get("/v1/%2E%2E/v2/a").text == "none")
            let other = try await scene.client()
            try await other.get("http://localhost:\(scene.origin.port)/v1/a")
            #expect(try await other.response().text == "none")
        }
    }

    @Test func `secrets are in no log line, whatever happens`() async throws {
        let secrets = [
            "s3cret-token", "s3cret-cookie", "s3cret-query", "s3cret-configured", "s3cret-userinfo", "s3cret-field",
            "s3cret-session",
        ]
        try await Scenario.run(onDisk: true) { settings, origin in
            settings.log.access = true
            settings.cache.maxObject = .kibibytes(1)
            settings.add("api", at: origin.url("/v1/")) {
                $0.privacy = .partitioned
                $0.configure { $0.headers = [HeaderEdit(name: "X-Api-Key", value: Secret("s3cret-configured"))] }
            }
        } _: { (scene) async throws in
            scene.origin.answer { request in
                switch request.target.prefix(8) {
                case "/v1/fail": "HTTP/1.1 200 OK\r\nX: s3cret-field\r\nbad line\r\n\r\n"
                case "/v1/gone": nil
                case "/v1/larg":
                    "HTTP/1.1 200 OK\r\n\(Self.fresh)\r\nTransfer-Encoding: chunked\r\n\r\n1000\r\n\(String(repeating: "x", count: 4096))\r\n0\r\n\r\n"
                default: .ok(Self.fresh, "Set-Cookie: id=s3cret-cookie", content: "x")
                }
            }
            let lines = ["Authorization: Bearer s3cret-token", "Cookie: id=s3cret-cookie", "X-Other: s3cret-field"]
            for path in [
                "/v1/a?key=s3cret-query", "/v1/a?key=s3cret-query", "/v1/large?key=s3cret-query",
                "/v1/large;jsessionid=s3cret-session?key=s3cret-query", "/v1/fail?key=s3cret-query",
                "/v1/fail;jsessionid=s3cret-session", "/b?key=s3cret-query",
            ] {
                let client = try await scene.client()
                try await client.get(scene.url(path), lines)
                _ = try await client.response()
            }
            for raw in [
                "GET http://user:s3cret-userinfo@x/ HTTP/1.1\r\nHost: x\r\n\r\n",
                "GET /?s3cret-query HTTP/1.1\r\nHost: a b\r\nAuthorization: s3cret-token\r\n\r\n",
                "GET /?s3cret-query HTTP/1.1\r\nHost: x\r\nCookie : s3cret-cookie\r\n\r\n",
                "CONNECT user:s3cret-userinfo@x:443 HTTP/1.1\r\nHost: x\r\nProxy-Authorization: s3cret-token\r\n\r\n",
            ] {
                let client = try await scene.client()
                try await client.write(raw)
                _ = try await client.response()
            }
            let leaving = try await scene.client()
            try await leaving.get(scene.url("/v1/gone?key=s3cret-query"), lines)
            let request = try await scene.origin.request()
            await leaving.close()
            try await eventually("it has left") { scene.interest(in: "/v1/gone?key=s3cret-query") == 0 }
            await request.close()
            await scene.origin.refuse()
            let client = try await scene.client()
            try await client.get(scene.url("/c?key=s3cret-query"), lines)
            _ = try await client.response()
            try await eventually("all is logged") { scene.log.values.count { $0.hasPrefix("exchange") } >= 10 }
            let log = scene.log.values.joined(separator: "\n")
            for secret in secrets {
                #expect(!log.contains(secret), "\(scene.log.values.filter { $0.contains(secret) })")
            }
        }
    }

    @Test func `each exchange leaves one line, those that were broken off too`() async throws {
        try await Scenario.run({ settings, _ in settings.log.access = true }) { (scene) async throws in
            scene.origin.answer { $0.target == "/a?query" ? .ok(Self.fresh, content: "apples") : nil }
            _ = try await scene.get("/a?query")
            _ = try await scene.get("/a?query")
            let leaving = try await scene.client()
            try await leaving.get(scene.url("/b"))
            let request = try await scene.origin.request()
            await leaving.close()
            try await eventually("all is logged") { scene.log.values.count { $0.hasPrefix("exchange") } == 3 }
            await request.close()
            let lines = scene.log.values.filter { $0.hasPrefix("exchange") }
            #expect(
                lines[0].contains("outcome=miss") && lines[0].contains("bytes=6") && lines[0].contains("status=200"))
            #expect(lines[0].contains("url=\(scene.url("/a")) ") || lines[0].hasSuffix("url=\(scene.url("/a"))"))
            #expect(lines[0].contains("reason=uri-miss"))
            #expect(lines[1].contains("outcome=hit") && lines[1].contains("reason=fresh"))
            #expect(lines[2].contains("url=\(scene.url("/b"))"))
        }
    }
}

extension String {
    fileprivate func trimmingSuffix(_ suffix: String) -> String {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
    }
}
