// SPDX-License-Identifier: Apache-2.0

import Foundation
import Larder
import LarderDashboard
import LarderHTTP
import LarderSettings
import LarderTesting
import Testing

@testable import LarderAdmin

@Suite("First page")
struct AdminFirstPageTests {
    /// All that the page runs.
    private static let script = [DashboardFile.words, .charts, .explain, .script].map(\.text).joined()

    @Test func `a terminal gets three examples and the services`() async throws {
        try await AdminFixture.run { daemon throws in
            let page = try daemon.get("/", "User-Agent: curl/8.0", "Accept: */*")
            #expect(page["Content-Type"] == "text/plain; charset=utf-8")
            #expect(page.content.components(separatedBy: "\n  curl ").count == 4)
            #expect(page.content.contains("http://localhost:\(daemon.port)/api/"))
            #expect(page.content.contains("http://127.0.0.1:\(daemon.origin.port)/api/"))
        }
    }

    @Test(arguments: [
        (true, true, true, ["/https/", "-x"]), (true, true, false, ["-x"]), (true, false, true, ["/https/"]),
        (false, true, true, ["-x"]), (false, false, true, []),
    ])
    func `the examples are those that work`(gateway: Bool, forward: Bool, isLoopback: Bool, expected: [String]) {
        var settings = Settings()
        settings.gateway.anyHost = gateway
        settings.forward.anyHost = forward
        let commands = FirstPage.examples(settings, at: "http://localhost:3128", isLoopback: isLoopback).map(\.command)
        #expect(commands.count == expected.count + 1)
        for (command, word) in zip(commands, expected) { #expect(command.contains(word)) }
        #expect(commands.last == "curl http://localhost:3128/-/status")
    }

    @Test func `the examples say where a name and a password are needed`() {
        var settings = Settings()
        settings.access.users = "/etc/larder/users"
        let commands = FirstPage.examples(settings, at: "http://localhost:3128", isLoopback: true).map(\.command)
        #expect(commands.count == 3)
        #expect(commands[0].contains("Proxy-Authorization: Basic"))
        #expect(commands[1].hasPrefix("curl -U NAME -x "))
        // Everybody may see how Larder is doing.
        #expect(commands[2] == "curl http://localhost:3128/-/status")
    }

    @Test func `a browser gets a dashboard that needs nothing from elsewhere`() async throws {
        try await AdminFixture.run { daemon throws in
            let page = try daemon.get("/", "Accept: text/html,application/xhtml+xml")
            #expect(page["Content-Type"] == "text/html; charset=utf-8")
            let policy = try #require(page["Content-Security-Policy"])
            #expect(policy.hasPrefix("default-src 'none'; "))
            #expect(!policy.contains("unsafe"))
            #expect(policy.contains("frame-ancestors 'none'"))
            #expect(!page.content.contains("<script>"))
            #expect(!page.content.contains("style="))
            #expect(!page.content.contains("onclick"))
            #expect(!page.content.contains("src=\"http") && !page.content.contains("href=\"http"))
            let parts = page.content.components(separatedBy: "\"/-/assets/").dropFirst().map {
                $0.prefix { $0 != "\"" }
            }
            #expect(Set(parts) == Set(DashboardFile.allCases.filter { $0 != .markup }.map { Substring($0.rawValue) }))
            for part in parts {
                let asset = try daemon.get("/-/assets/\(part)")
                #expect(asset.status == 200)
                #expect(asset["X-Content-Type-Options"] == "nosniff")
            }
            #expect(try daemon.get("/-/assets/dashboard.js")["Content-Type"] == "text/javascript; charset=utf-8")
            #expect(try daemon.get("/-/assets/../status").status == 404)
        }
    }

    /// The script puts everything on the page as text.
    @Test func `the script makes no markup of what it is told`() {
        for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
            #expect(!Self.script.contains(word))
        }
    }

    /// Every element the script names is on the page, and every one it fills is named there.
    @Test func `script and page agree on their names`() {
        let asked = Self.script.components(separatedBy: "$(\"").dropFirst().map {
            String($0.prefix { $0 != "\"" })
        }
        for name in Set(asked) { #expect(DashboardFile.markup.text.contains("id=\"\(name)\""), "\(name)") }
    }

    @Test func `what the dashboard reads is in the events`() async throws {
        let script = Self.script
        #expect(script.contains("new EventSource(\"/-/events\""))
        // The script does not ask again and again for news that events bring.
        #expect(!script.contains("setInterval"))
        try await Scenario.run { (scene) async throws in
            let events = try await scene.stream("match=**")
            #expect(try await events.next().name == "observerAdded")
            scene.origin.answer { _ in .ok("Cache-Control: max-age=60", content: "apples") }
            _ = try await scene.get("/a")
            #expect(try await events.next().name == "requested")
            let landed = try await events.next().json
            for path in [
                ["event"], ["source"], ["url"], ["state", "isUpToDate"], ["state", "isLoading"],
                ["state", "latestData", "status"], ["state", "latestData", "bytes"], ["state", "latestError"],
            ] {
                #expect(path.reduce(landed as JSONValue?) { $0?[$1] } != nil, "\(path)")
                #expect(script.contains(path.last ?? "?"))
            }
        }
    }

    @Test func `what the dashboard reads is in the status`() async throws {
        try await AdminFixture.run { daemon throws in
            let status = try daemon.get("/-/status").json
            for path in [
                ["version"], ["state"], ["uptimeSeconds"], ["hitRatio"], ["byteHitRatio"], ["bytes", "saved"],
                ["latencyMilliseconds", "hits", "p50"], ["latencyMilliseconds", "loads", "p99"],
                ["otherHosts", "requests"],
                ["configuration", "refused"], ["connections", "open"], ["resources"],
                ["anyHost", "gateway"], ["anyHost", "forward"],
                ["memory", "limit"], ["disk", "bytes"], ["store", "state"], ["services"], ["upstreams"],
            ] {
                #expect(path.reduce(status as JSONValue?) { $0?[$1] } != nil, "\(path)")
            }
        }
    }

    /// A page of `localhost` that leads to `api.localhost` is another site's.
    @Test func `links of the dashboard lead to its own address`() {
        #expect(Self.script.contains("name.href = service.mount"))
        for text in [Self.script, DashboardFile.markup.text] { #expect(!text.contains("href = \"http")) }
    }
}
