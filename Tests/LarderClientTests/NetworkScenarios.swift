// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderIO
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// Clients that are not on this machine: who is served, what they reach, and what of others' answers they get.
@Suite("Scenarios: clients on the network")
struct NetworkScenarios {
    static let fresh = "Cache-Control: max-age=60"
    static let peer = SocketAddress("192.0.2.7:40000")!

    private func allowing(_ settings: inout Settings) {
        settings.access.allow = (try? [AddressRange.read("192.0.2.0/24").get()]) ?? []
    }

    private func get(
        _ scene: Scenario, _ path: String, from peer: SocketAddress = peer, _ lines: String...
    ) async throws -> WireMessage {
        let client = try await scene.client(from: peer)
        try await client.get(scene.url(path), lines)
        let response = try await client.response()
        await client.close()
        return response
    }

    @Test(arguments: ["198.51.100.1:1", "10.0.0.1:1", "[2001:db8::7]:1", "[::ffff:198.51.100.1]:1"])
    func `a client outside the access list is told so and served nothing`(peer: String) async throws {
        try await Scenario.run({ settings, _ in allowing(&settings) }) { (scene) async throws in
            let client = try await scene.client(from: try #require(SocketAddress(peer)))
            try await client.get(scene.url("/a"))
            let response = try await client.response()
            #expect(response.status == 403)
            #expect(response.text.contains("access.allow"))
            _ = try await client.end()
            #expect(scene.count(.connectionsRefused) == 1)
            #expect(scene.origin.seen.isEmpty)
        }
    }

    @Test func `without an access list only clients on this machine are served`() async throws {
        try await Scenario.run { (scene) async throws in
            #expect(try await get(scene, "/a").status == 403)
            scene.origin.answer { _ in .ok(content: "ok") }
            #expect(try await scene.get("/a").text == "ok")
        }
    }

    static let answer: ScriptedOrigin.Script = { _ in
        .ok("Cache-Control: max-age=60", content: "secret")
    }

    @Test func `what a client here fetched from a place inside is answered to nobody on the network`() async throws {
        try await Scenario.run(onDisk: true, { settings, _ in allowing(&settings) }) { (scene) async throws in
            scene.origin.answer(Self.answer)
            #expect(try await scene.get("/a").text == "secret")
            // From memory, conditionally, in parts, stale, or not at all but with the knowledge that it is there.
            for lines in [
                [], ["If-None-Match: *"], ["Range: bytes=0-1"], ["Cache-Control: max-stale"],
                ["Cache-Control: only-if-cached"],
            ] {
                let client = try await scene.client(from: Self.peer)
                try await client.get(scene.url("/a"), lines)
                let response = try await client.response()
                #expect(response.status == (lines == ["Cache-Control: only-if-cached"] ? 504 : 403), "\(lines)")
                #expect(!response.text.contains("secret"), "\(lines)")
                #expect(response["Cache-Status"]?.contains("hit") != true, "\(lines)")
            }
            // From the store, whether or not a client here asks first.
            try await scene.restart()
            #expect(try await get(scene, "/a").status == 403)
            #expect(try await scene.get("/a").text == "secret")
            #expect(try await get(scene, "/a").status == 403)
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `nobody on the network joins a load of a client here`() async throws {
        try await Scenario.run({ settings, _ in allowing(&settings) }) { (scene) async throws in
            let local = try await scene.client()
            try await local.get(scene.url("/a"))
            let request = try await scene.origin.request()
            #expect(try await get(scene, "/a").status == 403)
            try await request.reply(Self.fresh, content: "secret")
            #expect(try await local.response().text == "secret")
        }
    }

    @Test func `nobody on the network uses a connection that a client here opened, nor one for a write`() async throws {
        try await Scenario.run({ settings, _ in
            allowing(&settings)
            settings.threads = 1
        }) { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: no-store", content: "secret") }
            #expect(try await scene.get("/a").text == "secret")
            for method in ["GET", "HEAD", "POST", "OPTIONS"] {
                let client = try await scene.client(from: Self.peer)
                try await client.send(
                    "\(method) \(scene.url("/b")) HTTP/1.1", "Host: \(scene.origin.authority)", "Content-Length: 0")
                #expect(try await client.response(to: method).status == 403, "\(method)")
            }
            #expect(scene.origin.count(of: "/b") == 0)
        }
    }

    @Test func `a service whose base URL has the address serves the network, from the same store`() async throws {
        try await Scenario.run(
            onDisk: true,
            { settings, origin in
                allowing(&settings)
                settings.add("own", at: origin.url("/"))
            }
        ) { (scene) async throws in
            scene.origin.answer(Self.answer)
            #expect(try await get(scene, "/a").text == "secret")
            let here = try await scene.get("/a")
            #expect(here.text == "secret")
            #expect(here["Cache-Status"]?.contains("hit") == true)
            try await scene.restart()
            #expect(try await get(scene, "/a")["Cache-Status"]?.contains("hit") == true)
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `one client of the network leaves the others their part of an origin`() async throws {
        try await Scenario.run({ settings, origin in
            allowing(&settings)
            settings.add("own", at: origin.url("/"))
            settings.limits.clientRequests = 2
        }) { (scene) async throws in
            func begin(_ path: String, from peer: SocketAddress, method: String = "GET") async throws -> Wire {
                let client = try await scene.client(from: peer)
                try await client.send(
                    "\(method) \(scene.url(path)) HTTP/1.1", "Host: \(scene.origin.authority)", "Content-Length: 0")
                return client
            }
            let other = try #require(SocketAddress("192.0.2.8:40000"))
            let warming = try await begin("/warm", from: Self.peer)
            try await scene.origin.request().reply(Self.fresh, content: "warm")
            #expect(try await warming.response().text == "warm")
            // Loads and writes alike.
            let waiting = [
                try await begin("/1", from: Self.peer), try await begin("/2", from: Self.peer, method: "POST"),
            ]
            let requests = [try await scene.origin.request(), try await scene.origin.request()]
            let refused = try await get(scene, "/3")
            #expect(refused.status == 429)
            #expect(refused["Retry-After"] == "1")
            #expect(refused.text.contains("limits.clientRequests"))
            #expect(try await get(scene, "/warm").text == "warm")
            // Nobody else notices.
            let others = [try await begin("/4", from: other), try await begin("/5", from: .loopback(port: 1))]
            for client in others {
                try await scene.origin.request().reply(Self.fresh, content: "mine")
                #expect(try await client.response().text == "mine")
            }
            for request in requests { try await request.reply(Self.fresh, content: "late") }
            for client in waiting { #expect(try await client.response().text == "late") }
            let again = try await begin("/3", from: Self.peer)
            try await scene.origin.request().reply(Self.fresh, content: "three")
            #expect(try await again.response().text == "three")
            #expect(scene.count(.requestsRefusedByClient) == 1)
        }
    }

    @Test func `clients that leave keep their part of an origin as long as their loads last`() async throws {
        try await Scenario.run({ settings, origin in
            allowing(&settings)
            settings.add("own", at: origin.url("/"))
            settings.limits.clientRequests = 2
            settings.timeouts.abandon = .seconds(3_600)
        }) { (scene) async throws in
            var requests: [OriginRequest] = []
            for path in ["/1", "/2"] {
                let client = try await scene.client(from: Self.peer)
                try await client.send("GET \(scene.url(path)) HTTP/1.1", "Host: \(scene.origin.authority)")
                requests.append(try await scene.origin.request())
                await client.close()
            }
            try await eventually("both are gone") { scene.proxy.openConnections == 0 }
            #expect(try await get(scene, "/3").status == 429)
            for request in requests { try await request.reply(Self.fresh, content: "late") }
            scene.origin.answer { _ in .ok(Self.fresh, content: "three") }
            var answer = try await get(scene, "/3")
            for _ in 0..<2000 where answer.status == 429 { answer = try await get(scene, "/3") }
            #expect(answer.text == "three")
        }
    }

    @Test func `validations in the background take their client's places, and leave them when they end`() async throws {
        try await Scenario.run({ settings, origin in
            allowing(&settings)
            settings.add("own", at: origin.url("/"))
            settings.limits.clientRequests = 16
        }) { (scene) async throws in
            let fields = "Cache-Control: max-age=1, stale-while-revalidate=1000"
            let paths = (0..<100).map { "/\($0)" }
            for path in paths {
                async let stored = get(scene, path)
                try await scene.origin.request().reply(fields, content: "old")
                #expect(try await stored.text == "old")
            }
            scene.advance(.seconds(10))
            for path in paths { #expect(try await get(scene, path).text == "old") }
            var held: [OriginRequest] = []
            for _ in 0..<16 { held.append(try await scene.origin.request()) }
            #expect(scene.origin.seen.count == 116)
            for request in held { try await request.reply(fields, content: "new") }
            // A place is free once a load has ended.
            while scene.origin.seen.count == 116 { #expect(try await get(scene, "/99").text == "old") }
            try await scene.origin.request().reply(fields, content: "new")
        }
    }

    @Test func `a name that leads inside is not followed for the network, service or not`() async throws {
        // The hosts file gives the machine's own name a loopback or private address; here it is a name of ours.
        try await Scenario.run({ settings, origin in
            allowing(&settings)
            settings.add("named", at: "http://inside.test:\(origin.port)/")
        }) { (scene) async throws in
            let table = scene.proxy.configuration.router.table
            let named = try #require(table.named("named"))
            #expect(!named.pinsOrigin)
            let uri = try TargetURI("http://inside.test/")
            #expect(named.partition(of: [:], for: uri, from: .network) == .network)
            #expect(named.partition(of: [:], for: uri, from: .machine) == .shared)
            #expect(table.unclaimed.partition(of: [:], for: uri, from: .network) == .network)
        }
    }

    @Test func `a client on the network reads nothing about what clients here do`() async throws {
        try await Scenario.run({ settings, _ in allowing(&settings) }) { (scene) async throws in
            scene.origin.answer(Self.answer)
            #expect(try await scene.get("/a").text == "secret")
            for path in ["/", "/-/status", "/-/metrics", "/-/resources", "/-/explain?url=\(scene.url("/a"))"] {
                for host in ["localhost", "127.0.0.1:\(scene.port)"] {
                    let client = try await scene.client(from: Self.peer)
                    try await client.send("GET \(path) HTTP/1.1", "Host: \(host)")
                    let response = try await client.response()
                    #expect(response.status == 403, "\(path)")
                    #expect(!response.text.contains("uptimeSeconds") && !response.text.contains(scene.url("/a")))
                }
            }
            let client = try await scene.client(from: Self.peer)
            try await client.send("GET /-/ready HTTP/1.1", "Host: localhost")
            #expect(try await client.response().status == 200)
        }
    }

    @Test(arguments: [
        ("127.0.0.1", false, true), ("10.1.2.3", false, true), ("192.168.0.1", false, true), ("fd00::1", false, true),
        ("::1", false, true), ("64:ff9b::7f00:1", false, true), ("169.254.169.254", true, false),
        ("224.0.0.1", true, false), ("0.0.0.0", true, false), ("255.255.255.255", true, false),
        ("198.51.100.9", false, true), ("2001:db8::1", false, true), ("198.18.0.1", false, true),
        ("240.0.0.1", false, true), ("100::1", false, true), ("192.88.99.1", false, true),
        ("9.9.9.9", false, false), ("2620:fe::fe", false, false),
    ])
    func `what is nobody's origin is dialled for nobody, what is inside for those who may`(
        host: String, isNobodys: Bool, isInside: Bool
    ) throws {
        let address = try #require(SocketAddress(host: host, port: 80))
        #expect(ClientNetwork.machine.allows(address) == !isNobodys)
        #expect(ClientNetwork.network.allows(address) == (!isNobodys && !isInside))
        #expect(ClientNetwork.network.allows(address, isNamed: true) == !isNobodys)
    }
}
