// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// Clients that know only Larder's own address.
@Suite("Scenarios: the gateway")
struct GatewayScenarios {
    /// Runs `body` with a service `api` whose base is `/v1/` at the origin.
    func service(_ body: (Scenario) async throws -> Void) async throws {
        try await Scenario.run({ $0.add("api", at: $1.url("/v1/")) }, body)
    }

    /// A GET in origin-form.
    func get(_ scene: Scenario, _ target: String, host: String? = nil, _ lines: String...) async throws -> WireMessage {
        let client = try await scene.client()
        let all = ["GET \(target) HTTP/1.1", "Host: \(host ?? "localhost:\(scene.port)")"] + lines
        try await client.write(all.map { $0 + "\r\n" }.joined() + "\r\n")
        let response = try await client.response()
        await client.close()
        return response
    }

    @Test func `a mount, a name and any host lead to the same resource's origin`() async throws {
        try await service { (scene) async throws in
            scene.origin.answer { .ok("Cache-Control: max-age=60", content: "\($0.target) at \($0["Host"] ?? "")") }
            let expected = "/v1/users/7?x=1 at \(scene.origin.authority)"
            #expect(try await get(scene, "/api/users/7?x=1").text == expected)
            #expect(try await get(scene, "/users/7?x=1", host: "api.localhost:\(scene.port)").text == expected)
            #expect(try await get(scene, "/http/\(scene.origin.authority)/v1/users/7?x=1").text == expected)
            #expect(try await scene.get("/v1/users/7?x=1").text == expected)
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `URLs in a response lead back to the gateway, fresh from the origin and from memory`() async throws {
        try await service { (scene) async throws in
            scene.origin.answer { _ in
                .ok(
                    "Cache-Control: max-age=60", "Location: \(scene.url("/v1/b"))", "Content-Location: /v1/a?full",
                    "Link: <\(scene.url("/v1/a?page=2"))>; rel=\"next\", <https://elsewhere.example/x>; rel=\"help\"",
                    content: "x")
            }
            for round in ["miss", "hit"] {
                let mounted = try await get(scene, "/api/a")
                let gateway = "http://localhost:\(scene.port)"
                #expect(mounted["Location"] == "\(gateway)/api/b", "\(round)")
                #expect(mounted["Content-Location"] == "/api/a?full")
                #expect(
                    mounted["Link"]
                        == "<\(gateway)/api/a?page=2>; rel=\"next\", <https://elsewhere.example/x>; rel=\"help\"")
                let named = try await get(scene, "/a", host: "api.localhost:\(scene.port)")
                #expect(named["Location"] == "http://api.localhost:\(scene.port)/b")
                let forward = try await scene.get("/v1/a")
                #expect(forward["Location"] == scene.url("/v1/b"))
            }
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `a write on condition of what a client got with mapped links has the origin's entity tag`() async throws
    {
        try await Scenario.run {
            $0.add("api", at: $1.url("/")) { service in
                service.mount = "/api/"
                service.configure { $0.links = true }
            }
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok("ETag: \"a\"", "Content-Type: application/json", content: "{}") }
            let got = try await get(scene, "/api/a")
            let tag = try #require(got["ETag"])
            #expect(tag != "\"a\"")
            for name in ["If-Match", "If-None-Match"] {
                let client = try await scene.client()
                try await client.send(
                    "PUT /api/a HTTP/1.1", "Host: localhost:\(scene.port)", "\(name): \"b\", \(tag)",
                    "Content-Length: 0")
                #expect(try await client.response().status == 200)
                #expect(scene.origin.seen.last?[name] == "\"b\", \"a\"")
            }
        }
    }

    @Test func `cookies are bound to the gateway`() async throws {
        try await service { (scene) async throws in
            scene.origin.answer { _ in
                .ok(
                    "Set-Cookie: a=1; Domain=127.0.0.1; Path=/v1/; Secure; HttpOnly", "Set-Cookie: b=2",
                    "Cache-Control: no-store", content: "x")
            }
            let answer = try await get(scene, "/api/a")
            #expect(answer.head[all: "Set-Cookie"] == ["a=1; Path=/api/; HttpOnly", "b=2; Path=/api/"])
        }
    }

    @Test func `a name that was bound to this machine from outside gets nothing`() async throws {
        try await service { (scene) async throws in
            for host in ["evil.example", "evil.example:\(scene.port)", "api.localhost.evil.example"] {
                let answer = try await get(scene, "/api/a", host: host)
                #expect(answer.status == 421)
                #expect(answer["Content-Type"] == "application/problem+json")
            }
            #expect(scene.origin.seen.isEmpty)
        }
    }

    @Test func `a path does not climb out of its service`() async throws {
        try await service { (scene) async throws in
            scene.origin.answer { .ok("Cache-Control: no-store", content: $0.target) }
            for path in ["/api/../secret", "/api/%2e%2e/secret", "/api/a/../../secret", "/api/./../secret"] {
                let answer = try await get(scene, path)
                #expect(answer.status != 200 || answer.text.hasPrefix("/v1/"), "\(path): \(answer.text)")
            }
        }
    }

    @Test func `a path without a service is answered with those there are`() async throws {
        try await service { (scene) async throws in
            let answer = try await get(scene, "/nothing")
            #expect(answer.status == 404)
            #expect(answer.text.contains("api"))
        }
    }

    @Test func `a mount without its slash leads there too`() async throws {
        try await service { (scene) async throws in
            scene.origin.answer { .ok(content: $0.target) }
            #expect(try await get(scene, "/api").text == "/v1/")
            #expect(try await get(scene, "/api?x=1").text == "/v1/?x=1")
        }
    }

    @Test func `the referring page stays on this machine`() async throws {
        try await service { (scene) async throws in
            scene.origin.answer { .ok(content: $0["Referer"] ?? "none") }
            #expect(try await get(scene, "/api/a", "Referer: http://localhost/private").text == "none")
        }
    }
}
