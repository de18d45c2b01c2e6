// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// Resources that are invalidated together: groups (RFC 9875), surrogate keys, and a URL's partitions.
@Suite("Scenarios: groups and partitions")
struct GroupScenarios {
    static let fresh = "Cache-Control: max-age=600"

    /// Answers every GET with its groups, by its path: `/red/1` belongs to "red".
    static func answer(_ origin: ScriptedOrigin, field: String = "Cache-Groups", _ word: String = "old") {
        origin.answer { request in
            guard request.method == "GET" else { return nil }
            let group = request.target.split(separator: "/").first.map(String.init) ?? ""
            let value = field == "Cache-Groups" ? "\"\(group)\", \"all\"" : "\(group) all"
            return .ok(fresh, "\(field): \(value)", content: word)
        }
    }

    /// A POST whose response has these lines.
    func post(_ scene: Scenario, _ path: String, status: Int = 200, _ lines: String...) async throws {
        let client = try await scene.client("the writer")
        try await client.send("POST \(scene.url(path)) HTTP/1.1", "Host: x", "Content-Length: 0")
        let request = try await scene.origin.request()
        try await request.wire.write(OriginRequest.response(status, lines))
        request.finish()
        #expect(try await client.response().status == status)
        await client.close()
    }

    @Test(arguments: [false, true]) func `a write names the groups that are fetched anew, in memory and on disk`(
        onDisk: Bool
    ) async throws {
        try await Scenario.run(onDisk: onDisk) { (scene) async throws in
            Self.answer(scene.origin)
            let paths = ["/red/1", "/red/2", "/blue/1", "/green/1"]
            for path in paths { #expect(try await scene.get(path).text == "old") }
            if onDisk { try await scene.restart() }
            try await post(scene, "/write", "Cache-Group-Invalidation: \"red\", \"green\";x=1, none")
            Self.answer(scene.origin, "new")
            for path in paths {
                #expect(try await scene.get(path).text == (path.hasPrefix("/blue") ? "old" : "new"), "\(path)")
            }
            guard onDisk else { return }
            try await scene.restart()
            for path in paths {
                #expect(try await scene.get(path).text == (path.hasPrefix("/blue") ? "old" : "new"), "\(path)")
            }
        }
    }

    @Test func `a write that failed, a read, and another origin invalidate no group`() async throws {
        try await Scenario.run { (scene) async throws in
            Self.answer(scene.origin)
            _ = try await scene.get("/red/1")
            try await post(scene, "/write", status: 409, "Cache-Group-Invalidation: \"red\"")
            scene.origin.answer { request in
                request.method == "GET" ? .ok(Self.fresh, "Cache-Group-Invalidation: \"red\"", content: "x") : nil
            }
            _ = try await scene.get("/blue/1")
            // The same server under another name is another origin.
            let writer = try await scene.client("the writer")
            try await writer.send(
                "POST http://localhost:\(scene.origin.port)/write HTTP/1.1", "Host: x", "Content-Length: 0")
            try await scene.origin.request().reply("Cache-Group-Invalidation: \"red\"")
            #expect(try await writer.response().status == 200)
            #expect(try await scene.get("/red/1").text == "old")
        }
    }

    @Test(arguments: ["Surrogate-Key", "xkey"]) func `a configured field names groups too, and is passed on`(
        field: String
    ) async throws {
        try await Scenario.run(onDisk: true) { settings, _ in
            settings.cache.surrogateKey = FieldName(field)
        } _: { (scene) async throws in
            Self.answer(scene.origin, field: field)
            #expect(try await scene.get("/red/1")[field] == "red all")
            _ = try await scene.get("/blue/1")
            try await scene.restart()
            #expect(try await scene.get("/red/1")[field] == "red all")
            try await post(scene, "/write", "Cache-Group-Invalidation: \"red\"")
            Self.answer(scene.origin, field: field, "new")
            #expect(try await scene.get("/red/1").text == "new")
            #expect(try await scene.get("/blue/1").text == "old")
        }
    }

    @Test func `the field is kept from clients where that is configured, and counts all the same`() async throws {
        try await Scenario.run(onDisk: true) { settings, _ in
            settings.cache.surrogateKey = "Surrogate-Key"
            settings.cache.hideSurrogateKey = true
        } _: { (scene) async throws in
            Self.answer(scene.origin, field: "Surrogate-Key")
            for _ in 0..<2 { #expect(try await scene.get("/red/1")["Surrogate-Key"] == nil) }
            #expect(try await scene.get("/red/1", "Range: bytes=0-0")["Surrogate-Key"] == nil)
            try await scene.restart()
            #expect(try await scene.get("/red/1")["Surrogate-Key"] == nil)
            try await post(scene, "/write", "Cache-Group-Invalidation: \"red\"", "Surrogate-Key: x")
            Self.answer(scene.origin, field: "Surrogate-Key", "new")
            #expect(try await scene.get("/red/1").text == "new")
        }
    }

    @Test(arguments: [10, 6 << 20]) func `a member that was being loaded meanwhile is not kept`(
        length: Int
    ) async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            let old = try await scene.unfinished("/red/1", length: length, Self.fresh, "Cache-Groups: \"red\"")
            try await post(scene, "/write", "Cache-Group-Invalidation: \"red\"")
            #expect(try await old.finish() == old.content)
            Self.answer(scene.origin, "new")
            #expect(try await scene.get("/red/1").text == "new")
            try await scene.restart()
            #expect(try await scene.get("/red/1").text == "new")
        }
    }

    @Test func `a validation changes the groups of what is stored`() async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            scene.origin.answer { request in
                guard request.method == "GET" else { return nil }
                return request["If-None-Match"] == nil
                    ? .ok("Cache-Control: max-age=10", "ETag: \"1\"", "Cache-Groups: \"red\"", content: "apples")
                    : .response(304, "ETag: \"1\"", Self.fresh, "Cache-Groups: \"blue\"")
            }
            _ = try await scene.get("/a")
            scene.advance(.seconds(60))
            _ = try await scene.get("/a")
            try await scene.restart()
            try await post(scene, "/write", "Cache-Group-Invalidation: \"red\"")
            #expect(try await scene.get("/a")["Cache-Status"]?.hasPrefix("Larder; hit") == true)
            try await scene.restart()
            try await post(scene, "/write", "Cache-Group-Invalidation: \"blue\"")
            #expect(try await scene.get("/a")["Cache-Status"] == "Larder; fwd=uri-miss; fwd-status=200; stored")
        }
    }

    @Test(arguments: [false, true]) func `a write reaches partitions that nobody has asked for since the start`(
        isStillPartitioned: Bool
    ) async throws {
        try await Scenario.run(onDisk: true) {
            $0.add("api", at: $1.url("/")) { $0.privacy = .partitioned }
        } _: { (scene) async throws in
            scene.origin.answer { $0.method == "GET" ? .ok(Self.fresh, content: $0["Authorization"] ?? "") : nil }
            let users = (0..<60).map { "user\($0)" }
            for user in users { for path in ["/a", "/ab"] { _ = try await scene.get(path, "Authorization: \(user)") } }
            try await scene.restart()
            if !isStillPartitioned { try await scene.reload { $0.services[0].privacy = .shared } }
            try await post(scene, "/a")
            try await scene.reload { $0.services[0].privacy = .partitioned }
            let before = scene.origin.seen.count
            for user in users { _ = try await scene.get("/a", "Authorization: \(user)") }
            #expect(scene.origin.seen.count == before + users.count)
            // A longer URL is another one.
            for user in users { _ = try await scene.get("/ab", "Authorization: \(user)") }
            #expect(scene.origin.seen.count == before + users.count)
        }
    }
}
