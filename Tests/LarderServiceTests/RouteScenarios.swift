// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderSettings
import LarderTesting
import Testing

/// URLs that stand for others.
@Suite("Scenarios: routes")
struct RouteScenarios {
    static let fresh = "Cache-Control: max-age=600"

    static func rule(_ from: String, _ to: String? = nil, _ query: QueryEdit...) throws -> RouteRule {
        RouteRule(from: try RouteTemplate(from), to: try to.map { try RouteTemplate($0) }, query: query)
    }

    @Test(arguments: [false, true]) func `SH-05 two ways to write a resource share what is stored for it`(
        onDisk: Bool
    ) async throws {
        let rule = try Self.rule("/u/{id}", "/users/{id}")
        try await Scenario.run(onDisk: onDisk) {
            $0.add("api", at: $1.url("/v1")) { $0.routes = [rule] }
        } _: { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, content: $0.target) }
            #expect(try await scene.get("/v1/u/5").text == "/v1/users/5")
            #expect(try await scene.get("/v1/users/5")["Cache-Status"] == "Larder; hit; ttl=600")
            let client = try await scene.client()
            try await client.send("GET /api/u/5 HTTP/1.1", "Host: localhost:\(scene.port)")
            #expect(try await client.response()["Cache-Status"] == "Larder; hit; ttl=600")
            #expect(scene.origin.seen.map(\.target) == ["/v1/users/5"])
        }
    }

    @Test func `an explanation names the route that made the URL what it is`() async throws {
        let rules = [try Self.rule("/groups/{id}", "/teams/{id}"), try Self.rule("/u/{id}", "/users/{id}")]
        try await Scenario.run {
            $0.add("api", at: $1.url("/v1")) { $0.routes = rules }
        } _: { (scene) async throws in
            func explain(_ url: String) async throws -> String {
                let client = try await scene.client()
                try await client.send(
                    "GET /-/explain?url=\(url) HTTP/1.1", "Host: localhost:\(scene.port)", "Accept: text/plain")
                return try await client.response().text
            }
            let text = try await explain("/api/u/5")
            #expect(text.contains("GET \(scene.url("/v1/users/5"))\n"))
            #expect(
                text.contains("routes[1]  /u/{id} becomes /users/{id}  (it was \(scene.url("/v1/u/5")))"), "\(text)")
            #expect(try await !explain("/api/users/5").contains("routes["))
        }
    }

    @Test func `RQ-05 a query that routes change is forwarded and stored as changed`() async throws {
        let rule = try Self.rule(
            "/{all*}", nil, .remove(name: "utm"), .set(name: "format", value: "json"), .add(name: "page", value: "1"))
        try await Scenario.run {
            $0.add("api", at: $1.url("/")) { $0.routes = [rule] }
        } _: { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, content: $0.target) }
            #expect(try await scene.get("/a?utm=x&q=1").text == "/a?q=1&format=json&page=1")
            #expect(try await scene.get("/a?q=1&utm=other")["Cache-Status"] == "Larder; hit; ttl=600")
            #expect(try await scene.get("/a?q=1&page=2").text == "/a?q=1&page=2&format=json")
        }
    }

    @Test func `SH-05 where a response points is mapped back to what clients ask for`() async throws {
        let rule = try Self.rule("/{p*}", "/v2/{p*}")
        try await Scenario.run {
            $0.add("api", at: $1.url("/")) { $0.routes = [rule] }
        } _: { (scene) async throws in
            scene.origin.answer { head in
                .response(302, head.target == "/v2/a" ? "Location: /v2/b" : "Location: /elsewhere")
            }
            let client = try await scene.client()
            try await client.send("GET /api/a HTTP/1.1", "Host: localhost:\(scene.port)")
            #expect(try await client.response()["Location"] == "/api/b")
            try await client.send("GET /api/c HTTP/1.1", "Host: localhost:\(scene.port)")
            #expect(try await client.response()["Location"] == scene.url("/elsewhere"))
        }
    }

    @Test func `a write through a route concerns the resource it leads to`() async throws {
        let rule = try Self.rule("/u/{id}", "/users/{id}")
        try await Scenario.run {
            $0.add("api", at: $1.url("/")) { $0.routes = [rule] }
        } _: { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, content: $0.target) }
            _ = try await scene.get("/users/5")
            let client = try await scene.client()
            try await client.send("DELETE \(scene.url("/u/5")) HTTP/1.1", "Host: x")
            #expect(try await client.response().status == 200)
            #expect(try await scene.get("/users/5")["Cache-Status"]?.contains("fwd=uri-miss") == true)
        }
    }
}
