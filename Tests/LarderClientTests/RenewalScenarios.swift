// SPDX-License-Identifier: Apache-2.0
import Foundation
import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderRules
import LarderScenarios
import LarderSettings
import LarderStores
import LarderTesting
import LarderTransformers
import Testing

/// Whose a token is that a refresh got.
@Suite("Scenarios: whose renewed credentials are")
struct RenewalScenarios {
    /// The service `api` renews the token for a password; `other` uses it as well.
    private func run(
        onDisk: Bool = false, privacy: ServicePrivacy = .private, _ body: (Scenario) async throws -> Void
    ) async throws {
        try await VariableScenarios.run(
            onDisk: onDisk, token: nil, service: { $0.privacy = privacy },
            block: { block in
                VariableScenarios.refresh(&block)
                guard var rule = block.decorate.refresh?.value else { return }
                rule.json = [RefreshParameter(name: "password", value: Secret([.variable("password")]))]
                block.decorate.refresh = .set(rule)
            }
        ) { scene in
            try await scene.reload { settings in
                settings.variables.append(VariableScenarios.variable("password", "anna"))
                settings.add("other", at: scene.origin.url("/other/")) { service in
                    service.privacy = privacy
                    service.configure { $0.headers = [VariableScenarios.bearer("token")] }
                }
            }
            scene.origin.answer(Self.script)
            try await body(scene)
        }
    }

    /// Gives everybody the same token, and shows the one that came.
    private static let script: ScriptedOrigin.Script = { head in
        if head.target == "/token" { return .ok(content: "{\"access_token\":\"renewed\"}") }
        guard let token = head["Authorization"] else { return .response(401, content: "no") }
        return .ok(VariableScenarios.fresh, content: token)
    }

    private func become(_ user: String, _ scene: Scenario) async throws {
        let variables = try #require(scene.proxy.configuration.variables)
        #expect(await variables.set([("password", Secret(user))], at: scene.proxy.now) == ["password"])
    }

    @Test func `a refusal that breaks off, and for which there is no new token, is no answer`() async throws {
        try await VariableScenarios.run(
            token: "old", block: { VariableScenarios.refresh(&$0) }
        ) { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let refused = try await scene.origin.request()
            try await refused.write("HTTP/1.1 401 X\r\nContent-Length: 100\r\n\r\nno!")
            await refused.close()
            try await scene.origin.request().reply(500, content: "no token")
            #expect(try await client.response().status == 502)
        }
    }

    @Test func `a redirect that comes for a renewed token is followed with that`() async throws {
        try await VariableScenarios.run(
            token: "old",
            block: { block in
                VariableScenarios.refresh(&block)
                block.followRedirects = true
            }
        ) { (scene) async throws in
            scene.origin.answer { head in
                if head.target == "/token" { return .ok(content: "{\"access_token\":\"renewed\"}") }
                guard head["Authorization"] == "Bearer renewed" else { return .response(401, content: "no") }
                return head.target == "/a"
                    ? .response(302, "Location: /b", content: "") : .ok(VariableScenarios.fresh, content: "fruit")
            }
            #expect(try await scene.get("/a").text == "fruit")
        }
    }

    @Test func `a service that uses another one's token changes its user with it`() async throws {
        try await run(onDisk: true) { (scene) async throws in
            #expect(try await scene.get("/a").text == "Bearer renewed")
            #expect(try await scene.get("/other/b").text == "Bearer renewed")
            #expect(try await scene.getStored("/other/b").text == "Bearer renewed")
            try await become("bob", scene)
            // The token is gone until the service that renews it is asked.
            #expect(try await scene.get("/other/b").status == 401)
            #expect(try await scene.get("/a").text == "Bearer renewed")
            #expect(try await scene.get("/other/b").text == "Bearer renewed")
            #expect(scene.origin.count(of: "/other/b") == 3)
            try await scene.restart { _ in scene.change { $0.variables[1].initial = Secret("carl") } }
            #expect(try await scene.get("/other/b").status == 401)
        }
    }

    @Test func `what a refresh takes from its answer is part of whose the token is`() async throws {
        try await run { (scene) async throws in
            #expect(try await scene.get("/a").text == "Bearer renewed")
            #expect(try await scene.get("/other/b").text == "Bearer renewed")
            try await scene.reload { settings in
                guard var rule = settings.services[0].configure[0].decorate.refresh?.value,
                    let pointer = JSONPointer("/other_token")
                else { return }
                rule.store[0].pointer = pointer
                settings.services[0].configure[0].decorate.refresh = .set(rule)
            }
            #expect(try await scene.get("/other/b").status == 401)
        }
    }

    @Test func `a token goes to no origin that did not give it`() async throws {
        try await run { (scene) async throws in
            #expect(try await scene.get("/a").text == "Bearer renewed")
            let place = try BaseURL.read(scene.origin.url("/elsewhere/")).get()
            try await scene.reload { $0.services[0].baseURL = place }
            _ = try await scene.get("/elsewhere/a")
            let tokens = scene.origin.seen.filter { $0.target == "/elsewhere/a" }.map { $0["Authorization"] }
            #expect(tokens.first == .some(nil))
        }
    }

    @Test(arguments: [ServicePrivacy.private, .partitioned, .shared])
    func `a refresh for a variable that was away meanwhile brings nothing`(_ privacy: ServicePrivacy) async throws {
        try await run(privacy: privacy) { (scene) async throws in
            scene.origin.answer { $0.target == "/token" ? nil : Self.script($0) }
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let refresh = try await scene.origin.request()
            let before = scene.proxy.configuration.settings
            try await scene.reload { settings in
                settings.variables = []
                settings.services = []
            }
            try await scene.reload { settings in
                settings.variables = before.variables
                settings.variables[1].initial = Secret("bob")
                settings.services = before.services
            }
            try await refresh.reply(content: "{\"access_token\":\"anna's\"}")
            _ = try await client.response()
            scene.origin.answer(Self.script)
            let answer = try await scene.get("/b")
            #expect(answer.text == "Bearer renewed")
        }
    }

    /// `login` renews `refresh` for the password, `api` the token for that, and `other` uses the token.
    private func runChain(_ body: (Scenario) async throws -> Void) async throws {
        try await run(onDisk: true) { (scene) async throws in
            try await scene.reload { settings in
                settings.variables.append(VariableScenarios.variable("refresh", nil))
                guard var rule = settings.services[0].configure[0].decorate.refresh?.value else { return }
                let login = rule
                rule.json = [RefreshParameter(name: "refresh", value: Secret([.variable("refresh")]))]
                settings.services[0].configure[0].decorate.refresh = .set(rule)
                settings.add("login", at: scene.origin.url("/login/")) { service in
                    service.configure { block in
                        block.headers = [VariableScenarios.bearer("refresh")]
                        var rule = login
                        rule.store[0].variable = "refresh"
                        rule.url = RefreshURL(scene.origin.url("/token")) ?? rule.url
                        block.decorate.refresh = .set(rule)
                    }
                }
            }
            try await body(scene)
        }
    }

    @Test(arguments: [false, true])
    func `who comes at the beginning of a chain of refreshes has none of what came of it`(
        byReload: Bool
    ) async throws {
        try await runChain { (scene) async throws in
            #expect(try await scene.get("/login/a").text == "Bearer renewed")
            #expect(try await scene.get("/a").text == "Bearer renewed")
            #expect(try await scene.getStored("/other/b").text == "Bearer renewed")
            if byReload {
                try await scene.reload { $0.variables[1].initial = Secret("bob") }
            } else {
                try await become("bob", scene)
            }
            scene.origin.answer { $0.target == "/token" ? .response(500, content: "") : Self.script($0) }
            #expect(try await scene.get("/other/b").status == 401)
            #expect(try await scene.get("/a").status == 401)
            #expect(scene.origin.seen.last { $0.target == "/a" }?["Authorization"] == nil)
        }
    }

    @Test(arguments: [ServicePrivacy.private, .partitioned, .shared])
    func `a refresh that a reload makes another user's brings nothing`(_ privacy: ServicePrivacy) async throws {
        try await run(privacy: privacy) { (scene) async throws in
            scene.origin.answer { $0.target == "/token" ? nil : Self.script($0) }
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let refresh = try await scene.origin.request()
            // A field may say who asks, whatever its name is.
            try await scene.reload { settings in
                settings.services[0].configure[0].headers.append(HeaderEdit(name: "X-Who", value: Secret("bob")))
            }
            try await refresh.reply(content: "{\"access_token\":\"anna's\"}")
            // Nothing better is there, so the refusal goes through.
            let response = try await client.response()
            #expect(response.status == 401)
            #expect(response["Cache-Status"]?.contains("refreshed") == false)
            scene.origin.answer(Self.script)
            #expect(try await scene.get("/other/b").status == 401)
            #expect(try await scene.get("/b").text == "Bearer renewed")
        }
    }

    @Test func `another user does not wait for a former one's refresh`() async throws {
        try await run { (scene) async throws in
            scene.origin.answer { $0.target == "/token" ? nil : Self.script($0) }
            let before = try await scene.client("before")
            try await before.get(scene.url("/a"))
            let dropped = try await scene.origin.request()
            try await become("bob", scene)
            let after = try await scene.client("after")
            try await after.get(scene.url("/b"))
            try await eventually("it was refused") { scene.origin.count(of: "/b") == 1 }
            let refresh = try await scene.origin.request()
            #expect(try await refresh.content().text == "{\"password\":\"bob\"}")
            try await refresh.reply(content: "{\"access_token\":\"bob's\"}")
            #expect(try await after.response().text == "Bearer bob's")
            try await dropped.reply(content: "{\"access_token\":\"anna's\"}")
            // A read may be made again with the new credential.
            #expect(try await before.response().text == "Bearer bob's")
        }
    }

    @Test func `where users are apart, a confirmation that a renewed token got is not the former one's`() async throws {
        try await run(privacy: .partitioned) { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=0", "ETag: \"1\"", content: "given") }
            try await VariableScenarios.set(scene, "given")
            #expect(try await scene.getStored("/a").text == "given")
            scene.origin.answer { head in
                if head.target == "/token" { return .ok(content: "{\"access_token\":\"renewed\"}") }
                if head["Authorization"] == "Bearer given" { return .response(401, content: "no") }
                return head["If-None-Match"] == nil
                    ? .ok(VariableScenarios.fresh, "ETag: \"1\"", content: "renewed") : .response(304, content: "")
            }
            let answer = try await scene.get("/a")
            #expect(answer.text == "renewed")
            #expect(answer["Cache-Status"]?.contains("other-partition") == true)
        }
    }

    @Test(arguments: [("GET", 200), ("DELETE", 401)])
    func `a write that began as one user's is not made as another's`(_ method: String, _ status: Int) async throws {
        try await run { (scene) async throws in
            scene.origin.answer { $0.target == "/token" ? nil : Self.script($0) }
            let client = try await scene.client()
            try await client.send("\(method) \(scene.url("/a")) HTTP/1.1", "Host: x")
            let refresh = try await scene.origin.request()
            try await VariableScenarios.set(scene, "bob's")
            try await refresh.reply(content: "{\"access_token\":\"anna's\"}")
            #expect(try await client.response().status == status)
        }
    }

    @Test(arguments: [false, true])
    func `two services that renew one variable ask once`(isSecondOther: Bool) async throws {
        try await run { (scene) async throws in
            try await scene.reload { settings in
                let refresh = settings.services[0].configure[0].decorate.refresh
                settings.services[1].configure[0].decorate.refresh = refresh
                guard isSecondOther, var rule = refresh?.value else { return }
                // Each has a token of its own; the one for refreshes is for both.
                settings.variables.append(VariableScenarios.variable("second", nil))
                settings.variables.append(VariableScenarios.variable("once", nil))
                guard let pointer = JSONPointer("/once") else { return }
                rule.store.append(RefreshTarget(variable: "once", pointer: pointer))
                settings.services[0].configure[0].decorate.refresh = .set(rule)
                rule.store[0].variable = "second"
                rule.url = RefreshURL(scene.origin.url("/token")) ?? rule.url
                settings.services[1].configure[0].decorate.refresh = .set(rule)
                settings.services[1].configure[0].headers = [VariableScenarios.bearer("second")]
            }
            scene.origin.answer { $0.target == "/token" ? nil : Self.script($0) }
            let (one, two) = (try await scene.client("one"), try await scene.client("two"))
            try await one.get(scene.url("/a"))
            let first = try await scene.origin.request()
            try await two.get(scene.url("/other/b"))
            try await eventually("it was refused") { scene.origin.count(of: "/other/b") == 1 }
            try await first.reply(content: "{\"access_token\":\"first\",\"once\":\"1\"}")
            #expect(try await one.response().text == "Bearer first")
            if isSecondOther {
                let second = try await scene.origin.request()
                try await second.reply(content: "{\"access_token\":\"second\",\"once\":\"2\"}")
            }
            #expect(try await two.response().text == (isSecondOther ? "Bearer second" : "Bearer first"))
            #expect(scene.origin.count(of: "/token") == (isSecondOther ? 2 : 1))
        }
    }

    @Test func `two refreshes of one service at the same time bring both`() async throws {
        try await run { (scene) async throws in
            try await scene.reload { settings in
                settings.variables.append(VariableScenarios.variable("second", nil))
                var block = settings.services[0].configure[0]
                block.pattern.match = "/second/**"
                block.headers = [VariableScenarios.bearer("second")]
                guard var rule = block.decorate.refresh?.value else { return }
                rule.store[0].variable = "second"
                block.decorate.refresh = .set(rule)
                settings.services[0].configure.append(block)
            }
            scene.origin.answer { $0.target == "/token" ? nil : Self.script($0) }
            let (one, two) = (try await scene.client("one"), try await scene.client("two"))
            try await one.get(scene.url("/a"))
            let first = try await scene.origin.request()
            try await two.get(scene.url("/second/a"))
            let second = try await scene.origin.request()
            try await first.reply(content: "{\"access_token\":\"first\"}")
            #expect(try await one.response().text == "Bearer first")
            try await second.reply(content: "{\"access_token\":\"second\"}")
            #expect(try await two.response().text == "Bearer second")
        }
    }

    @Test func `where users are apart, what came before a refresh goes with whoever has it renewed`() async throws {
        try await run(privacy: .partitioned) { (scene) async throws in
            try await VariableScenarios.set(scene, "given")
            #expect(try await scene.getStored("/a").text == "Bearer given")
            try await become("bob", scene)
            scene.origin.answer { _ in .response(403, content: "not for bob") }
            #expect(try await scene.get("/a").text == "not for bob")
        }
    }

    @Test func `a refusal of a former user's password holds nobody up`() async throws {
        try await run { (scene) async throws in
            scene.origin.answer { $0.target == "/token" ? .response(403, content: "no") : Self.script($0) }
            #expect(try await scene.get("/a").status == 401)
            try await become("bob", scene)
            scene.origin.answer(Self.script)
            #expect(try await scene.get("/b").text == "Bearer renewed")
        }
    }

    @Test func `a refresh sends what was renewed meanwhile for the same user`() async throws {
        try await runChain { (scene) async throws in
            #expect(try await scene.get("/login/a").text == "Bearer renewed")
            scene.origin.answer { $0.target == "/a" ? nil : Self.script($0) }
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let refused = try await scene.origin.request()
            // The refresh token is used up, and renewed.
            scene.advance(.seconds(2))
            scene.origin.answer { head in
                if head.target == "/token" { return .ok(content: "{\"access_token\":\"again\"}") }
                return head["Authorization"] == "Bearer again"
                    ? .ok(VariableScenarios.fresh, content: "again") : .response(401, content: "no")
            }
            #expect(try await scene.get("/login/b").text == "again")
            scene.origin.answer { $0.target == "/token" ? nil : Self.script($0) }
            try await refused.reply(401, content: "no")
            let refresh = try await scene.origin.request()
            #expect(try await refresh.content().text == "{\"refresh\":\"again\"}")
            try await refresh.reply(content: "{\"access_token\":\"renewed\"}")
            #expect(try await client.response().text == "Bearer renewed")
        }
    }

    @Test func `a certificate is part of whose a renewed token is`() {
        func owner(_ certificate: String?, _ password: String) -> [UInt8] {
            var rule = RefreshRule()
            rule.json = [RefreshParameter(name: "password", value: Secret([.variable("password")]))]
            if let pointer = JSONPointer("/token") { rule.store = [RefreshTarget(variable: "token", pointer: pointer)] }
            var block = ConfigureBlock()
            block.decorate.refresh = .set(rule)
            var service = ServiceSettings()
            service.configure = [block]
            let values = VariableValues(["password": .init(password)])
            return values.renewed(by: service.renewals(certificate: certificate)).owner(of: ["token"])
        }
        #expect(owner("anna's", "hush") == owner("anna's", "hush"))
        #expect(owner("anna's", "hush") != owner("bob's", "hush"))
        #expect(owner("anna's", "hush") != owner(nil, "hush"))
        #expect(owner("anna's", "hush") != owner("anna's", "shush"))
    }

    @Test func `an origin that refuses what it gave is not asked for more at once`() async throws {
        try await run { (scene) async throws in
            scene.origin.answer { head in
                head.target == "/token"
                    ? .ok(content: "{\"access_token\":\"renewed\"}") : .response(401, content: "no")
            }
            for _ in 0..<5 { #expect(try await scene.get("/a").status == 401) }
            #expect(scene.origin.count(of: "/token") == 1)
            scene.advance(.seconds(2))
            _ = try await scene.get("/a")
            #expect(scene.origin.count(of: "/token") == 2)
        }
    }

    @Test func `a refresh that does not end is given up`() async throws {
        try await run { (scene) async throws in
            scene.origin.answer { $0.target == "/token" ? nil : Self.script($0) }
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let refresh = try await scene.origin.request()
            try await refresh.wire.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
            for _ in 0..<31 {
                // It may have been given up before the last of them.
                try? await refresh.wire.write(" ")
                scene.advance(.seconds(1))
            }
            #expect(try await client.response().status == 401)
            #expect(scene.log.values.contains { $0.contains("not there after 30") })
        }
    }

    @Test(arguments: [nil, "junk"] as [String?])
    func `without the marks nobody knows whose what is for everybody was`(_ file: String?) async throws {
        try await VariableScenarios.run(onDisk: true, service: { $0.privacy = .private }) { (scene) async throws in
            scene.origin.answer(VariableScenarios.echo)
            #expect(try await scene.get("/a").text == "Bearer one")
            try await scene.restart { directory in
                let name = try #require(directory.files.first { $0.hasSuffix("credentials") })
                let path = URL(fileURLWithPath: directory.path + "/" + name)
                try FileManager.default.removeItem(at: path)
                if let file { try Data(file.utf8).write(to: path) }
                scene.change { settings in
                    settings.services[0].privacy = .shared
                    settings.services[0].configure = []
                }
            }
            #expect(try await scene.get("/a").text == "nobody")
            try await eventually("the file is back") {
                scene.proxy.diskTier?.store.contents(ofFile: "credentials", limit: 1_000) != nil
            }
            try await scene.restart()
            #expect(try await scene.getStored("/a").text == "nobody")
        }
    }

    @Test func `a start without services has nothing to say about their credentials at the next one`() async throws {
        try await Scenario.run(onDisk: true, { settings, _ in settings.services = [] }) { (scene) async throws in
            try await scene.restart()
            #expect(!scene.log.values.contains { $0.contains("what is stored for services is forgotten") })
        }
    }

    @Test func `a service that was away when the marks were lost begins empty`() async throws {
        try await VariableScenarios.run(onDisk: true, service: { $0.privacy = .private }) { (scene) async throws in
            scene.origin.answer(VariableScenarios.echo)
            #expect(try await scene.get("/a").text == "Bearer one")
            let services = scene.proxy.configuration.settings.services
            try await scene.restart { directory in
                let name = try #require(directory.files.first { $0.hasSuffix("credentials") })
                try FileManager.default.removeItem(atPath: directory.path + "/" + name)
                scene.change { $0.services = [] }
            }
            try await eventually("the file is back") {
                scene.proxy.diskTier?.store.contents(ofFile: "credentials", limit: 1_000) != nil
            }
            try await scene.restart { _ in
                scene.change { settings in
                    settings.services = services
                    settings.services[0].privacy = .shared
                    settings.services[0].configure = []
                }
            }
            #expect(try await scene.get("/a").text == "nobody")
        }
    }
}
