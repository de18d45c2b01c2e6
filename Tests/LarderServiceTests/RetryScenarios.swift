// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import LarderTesting
import LarderUpstream
import Testing

/// Origins that fail or ask to be left alone, and what their clients get meanwhile.
@Suite("Scenarios: retrying")
struct RetryScenarios {
    /// Two loops, one service that covers the origin.
    static func run(
        _ change: @escaping (inout Settings) -> Void = { _ in }, _ body: (Scenario) async throws -> Void
    ) async throws {
        try await Scenario.run { settings, origin in
            settings.add("api", at: origin.url("/"))
            settings.upstream.breaker.failures = 3
            change(&settings)
        } _: { scene in
            try await body(scene)
        }
    }

    /// Three URLs say within a second that the origin wants to be left alone: enough to speak for all of it.
    static func plead(
        _ scene: Scenario, _ status: Int, _ lines: String, as user: String? = nil
    ) async throws {
        scene.origin.answer { _ in .response(status, lines) }
        for number in 0..<3 {
            if number > 0 { scene.advance(.milliseconds(500)) }
            let authorization = user.map { ["Authorization: Bearer \($0)"] } ?? []
            #expect(try await scene.get("/plea-\(status)-\(number)", authorization).status == status)
        }
    }

    private static func retrying(_ settings: inout Settings, within bound: Duration? = nil) {
        settings.timeouts.upstream = .seconds(8)
        var rule = RetryRule()
        rule.within = bound
        settings.services[0].configure { $0.decorate.retry = .set(rule) }
    }

    @Test(arguments: [nil, Duration.seconds(4)])
    func `B-27 all attempts together take no longer than one may`(within bound: Duration?) async throws {
        try await Self.run {
            Self.retrying(&$0, within: bound)
        } _: { scene in
            let limit = bound ?? .seconds(8)
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let first = try await scene.origin.request()
            let answer = try await scene.lettingTimePass(within: limit...limit * 2) { try await client.response() }
            #expect(answer.status == 504)
            #expect(scene.origin.seen.count == 1)
            withExtendedLifetime(first) {}
        }
    }

    @Test func `B-27 a further attempt has what is left of the time`() async throws {
        try await Self.run {
            Self.retrying(&$0)
        } _: { scene in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let first = try await scene.origin.request()
            scene.advance(.seconds(4))
            try await first.reply(503)
            let answer = try await scene.lettingTimePass(within: .seconds(3)...Duration.seconds(7)) {
                try await client.response()
            }
            #expect(answer.status == 504)
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test func `an https origin that accepts and says nothing has the time of any other`() async throws {
        let silent = try ListeningSocket.tcp(.loopback(port: 0), count: 1)[0]
        try await Scenario.run { settings, _ in
            settings.timeouts.upstream = .seconds(2)
            settings.add("api", at: "https://127.0.0.1:\(silent.address.port)/")
        } _: { scene in
            let client = try await scene.client()
            try await client.get("https://127.0.0.1:\(silent.address.port)/a")
            let answer = try await scene.lettingTimePass(within: .seconds(2)...Duration.seconds(8)) {
                try await client.response()
            }
            #expect(answer.status == 504)
            #expect(answer.text.contains("timeouts.upstream"), "\(answer.text)")
        }
        withExtendedLifetime(silent) {}
    }

    @Test func `HT-06 an origin that says when to come back is asked once, whoever wants what`() async throws {
        try await Self.run { (scene) async throws in
            try await Self.plead(scene, 429, "Retry-After: 30")
            try await withThrowingTaskGroup { group in
                for number in 0..<200 {
                    group.addTask {
                        let answer = try await scene.get("/\(number % 20)")
                        #expect(answer.status == 429)
                        #expect(answer["Retry-After"] == "30")
                        #expect(answer["Cache-Status"] == "Larder; detail=retry-after")
                        #expect(answer["Proxy-Status"]?.hasPrefix("Larder; error=http_request_denied") == true)
                    }
                }
                try await group.waitForAll()
            }
            #expect(scene.origin.seen.count == 3)
            #expect(scene.count(.upstreamRequests) == 3)
            // Those who wait for the same load are told together.
            #expect((20...200).contains(scene.count(.upstreamHeld)))
            #expect(scene.log.values.count { $0.contains("asks to be left alone") } == 1)
            scene.origin.answer { _ in .ok(content: "apples") }
            scene.advance(.seconds(30))
            #expect(try await scene.get("/a").text == "apples")
            #expect(scene.proxy.originReports().isEmpty)
        }
    }

    @Test func `HT-06 clients that wait for a load hear of it, and do not ask for themselves`() async throws {
        try await Self.run { (scene) async throws in
            var clients: [Wire] = []
            for _ in 0..<20 {
                let client = try await scene.client()
                try await client.get(scene.url("/a"))
                clients.append(client)
            }
            let request = try await scene.origin.request()
            try await eventually("all clients wait") { scene.interest(in: "/a") == 20 }
            try await request.reply(429, "Retry-After: 30")
            for client in clients { #expect(try await client.response().status == 429) }
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `another user's quota is not mine, an unavailable service is everybody's`() async throws {
        try await Self.run { (scene) async throws in
            try await Self.plead(scene, 429, "Retry-After: 30", as: "anna")
            scene.origin.answer { _ in .ok(content: "apples") }
            #expect(try await scene.get("/b", "Authorization: Bearer anna").status == 429)
            #expect(try await scene.get("/a", "Authorization: Bearer ben").text == "apples")
            try await Self.plead(scene, 503, "Retry-After: 7", as: "ben")
            let held = try await scene.get("/d", "Authorization: Bearer carl")
            #expect(held.status == 503)
            #expect(held["Retry-After"] == "7")
            #expect(scene.origin.seen.count == 7)
        }
    }

    @Test(arguments: [
        "RateLimit: \"default\";r=0;t=30", "RateLimit: limit=10, remaining=0, reset=30",
        "RateLimit-Remaining: 0\r\nRateLimit-Reset: 30",
    ])
    func `HT-06 a quota that is used up counts like Retry-After`(lines: String) async throws {
        try await Self.run { (scene) async throws in
            try await Self.plead(scene, 429, lines)
            #expect(try await scene.get("/b")["Retry-After"] == "30")
            #expect(scene.origin.seen.count == 3)
        }
    }

    @Test func `what is stored answers meanwhile, within the bounds of stale-if-error`() async throws {
        try await Self.run { (scene) async throws in
            scene.origin.answer {
                .ok("Cache-Control: max-age=10\($0.target == "/b" ? ", stale-if-error=5" : "")", content: $0.target)
            }
            for path in ["/a", "/b"] { _ = try await scene.get(path) }
            scene.advance(.seconds(19))
            try await Self.plead(scene, 429, "Retry-After: 30")
            let stale = try await scene.get("/a")
            #expect(stale.text == "/a")
            #expect(stale["Age"] == "20")
            #expect(stale["Cache-Status"] == "Larder; hit; ttl=-10; detail=retry-after")
            #expect(try await scene.get("/b").status == 429)
            #expect(scene.origin.seen.count == 5)
            try await eventually("it is counted") { scene.count(.stale) == 1 }
        }
    }

    @Test func `its word counts up to a limit, or not at all`() async throws {
        try await Self.run {
            $0.upstream.retryAfterLimit = .seconds(60)
        } _: { (scene) async throws in
            scene.origin.answer { _ in .response(503, "Retry-After: 100000") }
            _ = try await scene.get("/a")
            #expect(try await scene.get("/a")["Retry-After"] == "60")
            try await scene.reload { $0.upstream.retryAfterLimit = .zero }
            scene.advance(.seconds(60))
            for _ in 0..<2 { #expect(try await scene.get("/a")["Retry-After"] == "100000") }
            #expect(scene.origin.seen.count == 3)
        }
    }

    @Test func `without a service only the same request waits`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { $0.target == "/a" ? .response(503, "Retry-After: 30") : .ok(content: "apples") }
            for _ in 0..<5 { #expect(try await scene.get("/a").status == 503) }
            #expect(try await scene.get("/b").text == "apples")
            #expect(scene.origin.count(of: "/a") == 1)
        }
    }

    // MARK: Origins that fail

    @Test func `EC-13 an origin that dies is left alone, found again by one request, and others are not affected`()
        async throws
    {
        try await Scenario.run { settings, origin in
            settings.add("gone", at: "http://127.0.0.1:1/") { $0.configure { $0.retryTime = .zero } }
            settings.add("api", at: origin.url("/"))
            settings.upstream.breaker.failures = 3
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: no-store", content: "apples") }
            func ask(_ path: String, _ lines: String...) async throws -> WireMessage {
                let client = try await scene.client()
                try await client.get("http://127.0.0.1:1\(path)", lines)
                let response = try await client.response()
                await client.close()
                return response
            }
            for number in 0..<9 {
                let answer = try await ask("/\(number)")
                // The error stays what it was; only nobody is asked for it.
                #expect(answer.status == 502)
                #expect(answer["Proxy-Status"]?.hasPrefix("Larder; error=connection_refused") == true)
                #expect(answer["Cache-Status"] == (number < 3 ? "Larder; fwd=uri-miss" : "Larder; detail=circuit-open"))
                #expect(answer["Retry-After"] == (number < 3 ? nil : "1"))
            }
            #expect(scene.count(.upstreamRequests) == 3)
            #expect(scene.count(.upstreamErrors) == 3)
            #expect(try await scene.get("/a").text == "apples")
            #expect(scene.proxy.originReports().map(\.state) == [.open])
            #expect(scene.log.values.count { $0.contains("an origin fails") } == 1)
            // The probe fails, and the wait is twice as long.
            scene.advance(.seconds(1))
            #expect(try await ask("/p")["Cache-Status"] == "Larder; fwd=uri-miss")
            #expect(try await ask("/q")["Retry-After"] == "2")
            // Someone pressed Reload, which is for nobody else to wait for.
            #expect(try await ask("/r", "Cache-Control: no-cache")["Cache-Status"] == "Larder; fwd=uri-miss")
            #expect(try await ask("/q")["Retry-After"] == "2")
            #expect(scene.log.values.count { $0.contains("an origin fails") } == 1)
        }
    }

    @Test func `EC-13 an origin that comes back is used again after one probe, and stale data cover the time`()
        async throws
    {
        try await Self.run { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=10", "Connection: close", content: "old") }
            _ = try await scene.get("/a")
            scene.advance(.seconds(19))
            scene.origin.answer { _ in .response(502) }
            // A burst of them stops nothing yet.
            for number in 0..<2 { #expect(try await scene.get("/x\(number)").status == 502) }
            scene.advance(.seconds(1))
            #expect(try await scene.get("/x").status == 502)
            let stale = try await scene.get("/a")
            #expect(stale.text == "old")
            #expect(stale["Cache-Status"] == "Larder; hit; ttl=-10; detail=circuit-open")
            #expect(try await scene.get("/b").status == 503)
            #expect(scene.origin.seen.count == 4)

            scene.origin.answer { _ in nil }
            scene.advance(.seconds(1))
            let prober = try await scene.client("the prober")
            try await prober.get(scene.url("/probe"))
            let probe = try await scene.origin.request()
            // While it is under way, others neither wait nor ask.
            #expect(try await scene.get("/b").status == 503)
            #expect(try await scene.get("/a").text == "old")
            #expect(scene.origin.seen.count == 5)
            try await probe.reply("Connection: close", content: "back")
            #expect(try await prober.response().text == "back")
            scene.origin.answer { _ in .ok(content: "new") }
            #expect(try await scene.get("/a").text == "new")
            #expect(scene.proxy.originReports().isEmpty)
            #expect(scene.log.values.count { $0.contains("an origin works again") } == 1)
        }
    }

    @Test func `one URL that fails does not stop the others`() async throws {
        try await Self.run { (scene) async throws in
            scene.origin.answer { $0.target == "/bad" ? .response(502) : .ok(content: "apples") }
            for _ in 0..<9 { #expect(try await scene.get("/bad").status == 502) }
            scene.origin.answer { $0.target == "/bad" ? .response(500) : .ok(content: "apples") }
            for number in 0..<9 { #expect(try await scene.get("/bad?\(number)").status == 200) }
            #expect(try await scene.get("/good").text == "apples")
            #expect(scene.origin.seen.count == 19)
        }
    }

    @Test func `one URL's 503 keeps nobody from the others, nor writes and reloads from it`() async throws {
        try await Self.run { (scene) async throws in
            scene.origin.answer {
                $0.target == "/bad"
                    ? .response(503, "Retry-After: 3600") : .ok("Cache-Control: no-store", content: "apples")
            }
            for _ in 0..<4 {
                #expect(try await scene.get("/bad").status == 503)
                scene.advance(.milliseconds(500))
            }
            #expect(scene.origin.count(of: "/bad") == 1)
            #expect(try await scene.get("/good").text == "apples")
            let reload = try await scene.get("/bad", "Cache-Control: no-cache")
            #expect(reload["Retry-After"] == "3600")
            let client = try await scene.client()
            for _ in 0..<2 {
                try await client.send("DELETE \(scene.url("/bad")) HTTP/1.1", "Host: x")
                #expect(try await client.response()["Retry-After"] == "3600")
            }
            #expect(scene.origin.count(of: "/bad") == 4)
            // Nor for longer than a minute.
            scene.advance(.seconds(60))
            _ = try await scene.get("/bad")
            #expect(scene.origin.count(of: "/bad") == 5)
        }
    }

    @Test func `where several URLs said so, an operator's load that is answered ends the wait for all`() async throws {
        try await Self.run { (scene) async throws in
            try await Self.plead(scene, 503, "Retry-After: 50")
            #expect(try await scene.get("/a").status == 503)
            #expect(scene.origin.seen.count == 3)
            let subject = try scene.proxy.subject(of: scene.url("/a"))
            scene.origin.answer { _ in .response(503, "Retry-After: 50") }
            _ = try await scene.proxy.load(subject, fields: Fields(), onlyIfNeeded: false, from: .machine)
            #expect(try await scene.get("/b").status == 503)
            #expect(scene.origin.seen.count == 4)
            scene.origin.answer { _ in .ok(content: "apples") }
            _ = try await scene.proxy.load(subject, fields: Fields(), onlyIfNeeded: false, from: .machine)
            #expect(try await scene.get("/b").text == "apples")
        }
    }

    @Test func `status, metrics and explanations tell of an origin that is left alone`() async throws {
        try await Self.run { (scene) async throws in
            func page(_ path: String, _ lines: String...) async throws -> String {
                let client = try await scene.client()
                try await client.write(
                    (["GET \(path) HTTP/1.1", "Host: localhost"] + lines + ["", ""]).joined(separator: "\r\n"))
                let text = try await client.response().text
                await client.close()
                return text
            }
            try await Self.plead(scene, 503, "Retry-After: 30")
            let paused = try JSONValue(parsing: Array(try await page("/-/status").utf8))["upstreams"]?[0]
            #expect(paused?["state"]?.string == "paused")
            #expect(paused?["retryAfterUntil"]?.string != nil)
            #expect(paused?["openUntil"] == .null)
            let why = try await page("/-/explain?url=\(scene.url("/b"))", "Accept: text/plain")
            let reload = "&header=Cache-Control:%20no-cache"
            let anyway = try await page("/-/explain?url=\(scene.url("/b"))\(reload)", "Accept: text/plain")
            #expect(!anyway.contains("The origin has asked"))
            #expect(why.contains("The origin has asked to be left alone (503"))
            #expect(why.contains("Larder; detail=retry-after"))
            #expect(try await scene.get("/b")["Cache-Status"] == "Larder; detail=retry-after")

            scene.advance(.seconds(30))
            scene.origin.answer { _ in .response(504) }
            for number in 0..<2 { _ = try await scene.get("/\(number)") }
            scene.advance(.seconds(1))
            _ = try await scene.get("/3")
            let open = try JSONValue(parsing: Array(try await page("/-/status").utf8))["upstreams"]?[0]
            #expect(open?["state"]?.string == "open")
            #expect(open?["openUntil"]?.string != nil)
            #expect(open?["retryAfterUntil"] == .null)
            #expect(open?["lastError"]?.string?.hasSuffix("answered 504.") == true)
            let metrics = try await page("/-/metrics")
            #expect(metrics.contains("larder_origin_circuit_open{origin=\"http://127.0.0.1:\(scene.origin.port)\"} 1"))
            #expect(metrics.contains("larder_upstream_held_total 1"))
            let failing = try await page("/-/explain?url=\(scene.url("/b"))", "Accept: text/plain")
            #expect(failing.contains("The origin has failed too often in a row"))
        }
    }

    // MARK: Negative caching (T-06)

    @Test(arguments: [
        (404, "", 1), (405, "", 1), (410, "", 1), (414, "", 1), (501, "", 1), (400, "", 2), (403, "", 2), (500, "", 2),
        (502, "", 2), (404, "Cache-Control: no-store", 2), (404, "Cache-Control: max-age=0", 2),
        (500, "Cache-Control: max-age=60", 1), (403, "Cache-Control: max-age=60", 1),
    ])
    func `RS-18 an error is kept for retryTime where its status says it lasts, or as long as the origin says`(
        status: Int, line: String, asked: Int
    ) async throws {
        try await Scenario.run(onDisk: true) {
            $0.add("api", at: $1.url("/")) { $0.configure { $0.retryTime = .seconds(30) } }
        } _: { (scene) async throws in
            scene.origin.answer { _ in line.isEmpty ? .response(status) : .response(status, line) }
            for _ in 0..<2 { #expect(try await scene.get("/a").status == status) }
            #expect(scene.origin.seen.count == asked)
            scene.advance(.seconds(31))
            _ = try await scene.get("/a")
            let isExplicit = line.hasSuffix("60")
            #expect(scene.origin.seen.count == (isExplicit ? asked : asked + 1))
            // Errors outlive the process only where the origin said how long they last, and is not ill itself.
            try await scene.restart()
            let before = scene.origin.seen.count
            _ = try await scene.get("/a")
            #expect(scene.origin.seen.count == before + (isExplicit && status < 500 ? 0 : 1))
        }
    }

    // MARK: Status for clients

    @Test func `ER-03 what clients get says what went wrong and when to come back`() async throws {
        try await Self.run { (scene) async throws in
            scene.origin.answer { _ in .response(429, "Retry-After: 30") }
            _ = try await scene.get("/a")
            let problem = try await scene.get("/a", "Accept: application/json")
            #expect(problem["Content-Type"] == "application/problem+json")
            #expect(problem.text.contains("has asked for fewer requests. It is asked again in 30 s."))
        }
    }
}
