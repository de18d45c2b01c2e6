// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderSettings
import LarderTesting
import Testing

/// Web pages that make a browser send requests to the gateway.
@Suite("Scenarios: pages in browsers")
struct PageScenarios {
    /// Runs `body` with a service `api` that has credentials, and lists one origin if `listed` says so.
    func service(listed: Bool = false, _ body: (Scenario) async throws -> Void) async throws {
        try await Scenario.run(
            { settings, origin in
                settings.add("api", at: origin.url("/v1/")) { service in
                    service.configure { $0.headers = [HeaderEdit(name: "X-Api-Key", value: Secret("secret"))] }
                    if listed { service.browsers.allow = [WebOrigin("http://localhost:5173")!] }
                }
            }, body)
    }

    /// A request in origin-form by a new client.
    func send(
        _ scene: Scenario, _ target: String, method: String = "GET", host: String? = nil, _ lines: String...
    ) async throws -> WireMessage {
        let client = try await scene.client()
        let all = ["\(method) \(target) HTTP/1.1", "Host: \(host ?? "localhost:\(scene.port)")"] + lines
        try await client.write(all.map { $0 + "\r\n" }.joined() + "\r\n")
        let response = try await client.response(to: method)
        await client.close()
        return response
    }

    static let foreign = [
        ["Sec-Fetch-Site: cross-site"], ["Sec-Fetch-Site: same-site"], ["Origin: http://evil.example"],
        ["Origin: null"], ["Origin: http://localhost:5173", "Sec-Fetch-Site: same-site"],
        ["Service-Worker: script", "Sec-Fetch-Site: same-origin"],
    ]

    @Test(arguments: foreign)
    func `pages of other sites reach no origin`(lines: [String]) async throws {
        try await service { (scene) async throws in
            scene.origin.answer { _ in .ok("Access-Control-Allow-Origin: *", "Cache-Control: max-age=60", content: "x")
            }
            // The store and the request cache in front of it are no way around.
            for _ in 0..<3 { #expect(try await send(scene, "/api/a").status == 200) }
            let seen = scene.origin.seen.count
            for (target, host) in [
                ("/api/a", nil), ("/http/\(scene.origin.authority)/v1/a", nil),
                ("/http/\(scene.origin.authority)/elsewhere", nil), ("/a", "api.localhost:\(scene.port)"),
            ] {
                for method in ["GET", "HEAD", "POST", "OPTIONS", "DELETE"] {
                    let client = try await scene.client()
                    let head =
                        ["\(method) \(target) HTTP/1.1", "Host: \(host ?? "localhost:\(scene.port)")"] + lines
                        + (method == "POST" ? ["Content-Length: 0"] : [])
                    for _ in 0..<2 {
                        try await client.write(head.map { $0 + "\r\n" }.joined() + "\r\n")
                        let answer = try await client.response(to: method)
                        #expect(answer.status == 403, "\(method) \(target) \(lines)")
                        #expect(answer["Access-Control-Allow-Origin"] == nil)
                    }
                    await client.close()
                }
            }
            #expect(scene.origin.seen.count == seen)
        }
    }

    @Test(arguments: foreign)
    func `pages of other sites get no credentials from the forward proxy either`(lines: [String]) async throws {
        try await service { (scene) async throws in
            scene.origin.answer { _ in .ok("Access-Control-Allow-Origin: *", content: "x") }
            for method in ["GET", "POST"] {
                let client = try await scene.client()
                let head =
                    ["\(method) \(scene.url("/v1/a")) HTTP/1.1", "Host: \(scene.origin.authority)"] + lines
                    + ["Content-Length: 0"]
                try await client.write(head.map { $0 + "\r\n" }.joined() + "\r\n")
                #expect(try await client.response().status == 403, "\(method) \(lines)")
            }
            #expect(scene.origin.seen.isEmpty)
            // There is nothing to misuse at an origin of no service, nor for the origin's own pages.
            #expect(try await scene.get("/elsewhere", lines).status == 200)
            #expect(try await scene.get("/v1/a", "Origin: http://\(scene.origin.authority)").status == 200)
            #expect(try await scene.get("/v1/a", "Sec-Fetch-Site: none").status == 200)
        }
    }

    @Test func `a WebSocket of another site is refused, the service's own and programs' pass`() async throws {
        try await service { (scene) async throws in
            scene.origin.answer { .ok("X-Saw: \($0["Origin"] ?? "none")", "Cache-Control: no-store", content: "x") }
            let upgrade = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
            func open(_ lines: String...) async throws -> WireMessage {
                let client = try await scene.client()
                let head = ["GET /socket HTTP/1.1", "Host: api.localhost:\(scene.port)"] + upgrade + lines
                try await client.write(head.map { $0 + "\r\n" }.joined() + "\r\n")
                let answer = try await client.response()
                await client.close()
                return answer
            }
            #expect(try await open("Origin: https://evil.example").status == 403)
            #expect(scene.origin.seen.isEmpty)
            let own = try await open("Origin: http://api.localhost:\(scene.port)")
            #expect(own["X-Saw"] == "http://\(scene.origin.authority)")
            #expect(try await open()["X-Saw"] == "none")
        }
    }

    @Test func `what is typed, own pages and programs are served`() async throws {
        try await service { (scene) async throws in
            scene.origin.answer { .ok("Cache-Control: max-age=60", content: $0["Sec-Fetch-Site"] ?? "none") }
            let typed = try await send(
                scene, "/api/a", "Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document")
            #expect(typed.status == 200)
            #expect(typed["Vary"] == nil)
            let script = try await send(
                scene, "/b", host: "api.localhost:\(scene.port)", "Sec-Fetch-Site: same-origin",
                "Sec-Fetch-Dest: script")
            #expect(script.status == 200)
            #expect(try await send(scene, "/api/c", "User-Agent: curl/8").status == 200)
        }
    }

    @Test func `a listed page gets responses from everywhere with leave to read them`() async throws {
        try await service(listed: true) { (scene) async throws in
            scene.origin.answer {
                .ok(
                    "Cache-Control: max-age=60", "Access-Control-Allow-Origin: https://other.example", "X-Total: 7",
                    "Cross-Origin-Resource-Policy: same-origin", "Vary: Accept",
                    content: "\($0["Origin"] ?? "-") \($0["Sec-Fetch-Site"] ?? "-") \($0["X-Api-Key"] ?? "-")")
            }
            for round in ["miss", "hit", "hit again", "and again"] {
                let answer = try await send(
                    scene, "/api/a", "Origin: http://localhost:5173", "Sec-Fetch-Site: same-site")
                #expect(answer.status == 200, "\(round)")
                #expect(answer.text == "- - secret")
                #expect(answer.head[all: "Access-Control-Allow-Origin"] == ["http://localhost:5173"], "\(round)")
                #expect(answer.head[all: "Access-Control-Allow-Credentials"] == ["true"])
                #expect(answer.head[all: "Cross-Origin-Resource-Policy"] == ["cross-origin"])
                #expect(answer["Access-Control-Expose-Headers"]?.contains("X-Total") == true)
                #expect(answer["Vary"] == "Accept, Origin")
            }
            #expect(scene.origin.seen.count == 1)
            // A program's answer is as the origin's.
            for _ in 0..<3 {
                let plain = try await send(scene, "/api/a")
                #expect(plain["Access-Control-Allow-Origin"] == "https://other.example")
                #expect(plain["Vary"] == "Accept")
            }
            // So that a browser does not take it for the page's.
            #expect(try await send(scene, "/api/a", "Sec-Fetch-Site: none")["Vary"] == "Accept, Origin")
            #expect(try await send(scene, "/api/a", "Origin: http://localhost:5174").status == 403)
        }
    }

    @Test func `preflights of listed pages are answered, and what they ask for goes through`() async throws {
        try await service(listed: true) { (scene) async throws in
            scene.origin.answer { .ok(content: $0.method + " " + ($0["X-Mine"] ?? "")) }
            let origin = "Origin: http://localhost:5173"
            let leave = try await send(
                scene, "/api/a", method: "OPTIONS", origin, "Access-Control-Request-Method: PUT",
                "Access-Control-Request-Headers: x-mine,authorization")
            #expect(leave.status == 204)
            #expect(leave["Access-Control-Allow-Origin"] == "http://localhost:5173")
            #expect(leave["Access-Control-Allow-Methods"] == "PUT")
            #expect(leave["Access-Control-Allow-Headers"] == "x-mine,authorization")
            #expect(scene.origin.seen.isEmpty)
            let put = try await send(scene, "/api/a", method: "PUT", origin, "X-Mine: 1", "Content-Length: 0")
            #expect(put.text == "PUT 1")
            #expect(put["Access-Control-Allow-Origin"] == "http://localhost:5173")
        }
    }

    @Test func `a listed page can read what went wrong`() async throws {
        try await service(listed: true) { (scene) async throws in
            scene.origin.answer { _ in "nonsense\r\n\r\n" }
            let answer = try await send(scene, "/api/a", "Origin: http://localhost:5173")
            #expect(answer.status == 502)
            #expect(answer["Access-Control-Allow-Origin"] == "http://localhost:5173")
        }
    }

    @Test func `origins that are listed no more are refused after a reload`() async throws {
        try await service(listed: true) { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=60", content: "x") }
            for _ in 0..<3 {
                #expect(try await send(scene, "/api/a", "Origin: http://localhost:5173").status == 200)
            }
            try await scene.reload { $0.services[0].browsers.allow = [] }
            #expect(try await send(scene, "/api/a", "Origin: http://localhost:5173").status == 403)
        }
    }

    @Test func `documents at Larder's own address have no origin there, those at a service's name do`() async throws {
        try await service { (scene) async throws in
            scene.origin.answer {
                $0.target.hasSuffix("moved")
                    ? .ok(
                        "Cache-Control: max-age=60", "Location: /v1/x", "Content-Security-Policy: img-src *",
                        content: "x")
                    : .ok("Cache-Control: max-age=60", "ETag: \"1\"", content: "x")
            }
            for target in ["/api/a", "/api/moved", "/http/\(scene.origin.authority)/other", "/api/none"] {
                // From the origin, from memory, and from what is in front of it.
                for round in 0..<4 {
                    let answer = try await send(scene, target, "Sec-Fetch-Site: none")
                    let policies = answer.head[all: "Content-Security-Policy"]
                    let sandbox = try #require(policies.last, "\(target) \(round)")
                    #expect(sandbox.hasPrefix("sandbox allow-scripts "))
                    #expect(!sandbox.contains("same-origin"))
                    #expect(policies.count == (target == "/api/moved" ? 2 : 1))
                }
            }
            let unchanged = try await send(scene, "/api/a", "Sec-Fetch-Site: none", "If-None-Match: \"1\"")
            #expect(unchanged.status == 304)
            #expect(unchanged["Content-Security-Policy"]?.hasPrefix("sandbox ") == true)
            for _ in 0..<4 {
                let program = try await send(scene, "/api/moved", "User-Agent: curl/8", "Accept: */*")
                #expect(program.head[all: "Content-Security-Policy"] == ["img-src *"])
                let named = try await send(scene, "/a", host: "api.localhost:\(scene.port)", "Sec-Fetch-Site: none")
                #expect(named["Content-Security-Policy"] == nil)
                #expect(try await scene.get("/v1/a")["Content-Security-Policy"] == nil)
            }
        }
    }

    @Test func `what would bind the browser to Larder's address is not passed on, whatever the browser`() async throws {
        try await service { (scene) async throws in
            scene.origin.answer { _ in
                .ok(
                    "Cache-Control: max-age=60", "Service-Worker-Allowed: /", "Clear-Site-Data: \"*\"",
                    "Set-Cookie2: a=1",
                    "Use-As-Dictionary: match=\"/*\"", "No-Vary-Search: params", "Strict-Transport-Security: max-age=9",
                    content: "x")
            }
            let names = [
                "Service-Worker-Allowed", "Clear-Site-Data", "Set-Cookie2", "Use-As-Dictionary", "No-Vary-Search",
                "Strict-Transport-Security",
            ]
            for _ in 0..<4 {
                for (target, host) in [("/api/a", nil), ("/a", "api.localhost:\(scene.port)")] {
                    for line in [
                        "Sec-Fetch-Site: same-origin", "User-Agent: Mozilla/5.0 (X11)", "Accept: text/html,*/*;q=0.8",
                        "Referer: http://localhost/",
                    ] {
                        let answer = try await send(scene, target, host: host, line)
                        #expect(answer.text == "x")
                        for name in names { #expect(answer[name] == nil, "\(target) \(line): \(name)") }
                    }
                    let program = try await send(scene, target, host: host, "User-Agent: curl/8", "Accept: */*")
                    for name in names { #expect(program[name] != nil, "\(target): \(name)") }
                }
            }
            // A forward proxy's clients know the origin by its own name.
            #expect(try await scene.get("/v1/a")["Clear-Site-Data"] == "\"*\"")
        }
    }
}
