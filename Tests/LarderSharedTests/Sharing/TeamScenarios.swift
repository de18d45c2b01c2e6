// SPDX-License-Identifier: Apache-2.0
import LarderAdmin
import LarderHTTP
import LarderIO
import LarderProxy
import LarderRules
import LarderScenarios
import LarderSettings
import LarderSharing
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

        func get(_ path: String, _ lines: String...) async throws -> WireMessage { try await get(path, lines) }

        func get(_ path: String, _ lines: [String]) async throws -> WireMessage {
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
            await Peers.sleep(for: .milliseconds(2))
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

    @Test func `a URL with a credential is no other daemon's business`() async throws {
        try await Self.run { scene, second in
            scene.origin.answer { _ in Self.fresh + "Content-Length: 2\r\n\r\nme" }
            for path in ["/a?access_token=1", "/b"] { _ = try await scene.get(path) }
            try await Self.until { scene.proxy.sharedCount("written") == 1 }
            #expect(try await second.get("/b")["Cache-Status"]?.contains("shared") == true)
            #expect(try await second.get("/a?access_token=1")["Cache-Status"]?.contains("fwd=uri-miss") == true)
            // Nor is it told of a change there, as it would be of this one.
            let client = try await scene.client()
            for path in ["/a?access_token=1", "/b"] {
                try await client.send("DELETE \(scene.url(path)) HTTP/1.1", "Host: \(scene.origin.authority)")
                #expect(try await client.response().status == 200)
            }
            try await Self.until { second.daemon.proxy.sharedCount("received") == 1 }
            // The engine confirms it to the sender when the other may have read it already.
            try await Self.until { scene.proxy.sharedCount("sent") == 1 }
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

    @Test(arguments: ["public, max-age=60", "s-maxage=60", "must-revalidate, max-age=60"])
    func `the answer to Authorization is shared where it is for all caches`(directives: String) async throws {
        try await Self.run { scene, second in
            scene.origin.answer { _ in "HTTP/1.1 200 OK\r\nCache-Control: \(directives)\r\nContent-Length: 3\r\n\r\nall"
            }
            _ = try await scene.get("/a", "Authorization: Basic eA==")
            try await Self.until { scene.proxy.sharedCount("written") == 1 }
            for lines in [[], ["Authorization: Basic eQ=="]] {
                let found = try await second.get("/a", lines)
                #expect(found["Cache-Status"]?.hasPrefix("Larder; hit") == true)
            }
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test(arguments: ["Cookie: id=1", "X-Api-Key: 1"])
    func `the answer to another credential stays, whatever it says`(line: String) async throws {
        try await Self.run { scene, second in
            scene.origin.answer { _ in
                "HTTP/1.1 200 OK\r\nCache-Control: public, max-age=60\r\nContent-Length: 2\r\n\r\nme"
            }
            _ = try await scene.get("/a", line)
            _ = try await scene.get("/b", "Authorization: Basic eA==", line)
            // What is given later is there first.
            _ = try await scene.get("/c")
            try await Self.until { scene.proxy.sharedCount("written") == 1 }
            for path in ["/a", "/b"] {
                #expect(try await second.get(path)["Cache-Status"]?.contains("fwd=uri-miss") == true)
            }
            #expect(try await second.get("/c")["Cache-Status"]?.contains("shared") == true)
        }
    }

    @Test func `what the configuration's credentials were needed for stays`() async throws {
        try await Self.run { settings in
            var block = ConfigureBlock()
            block.headers = [HeaderEdit(name: "Authorization", value: Secret("Bearer x"))]
            settings.services[0].configure = [block]
        } _: { scene, second in
            scene.origin.answer { _ in
                "HTTP/1.1 200 OK\r\nCache-Control: public, max-age=60\r\nContent-Length: 2\r\n\r\nme"
            }
            _ = try await scene.get("/a")
            #expect(try await second.get("/a")["Cache-Status"]?.contains("fwd=uri-miss") == true)
            for proxy in [scene.proxy, second.daemon.proxy] {
                #expect(proxy.sharedCount("written") == 0 && proxy.sharedCount("missed") == 0)
            }
        }
    }

    @Test func `a user's own is shared for that user alone, where the service says so`() async throws {
        for isShared in [true, false] {
            try await Self.run { settings in
                settings.services[0].privacy = .partitioned
                settings.services[0].identity = [.field(.authorization)]
                settings.services[0].sharesPartitions = isShared
            } _: { scene, second in
                scene.origin.answer { request in
                    let name = request["Authorization"] ?? "nobody"
                    return "HTTP/1.1 200 OK\r\nCache-Control: private, max-age=60\r\n"
                        + "Content-Length: \(name.count)\r\n\r\n\(name)"
                }
                let (anna, ben) = ("Authorization: anna", "Authorization: ben")
                _ = try await scene.get("/a", anna)
                // Another credential may have made the response.
                _ = try await scene.get("/b", anna, "Cookie: role=admin")
                if isShared { try await Self.until { scene.proxy.sharedCount("written") == 1 } }
                for (lines, name) in [([anna], "anna"), ([ben], "ben"), ([], "nobody")] {
                    let found = try await second.get("/a", lines)
                    #expect(found.text == name)
                    #expect(found["Cache-Status"]?.contains("detail=shared") == (isShared && name == "anna"))
                }
                #expect(try await second.get("/b", anna)["Cache-Status"]?.contains("shared") == false)
                #expect(try await second.get("/a", anna, "Cookie: role=admin")["Cache-Status"] != nil)
                let client = try await scene.client()
                try await client.send("DELETE \(scene.url("/a")) HTTP/1.1", "Host: \(scene.origin.authority)", anna)
                _ = try await client.response()
                if isShared {
                    try await Self.until { second.daemon.proxy.sharedCount("received") == 1 }
                    #expect(try await second.get("/a", anna)["Cache-Status"]?.contains("fwd=") == true)
                }
            }
        }
    }

    @Test func `parts are shared, completed elsewhere and shared whole`() async throws {
        try await Self.run { scene, second in
            let content = "0123456789"
            scene.origin.answer { request in
                let lines = "Cache-Control: max-age=60\r\nETag: \"1\"\r\n"
                switch request["Range"] {
                case "bytes=0-3":
                    return "HTTP/1.1 206 OK\r\n\(lines)Content-Range: bytes 0-3/10\r\nContent-Length: 4\r\n\r\n0123"
                case "bytes=4-", "bytes=4-9":
                    return "HTTP/1.1 206 OK\r\n\(lines)Content-Range: bytes 4-9/10\r\nContent-Length: 6\r\n\r\n456789"
                default: return "HTTP/1.1 200 OK\r\n\(lines)Content-Length: 10\r\n\r\n\(content)"
                }
            }
            _ = try await scene.get("/a", "Range: bytes=0-3")
            try await Self.until { scene.proxy.sharedCount("written") == 1 }
            let part = try await second.get("/a", "Range: bytes=1-2")
            #expect(part.status == 206 && part.text == "12")
            #expect(part["Cache-Status"]?.contains("detail=shared") == true)
            #expect(try await second.get("/a").text == content)
            #expect(scene.origin.seen.last?["If-Range"] == "\"1\"")
            try await Self.until { second.daemon.proxy.sharedCount("written") == 1 }
            let rest = try await scene.get("/a", "Range: bytes=8-9")
            #expect(rest.text == "89" && rest["Cache-Status"]?.contains("detail=shared") == true)
            #expect(scene.origin.seen.count == 2)
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
