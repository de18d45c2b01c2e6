// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderSettings
import LarderTesting
import Testing

/// The configured effects of a write that succeeded.
@Suite("Scenarios: after a write")
struct AfterWriteScenarios {
    static let fresh = "Cache-Control: max-age=600"

    static func run(
        _ action: Larder.Configuration.AfterWrite.Action, also: [String] = [], onDisk: Bool = false,
        _ body: (Scenario) async throws -> Void
    ) async throws {
        let patterns = try also.map { try GlobPattern($0) }
        try await Scenario.run(
            onDisk: onDisk,
            { settings, origin in
                settings.add("api", at: origin.url("/")) {
                    $0.configure {
                        $0.afterWrite = .init(action, also: patterns)
                        $0.expirationTime = Expiration(time: .seconds(600))
                    }
                }
            }, body)
    }

    /// A write whose response has this content.
    func write(
        _ scene: Scenario, _ method: String, _ path: String, _ content: String, status: Int = 200,
        _ lines: String..., reply: String = ""
    ) async throws {
        let client = try await scene.client("the writer")
        try await client.send(
            "\(method) \(scene.url(path)) HTTP/1.1", "Host: x", "Content-Type: text/new",
            "Content-Length: \(content.utf8.count)", content: content)
        let request = try await scene.origin.request()
        #expect(try await request.content().text == content)
        try await request.wire.write(OriginRequest.response(status, lines, content: reply))
        request.finish()
        #expect(try await client.response().status == status)
        await client.close()
    }

    static let reading: ScriptedOrigin.Script = {
        $0.method == "GET" ? .ok(fresh, "ETag: \"1\"", content: "old \($0.target)") : nil
    }

    @Test func `HT-04 a write that changes nothing leaves everything as it is`() async throws {
        try await Self.run(.none) { (scene) async throws in
            scene.origin.answer(Self.reading)
            for path in ["/a", "/b"] { _ = try await scene.get(path) }
            try await write(scene, "POST", "/a", "query", "Location: /b")
            for path in ["/a", "/b"] {
                #expect(try await scene.get(path)["Cache-Status"] == "Larder; hit; ttl=600")
            }
        }
    }

    @Test(arguments: [false, true]) func `B-29 other resources are forgotten with the one that was written`(
        onDisk: Bool
    ) async throws {
        try await Self.run(.invalidate, also: ["/widgets", "/lists/**"], onDisk: onDisk) { (scene) async throws in
            scene.origin.answer(Self.reading)
            let paths = ["/widgets", "/widgets?page=2", "/lists/a/b", "/other", "/widgets/7"]
            for path in paths { _ = try await scene.get(path) }
            if onDisk {
                // A response on disk alone counts too.
                try await scene.restart()
            }
            try await write(scene, "PUT", "/widgets/7", "new")
            let states = try await paths.asyncMap { try await scene.get($0)["Cache-Status"] ?? "" }
            #expect(states.map { $0.hasPrefix("Larder; hit") } == [false, false, false, true, false])
        }
    }

    @Test func `RS-19 what was written is loaded again at once`() async throws {
        try await Self.run(.reload) { (scene) async throws in
            scene.origin.answer(Self.reading)
            _ = try await scene.get("/a")
            try await write(scene, "PATCH", "/a", "new")
            try await eventually("the reload has landed") { scene.origin.count(of: "/a") == 3 }
            // The third request for /a is the reload; who comes now joins it or finds what it brought.
            _ = try await scene.get("/a")
            #expect(scene.origin.count(of: "/a") == 3)
        }
    }

    @Test func `RS-19 what is written while the response is there already is loaded again once all was sent`()
        async throws
    {
        try await Self.run(.reload) { (scene) async throws in
            scene.origin.answer(Self.reading)
            _ = try await scene.get("/a")
            let half = String(repeating: "x", count: 100_000)
            let client = try await scene.client("the writer")
            try await client.send("PATCH \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 200000")
            async let first: Void = client.write(half)
            let request = try await scene.origin.request()
            try await request.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            #expect(try await client.response().text == "ok")
            try await first
            try await eventually("the reload has landed") { scene.origin.count(of: "/a") == 3 }
            async let rest: Void = client.write(half)
            #expect(try await request.content().text == half + half)
            try await rest
            request.finish()
            try await eventually("the second reload has landed") { scene.origin.count(of: "/a") == 4 }
        }
    }

    @Test func `RS-23 EC-05 the content of a PUT stands for the resource in memory only`() async throws {
        try await Self.run(.override, onDisk: true) { (scene) async throws in
            scene.origin.answer(Self.reading)
            _ = try await scene.get("/a")
            try await write(scene, "PUT", "/a", "new", status: 204)
            let answer = try await scene.get("/a")
            #expect(answer.text == "new")
            #expect(answer["Content-Type"] == "text/new")
            #expect(answer["ETag"] == nil)
            #expect(answer["Cache-Status"] == "Larder; hit; ttl=600; detail=written")
            try await scene.restart()
            #expect(try await scene.get("/a").text == "old /a")
        }
    }

    @Test func `T-17 content of a write is marked as such wherever it is shown, until a load takes its place`()
        async throws
    {
        try await Self.run(.override) { (scene) async throws in
            scene.origin.answer(Self.reading)
            for path in ["/a", "/b"] { _ = try await scene.get(path) }
            try await write(scene, "PUT", "/a", "new", status: 204)
            // The second hit is made from the first one's reply.
            for _ in 0..<2 { #expect(try await scene.get("/a")["Cache-Status"]?.hasSuffix("detail=written") == true) }
            let shown = try await scene.ask("/-/resources?url=\(scene.url("/a"))")
            #expect(shown["state"]?.string == "written")
            #expect(shown["variants"]?[0]?["written"]?.bool == true)
            #expect(shown["latestData"]?["isWritten"]?.bool == true)
            let listed = try await scene.ask("/-/resources?state=written")
            #expect(listed["resources"]?.array?.compactMap { $0["url"]?.string } == [scene.url("/a")])
            #expect(try await scene.ask("/-/resources?state=fresh")["resources"]?.array?.count == 2)
            let explained = try await scene.ask("/-/explain?url=\(scene.url("/a"))")
            #expect(explained["outcome"]?.string?.contains("what a client sent with a PUT") == true)
            #expect(explained["cacheStatus"]?.string?.contains("detail=written") == true)
            #expect(explained["stored"]?[0]?["response"]?.string?.contains("the content of a write") == true)
            scene.advance(.seconds(700))
            #expect(try await scene.get("/a").text == "old /a")
            #expect(try await scene.get("/a")["Cache-Status"]?.contains("written") == false)
        }
    }

    @Test(arguments: ["POST", "PATCH"]) func `RS-23 only a PUT sends the state itself`(method: String) async throws {
        try await Self.run(.override) { (scene) async throws in
            scene.origin.answer(Self.reading)
            try await write(scene, method, "/a", "new")
            #expect(try await scene.get("/a").text == "old /a")
        }
    }

    @Test func `RS-19 EC-05 the response to a write becomes the resource in memory only`() async throws {
        try await Self.run(.promote, onDisk: true) { (scene) async throws in
            scene.origin.answer(Self.reading)
            _ = try await scene.get("/a")
            try await write(scene, "PATCH", "/a", "change", Self.fresh, "ETag: \"2\"", reply: "whole")
            let answer = try await scene.get("/a")
            #expect(answer.text == "whole")
            #expect(answer["ETag"] == "\"2\"")
            #expect(answer["Cache-Status"] == "Larder; hit; ttl=600")
            try await scene.restart()
            #expect(try await scene.get("/a").text == "old /a")
        }
    }

    @Test func `EC-05 the response to a write is not stored unless it is told to be`() async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            scene.origin.answer(Self.reading)
            try await write(scene, "POST", "/a", "new", Self.fresh, reply: "of the POST")
            #expect(try await scene.get("/a").text == "old /a")
        }
    }

    @Test func `a write that failed promotes nothing`() async throws {
        try await Self.run(.promote) { (scene) async throws in
            scene.origin.answer(Self.reading)
            _ = try await scene.get("/a")
            try await write(scene, "PUT", "/a", "new", status: 409, reply: "conflict")
            #expect(try await scene.get("/a")["Cache-Status"] == "Larder; hit; ttl=600")
        }
    }

    @Test func `EC-05 a write whose response takes long replaces nothing that was loaded since`() async throws {
        try await Self.run(.promote) { (scene) async throws in
            scene.origin.answer(Self.reading)
            let client = try await scene.client("the writer")
            try await client.send("PUT \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 3", content: "new")
            let request = try await scene.origin.request()
            try await request.send("HTTP/1.1 200 OK", "Content-Length: 7", content: "promote".dropLast().description)
            #expect(try await client.head().status == 200)
            scene.advance(.seconds(1))
            #expect(try await scene.getStored("/a").text == "old /a")
            try await request.write("e")
            request.finish()
            #expect(try await client.text(7) == "promote")
            // On the same connection, so that the write has ended.
            try await client.get(scene.url("/a"))
            #expect(try await client.response().text == "old /a")
        }
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
