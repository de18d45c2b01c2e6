// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// The loop's request cache gives the answers the ordinary way would have given, and only those.
@Suite("Scenarios: the front")
struct RequestCacheScenarios {
    static let fresh = "Cache-Control: max-age=60"

    /// The fields that a client sends again and again, behind the request line.
    static let requests: [(name: String, lines: [String], isFront: Bool)] = [
        ("nothing special", [], true),
        ("fields that decide nothing", ["User-Agent: test", "Accept: */*", "X-Any: thing"], true),
        ("a language that varies", ["Accept-Language: de"], true),
        ("another language", ["Accept-Language: en"], true),
        ("an entity tag that matches", ["If-None-Match: \"1\""], true),
        ("an entity tag that does not", ["If-None-Match: \"2\""], false),
        ("a date that matches", ["If-Modified-Since: Thu, 01 Jan 2026 00:00:00 GMT"], true),
        ("a cookie", ["Cookie: a=b"], true),
        ("a range", ["Range: bytes=1-2"], false),
        ("a condition for the origin", ["If-Match: \"1\""], false),
        ("a maximum age", ["Cache-Control: max-age=30"], false),
        ("no-cache", ["Cache-Control: no-cache"], false),
        ("credentials", ["Authorization: Basic YTpi"], false),
        ("a connection that is kept", ["Connection: keep-alive"], true),
        ("a connection that closes", ["Connection: close"], true),
        ("an expectation", ["Expect: 100-continue"], true),
    ]

    /// The answers to the same request sent six times while time passes, and how often they came at once.
    private func conversation(
        _ lines: [String], isRequestCacheUsed: Bool
    ) async throws -> (octets: [String], atOnce: UInt64) {
        var received: [String] = []
        var atOnce: UInt64 = 0
        try await Scenario.run { settings, _ in
            settings.threads = 1
            // The log has every request go the ordinary way.
            settings.log.access = !isRequestCacheUsed
        } _: { (scene) async throws in
            scene.origin.answer { request in
                .ok(
                    Self.fresh, "ETag: \"1\"", "Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT", "Vary: Accept-Language",
                    "Content-Language: \(request["Accept-Language"] ?? "-")", content: "apples")
            }
            let closes = lines.contains("Connection: close")
            var client = try await scene.client()
            for round in 0..<6 {
                try await client.get(scene.url("/a"), lines)
                let head = try await client.head()
                let content = head.status == 304 ? "" : try await client.message(head, isResponse: true).text
                received.append(head.text + content)
                if closes {
                    #expect(try await client.end() == .closed)
                    client = try await scene.client()
                }
                scene.advance(.milliseconds(round.isMultiple(of: 2) ? 300 : 900))
            }
            atOnce = scene.count(.answeredAtOnce)
        }
        return (received, atOnce)
    }

    @Test(arguments: requests)
    func `both ways give the same octets`(_ request: (name: String, lines: [String], isFront: Bool)) async throws {
        let front = try await conversation(request.lines, isRequestCacheUsed: true)
        let ordinary = try await conversation(request.lines, isRequestCacheUsed: false)
        #expect(front.octets == ordinary.octets)
        #expect(ordinary.atOnce == 0)
        #expect((front.atOnce > 0) == request.isFront, "\(front.atOnce) of 6 at once")
    }

    /// Brings a path into the request cache and returns the client that got it from there.
    private func warmed(_ scene: Scenario, _ path: String = "/a", content: String = "apples") async throws -> Wire {
        scene.origin.answer { _ in .ok(Self.fresh, "ETag: \"1\"", content: content) }
        let client = try await scene.client()
        let before = scene.count(.answeredAtOnce)
        for _ in 0..<5 {
            try await client.get(scene.url(path))
            #expect(try await client.response().text == content)
        }
        #expect(scene.count(.answeredAtOnce) > before)
        scene.origin.answer { _ in .ok(Self.fresh, "ETag: \"2\"", content: "pears") }
        return client
    }

    private func expectNew(_ client: Wire, _ scene: Scenario, _ path: String = "/a") async throws {
        try await client.get(scene.url(path))
        #expect(try await client.response().text == "pears")
    }

    @Test func `what has expired is not given`() async throws {
        try await Scenario.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            let client = try await warmed(scene)
            scene.advance(.milliseconds(59_999))
            try await client.get(scene.url("/a"))
            #expect(try await client.response()["Cache-Status"] == "Larder; hit; ttl=0")
            scene.advance(.milliseconds(1))
            try await expectNew(client, scene)
        }
    }

    @Test func `after a clock was set back nothing is given that is from the future`() async throws {
        try await Scenario.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            let client = try await warmed(scene)
            scene.time.setWall(scene.time.now() - 30_000_000_000)
            try await expectNew(client, scene)
        }
    }

    @Test func `what was wiped, invalidated or written over is not given`() async throws {
        try await Scenario.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            var client = try await warmed(scene, "/wiped")
            _ = await scene.proxy.wipe(try scene.proxy.subject(of: scene.url("/wiped")), keepsStored: false)
            try await expectNew(client, scene, "/wiped")

            client = try await warmed(scene, "/invalidated")
            _ = try await scene.proxy.invalidate(scene.proxy.subject(of: scene.url("/invalidated")))
            try await expectNew(client, scene, "/invalidated")

            client = try await warmed(scene, "/written")
            let writer = try await scene.client()
            try await writer.send("DELETE \(scene.url("/written")) HTTP/1.1", "Host: x")
            _ = try await writer.response()
            try await expectNew(client, scene, "/written")
        }
    }

    @Test func `what belongs to a group that was invalidated is not given`() async throws {
        try await Scenario.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, "Cache-Groups: \"fruit\"", content: "apples") }
            let client = try await scene.client()
            for _ in 0..<5 {
                try await client.get(scene.url("/a"))
                #expect(try await client.response().text == "apples")
            }
            #expect(scene.count(.answeredAtOnce) > 0)
            scene.origin.answer {
                $0.method == "POST"
                    ? .ok("Cache-Group-Invalidation: \"fruit\"") : .ok(Self.fresh, content: "pears")
            }
            let writer = try await scene.client()
            try await writer.send("POST \(scene.url("/b")) HTTP/1.1", "Host: x", "Content-Length: 0")
            _ = try await writer.response()
            try await expectNew(client, scene)
        }
    }

    @Test func `what left memory is not given`() async throws {
        try await Scenario.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            let client = try await warmed(scene)
            scene.proxy.registry.flushUnused()
            try await expectNew(client, scene)
        }
    }

    @Test func `a reload is obeyed at once`() async throws {
        try await Scenario.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            let client = try await warmed(scene)
            try await scene.reload { $0.forward.anyHost = false }
            try await client.get(scene.url("/a"))
            #expect(try await client.response().status == 403)
        }
    }

    @Test func `more than there is room for is answered all the same`() async throws {
        try await Scenario.run({ settings, _ in
            settings.threads = 1
            settings.cache.memory = .mebibytes(2)
        }) { (scene) async throws in
            @Sendable func content(_ path: String) -> String { String(repeating: path, count: 5_000) }
            scene.origin.answer { .ok(Self.fresh, content: content($0.target)) }
            let client = try await scene.client()
            // The request cache may keep an eighth of the memory: less than these are together.
            for _ in 0..<4 {
                for number in 10..<70 {
                    try await client.get(scene.url("/\(number)"))
                    #expect(try await client.response().text == content("/\(number)"))
                }
            }
            #expect(scene.origin.seen.count == 60)
            let before = scene.count(.answeredAtOnce)
            #expect(before < 120, "with room for all there were 120")
            // Each that finds no room looks for some in a sixteenth of the table.
            for _ in 0..<48 {
                try await client.get(scene.url("/10"))
                #expect(try await client.response().text == content("/10"))
            }
            #expect(scene.count(.answeredAtOnce) > before)
        }
    }

    @Test func `clients that ask once and leave are answered at once and leave nothing`() async throws {
        try await Scenario.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            let other = try await warmed(scene)
            let before = scene.count(.answeredAtOnce)
            for round in 0..<20 {
                let client = try await scene.client("client \(round)")
                try await client.get(scene.url("/a"), ["Connection: close"])
                #expect(try await client.response().text == "apples")
                #expect(try await client.end() == .closed)
            }
            #expect(scene.count(.answeredAtOnce) >= before + 15)
            while scene.proxy.openConnections > 1 { await Task.yield() }
            #expect(scene.count(.connectionsAccepted) == scene.count(.connectionsClosed) + 1)
            try await other.get(scene.url("/a"))
            #expect(try await other.response().text == "apples")
        }
    }

    @Test func `a client that reads slowly gets every octet in order`() async throws {
        try await Scenario.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            let content = String(repeating: "0123456789", count: 6_000)
            let other = try await warmed(scene, content: content)
            let client = try await scene.client("the slow client", isHeld: true)
            var asked = 0
            // Until the kernel takes no more: then an answer stays in the middle.
            while asked < 400 {
                let hits = scene.count(.hit)
                try await client.get(scene.url("/a"))
                asked += 1
                guard try await settled(within: 200, { scene.count(.hit) > hits }) else { break }
            }
            #expect(asked < 400, "the kernel takes everything; this shows nothing")
            client.release()
            for _ in 0..<asked { #expect(try await client.response().text == content) }
            try await other.get(scene.url("/a"))
            #expect(try await other.response().text == content)
        }
    }

    /// Whether `condition` comes true within so many turns of the proxy's loops.
    private func settled(within turns: Int, _ condition: () -> Bool) async throws -> Bool {
        for _ in 0..<turns {
            if condition() { return true }
            await Peers.sleep(for: .milliseconds(1))
        }
        return false
    }
}
