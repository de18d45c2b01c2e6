// SPDX-License-Identifier: Apache-2.0
import LarderAdmin
import LarderHTTP
import LarderIO
import LarderProxy
import LarderScenarios
import LarderTesting
import Logging
import Testing

/// Two daemons, one origin and one engine.
@Suite(
    "Scenarios: daemons that share", .timeLimit(.minutes(10)),
    .enabled(if: RedisServer.path != nil, "neither valkey-server nor redis-server is installed"))
struct TeamScenarios {
    /// A second daemon beside a scenario's own.
    private struct Second {
        let scene: Scenario
        let daemon: Daemon
        let address: SocketAddress

        func get(_ path: String, _ lines: String...) async throws -> WireMessage {
            let client = try await scene.connect(to: address, "the second daemon's client")
            try await client.get(scene.url(path), lines)
            let response = try await client.response()
            await client.close()
            return response
        }
    }

    private static func run(
        onDisk: Bool = false, _ change: @escaping (inout Settings) -> Void = { _ in },
        _ body: (Scenario, Second) async throws -> Void
    ) async throws {
        let server = try RedisServer()
        var settings = Settings()
        try await Scenario.run(onDisk: onDisk) { own, origin in
            own.sharedCache.url = EngineURL("unix:\(server.socket)")
            own.sharedCache.key = Secret("0123456789abcdef")
            own.sharedCache.share = .services
            var service = ServiceSettings()
            service.name = "api"
            if case .success(let base) = BaseURL.read(origin.url("/")) { service.baseURL = base }
            own.services = [service]
            change(&own)
            settings = own
        } _: { (scene) async throws in
            settings.cache.path = .none
            let daemon = try Daemon(
                settings: settings, logger: .recording(into: Recorder<String>()), time: scene.time)
            let address = try await daemon.proxy.start()[0]
            for proxy in [scene.proxy, daemon.proxy] { try await until { proxy.sharedState == true } }
            try await body(scene, Second(scene: scene, daemon: daemon, address: address))
            _ = try? await scene.lettingTimePass(.milliseconds(100)) { await daemon.proxy.drain() }
        }
    }

    private static func until(_ holds: () -> Bool) async throws {
        let start = ContinuousClock.now
        while !holds() {
            guard start.duration(to: .now) < .seconds(120) else { throw ScenarioFailure("waited in vain") }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    private static let fresh = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n"

    @Test func `what one daemon fetched is a hit at the other, with its age`() async throws {
        try await Self.run { scene, second in
            scene.origin.answer { _ in
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nContent-Length: 6\r\n\r\napples"
            }
            #expect(try await scene.get("/a")["Cache-Status"]?.contains("fwd=uri-miss") == true)
            try await Self.until { scene.proxy.sharedCount("written") == 1 }
            scene.advance(.seconds(10))
            // The log is read by the same clock, and the engine waits by its own.
            try await scene.lettingTimePass(.milliseconds(5)) {
                try await Self.until { second.daemon.proxy.sharedState == true }
            }
            let found = try await second.get("/a")
            #expect(found.text == "apples")
            let age = Int(found["Age"] ?? "") ?? 0
            #expect((10..<3600).contains(age))
            let status = found["Cache-Status"] ?? ""
            #expect(status.hasPrefix("Larder; hit; ttl=3") && status.hasSuffix("; detail=shared"))
            #expect(try await second.get("/a")["Cache-Status"]?.contains("detail") == false)
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `a write at one daemon invalidates at the other`() async throws {
        try await Self.run { scene, second in
            scene.origin.answer { head in
                head.startLine.hasPrefix("GET")
                    ? Self.fresh + "Content-Length: 6\r\n\r\napples"
                    : "HTTP/1.1 204 No Content\r\n\r\n"
            }
            _ = try await scene.get("/a")
            try await Self.until { scene.proxy.sharedCount("written") == 1 }
            _ = try await second.get("/a")
            let client = try await scene.client()
            try await client.send("DELETE \(scene.url("/a")) HTTP/1.1", "Host: \(scene.origin.authority)")
            #expect(try await client.response().status == 204)
            try await Self.until { second.daemon.proxy.sharedCount("received") == 1 }
            #expect(try await second.get("/a")["Cache-Status"]?.contains("fwd=uri-miss") == true)
            #expect(scene.origin.count(of: "/a") == 3)
        }
    }

    @Test func `a cookie is not shared, as it is not stored`() async throws {
        try await Self.run { scene, second in
            scene.origin.answer { _ in Self.fresh + "Set-Cookie: a=b\r\nContent-Length: 2\r\n\r\nme" }
            #expect(try await scene.get("/a")["Set-Cookie"] == "a=b")
            try await Self.until { scene.proxy.sharedCount("written") == 1 }
            let found = try await second.get("/a")
            #expect(found["Cache-Status"]?.contains("shared") == true)
            #expect(found["Set-Cookie"] == nil)
        }
    }

    @Test(arguments: ["Cache-Control: private, max-age=60", "Cache-Control: no-store"])
    func `what is for one client is not shared`(_ lines: String) async throws {
        try await Self.run { scene, second in
            scene.origin.answer { _ in "HTTP/1.1 200 OK\r\n\(lines)\r\nContent-Length: 2\r\n\r\nme" }
            _ = try await scene.get("/a")
            let found = try await second.get("/a")
            #expect(found["Cache-Status"]?.contains("shared") == false)
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test func `a request with credentials asks the origin, and one that insists does`() async throws {
        try await Self.run { scene, second in
            scene.origin.answer { _ in Self.fresh + "Content-Length: 6\r\n\r\napples" }
            _ = try await scene.get("/a")
            try await Self.until { scene.proxy.sharedCount("written") == 1 }
            _ = try await second.get("/a", "Cache-Control: no-cache")
            #expect(scene.origin.seen.count == 2)
            _ = try await second.get("/b", "Authorization: Basic eA==")
            _ = try await scene.get("/b")
            #expect(scene.origin.seen.count == 4)
        }
    }

    @Test func `variants are found by their own requests`() async throws {
        try await Self.run { scene, second in
            scene.origin.answer { head in
                let language = head.text.contains("Language: de") ? "de" : "en"
                return Self.fresh + "Vary: Accept-Language\r\nContent-Length: 2\r\n\r\n\(language)"
            }
            for language in ["de", "en"] { _ = try await scene.get("/a", "Accept-Language: \(language)") }
            try await Self.until { scene.proxy.sharedCount("written") == 2 }
            for language in ["en", "de"] {
                let found = try await second.get("/a", "Accept-Language: \(language)")
                #expect(found.text == language)
                #expect(found["Cache-Status"]?.contains("shared") == true)
            }
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test func `what is stale is validated with its own validator`() async throws {
        try await Self.run { scene, second in
            scene.origin.answer { head in
                let isKnown = head.text.contains("If-None-Match: \"1\"")
                let lines = "Cache-Control: no-cache\r\nETag: \"1\"\r\n"
                return isKnown
                    ? "HTTP/1.1 304 Not Modified\r\n\(lines)\r\n"
                    : "HTTP/1.1 200 OK\r\n\(lines)Content-Length: 6\r\n\r\napples"
            }
            _ = try await scene.get("/a")
            try await Self.until { scene.proxy.sharedCount("written") == 1 }
            let found = try await second.get("/a")
            #expect(found.text == "apples")
            #expect(found["Cache-Status"]?.contains("fwd-status=304") == true)
        }
    }

    @Test func `after a restart nothing is asked for again`() async throws {
        try await Self.run(onDisk: true) { scene, second in
            scene.origin.answer { _ in Self.fresh + "Content-Length: 6\r\n\r\napples" }
            for path in ["/a", "/b"] { _ = try await scene.get(path) }
            try await Self.until { scene.proxy.sharedCount("written") == 2 }
            _ = try await second.get("/b")
            try await scene.restart()
            try await Self.until { scene.proxy.sharedState == true }
            #expect(try await scene.get("/a")["Cache-Status"]?.contains("hit") == true)
            #expect(scene.origin.seen.count == 2)
        }
    }
}

extension Proxy {
    /// Whether the log is followed.
    fileprivate var sharedState: Bool? { sharing?.report(at: monotonicNow).isFollowed }

    fileprivate func sharedCount(_ name: String) -> Int? {
        sharing?.report(at: monotonicNow).counts.first { $0.name == name }?.value
    }
}
