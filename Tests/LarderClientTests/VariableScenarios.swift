// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import LarderTesting
import LarderTransformers
import Testing

/// Values that change while the daemon runs, and credentials that are renewed.
@Suite("Scenarios: variables")
struct VariableScenarios {
    static let fresh = "Cache-Control: max-age=600"

    /// A variable with a first value.
    static func variable(_ name: String, _ value: String?, _ reactions: VariableReaction...) -> VariableSettings {
        var variable = VariableSettings()
        variable.name = name
        variable.value = value.map { Secret($0) }
        variable.initial = variable.value
        variable.onChange = reactions
        return variable
    }

    static func bearer(_ name: String) -> HeaderEdit {
        HeaderEdit(
            name: .authorization, value: Secret([.text("Bearer "), .variable(name)], reference: "Bearer ${\(name)}"))
    }

    /// A scenario whose origin is the service `api` with a token in a variable.
    static func run(
        onDisk: Bool = false, token: String? = "one", _ reactions: VariableReaction...,
        service change: (inout ServiceSettings) -> Void = { _ in }, block: (inout ConfigureBlock) -> Void = { _ in },
        _ body: (Scenario) async throws -> Void
    ) async throws {
        var variable = variable("token", token)
        variable.onChange = reactions
        try await Scenario.run(
            onDisk: onDisk,
            { settings, origin in
                settings.variables = [variable]
                settings.add("api", at: origin.url("/")) { service in
                    change(&service)
                    service.configure {
                        $0.headers = [bearer("token")]
                        block(&$0)
                    }
                }
            }, body)
    }

    static func set(_ scene: Scenario, _ value: String) async throws {
        let variables = try #require(scene.proxy.configuration.variables)
        #expect(await variables.set([("token", Secret(value))], at: scene.proxy.now) == ["token"])
    }

    static let echo: ScriptedOrigin.Script = { .ok(fresh, content: $0["Authorization"] ?? "nobody") }

    @Test(arguments: [false, true]) func `CF-16 a token that changes reaches the next request and wipes what it got`(
        onDisk: Bool
    ) async throws {
        try await Self.run(onDisk: onDisk, .wipeAll) { (scene) async throws in
            scene.origin.answer(Self.echo)
            #expect(try await scene.get("/a").text == "Bearer one")
            #expect(try await scene.get("/a")["Cache-Status"] == "Larder; hit; ttl=600")
            try await Self.set(scene, "two")
            #expect(try await scene.get("/a").text == "Bearer two")
            #expect(try await scene.get("/b").text == "Bearer two")
        }
    }

    @Test func `CF-12 a change is for the services that use it`() async throws {
        try await Scenario.run { settings, origin in
            settings.variables = [Self.variable("token", "one", .wipeAll)]
            settings.add("api", at: origin.url("/api")) { $0.configure { $0.headers = [Self.bearer("token")] } }
            settings.add("other", at: origin.url("/other"))
        } _: { (scene) async throws in
            scene.origin.answer(Self.echo)
            for path in ["/api/a", "/other/a"] { _ = try await scene.get(path) }
            let table = scene.proxy.configuration.router.table
            try await Self.set(scene, "two")
            #expect(try await scene.get("/api/a").text == "Bearer two")
            #expect(try await scene.get("/other/a")["Cache-Status"] == "Larder; hit; ttl=600")
            #expect(scene.proxy.configuration.router.table.named("other") === table.named("other"))
        }
    }

    @Test func `HT-03 CF-16 what one token got is out of another one's reach where users are apart`() async throws {
        try await Self.run(service: { $0.privacy = .partitioned }) { (scene) async throws in
            scene.origin.answer(Self.echo)
            #expect(try await scene.get("/a").text == "Bearer one")
            try await Self.set(scene, "two")
            #expect(try await scene.get("/a").text == "Bearer two")
            try await Self.set(scene, "one")
            let answer = try await scene.get("/a")
            #expect(answer.text == "Bearer one")
            #expect(answer["Cache-Status"] == "Larder; hit; ttl=600")
        }
    }

    @Test(arguments: [ServicePrivacy.shared, .partitioned])
    func `B-09 EC-14 what was asked for with the old token does not land under the new one`(
        privacy: ServicePrivacy
    ) async throws {
        try await Self.run(.wipeAll, service: { $0.privacy = privacy }) { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let old = try await scene.origin.request()
            #expect(old["Authorization"] == "Bearer one")
            try await Self.set(scene, "two")
            try await old.reply(Self.fresh, content: "of one")
            #expect(try await client.response().text == "of one")
            scene.origin.answer(Self.echo)
            #expect(try await scene.get("/a").text == "Bearer two")
        }
    }

    @Test func `a field with a variable that has no value is left out`() async throws {
        try await Self.run(token: nil) { (scene) async throws in
            scene.origin.answer(Self.echo)
            #expect(try await scene.get("/a", "Authorization: the client's").text == "nobody")
        }
    }

    @Test func `CF-16 a reload takes over what a source has anew and keeps what was set`() async throws {
        try await Self.run { (scene) async throws in
            scene.origin.answer(Self.echo)
            try await Self.set(scene, "set")
            try await scene.reload { $0.timeouts.idle = .seconds(80) }
            #expect(try await scene.get("/a").text == "Bearer set")
            try await scene.reload { $0.variables[0].initial = Secret("three") }
            #expect(try await scene.get("/b").text == "Bearer three")
        }
    }

    // MARK: Refusals

    static let refresh: @Sendable (inout ConfigureBlock) -> Void = { block in
        var rule = RefreshRule()
        rule.url = RefreshURL("/token") ?? .init("/")!
        rule.json = [RefreshParameter(name: "user", value: Secret("anna"))]
        rule.store = [RefreshTarget(variable: "token", pointer: JSONPointer("/access_token")!)]
        block.decorate.refresh = .set(rule)
    }

    /// 401 for every token but `two`; what asks for a token waits for the test.
    static let refusing: ScriptedOrigin.Script = { head in
        if head.target == "/token" { return nil }
        return head["Authorization"] == "Bearer two" ? .ok(fresh, content: head.target) : .response(401, content: "no")
    }

    @Test(arguments: [false, true]) func `RQ-19 B-26 many refusals lead to one refresh and as many successes`(
        isOneResource: Bool
    ) async throws {
        try await Self.run(block: Self.refresh) { (scene) async throws in
            scene.origin.answer(Self.refusing)
            var clients: [Wire] = []
            for number in 0..<200 {
                let client = try await scene.client("client \(number)")
                try await client.get(scene.url(isOneResource ? "/a" : "/\(number)"))
                clients.append(client)
            }
            let request = try await scene.origin.request()
            #expect(request.head.method == "POST")
            #expect(request["Authorization"] == nil)
            #expect(try await request.content().text == "{\"user\":\"anna\"}")
            try await eventually("everybody waits for the refresh") {
                isOneResource ? scene.interest(in: "/a") == 200 : scene.origin.seen.count == 201
            }
            try await request.reply("Content-Type: application/json", content: "{\"access_token\":\"two\"}")
            for client in clients {
                let response = try await client.response()
                #expect(response.status == 200)
                #expect(response["Cache-Status"]?.contains("refreshed") == true)
            }
            #expect(scene.origin.count(of: "/token") == 1)
            #expect(scene.origin.seen.count == (isOneResource ? 3 : 401))
        }
    }

    @Test func `RQ-19 a write is made again with its content`() async throws {
        try await Self.run(block: Self.refresh) { (scene) async throws in
            let client = try await scene.client()
            try await client.send("POST \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 3", content: "new")
            let refused = try await scene.origin.request()
            #expect(try await refused.content().text == "new")
            try await refused.reply(401, content: "no")
            try await scene.origin.request().reply(content: "{\"access_token\":\"two\"}")
            let again = try await scene.origin.request()
            #expect(again["Authorization"] == "Bearer two")
            #expect(try await again.content().text == "new")
            try await again.reply(201, content: "made")
            #expect(try await client.response().status == 201)
        }
    }

    @Test func `RQ-19 a write that is too large to keep is made once`() async throws {
        try await Self.run(block: Self.refresh) { (scene) async throws in
            let content = String(repeating: "x", count: (1 << 20) + 1)
            let client = try await scene.client()
            async let sent: Void = client.send(
                "POST \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: \(content.utf8.count)",
                content: content)
            let refused = try await scene.origin.request()
            #expect(try await refused.content().content.count == content.utf8.count)
            try await refused.reply(401, content: "no")
            try await sent
            #expect(try await client.response().status == 401)
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test(arguments: [
        (500, "{}", "the answer was 500"), (200, "{}", "the answer has no text or number at /access_token"),
        (200, "two", "the answer is not JSON"),
        (200, "{\"access_token\":\"a\\nb\"}", "cannot stand in a field"),
    ]) func `RQ-19 a refresh that fails gives the refusal through and says why`(
        status: Int, content: String, why: String
    ) async throws {
        try await Self.run(block: Self.refresh) { (scene) async throws in
            scene.origin.answer { head in
                head.target == "/token" ? .response(status, content: content) : .response(401, content: "no")
            }
            for _ in 0..<2 {
                let answer = try await scene.get("/a")
                #expect(answer.status == 401)
                #expect(answer.text == "no")
            }
            // The next refusal does not ask again at once.
            #expect(scene.origin.count(of: "/token") == 1)
            #expect(scene.log.values.contains { $0.contains("could not be renewed") && $0.contains(why) })
            scene.advance(.seconds(2))
            _ = try await scene.get("/a")
            #expect(scene.origin.count(of: "/token") == 2)
            #expect(!scene.log.values.contains { $0.contains("one") && $0.contains("Bearer") })
        }
    }

    @Test func `RQ-19 a refusal that came in many pieces is given through whole`() async throws {
        try await Self.run(block: Self.refresh) { (scene) async throws in
            scene.origin.answer { $0.target == "/token" ? .response(500) : nil }
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            try await request.write("HTTP/1.1 401 Scripted\r\nTransfer-Encoding: chunked\r\n\r\n")
            let pieces = (0..<200).map { "piece \($0);" }
            for piece in pieces {
                try await request.write("\(String(piece.utf8.count, radix: 16))\r\n\(piece)\r\n")
                // Each piece in a read of its own, or nearly so.
                let other = try await scene.client()
                try await other.send("OPTIONS * HTTP/1.1", "Host: x")
                _ = try await other.response()
                await other.close()
            }
            try await request.write("0\r\n\r\n")
            request.finish()
            let answer = try await client.response()
            #expect(answer.status == 401)
            #expect(answer.text == pieces.joined())
        }
    }

    @Test func `B-26 a request is not refreshed twice`() async throws {
        try await Self.run(block: Self.refresh) { (scene) async throws in
            scene.origin.answer { head in
                head.target == "/token"
                    ? .ok(content: "{\"access_token\":\"still wrong\"}") : .response(401, content: "no")
            }
            #expect(try await scene.get("/a").status == 401)
            #expect(scene.origin.seen.map(\.target) == ["/a", "/token", "/a"])
        }
    }

    @Test func `HT-03 what a renewed token got is not stored for the one before it`() async throws {
        try await Self.run(service: { $0.privacy = .partitioned }, block: Self.refresh) { (scene) async throws in
            scene.origin.answer { head in
                head.target == "/token" ? .ok(content: "{\"access_token\":\"two\"}") : Self.refusing(head)
            }
            let response = try await scene.get("/a")
            #expect(response.text == "/a")
            #expect(response["Cache-Status"]?.contains("other-partition, refreshed") == true)
            try await Self.set(scene, "one")
            scene.origin.answer { _ in .response(403, content: "not for one") }
            #expect(try await scene.get("/a").text == "not for one")
        }
    }

    @Test(arguments: [Configuration.AfterWrite.Action.override, .promote])
    func `HT-03 what was written with a renewed token is not stored for the one before it`(
        _ action: Configuration.AfterWrite.Action
    ) async throws {
        try await Self.run(
            service: { $0.privacy = .partitioned },
            block: { block in
                Self.refresh(&block)
                block.expirationTime = Expiration(time: .seconds(600))
                block.afterWrite = .init(action)
            }
        ) { (scene) async throws in
            scene.origin.answer { head in
                if head.target == "/token" { return .ok(content: "{\"access_token\":\"two\"}") }
                return head["Authorization"] == "Bearer one"
                    ? .response(401, content: "not for one") : .ok(Self.fresh, content: "two's")
            }
            let client = try await scene.client()
            try await client.send("PUT \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 5", content: "two's")
            #expect(try await client.response().text == "two's")
            try await Self.set(scene, "one")
            scene.origin.answer { _ in .response(403, content: "not for one") }
            #expect(try await scene.get("/a").text == "not for one")
        }
    }
}
