// SPDX-License-Identifier: Apache-2.0

import LarderIO
import LarderSettings
import LarderTesting
import Testing

@testable import LarderProxy

/// Clients that guess passwords, and those who must not suffer by it.
@Suite("Users, and those who guess", .timeLimit(.minutes(10)))
struct UserLimitScenarios {
    private static let anna = UserScenarios.anna
    private static let ben = UserScenarios.ben

    private static func wrong(_ name: String, _ number: Int) -> String {
        UserScenarios.credentials(name, "guess\(number)")
    }

    private static func run(
        _ configure: (inout Settings, ScriptedOrigin) -> Void = { _, _ in }, _ body: (Scenario) async throws -> Void
    ) async throws {
        try await Scenario.run { settings, origin in
            settings.threads = 1
            UserScenarios.asking(&settings)
            configure(&settings, origin)
        } _: { (scene) async throws in
            scene.origin.answer { .ok(UserScenarios.fresh, content: $0.target) }
            try await body(scene)
        }
    }

    /// Uses up the attempts for a name.
    private static func useUp(_ name: String, _ scene: Scenario) async throws {
        for number in 0..<10 { #expect(try await scene.get("/a", wrong(name, number)).status == 407) }
        let refused = try await scene.get("/a", wrong(name, 10))
        #expect(refused.status == 429 && refused["Retry-After"] == "6")
    }

    @Test func `a guesser learns nothing of a user's password, and delays no other user`() async throws {
        try await Self.run { (scene) async throws in
            let hers = try await scene.client()
            func status(on client: Wire, _ line: String) async throws -> Int {
                try await client.get(scene.url("/a"), line)
                return try await client.response().status
            }
            // Her reply is among those that are given at once.
            for _ in 0..<6 { #expect(try await status(on: hers, Self.anna) == 200) }
            #expect(scene.count(.answeredAtOnce) > 0)
            #expect(try await scene.get("/a", Self.anna).status == 200)
            try await Self.useUp("anna", scene)
            // The right one is refused as a wrong one is, wherever it is known.
            let atOnce = scene.count(.answeredAtOnce)
            for _ in 0..<3 { #expect(try await scene.get("/a", Self.anna).status == 429) }
            let his = try await scene.client()
            #expect(try await status(on: his, Self.ben) == 200)
            for _ in 0..<3 { #expect(try await status(on: his, Self.anna) == 429) }
            #expect(scene.count(.answeredAtOnce) == atOnce)
            #expect(try await status(on: his, Self.ben) == 200)
            // Where she has proved herself she goes on.
            for _ in 0..<3 { #expect(try await status(on: hers, Self.anna) == 200) }
            #expect(scene.count(.answeredAtOnce) > atOnce)
            #expect(try await status(on: hers, Self.wrong("anna", 11)) == 429)
            #expect(try await status(on: hers, Self.anna) == 200)
            scene.advance(.seconds(6))
            #expect(try await scene.get("/a", Self.anna).status == 200)
            let lines = scene.log.values.filter { $0.contains("wrong name or password") }
            #expect(lines.count == 10)
            #expect(lines.allSatisfy { $0.contains("127.0.0.1") && $0.contains("anna") && !$0.contains("guess") })
        }
    }

    @Test func `a program with an old password locks nobody out`() async throws {
        try await Self.run { (scene) async throws in
            for _ in 0..<30 { #expect(try await scene.get("/a", Self.wrong("anna", 1)).status == 407) }
            #expect(scene.log.values.count { $0.contains("wrong name or password") } == 1)
            #expect(try await scene.get("/a", Self.anna).status == 200)
            // What was wrong is right with a new file.
            let old = UserScenarios.credentials("anna", "yeast")
            #expect(try await scene.get("/a", old).status == 407)
            try await scene.reload { UserScenarios.asking(&$0, [TestUsers.changedAnna, TestUsers.ben]) }
            #expect(try await scene.get("/a", old).status == 200)
            #expect(try await scene.get("/a", Self.anna).status == 407)
        }
    }

    @Test func `whoever was right is not asked again while active, nor by a reload`() async throws {
        try await Self.run { (scene) async throws in
            for line in [Self.anna, Self.ben] { #expect(try await scene.get("/a", line).status == 200) }
            for _ in 0..<10 {
                scene.advance(.seconds(2_000))
                #expect(try await scene.get("/a", Self.anna).status == 200)
            }
            // Nothing can be compared for this address: only who is remembered is served.
            for number in 0..<60 {
                #expect(try await scene.get("/a", UserScenarios.credentials("x\(number)", "")).status == 407)
            }
            #expect(try await scene.get("/a", UserScenarios.credentials("y", "")).status == 429)
            #expect(try await scene.get("/a", Self.anna).status == 200)
            #expect(try await scene.get("/a", Self.ben).status == 429)
            try await scene.reload { UserScenarios.asking(&$0, [TestUsers.anna]) }
            #expect(try await scene.get("/a", Self.anna).status == 200)
            try await scene.reload { UserScenarios.asking(&$0, [TestUsers.changedAnna]) }
            #expect(try await scene.get("/a", Self.anna).status == 429)
        }
    }

    @Test func `while nothing is compared, guesses at what is remembered are limited too`() async throws {
        try await Self.run { (scene) async throws in
            #expect(try await scene.get("/b", Self.anna).status == 200)
            for number in 0..<60 {
                #expect(try await scene.get("/b", UserScenarios.credentials("x\(number)", "")).status == 407)
            }
            for number in 0..<10 { #expect(try await scene.get("/b", Self.wrong("anna", number)).status == 429) }
            #expect(try await scene.get("/b", Self.anna).status == 429)
        }
    }

    @Test func `a client elsewhere that guesses does not keep others from being served`() async throws {
        try await Self.run({ settings, origin in
            settings.access.allow = (try? [AddressRange.read("192.0.2.0/24").get()]) ?? []
            settings.add("api", at: origin.url("/"))
        }) { (scene) async throws in
            func get(from number: UInt32, _ line: String) async throws -> Int {
                let client = try await scene.client(from: SocketAddress(ipv4: 0xC000_0200 + number, port: 1))
                try await client.get(scene.url("/a"), line)
                return try await client.response().status
            }
            for number in 0..<10 { #expect(try await get(from: 1, Self.wrong("anna", number)) == 407) }
            #expect(try await get(from: 1, Self.anna) == 429)
            #expect(try await get(from: 2, Self.anna) == 200)
            #expect(try await get(from: 1, Self.anna) == 429)
            #expect(try await get(from: 1, Self.ben) == 200)
        }
    }
}
