// SPDX-License-Identifier: Apache-2.0

import Foundation
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings
import LarderTesting
import Testing

@testable import LarderProxy

/// Clients that have to say who they are.
@Suite("Users", .timeLimit(.minutes(10)))
struct UserScenarios {
    static let fresh = "Cache-Control: max-age=600"

    static func credentials(_ name: String, _ password: String) -> String {
        "Proxy-Authorization: Basic " + Data("\(name):\(password)".utf8).base64EncodedString()
    }
    static let anna = credentials("anna", "flour")
    static let ben = credentials("ben", "salt")

    static func asking(_ settings: inout Settings, _ users: [UserTable.User] = [TestUsers.anna, TestUsers.ben]) {
        settings.access.users = "/etc/larder/users"
        settings.access.userTable = UserTable(users)
    }

    private static func run(
        _ configure: (inout Settings, ScriptedOrigin) -> Void = { _, _ in }, _ body: (Scenario) async throws -> Void
    ) async throws {
        try await Scenario.run { settings, origin in
            asking(&settings)
            configure(&settings, origin)
        } _: { (scene) async throws in
            scene.origin.answer { .ok(fresh, content: $0.target) }
            try await body(scene)
        }
    }

    // MARK: Asking

    @Test(arguments: [
        [], [credentials("anna", "salt")], [credentials("cleo", "flour")], [credentials("anna", "")],
        ["Proxy-Authorization: Bearer flour"], ["Proxy-Authorization: Basic flour!"], [anna, ben],
        ["Authorization: Basic YW5uYTpmbG91cg=="],
    ])
    func `nobody else is served, and nothing is looked up for them`(lines: [String]) async throws {
        try await Self.run { (scene) async throws in
            #expect(try await scene.get("/a", Self.anna).text == "/a")
            for path in ["/a", "/b"] {
                let refused = try await scene.get(path, lines)
                #expect(refused.status == 407)
                #expect(refused["Proxy-Authenticate"] == #"Basic realm="Larder", charset="UTF-8""#)
                #expect(refused["Cache-Control"] == "no-store" && refused["Cache-Status"] == nil)
                #expect(refused.text.contains("larder user add"))
            }
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `a user is served by every way in, and the origin is not told`() async throws {
        try await Self.run {
            $0.add("api", at: $1.url("/v1/"))
        } _: { (scene) async throws in
            let client = try await scene.client()
            let authority = scene.origin.authority
            // Refused, and served over the same connection.
            try await client.get(scene.url("/v1/a"))
            #expect(try await client.response().status == 407)
            for _ in 0..<2 {
                try await client.get(scene.url("/v1/a"), Self.anna)
                #expect(try await client.response().text == "/v1/a")
            }
            for target in ["/api/a", "/http/\(authority)/v1/a"] {
                try await client.send("GET \(target) HTTP/1.1", "Host: localhost")
                #expect(try await client.response().status == 407)
                try await client.send("GET \(target) HTTP/1.1", "Host: localhost", Self.ben)
                let answer = try await client.response()
                #expect(answer.text == "/v1/a" && answer["Cache-Status"]?.contains("hit") == true)
            }
            try await client.send(
                "POST /api/b HTTP/1.1", "Host: localhost", Self.ben, "Content-Length: 1", content: "x")
            #expect(try await client.response().status == 200)
            #expect(scene.origin.seen.count == 2)
            for request in scene.origin.seen { #expect(request["Proxy-Authorization"] == nil) }
        }
    }

    @Test func `credentials for Larder are none for the origin`() async throws {
        try await Self.run { (scene) async throws in
            // Without a lifetime a response to a request with credentials is not stored.
            scene.origin.answer { _ in .ok("Last-Modified: Sat, 01 Jan 2000 00:00:00 GMT", content: "a") }
            #expect(try await scene.get("/a", Self.anna).status == 200)
            #expect(try await scene.get("/a", Self.ben)["Cache-Status"]?.contains("hit") == true)
        }
    }

    @Test func `pages that count ask nobody, and refusals say nothing to strangers`() async throws {
        try await Self.run {
            $0.add("secretname", at: $1.url("/v1/"))
        } _: { (scene) async throws in
            let client = try await scene.client()
            for path in ["/", "/-/ready", "/-/health", "/-/status", "/-/metrics", "/-/history", "/-/assets/icon.svg"] {
                try await client.send("GET \(path) HTTP/1.1", "Host: localhost")
                #expect(try await client.response().status == 200, "\(path)")
            }
            try await client.send("GET /nothing/here HTTP/1.1", "Host: localhost")
            let refused = try await client.response()
            #expect(refused.status == 407 && !refused.text.contains("secretname"))
            try await client.send("GET /nothing/here HTTP/1.1", "Host: localhost", Self.anna)
            #expect(try await client.response().status == 404)
        }
    }

    @Test func `pages that count name no host that users visit`() async throws {
        try await Self.run {
            $0.add("api", at: $1.url("/"))
        } _: { (scene) async throws in
            try await ScriptedOrigin.run { visited in
                visited.answer { _ in .ok(content: "a") }
                let client = try await scene.client()
                for url in [scene.url("/a"), visited.url("/a")] {
                    try await client.get(url, Self.anna)
                    #expect(try await client.response().status == 200)
                }
                for page in ["status", "metrics"] {
                    try await client.send("GET /-/\(page) HTTP/1.1", "Host: localhost")
                    let text = try await client.response().text
                    #expect(text.contains(scene.url("")) && !text.contains(visited.url("")))
                }
            }
        }
    }

    @Test(arguments: [
        "content?url=URL", "requests", "resources", "explain?url=URL", "highlights", "versions?url=URL", "pins",
        "lanes", "recordings", "reload", "offline", "variables", "resolve?url=URL",
    ])
    func `pages that show what users do are for users`(page: String) async throws {
        try await Self.run { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/secret"), Self.anna)
            #expect(try await client.response().status == 200)
            let target = "GET /-/\(page.replacing("URL", with: scene.url("/secret"))) HTTP/1.1"
            func ask(_ lines: [String]) async throws -> WireMessage {
                try await client.write(([target, "Host: localhost"] + lines).map { $0 + "\r\n" }.joined() + "\r\n")
                return try await client.response()
            }
            let wrong = Self.credentials("anna", "salt")
            for lines in [[], [wrong], [wrong.replacing("Proxy-", with: "")], ["Authorization: Bearer flour"]] {
                let refused = try await ask(lines)
                #expect(refused.status == 401 && (page.contains("URL") || !refused.text.contains("/secret")))
                #expect(refused["WWW-Authenticate"] == #"Basic realm="Larder", charset="UTF-8""#)
            }
            for line in [Self.anna, Self.ben.replacing("Proxy-", with: "")] {
                let answer = try await ask([line])
                #expect(![401, 403, 407].contains(answer.status), "\(answer.status)")
            }
            // A page of another site does not make the browser ask for a password.
            #expect(try await ask(["Origin: https://example.com"]).status == 403)
            try await scene.reload { $0.admin.token = Secret("0123456789abcdef") }
            #expect(try await ask(["Authorization: Bearer 0123456789abcdef"]).status != 401)
        }
    }

    @Test func `guesses at Larder's own pages are limited as all are`() async throws {
        try await Self.run { (scene) async throws in
            let client = try await scene.client()
            for number in 0..<12 {
                let line = Self.credentials("anna", "guess\(number)").replacing("Proxy-", with: "")
                try await client.send("GET /-/requests HTTP/1.1", "Host: localhost", line)
                #expect(try await client.response().status == (number < 10 ? 401 : 429))
            }
        }
    }

    @Test func `a lane says who its clients are`() async throws {
        try await Self.run { (scene) async throws in
            let lane = scene.proxy.lanes.open(Lane.Options(), at: scene.proxy.now)
            let line = Self.credentials("lane-\(lane.token)", "x")
            #expect(try await scene.get("/a", line).text == "/a")
            #expect(scene.proxy.lanes.close(lane.id) != nil)
            #expect(try await scene.get("/a", line).status == 407)
        }
    }

    // MARK: The request cache

    @Test func `hits of users are answered at once, and to the same octets alone`() async throws {
        try await Self.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            let client = try await scene.client()
            for _ in 0..<6 {
                try await client.get(scene.url("/a"), Self.anna)
                #expect(try await client.response().text == "/a")
            }
            let before = scene.count(.answeredAtOnce)
            #expect(before > 0)
            for _ in 0..<3 {
                for line in [Self.credentials("anna", "salt"), "X: y"] {
                    try await client.get(scene.url("/a"), line)
                    #expect(try await client.response().status == 407)
                }
            }
            #expect(scene.count(.answeredAtOnce) == before)
        }
    }

    @Test(arguments: [[TestUsers.ben], [TestUsers.changedAnna, TestUsers.ben]])
    func `who is gone, or has another password, is served no more after a reload`(
        users: [UserTable.User]
    ) async throws {
        try await Self.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            let client = try await scene.client()
            func status(_ line: String) async throws -> Int {
                try await client.get(scene.url("/a"), line)
                return try await client.response().status
            }
            for line in [Self.anna, Self.ben] {
                for _ in 0..<6 { #expect(try await status(line) == 200) }
            }
            try await scene.reload { Self.asking(&$0, users) }
            let atOnce = scene.count(.answeredAtOnce)
            for _ in 0..<6 { #expect(try await status(Self.anna) == 407) }
            #expect(scene.count(.answeredAtOnce) == atOnce)
            for _ in 0..<6 { #expect(try await status(Self.ben) == 200) }
            #expect(scene.count(.answeredAtOnce) > atOnce)
        }
    }

    @Test func `what was given to anybody is not, once clients have to say who they are`() async throws {
        try await Self.run({ settings, _ in
            settings.threads = 1
            settings.access = Settings.Access()
        }) { (scene) async throws in
            let client = try await scene.client()
            for _ in 0..<6 {
                try await client.get(scene.url("/a"))
                #expect(try await client.response().text == "/a")
            }
            #expect(scene.count(.answeredAtOnce) > 0)
            try await scene.reload { Self.asking(&$0) }
            for _ in 0..<3 {
                try await client.get(scene.url("/a"))
                #expect(try await client.response().status == 407)
            }
        }
    }

    // MARK: Limits

    // MARK: Who is who

    @Test(arguments: [AccessFormat.standard, .combined, .squid])
    func `the access log names users who proved to be`(format: AccessFormat) async throws {
        try await Self.run { settings, _ in
            settings.log.access = true
            settings.log.accessFormat = format
        } _: { (scene) async throws in
            #expect(try await scene.get("/a", Self.anna).status == 200)
            #expect(try await scene.get("/a", Self.credentials("anna", "salt")).status == 407)
            // A line is written after its response.
            try await eventually("both are logged") { scene.log.values.count { $0.contains("/a") } == 2 }
            let lines = scene.log.values.filter { $0.contains("/a") }
            let (served, refused) = (try #require(lines.first), try #require(lines.last))
            switch format {
            case .standard: #expect(served.contains("anna") && !refused.contains("anna"))
            case .combined: #expect(served.contains(" - anna [") && refused.contains(" - - ["))
            case .squid: #expect(served.contains("/a anna ") && refused.contains("/a - "))
            }
            #expect(!lines.contains { $0.contains("flour") || $0.contains("YW5uYTpmbG91cg") })
        }
    }

    @Test func `the last requests name users`() async throws {
        try await Self.run { (scene) async throws in
            #expect(try await scene.get("/a", Self.anna).status == 200)
            #expect(try await scene.get("/a").status == 407)
            try await eventually("both are noted") { scene.proxy.requests.notes().count == 2 }
            #expect(Set(scene.proxy.requests.notes().map(\.user)) == ["anna", nil])
        }
    }

    @Test func `users who are told apart never get what others have, by whatever way`() async throws {
        try await Self.run { settings, origin in
            settings.threads = 1
            settings.add("api", at: origin.url("/")) {
                $0.privacy = .partitioned
                $0.identity = [.user]
            }
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: private, max-age=600", content: "\(scene.origin.seen.count)")
            }
            let client = try await scene.client()
            func get(_ lines: String...) async throws -> String {
                try await client.get(scene.url("/a"), lines)
                return try await client.response().text
            }
            let (hers, his) = (try await get(Self.anna), try await get(Self.ben))
            #expect(hers != his)
            for _ in 0..<6 {
                #expect(try await get(Self.anna) == hers)
                #expect(try await get(Self.ben) == his)
            }
            #expect(scene.origin.seen.count == 2)
            // Another spelling of the same credentials is the same user.
            #expect(try await get(Self.anna.replacing("Basic", with: "basic")) == hers)
            func explanation(_ query: String) async throws -> String {
                try await client.send(
                    "GET /-/explain?url=\(scene.url("/a"))\(query) HTTP/1.1", "Host: localhost", Self.ben)
                return try await client.response().text
            }
            #expect(try await explanation("&user=anna").contains("a digest of user"))
            #expect(try await explanation("").contains("larder explain --user NAME"))
            // A user who has her name later with another password is she.
            try await scene.reload { Self.asking(&$0, [TestUsers.changedAnna]) }
            #expect(try await get(Self.credentials("anna", "yeast")) == hers)
        }
    }
}
