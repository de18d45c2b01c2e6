// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderSettings
import LarderTesting
import Testing

/// The effect of a write on stored responses (RFC 9111 §4.4).
@Suite("Scenarios: writes")
struct WritingScenarios {
    @Test(arguments: ["/outer/items/1", "/inner/1"])
    func `a write invalidates its URL in all services that cover it`(written: String) async throws {
        try await Scenario.run { settings, origin in
            settings.add("outer", at: origin.url("/")) { $0.mount = "/outer/" }
            settings.add("inner", at: origin.url("/items/")) { $0.mount = "/inner/" }
        } _: { (scene) async throws in
            scene.origin.answer { .ok("Cache-Control: max-age=600", content: $0.method) }
            let client = try await scene.client()
            for path in ["/outer/items/1", "/inner/1"] {
                try await client.send("GET \(path) HTTP/1.1", "Host: localhost")
                #expect(try await client.response().status == 200)
            }
            try await client.send("DELETE \(written) HTTP/1.1", "Host: localhost")
            #expect(try await client.response().status == 200)
            for path in ["/outer/items/1", "/inner/1"] {
                try await client.send("GET \(path) HTTP/1.1", "Host: localhost")
                let status = try await client.response()["Cache-Status"]
                #expect(status?.contains("fwd=uri-miss") == true, "\(path): \(status ?? "-")")
            }
        }
    }

    static let fresh = "Cache-Control: max-age=600"

    /// A POST whose response has these lines.
    func post(_ scene: Scenario, _ path: String, status: Int = 200, _ lines: String...) async throws {
        let client = try await scene.client("the writer")
        try await client.send("POST \(scene.url(path)) HTTP/1.1", "Host: x", "Content-Length: 3", content: "new")
        let request = try await scene.origin.request()
        #expect(try await request.content().text == "new")
        try await request.wire.write(OriginRequest.response(status, lines, content: "done"))
        request.finish()
        #expect(try await client.response().status == status)
        await client.close()
    }

    @Test func `HT-04 what is written to, and where the answer points, is fetched anew`() async throws {
        try await Scenario.run { (scene) async throws in
            let script: ScriptedOrigin.Script = { $0.method == "GET" ? .ok(Self.fresh, content: $0.target) : nil }
            scene.origin.answer(script)
            let paths = ["/a", "/b", "/c", "/d"]
            for path in paths { _ = try await scene.get(path) }
            try await post(scene, "/a", "Location: /b", "Content-Location: \(scene.url("/c"))")
            for path in paths { _ = try await scene.get(path) }
            #expect(
                paths.map { path in scene.origin.seen.count { $0.target == path && $0.method == "GET" } } == [
                    2, 2, 2, 1,
                ])
        }
    }

    @Test(arguments: [false, true], [ServicePrivacy.shared, .partitioned])
    func `RFC 9110 §4.2.3 a write reaches all ways to write its URL`(onDisk: Bool, privacy: ServicePrivacy) async throws
    {
        try await Scenario.run(onDisk: onDisk) {
            $0.add("api", at: $1.url("/")) { $0.privacy = privacy }
        } _: { (scene) async throws in
            scene.origin.answer { $0.method == "GET" ? .ok(Self.fresh, content: $0.target) : nil }
            let paths = ["/x2", "/x%32", "/%782", "/%78%32", "/x2?%61=1"]
            let lines = privacy == .shared ? ["Accept: a"] : ["X-Api-Key: a"]
            for (number, written) in ["/x2", "/%782", "/x%32"].enumerated() {
                for path in paths { #expect(try await scene.get(path, lines).text == path) }
                #expect(scene.origin.seen.count { $0.method == "GET" } == 5 + 4 * number)
                for path in paths {
                    #expect(try await scene.get(path, lines)["Cache-Status"]?.hasPrefix("Larder; hit") == true)
                }
                if onDisk { try await scene.restart() }
                try await post(scene, written)
                if onDisk { try await scene.restart() }
            }
        }
    }

    @Test func `HT-04 a write that failed changes nothing`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { $0.method == "GET" ? .ok(Self.fresh, content: "apples") : nil }
            _ = try await scene.get("/a")
            try await post(scene, "/a", status: 422)
            #expect(try await scene.get("/a")["Cache-Status"] == "Larder; hit; ttl=600")
        }
    }

    @Test func `HT-04 other origins' resources stay, whatever Location says`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { $0.method == "GET" ? .ok(Self.fresh, content: "apples") : nil }
            _ = try await scene.get("/b")
            try await post(scene, "/a", "Location: http://localhost:\(scene.origin.port)/b")
            #expect(try await scene.get("/b")["Cache-Status"] == "Larder; hit; ttl=600")
        }
    }

    /// A client that deletes `/a`, which was stored, and has half of the answer to that.
    private func halfAnsweredWrite(_ scene: Scenario) async throws -> (writer: Wire, request: OriginRequest) {
        scene.origin.answer { $0.method == "GET" ? .ok(Self.fresh, content: "old") : nil }
        _ = try await scene.get("/a")
        let writer = try await scene.client("the writer")
        try await writer.send("DELETE \(scene.url("/a")) HTTP/1.1", "Host: x")
        let request = try await scene.origin.request()
        try await request.send("HTTP/1.1 200 OK", "Content-Length: 10", content: "01234")
        try await writer.hasReceived(20)
        return (writer, request)
    }

    @Test func `whoever has seen the answer to a write sees what was written`() async throws {
        try await Scenario.run { (scene) async throws in
            let (writer, request) = try await halfAnsweredWrite(scene)
            scene.origin.answer { _ in .ok(Self.fresh, content: "new") }
            #expect(try await scene.get("/a").text == "new")
            try await request.write("56789")
            request.finish()
            #expect(try await writer.response().text == "0123456789")
        }
    }

    @Test func `a write counts although its client does not wait for the end of the answer`() async throws {
        try await Scenario.run { (scene) async throws in
            let (writer, request) = try await halfAnsweredWrite(scene)
            await writer.close()
            _ = try await request.wire.end()
            request.finish()
            scene.origin.answer { _ in .ok(Self.fresh, content: "new") }
            #expect(try await scene.get("/a").text == "new")
        }
    }

    @Test(arguments: [10, 6 << 20]) func `an answer from before a write does not land after it`(
        length: Int
    ) async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            let old = try await scene.unfinished("/a", length: length, Self.fresh)
            try await post(scene, "/a")
            // A client that comes now does not wait for the old answer.
            let next = try await scene.client("the next")
            try await next.get(scene.url("/a"))
            let new = try await scene.origin.request()
            #expect(try await old.finish() == old.content)
            try await new.reply(Self.fresh, content: "new")
            #expect(try await next.response().text == "new")
            #expect(try await scene.get("/a").text == "new")
            try await scene.restart()
            #expect(try await scene.get("/a").text == "new")
        }
    }

    @Test(arguments: [10, 6 << 20]) func `an answer from before a write is not found on disk either`(
        length: Int
    ) async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            let old = try await scene.unfinished("/a", length: length, Self.fresh)
            try await post(scene, "/a")
            #expect(try await old.finish() == old.content)
            scene.origin.answer { _ in .ok(Self.fresh, content: "new") }
            #expect(try await scene.get("/a").text == "new")
        }
    }

    @Test func `a write to a spelling of a URL reaches what was stored for it`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { $0.method == "GET" ? .ok(Self.fresh, content: "old") : nil }
            for path in ["/a%2Db", "/a-b"] { _ = try await scene.get(path) }
            #expect(scene.origin.seen.map(\.target) == ["/a%2Db", "/a-b"])
            try await post(scene, "/a%2Db")
            scene.origin.answer { _ in .ok(Self.fresh, content: "new") }
            #expect(try await scene.get("/a%2Db").text == "new")
            #expect(try await scene.get("/a-b").text == "new")
        }
    }

    @Test func `a write by one user reaches what every user has stored`() async throws {
        try await Scenario.run {
            $0.add("api", at: $1.url("/")) { $0.privacy = .partitioned }
        } _: { (scene) async throws in
            scene.origin.answer { $0.method == "GET" ? .ok(Self.fresh, content: $0["Authorization"] ?? "nobody") : nil }
            for user in ["anna", "ben"] { _ = try await scene.get("/a", "Authorization: \(user)") }
            try await scene.reload { _ in }
            try await post(scene, "/a")
            for user in ["anna", "ben"] { #expect(try await scene.get("/a", "Authorization: \(user)").text == user) }
            #expect(scene.origin.seen.count { $0.method == "GET" } == 4)
        }
    }
}
