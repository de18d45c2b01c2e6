// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderSettings
import LarderTesting
import Testing

/// Resources that operators wipe while they are being loaded.
@Suite("Scenarios: wipes in the middle")
struct WipeScenarios {
    static let fresh = "Cache-Control: max-age=600"

    /// A change over TCP, as with `curl -X POST`.
    func change(_ scene: Scenario, _ path: String) async throws -> WireMessage {
        let client = try await scene.client("the operator")
        try await client.send(
            "POST \(path) HTTP/1.1", "Host: localhost", "Authorization: Bearer token", "Content-Length: 0")
        let answer = try await client.response()
        await client.close()
        return answer
    }

    @Test(arguments: ["/-/wipe?match=**", "/-/resource/wipe?url=", "/-/wipe?group=red"], [10, 6 << 20])
    func `what is wiped while it is loaded is in neither memory nor store`(path: String, length: Int) async throws {
        try await Scenario.run(onDisk: true) { settings, _ in
            settings.admin.token = Secret("token")
        } _: { (scene) async throws in
            let old = try await scene.unfinished("/a", length: length, Self.fresh, "Cache-Groups: \"red\"")
            let answer = try await change(scene, path.hasSuffix("=") ? path + scene.url("/a") : path)
            #expect(answer.status == 200)
            #expect(try await old.finish() == old.content)
            scene.origin.answer { _ in .ok("Cache-Control: no-store", content: "new") }
            #expect(try await scene.get("/a").text == "new")
            try await scene.restart()
            #expect(try await scene.get("/a").text == "new")
        }
    }

    @Test(
        arguments: ["/-/invalidate?match=**", "/-/resource/invalidate?url=", "/-/invalidate?group=red"], [false, true])
    func `B-05 what is invalidated while it is loaded is for those who asked before`(
        path: String, isStored: Bool
    ) async throws {
        try await Scenario.run(onDisk: true) { settings, _ in
            settings.admin.token = Secret("token")
        } _: { (scene) async throws in
            if isStored {
                let early = try await scene.client("early")
                try await early.get(scene.url("/a"))
                let first = try await scene.origin.request()
                try await first.send(
                    "HTTP/1.1 200 OK", "Content-Length: 5", "Cache-Control: max-age=1", "Cache-Groups: \"red\"",
                    content: "first")
                first.finish()
                #expect(try await early.response().text == "first")
                scene.advance(.seconds(10))
            }
            let before = try await scene.client("before")
            try await before.get(scene.url("/a"))
            let old = try await scene.origin.request()
            let answer = try await change(scene, path.hasSuffix("=") ? path + scene.url("/a") : path)
            #expect(answer.status == 200)
            let after = try await scene.client("after")
            try await after.get(scene.url("/a"))
            let new = try await scene.origin.request()
            try await new.send("HTTP/1.1 200 OK", "Content-Length: 3", Self.fresh, content: "new")
            new.finish()
            #expect(try await after.response().text == "new")
            try await old.send(
                "HTTP/1.1 200 OK", "Content-Length: 3", Self.fresh, "Cache-Groups: \"red\"", content: "old")
            old.finish()
            #expect(try await before.response().text == "old")
            #expect(try await scene.get("/a").text == "new")
            try await scene.restart()
            #expect(try await scene.get("/a").text == "new")
            #expect(scene.origin.seen.count == (isStored ? 3 : 2))
        }
    }

    @Test(arguments: ["/-/wipe?group=red", "/-/invalidate?group=red", "/-/wipe?group=unknown"], [false, true])
    func `a load whose response is of another group is stored all the same`(path: String, isStored: Bool) async throws {
        try await Scenario.run(onDisk: true) { settings, _ in
            settings.admin.token = Secret("token")
        } _: { (scene) async throws in
            if isStored {
                scene.origin.answer { _ in .ok(Self.fresh, "Cache-Groups: \"blue\"", content: "first") }
                #expect(try await scene.get("/a").text == "first")
            }
            scene.origin.answer { _ in nil }
            let client = try await scene.client("client")
            try await client.get(scene.url("/a"), "Cache-Control: no-cache")
            let load = try await scene.origin.request()
            #expect(try await change(scene, path).status == 200)
            try await load.send(
                "HTTP/1.1 200 OK", "Content-Length: 6", Self.fresh, "Cache-Groups: \"blue\"", content: "second")
            load.finish()
            #expect(try await client.response().text == "second")
            #expect(try await scene.get("/a").text == "second")
            try await scene.restart()
            #expect(try await scene.get("/a").text == "second")
            #expect(scene.origin.seen.count == (isStored ? 2 : 1))
        }
    }

    @Test func `operators invalidate and wipe groups, at one origin or at all`() async throws {
        try await Scenario.run(onDisk: true) { settings, _ in
            settings.admin.token = Secret("token")
        } _: { (scene) async throws in
            scene.origin.answer { request in
                let group = request.target.split(separator: "/").first ?? ""
                return request["If-None-Match"] != nil
                    ? .response(304, "ETag: \"1\"", Self.fresh)
                    : .ok(Self.fresh, "ETag: \"1\"", "Cache-Groups: \"\(group)\"", content: "apples")
            }
            let paths = ["/red/1", "/red/2", "/blue/1"]
            for path in paths { _ = try await scene.get(path) }
            _ = try await change(scene, "/-/invalidate?group=red&origin=https://elsewhere.example")
            for path in paths { #expect(try await scene.get(path)["Cache-Status"]?.contains("; hit") == true) }
            let invalidated = try await change(scene, "/-/invalidate?group=red&origin=\(scene.url(""))")
            #expect(invalidated.text.contains("\"memory\":2"))
            #expect(invalidated.text.contains("\"disk\":2"))
            let answers = try await [scene.get("/red/1"), scene.get("/red/2"), scene.get("/blue/1")]
            #expect(
                answers.map { $0["Cache-Status"]?.contains("fwd-status=304") == true } == [true, true, false])
            try await scene.restart()
            let wiped = try await change(scene, "/-/wipe?group=red")
            #expect(wiped.text.contains("\"disk\":2"))
            for path in paths {
                let isMember = path.hasPrefix("/red")
                #expect(try await scene.get(path)["Cache-Status"]?.contains("uri-miss") == isMember, "\(path)")
            }
        }
    }

    @Test(arguments: [
        "/-/wipe", "/-/wipe?group=", "/-/wipe?group=a&match=**", "/-/wipe?group=a&service=-", "/-/wipe?origin=http://a",
        "/-/invalidate?group=a&origin=nonsense", "/-/invalidate?group=a&origin=http://a/path",
    ]) func `what names no group clearly changes nothing`(path: String) async throws {
        try await Scenario.run({ settings, _ in settings.admin.token = Secret("token") }) { (scene) async throws in
            let answer = try await change(scene, path)
            #expect(answer.status == 400)
            #expect(answer["Content-Type"] == "application/problem+json")
        }
    }

    @Test func `an operator reaches every partition of a URL`() async throws {
        try await Scenario.run(onDisk: true) {
            $0.admin.token = Secret("token")
            $0.add("api", at: $1.url("/")) { $0.privacy = .partitioned }
        } _: { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, content: $0["Authorization"] ?? "nobody") }
            let users = (0..<20).map { "user\($0)" }
            for user in users { _ = try await scene.get("/a", "Authorization: \(user)") }
            _ = try await scene.get("/a")
            try await scene.restart()
            // Some are in memory, all are on disk.
            for user in users.prefix(5) { _ = try await scene.get("/a", "Authorization: \(user)") }
            let invalidated = try await change(scene, "/-/resource/invalidate?url=\(scene.url("/a"))")
            #expect(invalidated.text.contains("\"invalidated\": 21"))
            let wiped = try await change(scene, "/-/resource/wipe?url=\(scene.url("/a"))")
            #expect(wiped.text.contains("\"wiped\": 21"))
            let before = scene.origin.seen.count
            for user in users { _ = try await scene.get("/a", "Authorization: \(user)") }
            #expect(scene.origin.seen.count == before + users.count)
        }
    }

    @Test(arguments: [("wipe", "wiped"), ("invalidate", "invalidated")])
    func `an operator reaches a URL in each service that covers it`(action: String, counted: String) async throws {
        try await Scenario.run(onDisk: true) {
            $0.admin.token = Secret("token")
            $0.add("wide", at: $1.url("/")) { $0.mount = "/wide/" }
            $0.add("narrow", at: $1.url("/v1/")) { $0.mount = "/narrow/" }
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: "old") }
            let paths = ["/wide/v1/a", "/narrow/a"]
            func ask(_ path: String) async throws -> String {
                let client = try await scene.client(path)
                try await client.send("GET \(path) HTTP/1.1", "Host: localhost")
                let text = try await client.response().text
                await client.close()
                return text
            }
            for path in paths { #expect(try await ask(path) == "old") }
            #expect(try await scene.state("/v1/a")["alsoIn"]?.array?.compactMap(\.string) == ["wide"])
            scene.origin.answer { _ in .ok(Self.fresh, content: "new") }
            // A path of the gateway names one service.
            #expect(try await change(scene, "/-/resource/\(action)?url=/wide/v1/a").text.contains("\"\(counted)\": 1"))
            #expect(try await ask(paths[0]) == "new")
            #expect(try await ask(paths[1]) == "old")
            let all = try await change(scene, "/-/resource/\(action)?url=\(scene.url("/v1/a"))")
            #expect(all.text.contains("\"\(counted)\": 2"))
            scene.origin.answer { _ in .ok(Self.fresh, content: "newer") }
            for path in paths { #expect(try await ask(path) == "newer") }
        }
    }
}
