// SPDX-License-Identifier: Apache-2.0
import Foundation
import Larder
import LarderHTTP
import LarderPeers
import LarderRules
import LarderSettings
import LarderTesting
import Testing

/// Responses that may be one user's, in a cache of many.
@Suite("Scenarios: one user's responses among many")
struct PersonalScenarios {
    private static let alice = "Cookie: s=alice"
    private static let bob = "Cookie: s=bob"

    /// Configurations that would have responses used longer than origins say.
    enum Lifetime: String, CaseIterable, CustomTestStringConvertible {
        case override, floor, fallback, none

        func apply(to block: inout ConfigureBlock) {
            block.expirationTime = Configuration.ExpirationMode(rawValue: rawValue).map {
                Expiration(time: .seconds(3_600), mode: $0)
            }
        }

        var testDescription: String { rawValue }
    }

    private static func run(
        _ configure: @escaping (inout ConfigureBlock) -> Void, onDisk: Bool = false,
        _ body: (Scenario) async throws -> Void
    ) async throws {
        try await Scenario.run(onDisk: onDisk) { settings, origin in
            settings.add("api", at: origin.url("/")) { $0.configure(configure) }
        } _: { scene in
            try await body(scene)
        }
    }

    /// The origin answers with the cookie that came.
    private static func answer(_ scene: Scenario, _ lines: String...) {
        scene.origin.answer { OriginRequest.response(200, lines, content: "for \($0["Cookie"] ?? "nobody")") }
    }

    // MARK: Lifetimes

    @Test(
        arguments: Lifetime.allCases,
        [
            ["Cache-Control: max-age=60, no-cache=\"Set-Cookie\""], ["Cache-Control: max-age=60", "Age: 100"],
            ["Cache-Control: max-age=0"], ["Expires: 0"], ["Cache-Control: no-cache, max-age=60"], [],
        ])
    func `no configured lifetime makes a response another's that the origin wants to be asked for`(
        lifetime: Lifetime, lines: [String]
    ) async throws {
        for sets in [false, true] {
            try await Self.run {
                lifetime.apply(to: &$0)
            } _: { (scene) async throws in
                let all = lines + (sets ? ["Set-Cookie: s=alice"] : [])
                scene.origin.answer { OriginRequest.response(200, all, content: "for \($0["X-User"] ?? "")") }
                for user in ["alice", "bob"] {
                    let credentials = sets ? [] : ["Cookie: s=\(user)"]
                    let text = try await scene.getStored("/a", ["X-User: \(user)"] + credentials).text
                    #expect(text == "for \(user)", "\(sets)")
                }
            }
        }
    }

    @Test(arguments: [Lifetime.override, .floor], [false, true])
    func `a response that came with a cookie stays one user's when the configuration changes`(
        lifetime: Lifetime, isRestarted: Bool
    ) async throws {
        try await Self.run({ $0.retryTime = .seconds(1) }, onDisk: true) { (scene) async throws in
            Self.answer(scene, "Cache-Control: max-age=0", "Set-Cookie: s=alice")
            #expect(try await scene.getStored("/a").text == "for nobody")
            if isRestarted {
                scene.change { lifetime.apply(to: &$0.services[0].configure[0]) }
                try await scene.restart()
            } else {
                try await scene.reload { lifetime.apply(to: &$0.services[0].configure[0]) }
            }
            scene.advance(.seconds(5))
            #expect(try await scene.get("/a", Self.bob).text == "for s=bob")
        }
    }

    @Test(arguments: Lifetime.allCases, [false, true])
    func `responses to users are not everyone's any more when the configuration does not say so`(
        lifetime: Lifetime, isRestarted: Bool
    ) async throws {
        try await Self.run(
            {
                lifetime.apply(to: &$0)
                $0.everyone = true
            }, onDisk: true
        ) { (scene) async throws in
            Self.answer(scene, "Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT")
            for user in [Self.alice, Self.bob] { #expect(try await scene.getStored("/a", user).text == "for s=alice") }
            if isRestarted {
                scene.change { $0.services[0].configure[0].everyone = false }
                try await scene.restart()
            } else {
                try await scene.reload { $0.services[0].configure[0].everyone = false }
            }
            #expect(try await scene.get("/a", Self.bob).text == "for s=bob")
        }
    }

    // MARK: Validation

    @Test(arguments: ["ETag: \"1\"", "ETag: \"1\", Cache-Control: max-age=0"], [false, true])
    func `RFC 9111 §7.3 fields that came with one client's cookie are not another's`(
        lines: String, isOverridden: Bool
    ) async throws {
        try await Self.run({ if isOverridden { Lifetime.override.apply(to: &$0) } }) { (scene) async throws in
            scene.origin.answer { request in
                request["If-None-Match"] == nil
                    ? .ok("ETag: \"1\"", "Cache-Control: max-age=0", "X-Token: all", content: "common")
                    : OriginRequest.response(
                        304, lines.components(separatedBy: ", ") + ["Set-Cookie: sid=ann", "X-Token: ann"], content: "")
            }
            _ = try await scene.getStored("/a")
            scene.advance(.seconds(1))
            let ann = try await scene.getStored("/a", "Cache-Control: no-cache")
            #expect(ann["X-Token"] == "ann" && ann["Set-Cookie"] == "sid=ann")
            let next = try await scene.get("/a", "Cache-Control: max-stale")
            #expect(next["X-Token"] == "all" && next["Set-Cookie"] == nil && next.text == "common")
        }
    }

    @Test func `RFC 9111 §7.3 who waits for a validation gets no fields that came with another's cookie`() async throws
    {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok("ETag: \"1\"", "Cache-Control: max-age=0", content: "common") }
            _ = try await scene.getStored("/a")
            scene.origin.answer { _ in nil }
            let (leader, follower, request) = try await scene.twoClients()
            try await request.reply(304, "ETag: \"1\"", "Set-Cookie: sid=ann", "X-Token: ann")
            #expect(try await leader.response()["X-Token"] == "ann")
            let next = try await follower.response()
            #expect(next["X-Token"] == nil && next["Set-Cookie"] == nil && next.text == "common")
        }
    }

    @Test(arguments: ["Cache-Control: must-revalidate, max-age=0", "Expires: 0", "Cache-Control: no-cache"])
    func `the date of one user's page does not make it another's`(line: String) async throws {
        for user in ["Authorization: Basic ", "Cookie: s="] {
            try await Self.run({ _ in }) { (scene) async throws in
                scene.origin.answer { request in
                    // Ben's page is older than Ann's.
                    if request["If-Modified-Since"] != nil { return .response(304) }
                    return .ok(line, "Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT", content: request["X-User"] ?? "")
                }
                for name in ["ann", "ben"] {
                    #expect(try await scene.getStored("/a", user + name, "X-User: \(name)").text == name)
                }
                #expect(try await scene.getStored("/a", "X-User: nobody").text == "nobody")
            }
        }
    }

    @Test(arguments: [false, true])
    func `parts of two users' pages are not joined by their date`(isRange: Bool) async throws {
        try await Self.run({ _ in }, onDisk: true) { (scene) async throws in
            let lines = [
                "Cache-Control: max-age=0", "Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT", "Accept-Ranges: bytes",
            ]
            scene.origin.answer { request in
                let letter = request["Cookie"] == "s=alice" ? "a" : "b"
                guard let range = request["Range"] else {
                    return OriginRequest.response(200, lines, content: String(repeating: letter, count: 10))
                }
                let isFirst = range == "bytes=0-4"
                return OriginRequest.response(
                    206, lines + ["Content-Range: bytes \(isFirst ? "0-4" : "5-9")/10"],
                    content: String(repeating: letter, count: 5))
            }
            #expect(try await scene.getStored("/a", Self.alice, "Range: bytes=0-4").text == "aaaaa")
            if isRange { #expect(try await scene.getStored("/a", Self.bob, "Range: bytes=5-9").text == "bbbbb") }
            #expect(try await scene.getStored("/a", Self.bob).text == "bbbbbbbbbb")
        }
    }

    @Test func `RFC 9111 §4.3.5 a HEAD makes nobody's of one user's page`() async throws {
        try await Self.run({ _ in }) { (scene) async throws in
            let modified = "Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT"
            scene.origin.answer { request in
                request.method == "HEAD"
                    ? .response(200, "Cache-Control: public, max-age=60", modified)
                    : .ok("Cache-Control: max-age=0", modified, content: request["Cookie"] ?? "nobody's")
            }
            #expect(try await scene.getStored("/a", Self.alice).text == "s=alice")
            let client = try await scene.client()
            try await client.send("HEAD \(scene.url("/a")) HTTP/1.1", "Host: x", "Cache-Control: no-cache")
            #expect(try await client.head().status == 200)
            #expect(try await scene.get("/a").text == "nobody's")
        }
    }

    // MARK: Waiting together

    @Test(arguments: ["max-age=0", "max-age=60, no-cache=\"Set-Cookie\"", "no-cache, max-age=0"])
    func `HT-02 who waits does not get a page that was made with another's cookie`(directives: String) async throws {
        try await Scenario.run { (scene) async throws in
            let (leader, follower, request) = try await scene.twoClients()
            try await request.reply("Cache-Control: \(directives)", "Set-Cookie: s=alice", content: "for alice")
            #expect(try await leader.response().text == "for alice")
            try await scene.origin.request().reply("Cache-Control: \(directives)", content: "for bob")
            #expect(try await follower.response().text == "for bob")
        }
    }

    // MARK: Stale use

    enum Trouble: String, CaseIterable, CustomTestStringConvertible {
        case staleWhileRevalidate, status, disconnected, offline

        var testDescription: String { rawValue }
    }

    @Test(arguments: Trouble.allCases)
    func `RFC 9111 §4.2.4 one user's stale response is nobody else's`(trouble: Trouble) async throws {
        try await Self.run {
            if trouble == .staleWhileRevalidate { $0.staleWhileRevalidate = .seconds(3_600) }
        } _: { (scene) async throws in
            Self.answer(scene, "Cache-Control: max-age=0")
            _ = try await scene.getStored("/a", Self.alice)
            switch trouble {
            case .staleWhileRevalidate: break
            case .status: scene.origin.answer { _ in .response(503, content: "down") }
            case .disconnected: scene.origin.answer { _ in "\r\n" }
            case .offline: try await scene.reload { $0.services[0].offline = .on }
            }
            #expect(try await scene.get("/a", Self.bob).text.contains("alice") == false)
        }
    }

    @Test func `RFC 5861 §3 an origin may let others use it while it is asked`() async throws {
        try await Self.run { _ in
        } _: { (scene) async throws in
            Self.answer(scene, "Cache-Control: max-age=0, stale-while-revalidate=60")
            _ = try await scene.getStored("/a", Self.alice)
            #expect(try await scene.get("/a", Self.bob)["Cache-Status"]?.contains("stale-while-revalidate") == true)
        }
    }

    // MARK: Updates

    @Test(arguments: ["GET", "HEAD"], [false, true])
    func `RFC 9111 §3.2 fields of one user's update are nobody else's`(method: String, isNamed: Bool) async throws {
        try await Self.run {
            $0.expirationTime = Expiration(time: .seconds(3_600), mode: .override)
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok("ETag: \"1\"", content: "apples") }
            _ = try await scene.getStored("/a")
            let control = isNamed ? ["Cache-Control: max-age=60"] : []
            scene.origin.answer { request in
                let lines = ["ETag: \"1\"", "X-Token: alice"] + control
                return request.method == "HEAD"
                    ? "HTTP/1.1 200 OK\r\n" + (lines + ["Content-Length: 6"]).map { $0 + "\r\n" }.joined() + "\r\n"
                    : OriginRequest.response(304, lines)
            }
            let client = try await scene.client()
            try await client.send(
                "\(method) \(scene.url("/a")) HTTP/1.1", "Host: x", Self.alice, "Cache-Control: no-cache")
            let update = method == "HEAD" ? try await client.head() : try await client.response().head
            #expect(update["X-Token"] == "alice")
            let hit = try await scene.get("/a", Self.bob)
            #expect(hit.text == "apples")
            // The origin says of its own accord that others may use it.
            #expect(hit["X-Token"] == (isNamed ? "alice" : nil))
        }
    }

    @Test(arguments: [false, true]) func `who waits for one user's update has what is not that user's`(
        isForbidden: Bool
    ) async throws {
        try await Self.run { _ in
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok("ETag: \"1\"", "Cache-Control: max-age=60", content: "apples") }
            _ = try await scene.getStored("/a")
            scene.origin.answer { _ in nil }
            scene.advance(.seconds(100))
            let (alice, bob) = (try await scene.client(), try await scene.client())
            try await alice.get(scene.url("/a"), [Self.alice])
            let first = try await scene.origin.request()
            try await bob.get(scene.url("/a"), [Self.bob])
            try await eventually("both wait") { scene.interest(in: "/a") == 2 }
            let control = isForbidden ? "Cache-Control: no-cache" : "X-Request: 1"
            try await first.reply(304, "ETag: \"1\"", "X-Token: alice", control)
            #expect(try await alice.response()["X-Token"] == "alice")
            if isForbidden {
                try await scene.origin.request().reply(304, "ETag: \"1\"", "X-Token: bob")
                #expect(try await bob.response()["X-Token"] == "bob")
            } else {
                let response = try await bob.response()
                #expect(response.text == "apples" && response["X-Token"] == nil)
                // It is confirmed for everybody.
                #expect(try await scene.get("/a")["Cache-Status"]?.hasPrefix("Larder; hit") == true)
                #expect(scene.origin.seen.count == 2)
            }
        }
    }

    @Test func `a cookie that comes with a confirmation makes nobody's of what is stored`() async throws {
        try await Self.run {
            $0.expirationTime = Expiration(time: .seconds(60))
        } _: { (scene) async throws in
            scene.origin.answer {
                $0["If-None-Match"] == nil
                    ? .ok("ETag: \"1\"", content: "apples") : .response(304, "ETag: \"1\"", "Set-Cookie: s=1")
            }
            _ = try await scene.getStored("/a")
            scene.advance(.seconds(100))
            #expect(try await scene.get("/a")["Set-Cookie"] == "s=1")
            let hit = try await scene.get("/a")
            #expect(hit["Cache-Status"]?.hasPrefix("Larder; hit") == true && hit["Set-Cookie"] == nil)
        }
    }

    @Test func `an update that says nothing new is everybody's`() async throws {
        try await Self.run { _ in
        } _: { (scene) async throws in
            scene.origin.answer {
                $0["If-None-Match"] == nil
                    ? .ok("ETag: \"1\"", "Cache-Control: max-age=60", "X-Same: 1", content: "apples")
                    : .response(304, "ETag: \"1\"", "X-Same: 1", "Server: x")
            }
            _ = try await scene.getStored("/a")
            scene.advance(.seconds(100))
            #expect(try await scene.get("/a", Self.alice).text == "apples")
            #expect(try await scene.get("/a", Self.bob)["Cache-Status"]?.hasPrefix("Larder; hit") == true)
        }
    }
}
