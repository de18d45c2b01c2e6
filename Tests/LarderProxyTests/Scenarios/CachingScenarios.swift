// SPDX-License-Identifier: Apache-2.0
import LarderTesting
import Testing

/// What a client gets when something is, or is not, stored.
@Suite("Scenarios: caching")
struct CachingScenarios {
    @Test func `the second request is answered from memory, with its age`() async throws {
        try await Scenario.run { scene in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=60", "ETag: \"1\"", content: "apples") }
            let first = try await scene.get("/a")
            #expect(first.status == 200)
            #expect(first.text == "apples")
            #expect(first["Cache-Status"] == "Larder; fwd=uri-miss; fwd-status=200; stored")
            scene.advance(.seconds(10))
            let second = try await scene.get("/a")
            #expect(second.text == "apples")
            #expect(second["Age"] == "10")
            #expect(second["Cache-Status"] == "Larder; hit; ttl=50")
            #expect(second["ETag"] == "\"1\"")
            #expect(scene.origin.count(of: "/a") == 1)
        }
    }

    @Test func `a stale response is validated, and a 304 makes it fresh again`() async throws {
        try await Scenario.run { scene in
            scene.origin.answer { request in
                request["If-None-Match"] == "\"1\""
                    ? .response(304, "ETag: \"1\"", "Cache-Control: max-age=60", "X-Round: two")
                    : .ok("Cache-Control: max-age=60", "ETag: \"1\"", content: "apples")
            }
            _ = try await scene.get("/a")
            scene.advance(.seconds(61))
            let validated = try await scene.get("/a")
            #expect(validated.status == 200)
            #expect(validated.text == "apples")
            #expect(validated["X-Round"] == "two")
            #expect(validated["Cache-Status"] == "Larder; fwd=stale; fwd-status=304")
            let hit = try await scene.get("/a")
            #expect(hit["Cache-Status"] == "Larder; hit; ttl=60")
            #expect(scene.origin.count(of: "/a") == 2)
        }
    }
}
