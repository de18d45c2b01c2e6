// SPDX-License-Identifier: Apache-2.0
import Foundation
import Larder
import LarderHTTP
import LarderRules
import LarderSettings
import LarderTesting
import Testing

@testable import LarderProxy

/// Programs and webhooks that are told when a load brings other content.
@Suite("Scenarios: content that changes")
struct ChangeScenarios {
    static let short = "Cache-Control: max-age=1"

    static func run(
        onDisk: Bool = false, memory: ByteCount? = nil,
        _ change: @escaping (inout ChangeSettings, ScriptedOrigin) -> Void,
        _ body: (Scenario) async throws -> Void
    ) async throws {
        try await Scenario.run(onDisk: onDisk) { settings, origin in
            if let memory { settings.cache.memory = memory }
            settings.add("api", at: "http://127.0.0.1:\(origin.port)/api/") { service in
                service.configure { block in
                    var rule = ChangeSettings()
                    change(&rule, origin)
                    block.onChange = .set(rule)
                }
            }
        } _: {
            try await body($0)
        }
    }

    static func hooked(_ rule: inout ChangeSettings, _ origin: ScriptedOrigin) {
        rule.webhook = Secret("http://127.0.0.1:\(origin.port)/hook?key=secret")
        rule.debounce = .seconds(10)
    }

    /// One load: the origin answers what is given. Two seconds pass after it.
    static func load(_ scene: Scenario, _ content: String, _ lines: String...) async throws {
        let path = "/api/a"
        async let response = scene.get(path)
        let request = try await scene.origin.request()
        #expect(request.target == path)
        try await request.wire.write(OriginRequest.response(200, [short] + lines, content: content))
        request.finish()
        #expect(try await response.text == content)
        scene.advance(.seconds(2))
    }

    /// The next request to the webhook, which comes after that time.
    static func hook(
        _ scene: Scenario, after wait: Duration, answering status: Int = 204
    ) async throws -> JSONValue {
        let request =
            wait == .zero
            ? try await scene.origin.request()
            : try await scene.lettingTimePass(reaching: wait) { try await scene.origin.request() }
        #expect(request.head.method == "POST")
        #expect(request.target == "/hook?key=secret")
        #expect(request["Via"] != nil)
        #expect(request["Content-Type"] == "application/json")
        let content = try await request.content().content
        try await request.reply(status)
        return try JSONValue(parsing: content)
    }

    @Test(arguments: [false, true]) func `a webhook is told of other content, once`(onDisk: Bool) async throws {
        try await Self.run(onDisk: onDisk, Self.hooked) { (scene) async throws in
            try await Self.load(scene, "one")
            try await Self.load(scene, "one")
            if onDisk { try await scene.restart() }
            try await Self.load(scene, "two")
            try await Self.load(scene, "three")
            // Four of the ten seconds have passed that further changes are waited for.
            let told = try await Self.hook(scene, after: .seconds(6))
            #expect(told["event"]?.string == "change")
            #expect(told["url"]?.string == scene.url("/api/a"))
            #expect(told["service"]?.string == "api")
            #expect(told["status"]?.int == 200)
            #expect(
                told["oldDigest"]?.string
                    == "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed")
            #expect(
                told["newDigest"]?.string
                    == "sha256:8b5b9db0c13db24256c829aa364aa90c6d2eba318b9232a4ab9313b954d3555f")
            try await eventually("it is counted") { scene.proxy.changes.counts == .init(told: 1) }
        }
    }

    @Test func `nobody is told of a user's own responses`() async throws {
        try await Self.run { rule, origin in
            Self.hooked(&rule, origin)
            rule.debounce = .zero
        } _: { (scene) async throws in
            try await scene.reload { settings in
                settings.services[0].privacy = .partitioned
                settings.services[0].identity = [.field(.authorization)]
            }
            for content in ["one", "two"] {
                scene.origin.answer { request in
                    guard request.method == "GET" else { return nil }
                    return .ok(
                        request["Authorization"] == nil ? Self.short : "Cache-Control: private, max-age=1",
                        content: "\(request["Authorization"] ?? "all") \(content)")
                }
                #expect(try await scene.get("/api/a", "Authorization: anna").text == "anna \(content)")
                #expect(try await scene.get("/api/b").text == "all \(content)")
                scene.advance(.seconds(2))
            }
            #expect(try await Self.hook(scene, after: .zero)["url"]?.string == scene.url("/api/b"))
            try await eventually("it is counted") { scene.proxy.changes.counts == .init(told: 1) }
            #expect(scene.origin.seen.count { $0.method == "POST" } == 1)
        }
    }

    @Test func `confirmations, errors and writes are no change`() async throws {
        try await Self.run(Self.hooked) { (scene) async throws in
            try await Self.load(scene, "one", "ETag: \"1\"")
            scene.origin.answer { request in
                request["If-None-Match"] == nil
                    ? .response(404, Self.short, content: "gone") : .response(304, Self.short)
            }
            #expect(try await scene.get("/api/a").text == "one")
            scene.advance(.seconds(2))
            scene.origin.answer { _ in .response(404, Self.short, content: "gone") }
            #expect(try await scene.get("/api/a").status == 404)
            scene.advance(.seconds(2))
            scene.origin.answer { _ in .ok(Self.short, content: "one") }
            #expect(try await scene.get("/api/a").text == "one")
            scene.advance(.seconds(10))
            await scene.proxy.settle()
            #expect(scene.proxy.changes.counts == .init())
            #expect(scene.origin.seen.allSatisfy { $0.method == "GET" })
        }
    }

    @Test func `a webhook that fails is tried again, and logged once`() async throws {
        try await Self.run(Self.hooked) { (scene) async throws in
            try await Self.load(scene, "one")
            try await Self.load(scene, "two")
            for (wait, status) in [(8, 500), (2, 404), (15, 503)] {
                _ = try await Self.hook(scene, after: .seconds(wait), answering: status)
            }
            let told = try await Self.hook(scene, after: .seconds(60))
            #expect(told["url"]?.string == scene.url("/api/a"))
            try await eventually("it is counted") { scene.proxy.changes.counts == .init(told: 1) }
            let lines = scene.log.values.filter { $0.contains("a change could not be told") }
            #expect(lines.count == 1)
            #expect(lines.allSatisfy { !$0.contains("secret") && !$0.contains("hook?") })
        }
    }

    @Test func `a webhook that does not answer keeps no program waiting`() async throws {
        let directory = FreshDirectory()
        let place = directory.path + "/told"
        try await Self.run({ rule, origin in
            Self.hooked(&rule, origin)
            rule.debounce = .zero
        }) { (scene) async throws in
            try await scene.reload { settings in
                settings.services[0].configure {
                    var rule = ChangeSettings()
                    rule.exec = ["/bin/sh", "-c", ": > \"$0\"", place].map { SettingText($0) }
                    rule.debounce = .zero
                    $0.pattern.match = "/last"
                    $0.onChange = .set(rule)
                }
            }
            scene.origin.answer { $0.method == "GET" ? .ok(Self.short, content: "\($0.target) one") : nil }
            let paths = (0..<6).map { "/api/\($0)" } + ["/api/last"]
            for path in paths { _ = try await scene.get(path) }
            scene.advance(.seconds(2))
            scene.origin.answer { $0.method == "GET" ? .ok(Self.short, content: "\($0.target) two") : nil }
            for path in paths { _ = try await scene.get(path) }
            // The webhook has two requests, and answers none.
            try await eventually("the program has run") { FileManager.default.fileExists(atPath: place) }
            #expect(scene.origin.seen.count { $0.method == "POST" } <= 2)
        }
    }

    @Test func `a webhook that leads back to Larder ends there`() async throws {
        try await Self.run({ rule, _ in rule.webhook = Secret("http://127.0.0.1:1/") }) { (scene) async throws in
            let port = scene.port
            try await scene.reload { settings in
                var rule = ChangeSettings()
                rule.webhook = Secret("http://127.0.0.1:\(port)/api/a")
                settings.services[0].configure[0].onChange = .set(rule)
            }
            try await Self.load(scene, "one")
            try await Self.load(scene, "two")
            // Three of the five seconds that changes are waited for are left, and three pauses come.
            try await scene.lettingTimePass(reaching: .seconds(3 + 2 + 15 + 60)) {
                try await eventually("it is given up") { scene.proxy.changes.counts == .init(failed: 1) }
            }
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test(arguments: [false, true]) func `a program gets the change on its input`(isLarge: Bool) async throws {
        let directory = FreshDirectory()
        let place = directory.path + "/told"
        // Larger than what memory keeps: it is compared as the store has it.
        let filler = isLarge ? String(repeating: "x", count: 200 << 10) : ""
        try await Self.run(
            onDisk: isLarge, memory: isLarge ? .mebibytes(1) : nil,
            { rule, _ in
                rule.exec = ["/bin/sh", "-c", "cat > \"$0.new\" && mv \"$0.new\" \"$0\"", place].map { SettingText($0) }
                rule.debounce = .zero
            }
        ) { (scene) async throws in
            try await Self.load(scene, "one" + filler)
            if isLarge { try await scene.restart() }
            try await Self.load(scene, "two" + filler)
            try await eventually("it has run") { FileManager.default.fileExists(atPath: place) }
            let told = try JSONValue(parsing: Array(try Data(contentsOf: URL(fileURLWithPath: place))))
            #expect(told["url"]?.string == scene.url("/api/a"))
            #expect(told["oldDigest"] != told["newDigest"])
            try await eventually("it is counted") { scene.proxy.changes.counts == .init(told: 1) }
        }
    }
}
