// SPDX-License-Identifier: Apache-2.0
import Foundation
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings
import LarderTesting
import Testing

@testable import LarderProxy

/// Users who are told apart, those who are nobody in particular, and what each may get of the others.
@Suite("Scenarios: who is who")
struct IdentityScenarios {
    struct Kind: Sendable, CustomTestStringConvertible {
        var name: String
        /// Nil for what holds where nothing is named.
        var identity: [Identity.Part]?
        var anna: [String]
        var ben: [String]
        var testDescription: String { name }
    }

    static let kinds = [
        Kind(
            name: "Authorization, by default", anna: ["Authorization: Bearer anna"], ben: ["Authorization: Bearer ben"]),
        Kind(name: "Cookie, by default", anna: ["Cookie: session=anna"], ben: ["Cookie: session=ben"]),
        Kind(name: "X-Api-Key, by default", anna: ["X-Api-Key: anna"], ben: ["X-Api-Key: ben"]),
        Kind(
            name: "one password for two cookies, by default", anna: ["Authorization: Basic x", "Cookie: s=anna"],
            ben: ["Authorization: Basic x", "Cookie: s=ben"]),
        Kind(
            name: "Authorization", identity: [.field(.authorization)], anna: ["Authorization: Bearer anna"],
            ben: ["Authorization: Bearer ben"]),
        Kind(
            name: "X-Api-Key", identity: [.field("X-Api-Key")], anna: ["X-Api-Key: anna"], ben: ["X-Api-Key: ben"]),
        Kind(
            name: "cookie", identity: [.cookie("session")], anna: ["Cookie: a=1; session=anna"],
            ben: ["Cookie: session=ben; a=1"]),
        Kind(
            name: "any of three", identity: [.field(.authorization), .field("X-Api-Key"), .cookie("session")],
            anna: ["Cookie: session=x", "X-Api-Key: anna"], ben: ["Cookie: session=x", "X-Api-Key: ben"]),
    ]

    /// The origin says for whom it made what it sends: for all credentials there were.
    static func answer(_ directives: String) -> ScriptedOrigin.Script {
        { request in
            let user = ["Authorization", "Cookie", "X-Api-Key"].compactMap { request[$0] }.joined(separator: "+")
            return .ok(
                "Cache-Control: \(directives)", "ETag: \"1\"", "Set-Cookie: id=\(user.isEmpty ? "new" : "old")",
                content: user.isEmpty ? "nobody" : user)
        }
    }

    @Test(arguments: kinds, [false, true]) func `two users never get what the other has, and each gets it again`(
        kind: Kind, onDisk: Bool
    ) async throws {
        try await Scenario.run(onDisk: onDisk) {
            $0.add("api", at: $1.url("/")) {
                $0.privacy = .partitioned
                $0.identity = kind.identity
            }
        } _: { (scene) async throws in
            scene.origin.answer(Self.answer("private, max-age=600"))
            let expected = [kind.anna, kind.ben].map { lines in
                ["Authorization", "Cookie", "X-Api-Key"].compactMap { name in
                    lines.first { $0.hasPrefix(name) }.map { String($0.dropFirst(name.count + 2)) }
                }.joined(separator: "+")
            }
            for round in 0..<2 {
                for (index, lines) in [kind.anna, kind.ben].enumerated() {
                    let answer = try await scene.get("/a", lines)
                    #expect(answer.text == expected[index])
                    #expect((answer["Cache-Status"]?.hasPrefix("Larder; hit") == true) == (round == 1))
                }
                // A client that is nobody in particular gets the answer for nobody, which is private and not kept.
                let stranger = try await scene.get("/a")
                #expect(stranger.text == "nobody" && stranger["Set-Cookie"] == "id=new")
                #expect(stranger["Cache-Status"]?.contains("fwd=uri-miss") == true)
                if onDisk { try await scene.restart() }
            }
        }
    }

    @Test func `clients are told apart by their addresses where that is said`() async throws {
        try await Scenario.run { settings, origin in
            settings.access.allow = (try? [AddressRange.read("192.0.2.0/24").get()]) ?? []
            settings.add("api", at: origin.url("/")) {
                $0.privacy = .partitioned
                $0.identity = [.client]
            }

        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: private, max-age=600", content: "apples") }
            for round in 0..<3 {
                for host in ["192.0.2.1", "192.0.2.2", "127.0.0.1"] {
                    guard let peer = SocketAddress(host: host, port: 40_000) else { continue }
                    let client = try await scene.client(from: peer)
                    try await client.get(scene.url("/a"))
                    let status = try await client.response()["Cache-Status"]
                    #expect((status?.hasPrefix("Larder; hit") == true) == (round > 0), "\(host) \(round)")
                }
            }
            // Credentials may come from behind one address for several users.
            for user in ["anna", "ben"] {
                scene.origin.answer { .ok("Cache-Control: max-age=600", content: $0["Authorization"] ?? "") }
                #expect(try await scene.get("/b", "Authorization: \(user)").text == user)
            }
        }
    }

    @Test func `who has no identity is treated by the rules of a shared cache`() async throws {
        try await Scenario.run {
            $0.add("api", at: $1.url("/")) {
                $0.privacy = .partitioned
                $0.identity = [.field(.authorization)]
            }
        } _: { (scene) async throws in
            for (path, directives, isShared) in [
                ("/private", "private, max-age=600", false), ("/lifetime", "max-age=600", false),
                ("/nothing", "x", false), ("/public", "public, max-age=600", true), ("/s-maxage", "s-maxage=600", true),
            ] {
                scene.origin.answer(Self.answer(directives))
                let first = try await scene.get(path, "Cookie: session=anna")
                #expect(first.text == "session=anna" && first["Set-Cookie"] != nil)
                let second = try await scene.get(path, "Cookie: session=ben")
                #expect(second.text == (isShared ? "session=anna" : "session=ben"), "\(directives)")
                #expect((second["Set-Cookie"] == nil) == isShared)
                // Nor is it what somebody has who is recognised and brings such a cookie.
                let lines = ["Authorization: Bearer x", "Cookie: session=carl"]
                let third = try await scene.get(path + "x", lines)
                #expect(third.text == "Bearer x+session=carl" && third["Set-Cookie"] != nil)
                let fourth = try await scene.get(path + "x", "Authorization: Bearer x")
                // A cache of one user does not heed `s-maxage` (RFC 9111 §5.2.2.10).
                let isKept = isShared && path != "/s-maxage"
                #expect(fourth.text == (isKept ? "Bearer x+session=carl" : "Bearer x"), "\(directives)")
                #expect((fourth["Set-Cookie"] == nil) == isKept)
            }
        }
    }

    @Test func `what nobody in particular gets is shared, without cookies`() async throws {
        try await Scenario.run {
            $0.add("api", at: $1.url("/")) { $0.privacy = .partitioned }
        } _: { (scene) async throws in
            scene.origin.answer(Self.answer("max-age=600"))
            #expect(try await scene.get("/login")["Set-Cookie"] == "id=new")
            let second = try await scene.get("/login")
            #expect(second["Cache-Status"]?.hasPrefix("Larder; hit") == true && second["Set-Cookie"] == nil)
        }
    }

    @Test func `credentials of the service make nobody somebody`() async throws {
        try await VariableScenarios.run(service: { $0.privacy = .partitioned }) { (scene) async throws in
            scene.origin.answer(Self.answer("max-age=600"))
            #expect(try await scene.get("/a")["Set-Cookie"] == "id=old")
            let second = try await scene.get("/a")
            #expect(second["Cache-Status"]?.hasPrefix("Larder; hit") == true && second["Set-Cookie"] == nil)
            scene.origin.answer(Self.answer("private, max-age=600"))
            for _ in 0..<2 { #expect(try await scene.get("/b")["Set-Cookie"] == "id=old") }
        }
    }

    @Test func `a field that the configuration removes is nobody's credential`() async throws {
        try await Scenario.run {
            $0.add("api", at: $1.url("/")) {
                $0.privacy = .partitioned
                $0.identity = [.field(.authorization)]
                $0.configure { $0.headers = [HeaderEdit(name: .cookie, value: nil)] }
            }
        } _: { (scene) async throws in
            scene.origin.answer(Self.answer("private, max-age=600"))
            for cookie in ["a", "b"] {
                #expect(try await scene.get("/a", "Authorization: x", "Cookie: \(cookie)").text == "x")
            }
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `a service that had one user and has several shows none what is private`() async throws {
        try await Scenario.run(onDisk: true) {
            $0.add("api", at: $1.url("/")) { $0.privacy = .private }
        } _: { (scene) async throws in
            scene.origin.answer(Self.answer("private, max-age=600"))
            for path in ["/a", "/b"] { _ = try await scene.get(path) }
            for privacy in [ServicePrivacy.shared, .partitioned] {
                try await scene.reload { $0.services[0].privacy = privacy }
                scene.origin.answer { _ in .ok("Cache-Control: no-store", content: "new") }
                #expect(try await scene.get("/a").text == "new")
                try await scene.restart()
                #expect(try await scene.get("/b").text == "new")
            }
        }
    }

    @Test func `users and strangers in any order never get what was made for another`() async throws {
        let count = Int(ProcessInfo.processInfo.environment["LARDER_REQUESTS"] ?? "") ?? 1_500
        try await IdentityGame(seed: UInt64.random(in: .min ... .max), count: count).run()
    }
}
