// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderProxy
import LarderSettings
import LarderTesting
import LarderUpstream
import Testing

/// Three Larders, each the parent of the one before: near the client, in the middle, and far, at the origin.
@Suite("Scenarios: a chain of three")
struct ChainScenarios {
    struct Chain {
        let near, middle, far: Scenario

        /// The origin that is asked; each scenario brings one of its own, which nobody asks.
        var origin: ScriptedOrigin { far.origin }

        func advance(_ duration: Duration) {
            for scene in [near, middle, far] { scene.advance(duration) }
        }

        func get(_ path: String, through scene: Scenario? = nil, _ lines: String...) async throws -> WireMessage {
            let client = try await (scene ?? near).client()
            try await client.get(origin.url(path), lines)
            let response = try await client.response()
            await client.close()
            return response
        }

        func post(_ path: String, through scene: Scenario, _ lines: String...) async throws {
            let client = try await scene.client("the writer")
            try await client.send("POST \(origin.url(path)) HTTP/1.1", "Host: x", "Content-Length: 0")
            try await origin.request().reply(lines.first ?? "X: y")
            #expect(try await client.response().status == 200)
            await client.close()
        }
    }

    private func run(_ body: (Chain) async throws -> Void) async throws {
        func below(_ parent: Scenario, _ settings: inout Settings, base: String) {
            settings.add("api", at: base) {
                $0.parent = .proxy(ParentAddress(host: "127.0.0.1", port: parent.port))
            }
        }
        try await Scenario.run { (far) async throws in
            let base = far.origin.url("/")
            try await Scenario.run({ settings, _ in below(far, &settings, base: base) }) { (middle) async throws in
                try await Scenario.run({ settings, _ in below(middle, &settings, base: base) }) {
                    (near) async throws in
                    try await body(Chain(near: near, middle: middle, far: far))
                }
            }
        }
    }

    static let fresh = "Cache-Control: max-age=600"

    @Test func `each hop adds itself to Via and Cache-Status, in order`() async throws {
        try await run { chain async throws in
            chain.origin.answer { _ in .ok(Self.fresh, content: "apples") }
            let first = try await chain.get("/a")
            #expect(first.text == "apples")
            let miss = "Larder; fwd=uri-miss; fwd-status=200; stored"
            #expect(first.head[all: "Cache-Status"] == [miss, miss, miss])
            let via = first.head[all: "Via"].joined(separator: ", ").split(separator: ", ")
            #expect(via == ["1.1 larder", "1.1 larder", "1.1 larder"])
            let inbound = try #require(chain.origin.seen[0]["Via"]).split(separator: ", ")
            #expect(inbound.count == 3 && Set(inbound).count == 3, "\(inbound)")
            // Each answers from its cache without those behind it.
            #expect(try await chain.get("/a").head[all: "Cache-Status"].last == "Larder; hit; ttl=600")
            #expect(chain.origin.seen.count == 1)
            try await eventually("it is counted") { chain.far.count(.miss) == 1 }
            #expect(chain.far.count(.hit) == 0)
        }
    }

    @Test func `HT-07 the age is right to the second, wherever the time was spent`() async throws {
        try await run { chain async throws in
            chain.origin.answer { _ in .ok(Self.fresh, "Age: 5", content: "apples") }
            _ = try await chain.get("/a", through: chain.far)
            chain.advance(.seconds(10))
            let throughMiddle = try await chain.get("/a", through: chain.middle)
            #expect(throughMiddle["Age"] == "15")
            chain.advance(.seconds(20))
            let throughNear = try await chain.get("/a")
            #expect(throughNear["Age"] == "35")
            chain.advance(.seconds(30))
            let hit = try await chain.get("/a")
            #expect(hit["Age"] == "65")
            #expect(hit.head[all: "Cache-Status"].last == "Larder; hit; ttl=535")
            #expect(hit.head[all: "Age"].count == 1)
            chain.advance(.seconds(534))
            #expect(try await chain.get("/a")["Age"] == "599")
            chain.advance(.seconds(1))
            // All three go stale in the same second.
            #expect(try await chain.get("/a")["Age"] == "5")
            #expect(chain.origin.seen.count == 2)
        }
    }

    @Test func `a write through all of them empties each hop`() async throws {
        try await run { chain async throws in
            chain.origin.answer {
                $0.method == "GET" ? .ok(Self.fresh, "Cache-Groups: \"red\"", content: "old") : nil
            }
            for path in ["/a", "/b"] { _ = try await chain.get(path) }
            try await chain.post("/a", through: chain.near, "Cache-Group-Invalidation: \"red\"")
            chain.origin.answer { _ in .ok(Self.fresh, content: "new") }
            for scene in [chain.far, chain.middle, chain.near] {
                #expect(try await chain.get("/a", through: scene).text == "new")
                #expect(try await chain.get("/b", through: scene).text == "new")
            }
        }
    }

    @Test func `a write in the middle empties what is behind it, and the near one validates in its time`() async throws
    {
        try await run { chain async throws in
            chain.origin.answer {
                $0.method == "GET" ? .ok(Self.fresh, "ETag: \"old\"", content: "old") : nil
            }
            _ = try await chain.get("/a")
            try await chain.post("/a", through: chain.middle)
            chain.origin.answer { _ in .ok(Self.fresh, "ETag: \"new\"", content: "new") }
            #expect(try await chain.get("/a", through: chain.middle).text == "new")
            #expect(try await chain.get("/a", through: chain.far).text == "new")
            // It has not heard of the write.
            #expect(try await chain.get("/a").text == "old")
            #expect(try await chain.get("/a", through: nil, "Cache-Control: no-cache").text == "new")
            #expect(try await chain.get("/a").text == "new")
        }
    }

    @Test func `a loop through all three is refused at once`() async throws {
        try await run { chain async throws in
            chain.origin.answer { _ in .ok("Cache-Control: no-store", content: "x") }
            _ = try await chain.get("/a")
            let via = try #require(chain.origin.seen[0]["Via"])
            for scene in [chain.near, chain.middle, chain.far] {
                let answer = try await chain.get("/a", through: scene, "Via: \(via)")
                #expect(answer.status == 508)
                #expect(answer["Content-Type"] == "application/problem+json")
                #expect(answer["Proxy-Status"]?.contains("proxy_loop_detected") == true)
            }
            #expect(chain.origin.seen.count == 1)
        }
    }
}
