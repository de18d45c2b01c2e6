// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings
import LarderTesting
import Testing

/// Superseded responses: what is kept of them, who may see them, and that clients never do.
@Suite("Scenarios: history")
struct HistoryScenarios {
    static let fresh = "Cache-Control: max-age=60"

    /// The content of each version, the latest first, `*` what is current, with the seconds between which it was seen.
    private func versions(_ scene: Scenario, _ path: String, _ more: String = "") async throws -> [String] {
        let answer = try await scene.own("/-/versions?url=\(scene.url(path))\(more)")
        guard answer.status == 200 else { return ["status \(answer.status)"] }
        let json = try JSONValue(parsing: Array(answer.text.utf8))
        var lines: [String] = []
        for version in json["versions"]?.array ?? [] {
            let number = version["version"]?.int ?? 0
            let content = try await scene.own("/-/content?url=\(scene.url(path))&version=\(number)\(more)")
            lines.append((version["isCurrent"]?.bool == true ? "*" : "") + content.text)
        }
        return lines
    }

    private func run(
        _ configure: (inout ServiceSettings) -> Void = { _ in }, _ body: (Scenario) async throws -> Void
    ) async throws {
        try await Scenario.run(onDisk: true) { settings, origin in
            settings.admin.token = Secret("token")
            settings.add("api", at: origin.url("/")) {
                $0.history = 2
                configure(&$0)
            }
        } _: {
            try await body($0)
        }
    }

    @Test func `what was superseded is kept, equal content is seen longer, clients get none of it`() async throws {
        try await run { (scene) async throws in
            let content = Lock("1")
            scene.origin.answer { request in
                let now = content.withLock { $0 }
                return request["If-None-Match"] == "\"\(now)\""
                    ? .response(304, Self.fresh) : .ok(Self.fresh, "ETag: \"\(now)\"", content: now)
            }
            for now in ["1", "1", "2", "3", "3", "4"] {
                content.withLock { $0 = now }
                #expect(try await scene.get("/a").text == now)
                scene.advance(.seconds(100))
            }
            #expect(try await versions(scene, "/a") == ["*4", "3", "2"])
            try await scene.restart()
            #expect(try await versions(scene, "/a") == ["*4", "3", "2"])
            let answer = try await scene.own("/-/versions?url=\(scene.url("/a"))")
            let json = try JSONValue(parsing: Array(answer.text.utf8))
            let (old, new) = (json["versions"]?[1], json["versions"]?[0])
            #expect(new?["age"]?.int == 100)
            #expect(old?["age"]?.int == 200)
            #expect(old?["firstSeen"] != old?["lastSeen"])
            #expect(new?["firstSeen"] == new?["lastSeen"])
            #expect(new?["eTag"]?.string == "\"4\"")
            #expect(json["history"]?.int == 2)
            for query in ["url=\(scene.url("/a"))", "match=**", "match=**&sort=size"] {
                let resources = try await scene.ask("/-/resources?\(query)")
                #expect((resources["resources"]?[0] ?? resources)["versions"]?.int == 3, "\(query)")
            }
            let effects = try await scene.ask("/-/explain?url=\(scene.url("/a"))")["effects"]?.array ?? []
            #expect(effects.contains { $0["name"]?.string == "history" && $0["value"]?.string == "2" })
            // An origin that is out of reach has the latest served, whatever there was before.
            scene.origin.answer { _ in .response(503) }
            #expect(try await scene.get("/a").text == "4")
            #expect(try await scene.get("/a", "If-None-Match: \"3\"").text == "4")
        }
    }

    @Test(arguments: [ServicePrivacy.shared, .partitioned, .private])
    func `a write leaves what was there as a version, a wipe leaves nothing`(privacy: ServicePrivacy) async throws {
        try await run {
            $0.privacy = privacy
        } _: { (scene) async throws in
            let content = Lock("old")
            scene.origin.answer { request in
                if request.method == "PUT" {
                    content.withLock { $0 = "new" }
                    return .response(204)
                }
                return .ok(Self.fresh, content: content.withLock { $0 })
            }
            #expect(try await scene.get("/a").text == "old")
            let client = try await scene.client()
            try await client.send(
                "PUT \(scene.url("/a")) HTTP/1.1", "Host: \(scene.origin.authority)", "Content-Length: 0")
            #expect(try await client.response().status == 204)
            #expect(try await versions(scene, "/a") == ["old"])
            #expect(try await scene.own("/-/resources?url=\(scene.url("/a"))").status == 404)
            #expect(try await scene.get("/a", "Cache-Control: only-if-cached").status == 504)
            #expect(try await scene.get("/a").text == "new")
            #expect(try await versions(scene, "/a") == ["*new", "old"])
            #expect(try await scene.own("/-/resource/wipe?url=\(scene.url("/a"))", "POST").status == 200)
            #expect(try await versions(scene, "/a") == [])
            #expect(try await scene.get("/a").text == "new")
            #expect(try await versions(scene, "/a") == ["*new"])
        }
    }

    @Test(arguments: ["/-/wipe?match=**", "/-/wipe?group=red"])
    func `wipes of many reach what is a version alone`(path: String) async throws {
        try await run { (scene) async throws in
            let count = Lock(0)
            scene.origin.answer { _ in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                return .ok("Cache-Control: max-age=1", "Cache-Groups: \"red\"", content: "\(number)")
            }
            for _ in 0..<3 {
                _ = try await scene.get("/a")
                scene.advance(.seconds(2))
            }
            #expect(try await versions(scene, "/a") == ["*3", "2", "1"])
            #expect(try await scene.own(path, "POST").status == 200)
            #expect(try await versions(scene, "/a") == [])
            try await scene.restart()
            #expect(try await versions(scene, "/a") == [])
        }
    }

    @Test func `what clients no longer get is for those who may make changes`() async throws {
        try await run { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, "Location: https://u:p@host/?token=t", content: "1") }
            _ = try await scene.get("/a")
            let pages = ["/-/versions?url=", "/-/content?url="].map { $0 + scene.url("/a") }
            #expect(try await scene.own(pages[0]).text.contains("https://host/?token=REDACTED"))
            for page in pages { #expect(try await scene.own(page, token: nil).status == 200) }
            try await scene.reload { $0.services[0].configure { $0.decorate.deny = .set(DenyRule()) } }
            for page in pages {
                #expect(try await scene.own(page, token: nil).status == 403)
                #expect(try await scene.own(page).status == 200)
            }
        }
    }

    @Test func `versions that a credential selects are for who has it, or may make changes`() async throws {
        try await run { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, "Vary: Cookie", content: "anna") }
            _ = try await scene.get("/a", "Cookie: sid=1")
            let page = "/-/versions?url=\(scene.url("/a"))"
            func count(_ field: String) async throws -> Int? {
                let answer = try await scene.own(page + field, token: nil)
                return try JSONValue(parsing: Array(answer.text.utf8))["versions"]?.array?.count
            }
            #expect(try await count("") == 0)
            #expect(try await count("&header=Cookie:sid=2") == 0)
            #expect(try await count("&header=Cookie:sid=1") == 1)
            #expect(try await versions(scene, "/a") == ["*anna"])
        }
    }

    @Test func `users have versions of their own, which only they may name`() async throws {
        try await run {
            $0.privacy = .partitioned
            $0.identity = [.field("X-User")]
        } _: { (scene) async throws in
            let round = Lock(1)
            scene.origin.answer { request in
                .ok(
                    "Cache-Control: private, max-age=60",
                    content: (request["X-User"] ?? "nobody") + "\(round.withLock { $0 })")
            }
            for _ in 0..<2 {
                for user in ["anna", "ben"] { _ = try await scene.get("/a", "X-User: \(user)") }
                scene.advance(.seconds(100))
                round.withLock { $0 += 1 }
            }
            #expect(try await versions(scene, "/a") == [])
            #expect(try await versions(scene, "/a", "&header=X-User:anna") == ["*anna2", "anna1"])
            #expect(try await versions(scene, "/a", "&header=X-User:ben") == ["*ben2", "ben1"])
            #expect(try await versions(scene, "/a", "&header=X-User:cy") == [])
            // Numbers of another's versions lead nowhere.
            let answer = try await scene.own("/-/versions?url=\(scene.url("/a"))&header=X-User:anna")
            let number = try JSONValue(parsing: Array(answer.text.utf8))["versions"]?[1]?["version"]?.int ?? 0
            for user in ["", "&header=X-User:ben"] {
                let content = try await scene.own("/-/content?url=\(scene.url("/a"))&version=\(number)\(user)")
                #expect(content.status == 404)
            }
            // What is stored now is told to the same alone.
            let page = "/-/content?url=\(scene.url("/a"))"
            for user in ["anna", "ben"] {
                #expect(try await scene.own("\(page)&header=X-User:\(user)").text == "\(user)2")
            }
            for user in ["", "&header=X-User:cy"] { #expect(try await scene.own(page + user).status == 404) }
            #expect(try await scene.own("/-/resource/wipe?url=\(scene.url("/a"))", "POST").status == 200)
            for user in ["anna", "ben"] { #expect(try await versions(scene, "/a", "&header=X-User:\(user)") == []) }
        }
    }

    @Test func `what may not be stored is no version`() async throws {
        try await run { (scene) async throws in
            let answers = [
                "no-store", "max-age=1", "no-store, max-age=1", "private, max-age=1", "max-age=1",
            ]
            let next = Lock(0)
            scene.origin.answer { _ in
                let number = next.withLock { next in
                    next += 1
                    return next - 1
                }
                return number < answers.count
                    ? .ok("Cache-Control: \(answers[number])", content: "\(number)")
                    : .response(404, "Cache-Control: max-age=1")
            }
            for _ in 0...answers.count {
                _ = try await scene.get("/a")
                scene.advance(.seconds(2))
            }
            let known = try await versions(scene, "/a")
            #expect(known.filter { ["0", "2", "3"].contains($0) }.isEmpty)
            #expect(known.dropFirst() == ["4", "1"])
        }
    }

    @Test func `without a history there is advice, and transformed content is for operators`() async throws {
        try await run { service in
            var block = ConfigureBlock()
            block.pattern.match = "/none/**"
            block.history = 0
            service.configure = [block]
            service.standardTransformers = [.json]
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, "Content-Type: application/json", content: "{\"a\": 1}") }
            _ = try await scene.get("/a")
            let refused = try await scene.own("/-/versions?url=\(scene.url("/none/a"))")
            #expect(refused.status == 409)
            #expect(refused.text.contains("Add `history: 5` below `services.api:`"))
            let elsewhere = try await scene.own("/-/versions?url=http://elsewhere.example/a")
            #expect(elsewhere.status == 409)
            #expect(elsewhere.text.contains("baseURL: http://elsewhere.example"))
            let path = "/-/versions?url=\(scene.url("/a"))"
            let shown = try JSONValue(parsing: Array(try await scene.own(path).text.utf8))["versions"]?[0]
            let number = shown?["version"]?.int ?? 0
            #expect(shown?["fields"] != nil)
            let content = "/-/content?url=\(scene.url("/a"))&version=\(number)"
            #expect(try await scene.own(content).text == "{\"a\": 1}")
            #expect(try await scene.own(content, token: nil).status == 403)
            let open = try JSONValue(parsing: Array(try await scene.own(path, token: nil).text.utf8))["versions"]?[0]
            #expect(open?["fields"] == nil)
            #expect(try await scene.own("/-/content?url=\(scene.url("/a"))&version=0").status == 400)
            #expect(try await scene.own("/-/content?url=\(scene.url("/a"))&version=a").status == 400)
            #expect(try await scene.own("/-/content?url=\(scene.url("/a"))&version=\(number + 1)").status == 404)
        }
    }
}

extension Scenario {
    /// A request to Larder itself.
    fileprivate func own(
        _ path: String, _ method: String = "GET", token: String? = "token"
    ) async throws -> WireMessage {
        let client = try await client("the operator")
        let fields = token.map { ["Authorization: Bearer \($0)"] } ?? []
        let length = method == "GET" ? [] : ["Content-Length: 0"]
        let lines = ["\(method) \(path) HTTP/1.1", "Host: localhost"] + fields + length
        try await client.write(lines.map { $0 + "\r\n" }.joined() + "\r\n")
        let answer = try await client.response()
        await client.close()
        return answer
    }
}
