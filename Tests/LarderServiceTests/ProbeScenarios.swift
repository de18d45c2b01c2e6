// SPDX-License-Identifier: Apache-2.0
import LarderIO
import LarderPeers
import LarderProxy
import LarderSettings
import Testing

/// An origin that works again while one client asks for what is never answered.
@Suite("Scenarios: who finds out that an origin works again")
struct ProbeScenarios {
    /// Runs with an origin that failed, and works again but for what begins with `/hang`.
    static func run(from peers: [String] = [], _ body: (Scenario, [Wire]) async throws -> Void) async throws {
        try await Scenario.run { settings, origin in
            settings.add("api", at: origin.url("/"))
            settings.upstream.breaker.failures = 3
            if !peers.isEmpty { settings.access.allow = (try? [AddressRange.read("192.0.2.0/24").get()]) ?? [] }
        } _: { scene in
            func client(_ number: Int) async throws -> Wire {
                guard !peers.isEmpty else { return try await scene.client() }
                return try await scene.client(
                    from: try #require(SocketAddress(host: peers[number % peers.count], port: 40_000)))
            }
            let first = try await client(0)
            scene.origin.answer { _ in .response(502) }
            for number in 0..<4 {
                if number == 2 { scene.advance(.seconds(1)) }
                try await first.get(scene.url("/broken\(number)"))
                #expect(try await first.response().status == (number < 3 ? 502 : 503))
            }
            scene.origin.answer {
                $0.target.hasPrefix("/hang") ? nil : .ok("Cache-Control: no-store", content: "apples")
            }
            var clients: [Wire] = []
            for number in 0..<5 { clients.append(try await client(number)) }
            try await body(scene, clients)
        }
    }

    @Test func `neither half an upload nor a URL that is never answered keeps others from the origin`() async throws {
        try await Self.run { (scene, clients) async throws in
            scene.advance(.seconds(1))
            try await clients[0].get(scene.url("/hang/half"), "Content-Length: 1000")
            try await clients[0].write("abc")
            let half = try await scene.origin.request()
            try await clients[1].get(scene.url("/hang"))
            let silent = try await scene.origin.request()
            #expect([half.target, silent.target] == ["/hang/half", "/hang"])
            #expect(try await scene.get("/v").status == 503)
            scene.advance(.milliseconds(125))
            try await clients[2].get(scene.url("/hang"))
            #expect(try await scene.get("/v").text == "apples")
            #expect(scene.proxy.originReports().isEmpty)
            #expect(scene.origin.count(of: "/hang") == 1)
        }
    }

    @Test func `a client elsewhere waits even less for one that asks for many such URLs`() async throws {
        try await Self.run(from: ["192.0.2.1", "192.0.2.2"]) { (scene, clients) async throws in
            scene.advance(.seconds(1))
            try await clients[0].get(scene.url("/hang"))
            _ = try await scene.origin.request()
            for (number, milliseconds, status) in [(2, 0, 503), (1, 0, 503), (2, 40, 503), (1, 0, 200)] {
                scene.advance(.milliseconds(milliseconds))
                try await clients[number].get(scene.url("/v/\(number)"))
                #expect(try await clients[number].response().status == status)
            }
        }
    }

    @Test func `half an upload keeps no whole one from being sent before its time`() async throws {
        try await Self.run { (scene, clients) async throws in
            let head = ["Host: x", "Content-Length: 5"]
            for (number, path) in ["/hang/half", "/whole"].enumerated() {
                try await clients[number].write(
                    (["POST \(scene.url(path)) HTTP/1.1"] + head).map { $0 + "\r\n" }.joined() + "\r\n"
                        + (number == 0 ? "hel" : "hello"))
                if number == 0 { _ = try await scene.origin.request() }
            }
            #expect(try await clients[1].response().text == "apples")
        }
    }
}
