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

/// What is stored goes with the credentials that it was fetched with.
@Suite("Scenarios: a service's own credentials")
struct CredentialScenarios {
    @Test(arguments: [false, true])
    func `HT-03 what another token got is gone where there is one user: at once, and after a restart`(
        isLiteral: Bool
    ) async throws {
        func become(_ user: String, _ scene: Scenario) async throws {
            guard isLiteral else { return try await VariableScenarios.set(scene, user) }
            try await scene.reload { settings in
                settings.services[0].configure[0].headers = [
                    HeaderEdit(name: .authorization, value: Secret("Bearer \(user)"))
                ]
            }
        }
        try await VariableScenarios.run(onDisk: true, service: { $0.privacy = .private }) { (scene) async throws in
            scene.origin.answer(VariableScenarios.echo)
            try await become("anna", scene)
            let anna = try await scene.get("/a")
            #expect(anna.text == "Bearer anna")
            // The same credentials as before are the same user's.
            try await scene.reload { $0.timeouts.idle = .seconds(80) }
            #expect(try await scene.get("/a")["Cache-Status"] == "Larder; hit; ttl=600")
            try await become("bob", scene)
            #expect(try await scene.get("/a").text == "Bearer bob")
            if isLiteral {
                try await scene.restart()
                #expect(try await scene.get("/a")["Cache-Status"] == "Larder; hit; ttl=600")
                try await scene.restart { _ in
                    scene.change { settings in
                        settings.services[0].configure[0].headers = [
                            HeaderEdit(name: .authorization, value: Secret("Bearer carl"))
                        ]
                    }
                }
                #expect(try await scene.get("/a").text == "Bearer carl")
            }
        }
    }

    @Test func `what was asked for with another user's token does not land where there is one user`() async throws {
        try await VariableScenarios.run(service: { $0.privacy = .private }) { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let old = try await scene.origin.request()
            try await VariableScenarios.set(scene, "two")
            try await old.reply(VariableScenarios.fresh, content: "of one")
            #expect(try await client.response().text == "of one")
            scene.origin.answer(VariableScenarios.echo)
            #expect(try await scene.get("/a").text == "Bearer two")
        }
    }

    @Test func `nobody waits for what was asked for with another user's token`() async throws {
        try await VariableScenarios.run(service: { $0.privacy = .private }) { (scene) async throws in
            let first = try await scene.client()
            try await first.get(scene.url("/a"))
            let old = try await scene.origin.request()
            try await VariableScenarios.set(scene, "two")
            let second = try await scene.client()
            try await second.get(scene.url("/a"))
            let new = try await scene.origin.request()
            #expect(new["Authorization"] == "Bearer two")
            try await old.reply(VariableScenarios.fresh, content: "of one")
            try await new.reply(VariableScenarios.fresh, content: "of two")
            #expect(try await first.response().text == "of one")
            #expect(try await second.response().text == "of two")
            #expect(try await scene.getStored("/a").text == "of two")
        }
    }

    /// The origin refuses the first token at `/b`.
    private static let refusing: ScriptedOrigin.Script = { request in
        switch (request.target, request["Authorization"]) {
        case ("/token", _): .ok("Content-Type: application/json", content: #"{"access_token":"renewed"}"#)
        case ("/b", "Bearer one"): .response(401, content: "no")
        default: VariableScenarios.echo(request)
        }
    }

    @Test func `a renewed token is the same user's, and one that is set is not`() async throws {
        try await VariableScenarios.run(service: { $0.privacy = .private }, block: VariableScenarios.refresh) {
            (scene) async throws in
            scene.origin.answer(Self.refusing)
            #expect(try await scene.get("/a").text == "Bearer one")
            #expect(try await scene.get("/b").text == "Bearer renewed")
            #expect(try await scene.getStored("/a").text == "Bearer one")
            try await scene.reload { $0.timeouts.idle = .seconds(80) }
            #expect(try await scene.getStored("/a").text == "Bearer one")
            try await VariableScenarios.set(scene, "renewed")
            #expect(try await scene.get("/a").text == "Bearer renewed")
            try await scene.reload { $0.variables[0].initial = Secret("three") }
            #expect(try await scene.get("/a").text == "Bearer three")
        }
    }

    @Test func `a token that only refreshes have given a value is one user's`() async throws {
        let tokens = Lock(0)
        try await VariableScenarios.run(
            onDisk: true, token: nil, service: { $0.privacy = .private }, block: VariableScenarios.refresh
        ) { (scene) async throws in
            scene.origin.answer { request in
                switch (request.target, request["Authorization"]) {
                case ("/token", _):
                    .ok(
                        "Content-Type: application/json",
                        content: #"{"access_token":"\#(tokens.withLock { $0 += 1; return $0 })"}"#)
                case (_, nil), ("/b", "Bearer 1"): .response(401, content: "no")
                default: VariableScenarios.echo(request)
                }
            }
            #expect(try await scene.get("/a").text == "Bearer 1")
            #expect(try await scene.getStored("/a").text == "Bearer 1")
            scene.advance(.seconds(1))
            #expect(try await scene.get("/b").text == "Bearer 2")
            #expect(try await scene.getStored("/a").text == "Bearer 1")
            try await scene.restart()
            #expect(try await scene.getStored("/a").text == "Bearer 1")
        }
    }

    @Test func `what a former user wrote is not the state that the next one gets`() async throws {
        try await VariableScenarios.run(
            service: { $0.privacy = .private },
            block: {
                $0.afterWrite = .init(.override)
                $0.expirationTime = Expiration(time: .seconds(600))
            }
        ) { (scene) async throws in
            let client = try await scene.client()
            try await client.send(
                "PUT \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 6", content: "of one")
            let write = try await scene.origin.request()
            #expect(try await write.content().text == "of one")
            try await VariableScenarios.set(scene, "two")
            try await write.wire.write(OriginRequest.response(200, [], content: ""))
            write.finish()
            #expect(try await client.response().status == 200)
            scene.origin.answer(VariableScenarios.echo)
            #expect(try await scene.get("/a").text == "Bearer two")
        }
    }

    @Test(arguments: [nil, "", "junk", "cut"] as [String?])
    func `without the marks nobody knows whose the responses are, and they are gone`(_ file: String?) async throws {
        try await VariableScenarios.run(onDisk: true, service: { $0.privacy = .private }) { (scene) async throws in
            scene.origin.answer(VariableScenarios.echo)
            #expect(try await scene.getStored("/a").text == "Bearer one")
            try await scene.restart()
            #expect(try await scene.getStored("/a").text == "Bearer one")
            #expect(scene.origin.count(of: "/a") == 1)
            try await scene.restart { directory in
                let name = try #require(directory.files.first { $0.hasSuffix("credentials") })
                let path = URL(fileURLWithPath: directory.path + "/" + name)
                let whole = try Data(contentsOf: path)
                try FileManager.default.removeItem(at: path)
                if let file { try (file == "cut" ? whole.dropLast(1) : Data(file.utf8)).write(to: path) }
                scene.change { $0.variables[0].initial = Secret("two") }
            }
            #expect(try await scene.get("/a").text == "Bearer two")
        }
    }

    @Test func `a refresh of another user is another credential, and so is none`() async throws {
        try await VariableScenarios.run(service: { $0.privacy = .private }, block: VariableScenarios.refresh) {
            (scene) async throws in
            scene.origin.answer(Self.refusing)
            #expect(try await scene.get("/b").text == "Bearer renewed")
            #expect(try await scene.get("/a").text == "Bearer renewed")
            try await Self.literal(scene) { service in
                guard var rule = service.configure[0].decorate.refresh?.value else { return }
                rule.url = RefreshURL("/token?of=bob") ?? rule.url
                service.configure[0].decorate.refresh = .set(rule)
            }
            // Nor is a token that the former refresh got.
            #expect(try await scene.getStored("/a").text == "Bearer one")
            try await Self.literal(scene) { service in
                service.configure {
                    $0.pattern.match = "/a"
                    $0.headers = [HeaderEdit(name: .authorization, value: nil)]
                }
            }
            #expect(try await scene.get("/a").text == "nobody")
        }
    }

    @Test func `a token that was got with a former password is not that of the next one`() async throws {
        let password = VariableScenarios.variable("password", "flour")
        try await VariableScenarios.run(
            service: { $0.privacy = .private },
            block: { block in
                VariableScenarios.refresh(&block)
                guard var rule = block.decorate.refresh?.value else { return }
                rule.json = [RefreshParameter(name: "password", value: Secret([.variable("password")]))]
                block.decorate.refresh = .set(rule)
            }
        ) { (scene) async throws in
            scene.origin.answer(Self.refusing)
            try await scene.reload { $0.variables.append(password) }
            #expect(try await scene.get("/b").text == "Bearer renewed")
            #expect(try await scene.get("/a").text == "Bearer renewed")
            let variables = try #require(scene.proxy.configuration.variables)
            #expect(await variables.set([("password", Secret("salt"))], at: scene.proxy.now) == ["password"])
            #expect(try await scene.get("/a").text == "Bearer one")
            #expect(try await scene.get("/b").text == "Bearer renewed")
            try await scene.reload { $0.variables[1].initial = Secret("sugar") }
            #expect(try await scene.get("/a").text == "Bearer one")
        }
    }

    @Test func `a service that comes back to a former place has forgotten the former user there`() async throws {
        try await VariableScenarios.run(service: { $0.privacy = .private }) { (scene) async throws in
            scene.origin.answer(VariableScenarios.echo)
            #expect(try await scene.get("/v1/x").text == "Bearer one")
            let places = try [scene.origin.url("/v1/"), scene.origin.url("/")].map { try BaseURL.read($0).get() }
            for place in places {
                try await scene.reload { settings in
                    settings.services[0].baseURL = place
                    settings.services[0].configure[0].headers = Self.bearer("two")
                }
            }
            #expect(try await scene.get("/v1/x").text == "Bearer two")
        }
    }

    @Test func `a service at another place with another user's token begins empty`() async throws {
        try await VariableScenarios.run(onDisk: true, service: { $0.privacy = .private }) { (scene) async throws in
            scene.origin.answer(VariableScenarios.echo)
            #expect(try await scene.get("/v1/x").text == "Bearer one")
            let store = try #require(scene.proxy.diskTier?.store)
            await store.flush()
            let place = try BaseURL.read(scene.origin.url("/v1/")).get()
            try await scene.reload { settings in
                settings.services[0].baseURL = place
                settings.services[0].configure[0].headers = Self.bearer("two")
            }
            #expect(try await scene.get("/v1/x").text == "Bearer two")
        }
    }

    @Test func `a token that is set during a refresh is the one that counts`() async throws {
        try await VariableScenarios.run(service: { $0.privacy = .private }, block: VariableScenarios.refresh) {
            (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/b"))
            try await scene.origin.request().reply(401, content: "no")
            let refresh = try await scene.origin.request()
            #expect(refresh.target == "/token")
            try await VariableScenarios.set(scene, "bob")
            try await refresh.reply("Content-Type: application/json", content: #"{"access_token":"renewed"}"#)
            let again = try await scene.origin.request()
            #expect(again["Authorization"] == "Bearer bob")
            try await again.reply(VariableScenarios.fresh, content: "of bob")
            #expect(try await client.response().text == "of bob")
            #expect(scene.proxy.configuration.variables?.values["token"] == "bob")
        }
    }

    private static func literal(_ scene: Scenario, _ change: @escaping (inout ServiceSettings) -> Void) async throws {
        try await scene.reload { change(&$0.services[0]) }
    }

    private static func bearer(_ user: String) -> [HeaderEdit] {
        [HeaderEdit(name: .authorization, value: Secret("Bearer \(user)"))]
    }

    @Test func `HT-03 what one user's token got is gone once there are others, or none`() async throws {
        let privacies: [ServicePrivacy] = [.shared, .partitioned]
        for privacy in privacies {
            try await VariableScenarios.run(service: { $0.privacy = .private }) { (scene) async throws in
                scene.origin.answer(VariableScenarios.echo)
                #expect(try await scene.get("/a").text == "Bearer one")
                try await Self.literal(scene) {
                    $0.privacy = privacy
                    $0.configure[0].headers = []
                }
                #expect(try await scene.get("/a").text == "nobody")
                try await Self.literal(scene) {
                    $0.privacy = .private
                    $0.configure[0].headers = Self.bearer("two")
                }
                #expect(try await scene.get("/a").text == "Bearer two")
            }
        }
    }

    @Test func `HT-03 a token that is for other URLs now is another one's`() async throws {
        try await VariableScenarios.run(service: { $0.privacy = .private }) { (scene) async throws in
            scene.origin.answer(VariableScenarios.echo)
            #expect(try await scene.get("/a").text == "Bearer one")
            try await Self.literal(scene) { $0.configure[0].pattern.match = "/b/**" }
            #expect(try await scene.get("/a").text == "nobody")
        }
    }

    @Test func `what a killed daemon had not removed yet is removed at the next start`() async throws {
        try await VariableScenarios.run(onDisk: true, service: { $0.privacy = .private }) { (scene) async throws in
            scene.origin.answer(VariableScenarios.echo)
            #expect(try await scene.get("/a").text == "Bearer one")
            let store = try #require(scene.proxy.diskTier?.store)
            let before = try #require(store.contents(ofFile: "credentials", limit: 1_000))
            await store.flush()
            try await scene.restart { directory in
                let file = try #require(directory.files.first { $0.hasSuffix("credentials") })
                let open = String(decoding: before, as: UTF8.self).split(separator: "\n").map { line in
                    line.hasSuffix(" api") ? "?" + line.drop { $0 != " " } : String(line)
                }
                let octets = Data(open.map { $0 + "\n" }.joined().utf8)
                try octets.write(to: URL(fileURLWithPath: directory.path + "/" + file))
            }
            #expect(try await scene.get("/a")["Cache-Status"]?.contains("fwd") == true)
            try await eventually("it is noted that this is done") {
                scene.proxy.diskTier?.store.contents(ofFile: "credentials", limit: 1_000) == before
            }
        }
    }

    @Test func `CF-16 a variable that wipes does so when it changes between two starts, too`() async throws {
        try await VariableScenarios.run(onDisk: true, .wipeAll) { (scene) async throws in
            scene.origin.answer(VariableScenarios.echo)
            #expect(try await scene.get("/a").text == "Bearer one")
            try await scene.restart()
            #expect(try await scene.getStored("/a").text == "Bearer one")
            try await scene.restart { _ in scene.change { $0.variables[0].initial = Secret("two") } }
            #expect(try await scene.get("/a").text == "Bearer two")
        }
    }
}
