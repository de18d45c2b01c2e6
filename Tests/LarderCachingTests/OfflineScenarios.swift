// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

@testable import LarderAdmin

/// Doing without origins: because someone said so, or because they are out of reach.
@Suite("Scenarios: offline")
struct OfflineScenarios {
    static func run(
        _ mode: OfflineMode? = nil, onDisk: Bool = false, _ body: (Scenario) async throws -> Void
    ) async throws {
        try await Scenario.run(onDisk: onDisk) { settings, origin in
            settings.add("api", at: origin.url("/")) { $0.offline = mode }
            settings.upstream.breaker.failures = 3
        } _: { scene in
            try await body(scene)
        }
    }

    /// Has the origin fail until its circuit is open.
    static func breakCircuit(_ scene: Scenario) async throws {
        scene.origin.answer { _ in .response(502) }
        for number in 0..<2 { #expect(try await scene.get("/broken\(number)").status == 502) }
        // A gateway's errors count when they last.
        scene.advance(.seconds(1))
        #expect(try await scene.get("/broken").status == 502)
    }

    @Test func `EC-13 whoever goes offline gets what is stored whatever its age, and nobody is asked`() async throws {
        try await Self.run { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=10, stale-if-error=1", content: "apples") }
            _ = try await scene.get("/a")
            scene.proxy.goOffline(.on, service: nil)
            scene.advance(.seconds(10_000))
            for lines in [[], ["Cache-Control: no-cache"]] {
                let client = try await scene.client()
                try await client.get(scene.url("/a"), lines)
                let old = try await client.response()
                #expect(old.text == "apples")
                #expect(old["Cache-Status"] == "Larder; hit; ttl=-9990; detail=offline")
            }
            #expect(try await scene.get("/b").status == 504)
            #expect(try await scene.get("/a", "Range: bytes=0-1").status == 206)
            let client = try await scene.client()
            try await client.send("DELETE \(scene.url("/a")) HTTP/1.1", "Host: x")
            let refused = try await client.response()
            #expect(refused.status == 504)
            #expect(refused["Proxy-Status"]?.contains("destination_unavailable") == true)
            #expect(scene.origin.seen.count == 1)

            // It outlives a reload, and what is chosen for a service comes before it.
            try await scene.reload { $0.timeouts.idle = .seconds(30) }
            #expect(try await scene.get("/b").status == 504)
            scene.proxy.goOffline(.off, service: "api")
            #expect(try await scene.get("/b").status == 200)
            scene.proxy.goOffline(.on, service: nil)
            #expect(try await scene.get("/c").status == 504)
            scene.proxy.goOffline(nil, service: nil)
            #expect(try await scene.get("/c").status == 200)
        }
    }

    @Test func `what is chosen ends with the process`() async throws {
        try await Self.run(onDisk: true) { (scene) async throws in
            scene.origin.answer { _ in .ok(content: "apples") }
            scene.proxy.goOffline(.on, service: nil)
            #expect(try await scene.get("/a").status == 504)
            try await scene.restart()
            #expect(try await scene.get("/a").text == "apples")
        }
    }

    @Test func `going online comes before a configuration that says not to`() async throws {
        try await Self.run(.on) { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=10", content: "apples") }
            #expect(try await scene.get("/a").status == 504)
            scene.proxy.goOffline(.off, service: "api")
            #expect(try await scene.get("/a").text == "apples")
            scene.advance(.seconds(20))
            #expect(try await scene.get("/a")["Cache-Status"]?.hasPrefix("Larder; fwd=stale") == true)
        }
    }

    @Test func `nobody gets a tunnel or anything unclaimed while all are offline`() async throws {
        try await Self.run { (scene) async throws in
            try await scene.reload { $0.services = [] }
            scene.proxy.goOffline(.on, service: nil)
            let client = try await scene.client()
            try await client.send("CONNECT 127.0.0.1:\(scene.origin.port) HTTP/1.1", "Host: x")
            #expect(try await client.response().status == 504)
            #expect(try await scene.get("/a").status == 504)
            #expect(scene.origin.seen.isEmpty)
        }
    }

    // MARK: What is stored nearby

    @Test(arguments: [false, true]) func `a miss names what is stored nearby, as the client would ask for it`(
        afterRestart: Bool
    ) async throws {
        try await Self.run(.auto, onDisk: true) { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=10", content: "apples") }
            let paths = ["/users/anna", "/users/ben", "/users/ben/posts", "/posts/1", "/users/anne?page=2", "/x", "/y"]
            for path in paths { _ = try await scene.get(path) }
            if afterRestart { try await scene.restart() }
            scene.proxy.goOffline(.on, service: nil)
            let missing = try await scene.get("/users/ann", "Accept: application/json")
            #expect(missing.status == 504)
            let detail = try JSONValue(parsing: Array(missing.text.utf8))["detail"]?.string ?? ""
            let near = ["/users/anna", "/users/ben", "/users/anne?page=2", "/users/ben/posts", "/posts/1"].map(
                scene.url)
            #expect(detail.hasSuffix("Stored are: " + near.joined(separator: ", ")))

            let client = try await scene.client()
            try await client.write(
                "GET /api/posts/2 HTTP/1.1\r\nHost: localhost:\(scene.port)\r\nAccept: text/plain\r\n\r\n")
            let gateway = try await client.response().text
            #expect(gateway.contains("Stored are: http://localhost:\(scene.port)/api/posts/1, "))
        }
    }

    @Test func `what is stored is named to those alone who may see what others ask for, and without its secrets`()
        async throws
    {
        try await Scenario.run { settings, _ in
            settings.access.allow = (try? [AddressRange.read("192.0.2.0/24").get()]) ?? []
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=600", content: "apples") }
            for peer in ["192.0.2.1", "127.0.0.1"] {
                let address = try #require(SocketAddress(host: peer, port: 40_000))
                let client = try await scene.client(from: address)
                for path in ["/a?api_key=hush", "/b"] {
                    scene.proxy.goOffline(path == "/b" ? .on : .off, service: nil)
                    try await client.get(scene.url(path), "Accept: text/plain")
                    let response = try await client.response()
                    #expect(!response.text.contains("hush"))
                    guard path == "/b" else { continue }
                    #expect(response.status == 504)
                    #expect(response.text.contains("Stored are: ") == (peer == "127.0.0.1"))
                    #expect(!response.text.contains("Nothing near it"))
                }
                await client.close()
            }
        }
    }

    @Test func `where nothing is stored, nothing is named`() async throws {
        try await Self.run(.on) { (scene) async throws in
            #expect(try await scene.get("/a", "Accept: text/plain").text.contains("Nothing near it is stored."))
        }
    }

    // MARK: Automatically

    @Test func `EC-13 in mode auto an origin that fails is done without, and found again behind the clients' backs`()
        async throws
    {
        try await Self.run(.auto) { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=10, stale-if-error=0", content: "old") }
            _ = try await scene.get("/a")
            scene.advance(.seconds(100))
            // While it works it is asked.
            #expect(try await scene.get("/a")["Cache-Status"] == "Larder; fwd=stale; fwd-status=200; stored")
            scene.advance(.seconds(99))
            try await Self.breakCircuit(scene)
            let asked = scene.origin.seen.count
            // Served whatever its age, and whatever bound the origin named.
            let stale = try await scene.get("/a")
            #expect(stale.text == "old")
            #expect(stale["Cache-Status"] == "Larder; hit; ttl=-90; detail=offline")
            let missing = try await scene.get("/b", "Accept: text/plain")
            #expect(missing.status == 504)
            #expect(missing.text.contains("Stored are: \(scene.url("/a"))"))
            #expect(scene.origin.seen.count == asked)
            #expect(OfflineReport(of: scene.proxy).lines.first?.isOffline == true)

            // The time for a probe has come: clients do not wait for it.
            scene.origin.answer { _ in nil }
            scene.advance(.seconds(1))
            #expect(try await scene.get("/a")["Cache-Status"] == "Larder; hit; ttl=-91; detail=offline")
            let probe = try await scene.origin.request()
            #expect(try await scene.get("/a").text == "old")
            try await probe.reply("Cache-Control: max-age=10", content: "new")
            // The first one may have joined the probe's load.
            _ = try await scene.get("/a") { $0.text == "new" }
            let hit = try await scene.get("/a")
            #expect(hit["Cache-Status"] == "Larder; hit; ttl=10")
            #expect(OfflineReport(of: scene.proxy).lines.first?.isOffline == false)
            #expect(scene.origin.seen.count == asked + 1)
        }
    }

    @Test func `in mode auto, who finds nothing stored is the one to find out`() async throws {
        try await Self.run(.auto) { (scene) async throws in
            try await Self.breakCircuit(scene)
            #expect(try await scene.get("/a").status == 504)
            scene.origin.answer { _ in .ok(content: "back") }
            scene.advance(.seconds(1))
            #expect(try await scene.get("/a").text == "back")
        }
    }

    @Test func `in mode auto, a client that insists has the origin asked`() async throws {
        try await Self.run(.auto) { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=10", content: "old") }
            _ = try await scene.get("/a")
            try await Self.breakCircuit(scene)
            scene.origin.answer { _ in .ok("Cache-Control: max-age=10", content: "new") }
            #expect(try await scene.get("/a", "Cache-Control: no-cache").text == "new")
        }
    }
}
