// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderSettings
import LarderTesting
import Testing

@testable import LarderCLI

/// The settings of a configuration file, seen from both ends of the running daemon.
@Suite("Scenarios: the configuration as it is written")
struct WrittenScenarios {
    /// The settings of a file in which `ORIGIN` stands for the origin's URL without its last slash.
    static func settings(_ yaml: String, _ origin: ScriptedOrigin) throws -> Settings {
        let url = origin.url("")
        return try ConfigurationFixture(yaml.replacing("ORIGIN", with: url)).settings()
    }

    /// A scenario by what a file says about services, variables and whom to forward to.
    static func run(
        onDisk: Bool = false, _ yaml: String, _ change: (inout Settings) -> Void = { _ in },
        _ body: (Scenario) async throws -> Void
    ) async throws {
        var problem: (any Error)?
        try await Scenario.run(onDisk: onDisk) { settings, origin in
            do { try take(yaml, origin, into: &settings) } catch { problem = error }
            change(&settings)
        } _: { (scene) async throws in
            if let problem { throw problem }
            try await body(scene)
        }
    }

    static func take(_ yaml: String, _ origin: ScriptedOrigin, into settings: inout Settings) throws {
        let read = try Self.settings(yaml, origin)
        settings.services = read.services
        settings.variables = read.variables
        settings.forward = read.forward
        settings.gateway = read.gateway
    }

    /// Blocks of the one service that has the origin below `/v1`.
    static func service(_ blocks: String) -> String {
        "services:\n  api:\n    baseURL: ORIGIN/v1\n    configure:\n"
            + blocks.split(separator: "\n").map { "      \($0)\n" }.joined()
    }

    /// The field as the origin sees it, for each path that is asked for by `method`.
    static func seen(
        _ field: String, _ scene: Scenario, _ paths: [String], by method: String = "GET"
    ) async throws -> [String?] {
        let first = scene.origin.seen.count
        for path in paths {
            let client = try await scene.client()
            try await client.send("\(method) \(scene.url(path)) HTTP/1.1", "Host: x", "Content-Length: 0")
            _ = try await client.response(to: method)
            await client.close()
        }
        return scene.origin.seen.dropFirst(first).map { $0[field] }
    }

    static let ok = OriginRequest.response(200, ["Cache-Control: no-store"], content: "x")

    // MARK: Which requests a block is for

    @Test func `CF-01 CF-02 a block without a condition is for all of a service, one with a pattern for what matches`()
        async throws
    {
        let yaml = Self.service("- headers: { X-All: yes }\n- { match: /users/*, headers: { X-Users: yes } }")
        try await Self.run(yaml) { (scene) async throws in
            scene.origin.answer { _ in Self.ok }
            let paths = ["/v1/users/a", "/v1/users/a?b=c", "/v1/users/a/b", "/v1/users", "/v1/", "/elsewhere"]
            for method in ["GET", "HEAD", "POST"] {
                #expect(
                    try await Self.seen("X-All", scene, paths, by: method) == ["yes", "yes", "yes", "yes", "yes", nil])
                #expect(
                    try await Self.seen("X-Users", scene, paths, by: method) == ["yes", "yes", nil, nil, nil, nil])
            }
        }
    }

    @Test func `CF-03 a block is for what a regular expression finds, but for exceptions`() async throws {
        let yaml = Self.service(
            "- { regex: 'v1/[0-9]+', headers: { X-Number: yes } }\n- { except: /login, headers: { X-Token: t } }")
        try await Self.run(yaml) { (scene) async throws in
            scene.origin.answer { _ in Self.ok }
            let paths = ["/v1/12", "/v1/a12", "/v1/login", "/v1/login?next=1", "/v1/login/x"]
            #expect(try await Self.seen("X-Number", scene, paths) == ["yes", nil, nil, nil, nil])
            #expect(try await Self.seen("X-Token", scene, paths) == ["t", "t", nil, nil, "t"])
        }
    }

    @Test func `CF-06 a block for one method leaves the others alone`() async throws {
        let yaml = Self.service("- { methods: [POST], headers: { X-Write: yes } }")
        try await Self.run(yaml) { (scene) async throws in
            scene.origin.answer { _ in Self.ok }
            for (method, value) in [("POST", "yes"), ("GET", nil), ("PUT", nil), ("HEAD", nil)] {
                #expect(try await Self.seen("X-Write", scene, ["/v1/a"], by: method) == [value])
            }
        }
    }

    @Test func `CF-11 fields are set, replaced by later blocks, and taken off`() async throws {
        let yaml = Self.service(
            """
            - headers: { Accept: text/one, User-Agent: larder-test, X-Client: null }
            - { match: /two, headers: { Accept: text/two } }
            - { match: /none, headers: { Accept: null } }
            """)
        try await Self.run(yaml) { (scene) async throws in
            scene.origin.answer { _ in Self.ok }
            for path in ["/v1/one", "/v1/two", "/v1/none"] {
                _ = try await scene.get(path, "Accept: text/mine", "X-Client: 1", "X-Other: 2")
            }
            let seen = scene.origin.seen
            #expect(seen.map { $0["Accept"] } == ["text/one", "text/two", nil])
            #expect(seen.allSatisfy { $0["User-Agent"] == "larder-test" && $0["X-Client"] == nil })
            #expect(seen.allSatisfy { $0["X-Other"] == "2" })
        }
    }

    @Test func `CF-17 a field for a host is not told to others, however the URL is dressed up`() async throws {
        // The block names the host itself, as one would who does not rely on the service's own bounds.
        let yaml = Self.service("- { match: \"ORIGIN/**\", headers: { Authorization: Bearer s3cret } }")
        try await Self.run(yaml) { (scene) async throws in
            scene.origin.answer {
                OriginRequest.response(200, ["Cache-Control: no-store"], content: $0["Authorization"] ?? "none")
            }
            let port = scene.origin.port
            #expect(try await scene.get("/v1/a").text == "Bearer s3cret")
            for url in [
                "http://localhost:\(port)/v1/a", "http://localhost:\(port)/127.0.0.1:\(port)/v1/a",
                "http://localhost:\(port)/?http://127.0.0.1:\(port)/v1/a", "http://127.0.0.1:\(port)/v1/../a",
                "http://127.0.0.1:\(port)/v1/%2e%2e/a", "http://127.0.0.2:\(port)/v1/a",
            ] {
                let client = try await scene.client()
                try await client.get(url)
                let answer = try await client.response()
                #expect(!answer.text.contains("s3cret"), "\(url)")
            }
            // The name before an @ is not the host that is asked, and such a URL is refused.
            let client = try await scene.client()
            try await client.get("http://127.0.0.1:\(port)@localhost:\(port)/v1/a")
            #expect(try await client.response().status == 400)
            #expect(scene.origin.seen.count { $0["Authorization"] != nil } == 1)
        }
    }

    // MARK: What requests may be about

    @Test func `SV-12 a daemon for its services alone asks nobody else`() async throws {
        let yaml = "forward: { anyHost: false }\ngateway: { anyHost: false }\n" + Self.service("- retryTime: 1 s")
        try await Self.run(yaml) { (scene) async throws in
            scene.origin.answer { _ in Self.ok }
            #expect(try await scene.get("/v1/a").status == 200)
            // The base URL is a fence then: what is beside it is nobody's.
            #expect(try await scene.get("/v2/a").status == 403)
            for (target, status) in [
                ("http://localhost:\(scene.origin.port)/v1/a", 403), ("/http/\(scene.origin.authority)/v2/a", 403),
                ("/api/a", 200), ("/api/../v2/a", 200),
            ] {
                let client = try await scene.client()
                try await client.send("GET \(target) HTTP/1.1", "Host: localhost:\(scene.port)")
                #expect(try await client.response().status == status, "\(target)")
            }
            #expect(scene.origin.seen.map(\.target) == ["/v1/a", "/v1/a", "/v1/v2/a"])
        }
    }

    @Test func `SV-12 without that the base URL is no fence, and denying is what keeps requests back`() async throws {
        let yaml = Self.service("- { match: /admin/**, decorate: { deny: { status: 403 } } }")
        try await Self.run(yaml) { (scene) async throws in
            scene.origin.answer { _ in Self.ok }
            #expect(try await scene.get("/v2/a").status == 200)
            #expect(try await scene.get("/v1/admin/a").status == 403)
            #expect(try await scene.get("/v1/x/%2E%2E/admin/a").status == 403)
            #expect(scene.origin.seen.map(\.target) == ["/v2/a"])
        }
    }

    // MARK: Pipelines

    @Test(arguments: [
        ("parsing, trimming, model", "[1]"), ("parsing, model, trimming", "[2]"), ("parsing, trimming", #"{"x":[1]}"#),
    ]) func `PL-02 clients get what the stages make in the order of the file, those of one's own too`(
        order: String, expected: String
    ) async throws {
        // A stage that has something to do must be in the order.
        let stages = ["trimming": "/data", "model": "/x"].filter { order.contains($0.key) }
            .map { "    \($0.key): [ { jsonPointer: \($0.value) } ]" }.sorted().joined(separator: "\n")
        let yaml = Self.service("- pipeline:\n    order: [\(order)]\n    parsing: json\n\(stages)")
        try await Self.run(onDisk: true, yaml) { (scene) async throws in
            scene.origin.answer { _ in
                OriginRequest.response(
                    200, ["Cache-Control: max-age=600", "Content-Type: application/json"],
                    content: #"{"data":{"x":[1]},"x":{"data":[2]}}"#)
            }
            for _ in 0..<2 { #expect(try await scene.get("/v1/a").text == expected) }
            try await scene.restart()
            #expect(try await scene.get("/v1/a").text == expected)
            #expect(scene.origin.seen.count == 1)
        }
    }

    // MARK: Another file

    @Test func `CF-15 another file replaces all entries in one step`() async throws {
        let one = Self.service("- headers: { X-A: one, X-B: one }\n- { match: /a, headers: { X-C: one } }")
        let two = Self.service("- headers: { X-A: two }")
        try await Self.run(one) { (scene) async throws in
            scene.origin.answer { head in
                let fields = ["X-A", "X-B", "X-C"].map { head[$0] ?? "-" }.joined(separator: " ")
                return OriginRequest.response(200, ["Cache-Control: no-store"], content: fields)
            }
            #expect(try await scene.get("/v1/a").text == "one one one")
            // At any moment, a request is by one of the two files.
            let asking = Task {
                var answers: Set<String> = []
                let client = try await scene.client()
                while !answers.contains("two - -") {
                    try await client.get(scene.url("/v1/a"))
                    answers.insert(try await client.response().text)
                }
                return answers
            }
            let other = try Self.settings(two, scene.origin)
            try await scene.reload { $0.services = other.services }
            #expect(try await asking.value.isSubset(of: ["one one one", "two - -"]))
            #expect(try await scene.get("/v1/a").text == "two - -")
        }
    }
}
