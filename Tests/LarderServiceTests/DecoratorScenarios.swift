// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// Configured actions around requests.
@Suite("Scenarios: decorators")
struct DecoratorScenarios {
    static let fresh = "Cache-Control: max-age=600"

    /// A scenario whose origin is a service with one block.
    static func run(
        _ change: (inout ConfigureBlock) -> Void, _ body: (Scenario) async throws -> Void
    ) async throws {
        try await Scenario.run(
            { settings, origin in settings.add("api", at: origin.url("/")) { $0.configure(change) } }, body)
    }

    @Test(arguments: ["GET", "HEAD", "POST"]) func `RQ-23 a denied request is answered and never sent`(
        method: String
    ) async throws {
        try await Self.run {
            var rule = DenyRule()
            rule.status = 451
            rule.message = "Not in this house."
            $0.decorate.deny = .set(rule)
        } _: { (scene) async throws in
            let client = try await scene.client()
            try await client.send("\(method) \(scene.url("/a")) HTTP/1.1", "Host: x", "Accept: application/json")
            let answer = try await client.response(to: method)
            #expect(answer.status == 451)
            #expect(answer["Cache-Status"] == "Larder; detail=hard-wired")
            #expect(method == "HEAD" || answer.text.contains("Not in this house."))
            #expect(scene.origin.seen.isEmpty)
        }
    }

    @Test func `RQ-23 a response that was written down is given to every request`() async throws {
        try await Self.run {
            var rule = RespondRule()
            rule.status = 418
            rule.fields = [HeaderEdit(name: .contentType, value: Secret("text/tea"))]
            rule.body = Secret("short and stout")
            $0.decorate.respond = .set(rule)
        } _: { (scene) async throws in
            for _ in 0..<2 {
                let answer = try await scene.get("/a")
                #expect(answer.status == 418)
                #expect(answer.text == "short and stout")
                #expect(answer["Content-Type"] == "text/tea")
                #expect(answer["Cache-Status"] == "Larder; detail=hard-wired")
            }
            let client = try await scene.client()
            try await client.send(
                "PUT \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 3", content: "new")
            #expect(try await client.response().status == 418)
            try await eventually("all are noted") { scene.proxy.requests.notes().count == 3 }
            #expect(scene.proxy.requests.notes().allSatisfy { $0.kind == .own && $0.service == "api" })
            // The connection goes on behind content that nobody read.
            try await client.send("HEAD \(scene.url("/a")) HTTP/1.1", "Host: x")
            #expect(try await client.response(to: "HEAD")["Content-Length"] == "15")
            #expect(scene.origin.seen.isEmpty)
        }
    }

    @Test(arguments: [204, 205, 304] as [Status], ["GET", "HEAD", "POST"])
    func `RQ-23 a response that was written down for a status without content has none`(
        status: Status, method: String
    ) async throws {
        try await Self.run {
            var rule = RespondRule()
            rule.status = status
            rule.body = Secret("short and stout")
            $0.decorate.respond = .set(rule)
        } _: { (scene) async throws in
            let client = try await scene.client()
            for _ in 0..<2 {
                try await client.send("\(method) \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 0")
                let answer = try await client.response(to: method)
                #expect(answer.status == Int(status.rawValue))
                #expect(answer["Content-Length"] == (status == 205 ? "0" : nil))
                #expect(answer.content.isEmpty)
            }
        }
    }

    @Test func `RQ-23 another spelling of a path is refused with it`() async throws {
        try await Scenario.run {
            $0.add("api", at: $1.url("/")) {
                $0.configure {
                    $0.pattern.match = "/admin/**"
                    $0.decorate.deny = .set(DenyRule())
                }
            }
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok(content: "x") }
            for path in ["//admin/x", "/admin%2Fx", "/admin;v=1/x", "/a/%2F..%3B/admin/x", "/%61dmin/x"] {
                for method in ["GET", "HEAD", "POST"] {
                    let client = try await scene.client()
                    try await client.send("\(method) \(scene.url(path)) HTTP/1.1", "Host: x", "Content-Length: 0")
                    #expect(try await client.response(to: method).status >= 400, "\(method) \(path)")
                }
            }
            #expect(scene.origin.seen.isEmpty)
            #expect(try await scene.get("/admin").status == 200)
            #expect(try await scene.get("/group%2Fname;x//y").status == 200)
        }
    }

    struct Refused: Sendable, CustomTestStringConvertible {
        var base = "/"
        let match: String
        let path: String
        var testDescription: String { "\(base) \(match) \(path)" }
    }

    @Test(arguments: [
        Refused(match: "/users/@me", path: "/users/%40me"), Refused(match: "/x%40y/**", path: "/x@y/z"),
        Refused(match: "/v1/*:delete", path: "/v1/a%3Adelete"), Refused(match: "/admin/**", path: "/;%2Fpub/admin/x"),
        Refused(match: "/users/@me", path: "/users;%2Fy/@me"), Refused(match: "/a%2Fb", path: "/a/b"),
        Refused(base: "/projects/group%2Fp/", match: "/hooks/*", path: "/projects/group%2Fp//hooks/x"),
        Refused(base: "/projects/group%2Fp/", match: "/hooks/*", path: "/projects/group%2Fp/hooks%2Fx"),
        Refused(base: "/odata;v=4/", match: "/hooks/*", path: "/odata;v=4/hooks;a/x"),
    ]) func `RQ-23 pattern and path are compared as an origin may read both`(refused: Refused) async throws {
        try await Scenario.run {
            $0.add("api", at: $1.url(refused.base)) {
                $0.configure {
                    $0.pattern.match = (try? GlobPattern(refused.match)) ?? "/nothing"
                    $0.decorate.deny = .set(DenyRule())
                }
            }
        } _: { (scene) async throws in
            let answer = try await scene.get(refused.path)
            #expect(answer.status == 403)
            #expect(scene.origin.seen.isEmpty)
        }
    }

    @Test(arguments: ["//v9/admin/x", "/%2Fv9/admin/x", "/v9;x/admin/x", "/v9%2Fadmin/x"])
    func `RQ-23 what another service refuses is refused`(path: String) async throws {
        try await Scenario.run { settings, origin in
            settings.add("all", at: origin.url("/"))
            settings.add("api", at: origin.url("/v9/")) {
                $0.configure {
                    $0.pattern.match = "/admin/**"
                    $0.decorate.deny = .set(DenyRule())
                }
            }
        } _: { (scene) async throws in
            let answer = try await scene.get(path)
            #expect(answer.status == 403)
            #expect(answer.text.contains("/v9/admin/x"))
            #expect(scene.origin.seen.isEmpty)
        }
    }

    @Test func `RQ-23 a method is refused in any case, and HEAD with GET`() async throws {
        try await Scenario.run {
            $0.add("api", at: $1.url("/")) {
                $0.configure {
                    $0.methods = [.get, .delete]
                    $0.decorate.deny = .set(DenyRule())
                }
            }
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok(content: "x") }
            for (method, status) in [("DeLeTe", 403), ("HEAD", 403), ("get", 403), ("PUT", 200)] {
                let client = try await scene.client()
                try await client.send("\(method) \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 0")
                #expect(try await client.response(to: method).status == status, "\(method)")
            }
        }
    }

    @Test func `RQ-23 operators do not load what is refused`() async throws {
        try await Self.run({ $0.decorate.deny = .set(DenyRule()) }) { (scene) async throws in
            let subject = try scene.proxy.subject(of: scene.url("/a%2Fb"))
            await #expect(throws: Problem.self) {
                _ = try await scene.proxy.load(subject, fields: Fields(), onlyIfNeeded: false, from: .machine)
            }
            #expect(scene.origin.seen.isEmpty)
        }
    }

    @Test func `RQ-23 a later block takes a refusal back`() async throws {
        try await Scenario.run {
            $0.add("api", at: $1.url("/")) {
                $0.configure { $0.decorate.deny = .set(DenyRule()) }
                $0.configure {
                    $0.methods = [.get]
                    $0.decorate.deny = .unset
                }
            }
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok(content: "x") }
            #expect(try await scene.get("/a").status == 200)
            let client = try await scene.client()
            try await client.send("DELETE \(scene.url("/a")) HTTP/1.1", "Host: x")
            #expect(try await client.response().status == 403)
        }
    }

    // MARK: Retry

    static let retry: @Sendable (inout ConfigureBlock) -> Void = {
        var rule = RetryRule()
        rule.backoff = .seconds(2)
        $0.decorate.retry = .set(rule)
    }

    @Test func `B-27 a load that fails in passing is made again for everybody who waits`() async throws {
        try await Self.run(Self.retry) { (scene) async throws in
            let first = try await scene.client("the first")
            try await first.get(scene.url("/a"))
            let refused = try await scene.origin.request()
            let second = try await scene.client("the second")
            try await second.get(scene.url("/a"))
            try await refused.reply(503, content: "busy")
            // Half of the wait is left to chance.
            let (a, b) = try await scene.lettingTimePass(within: .seconds(1)...(.seconds(6))) {
                try await scene.origin.request().reply(Self.fresh, content: "apples")
                return (try await first.response(), try await second.response())
            }
            #expect([a.text, b.text] == ["apples", "apples"])
            #expect(a["Cache-Status"] == "Larder; fwd=uri-miss; fwd-status=200; stored; detail=attempt-2")
            #expect(b["Cache-Status"]?.hasSuffix("; collapsed; detail=attempt-2") == true)
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test func `B-27 a failure whose content breaks off is made good like any other`() async throws {
        try await Self.run(Self.retry) { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let refused = try await scene.origin.request()
            try await refused.write("HTTP/1.1 503 X\r\nContent-Length: 100\r\n\r\nbus")
            await refused.close()
            let answer = try await scene.lettingTimePass(within: .seconds(1)...(.seconds(6))) {
                try await scene.origin.request().reply(Self.fresh, content: "apples")
                return try await client.response()
            }
            #expect(answer.text == "apples")
        }
    }

    @Test func `B-27 the last failure is given through when the attempts are used up`() async throws {
        try await Self.run(Self.retry) { (scene) async throws in
            scene.origin.answer { _ in .response(502, content: "broken") }
            // The second wait is twice as long as the first.
            let answer = try await scene.lettingTimePass(within: .seconds(3)...(.seconds(15))) {
                try await scene.get("/a")
            }
            #expect(answer.status == 502)
            #expect(answer.text == "broken")
            #expect(answer["Cache-Status"]?.contains("attempt-3") == true)
            #expect(scene.origin.seen.count == 3)
        }
    }

    @Test(arguments: [("PUT", 2), ("POST", 1)]) func `B-27 only idempotent writes are made again`(
        method: String, count: Int
    ) async throws {
        try await Self.run(Self.retry) { (scene) async throws in
            let client = try await scene.client()
            try await client.send(
                "\(method) \(scene.url("/a")) HTTP/1.1", "Host: x", "Transfer-Encoding: chunked",
                content: "3\r\nnew\r\n0\r\n\r\n")
            let first = try await scene.origin.request()
            #expect(try await first.content().text == "new")
            try await first.reply(503, content: "busy")
            if count == 2 {
                let second = try await scene.lettingTimePass(within: .seconds(1)...(.seconds(6))) {
                    try await scene.origin.request()
                }
                #expect(try await second.content().text == "new")
                try await second.reply(content: "done")
            }
            // A write that is not made again is answered at once.
            let answer = try await client.response()
            #expect(answer.status == (count == 2 ? 200 : 503))
            #expect(answer["Cache-Status"]?.hasSuffix("; detail=attempt-2") == (count == 2))
            #expect(scene.origin.seen.count == count)
        }
    }

    @Test func `B-27 a service repeats a fifth of its requests once its reserve is used up`() async throws {
        try await Self.run {
            var rule = RetryRule()
            rule.attempts = 2
            rule.backoff = .milliseconds(1)
            rule.on = [.status(500)]
            $0.decorate.retry = .set(rule)
            $0.caching = Configuration.Caching.none
        } _: { (scene) async throws in
            scene.origin.answer { _ in .response(500) }
            try await scene.lettingTimePass(.milliseconds(5)) {
                for _ in 0..<40 { _ = try await scene.get("/a") }
            }
            // Ten at once and a fifth of forty, less the first fifth, for which the reserve had no room.
            #expect((40 + 17...40 + 18).contains(scene.origin.seen.count))
        }
    }

    @Test func `a delay holds requests to the origin back and leaves hits alone`() async throws {
        try await Self.run {
            $0.decorate.delay = .seconds(5)
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: "x") }
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            try await eventually("the request is being made") { scene.proxy.registry.count == 1 }
            #expect(scene.origin.seen.isEmpty)
            let answer = try await scene.lettingTimePass(reaching: .seconds(5)) { try await client.response() }
            #expect(answer.text == "x")
            #expect(try await scene.get("/a")["Cache-Status"]?.hasPrefix("Larder; hit") == true)
        }
    }
}
