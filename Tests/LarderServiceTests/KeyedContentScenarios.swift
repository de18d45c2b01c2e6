// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// POST and QUERY whose content is part of what they ask for.
@Suite("Scenarios: requests keyed by their content")
struct KeyedContentScenarios {
    static let fresh = "Cache-Control: max-age=600"
    static let json = "Content-Type: application/json"

    static func run(
        onDisk: Bool = false, _ change: @escaping (inout ConfigureBlock) -> Void = { _ in },
        _ body: (Scenario) async throws -> Void
    ) async throws {
        try await Scenario.run(onDisk: onDisk) { settings, origin in
            settings.add("api", at: "http://127.0.0.1:\(origin.port)/") { service in
                service.configure {
                    $0.keyedByContent = true
                    $0.keyedContentLimit = 64 << 10
                    change(&$0)
                }
            }
        } _: {
            try await body($0)
        }
    }

    /// Sends a request with content and gives its response.
    static func ask(
        _ scene: Scenario, _ content: String, _ lines: String..., method: String = "POST", path: String = "/q"
    ) async throws -> WireMessage {
        let client = try await scene.client()
        let head =
            ["\(method) \(scene.url(path)) HTTP/1.1", "Host: x", "Content-Length: \(content.utf8.count)"] + lines
        try await client.write(head.map { $0 + "\r\n" }.joined() + "\r\n" + content)
        let response = try await client.response()
        await client.close()
        return response
    }

    /// Answers the next request that the origin gets, and gives its content.
    @discardableResult
    static func reply(_ scene: Scenario, _ lines: String..., content: String) async throws -> String {
        let request = try await scene.origin.request()
        let asked = try await request.content().text
        try await request.wire.write(OriginRequest.response(200, lines, content: content))
        request.finish()
        return asked
    }

    /// Asks what the origin has to answer.
    static func first(
        _ scene: Scenario, _ content: String, _ lines: [String] = [json], method: String = "POST", path: String = "/q",
        origin: [String] = [fresh], gets answer: String
    ) async throws {
        async let response = {
            let client = try await scene.client()
            let head = ["\(method) \(scene.url(path)) HTTP/1.1", "Host: x", "Content-Length: \(content.utf8.count)"]
            try await client.write((head + lines).map { $0 + "\r\n" }.joined() + "\r\n" + content)
            let response = try await client.response()
            await client.close()
            return response
        }()
        let request = try await scene.origin.request()
        #expect(request.head.method == method)
        #expect(try await request.content().text == content)
        try await request.wire.write(OriginRequest.response(200, origin, content: answer))
        request.finish()
        #expect(try await response.text == answer)
    }

    @Test(arguments: ["POST", "QUERY"], [false, true]) func `the same content is answered from what is stored`(
        method: String, onDisk: Bool
    ) async throws {
        try await Self.run(onDisk: onDisk) { (scene) async throws in
            try await Self.first(scene, "{\"a\":1, \"b\":[2]}", method: method, gets: "one")
            try await Self.first(scene, "{\"a\":2}", method: method, gets: "two")
            if onDisk { try await scene.restart() }
            let same = try await Self.ask(scene, "{ \"b\":[2],\n\"a\":1}", Self.json, method: method)
            #expect(same.text == "one")
            #expect(same["Cache-Status"]?.contains("hit") == true)
            #expect(try await Self.ask(scene, "{\"a\":2}", Self.json, method: method).text == "two")
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test func `other content, type, language, method and URL are asked for on their own`() async throws {
        try await Self.run { (scene) async throws in
            let content = "{\"a\":1}"
            try await Self.first(scene, content, gets: "1")
            try await Self.first(scene, content, ["Content-Type: application/problem+json"], gets: "2")
            try await Self.first(scene, content, [Self.json, "Content-Language: de"], gets: "3")
            try await Self.first(scene, content, ["Content-Type: application/x-ndjson"], gets: "4")
            try await Self.first(scene, content, method: "QUERY", gets: "5")
            try await Self.first(scene, content, path: "/r", gets: "6")
            try await Self.first(scene, "a=1", ["Content-Type: application/x-www-form-urlencoded"], gets: "7")
            #expect(try await Self.ask(scene, content, Self.json).text == "1")
            scene.origin.answer { _ in .ok(Self.fresh, content: "got") }
            #expect(try await scene.get("/q").text == "got")
            #expect(try await Self.ask(scene, content, Self.json).text == "1")
        }
    }

    static let deep = String(repeating: "[", count: 70) + String(repeating: "]", count: 70)

    @Test(arguments: [
        ("", [json]), ("", []), ("\u{1F}\u{8B}", [json, "Content-Encoding: gzip"]),
        ("{\"query\":\"{a}\"}", [json, "Content-Encoding: identity"]),
        ("--x\r\n\r\n{}\r\n--x--", ["Content-Type: multipart/form-data; boundary=x"]),
        ("query=mutation+%7B+a+%7D", ["Content-Type: application/x-www-form-urlencoded"]),
        ("qu%65ry=mutation{a}", ["Content-Type: application/x-www-form-urlencoded; charset=utf-8"]),
        ("a=1&query=%ZZ", ["Content-Type: application/x-www-form-urlencoded"]),
        ("\u{FEFF}{\"query\":\"mutation { a }\"}", [json]),
        ("{\"query\":\"{a}\",\"query\":\"mutation { a }\"}", [json]),
        ("{\"a\":\(deep),\"query\":\"mutation { a }\"}", [json]),
        ("{\"a\":\"\\ud800\",\"query\":\"mutation { a }\"}", [json]),
        ("{\"query\":\"mutation { a }\"", [json]),
        ("{}\n{\"query\":\"mutation { a }\"}", ["Content-Type: application/x-ndjson"]),
        ("{\"query\":\"mutation { a }\"}", ["Content-Type: text/plain"]), ("{\"query\":\"mutation { a }\"}", []),
        ("{\"qu\\u0065ry\":\"mutation { a }\"}", [json]), ("{a", ["Content-Type: application/graphql"]),
        ("{\"operationName\":\"Pay\",\"extensions\":{\"persistedQuery\":{\"sha256Hash\":\"x\"}}}", [json]),
        ("{\"id\":\"pay\",\"variables\":{}}", [json]), ("{\"documentId\":\"pay\"}", [json]),
        ("{\"Query\":\"mutation { a }\"}", [json]), ("[[{\"query\":\"mutation { a }\"}]]", [json]),
        ("operations=%7B%7D", ["Content-Type: application/x-www-form-urlencoded"]),
        ("query[]=mutation{a}", ["Content-Type: application/x-www-form-urlencoded"]),
        ("x=1;query=mutation{a}", ["Content-Type: application/x-www-form-urlencoded"]),
    ]) func `what cannot be read, or may change something, passes through each time`(
        content: String, lines: [String]
    ) async throws {
        try await Self.run { (scene) async throws in
            try await Self.first(scene, "{}", gets: "read")
            for number in 1...2 { try await Self.first(scene, content, lines, gets: "\(number)") }
            // It may have changed what is kept.
            try await Self.first(scene, "{}", gets: "anew")
        }
    }

    @Test func `a document in the URL counts like one in the content`() async throws {
        try await Self.run { (scene) async throws in
            for path in ["/q?query=mutation%7Ba%7D", "/q?a=1&query=mutation+a+%7Ba%7D&query="] {
                for number in 1...2 { try await Self.first(scene, "{}", path: path, gets: "\(number)") }
            }
            try await Self.first(scene, "{}", path: "/q?query=%7Ba%7D", gets: "kept")
            #expect(try await Self.ask(scene, "{}", Self.json, path: "/q?query=%7Ba%7D").text == "kept")
            try await Self.first(scene, "", path: "/q?query=%7Bb%7D", gets: "kept too")
            #expect(try await Self.ask(scene, "", Self.json, path: "/q?query=%7Bb%7D").text == "kept too")
        }
    }

    @Test func `nothing is different where nothing is configured`() async throws {
        try await Self.run({ $0.keyedByContent = false }) { (scene) async throws in
            for method in ["POST", "QUERY"] {
                for number in 1...2 { try await Self.first(scene, "{}", method: method, gets: "\(number)") }
            }
            scene.origin.answer { $0.method == "GET" ? .ok(Self.fresh, content: "got") : nil }
            _ = try await scene.get("/q")
            try await Self.first(scene, "{}", gets: "written")
            _ = try await scene.get("/q")
            #expect(scene.origin.seen.count { $0.method == "GET" } == 2)
            // A QUERY is safe whatever is configured.
            try await Self.first(scene, "{}", method: "QUERY", gets: "asked")
            _ = try await scene.get("/q")
            #expect(scene.origin.seen.count { $0.method == "GET" } == 2)
        }
    }

    @Test func `it does not invalidate its URL; what writes there does, and what was kept for content with it`()
        async throws
    {
        try await Self.run(onDisk: true) { (scene) async throws in
            scene.origin.answer { $0.method == "GET" ? .ok(Self.fresh, content: "got") : nil }
            _ = try await scene.get("/q")
            try await Self.first(scene, "{\"a\":1}", gets: "old")
            _ = try await scene.get("/q")
            #expect(scene.origin.seen.count { $0.method == "GET" } == 1)
            #expect(try await Self.ask(scene, "{\"a\":1}", Self.json).text == "old")
            try await scene.restart()
            try await Self.first(scene, "x", method: "PUT", gets: "written")
            try await Self.first(scene, "{\"a\":1}", gets: "new")
            try await Self.first(scene, "x", method: "PUT", gets: "written")
            try await Self.first(scene, "{\"a\":1}", gets: "newer")
            _ = try await scene.get("/q")
            #expect(scene.origin.seen.count { $0.method == "GET" } == 2)
        }
    }

    @Test func `those who ask for the same at the same time share one request`() async throws {
        try await Self.run { (scene) async throws in
            var clients: [Wire] = []
            for number in 0..<10 {
                let client = try await scene.client("client \(number)")
                let content = number.isMultiple(of: 2) ? "{\"a\":1,\"b\":2}" : "{\"b\":2,\"a\":1}"
                try await client.write(
                    "POST \(scene.url("/q")) HTTP/1.1\r\nHost: x\r\n\(Self.json)\r\nContent-Length: 13\r\n\r\n\(content)"
                )
                clients.append(client)
            }
            let request = try await scene.origin.request()
            try await eventually("all have joined") {
                var interest = 0
                scene.proxy.registry.forEach { interest += $0.memory.loads.reduce(0) { $0 + $1.interest } }
                return interest == 10
            }
            try await request.reply(Self.fresh, content: "shared")
            for client in clients { #expect(try await client.response().text == "shared") }
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `without a lifetime a POST is not kept, and with one that is configured it is`() async throws {
        try await Self.run { (scene) async throws in
            for number in 1...2 {
                try await Self.first(
                    scene, "{}", origin: ["Last-Modified: Mon, 01 Jan 2001 00:00:00 GMT"], gets: "\(number)")
            }
            try await Self.first(scene, "[]", origin: ["Cache-Control: no-store, max-age=60"], gets: "x")
            try await Self.first(scene, "[]", origin: ["Cache-Control: no-store, max-age=60"], gets: "y")
            let credentials = [Self.json, "Authorization: Bearer a"]
            try await Self.first(scene, "[]", credentials, gets: "x")
            try await Self.first(scene, "[]", credentials, gets: "y")
        }
        try await Self.run({ $0.expirationTime = Expiration(time: .seconds(60)) }) { (scene) async throws in
            try await Self.first(scene, "{}", origin: [], gets: "kept")
            #expect(try await Self.ask(scene, "{}", Self.json).text == "kept")
            scene.advance(.seconds(61))
            try await Self.first(scene, "{}", origin: ["ETag: \"a\""], gets: "again")
            scene.advance(.seconds(61))
            // A stale response is asked for anew, without conditions: they mean something else to POST.
            async let response = Self.ask(scene, "{}", Self.json)
            let request = try await scene.origin.request()
            #expect(request["If-None-Match"] == nil)
            #expect(try await request.content().text == "{}")
            try await request.reply(content: "anew")
            #expect(try await response.text == "anew")
        }
    }

    @Test func `a stream of events is replayed once it is complete`() async throws {
        try await Self.run({ $0.expirationTime = Expiration(time: .seconds(60)) }) { (scene) async throws in
            let client = try await scene.client()
            try await client.write(
                "POST \(scene.url("/q")) HTTP/1.1\r\nHost: x\r\n\(Self.json)\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "4\r\n{\"a\"\r\n3\r\n:1}\r\n0\r\n\r\n")
            let request = try await scene.origin.request()
            #expect(try await request.content().text == "{\"a\":1}")
            try await request.send(
                "HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked",
                content: "9\r\ndata: a\n\n\r\n")
            #expect(try await client.head().status == 200)
            #expect(try await client.chunk() == Array("data: a\n\n".utf8))
            try await request.write("9\r\ndata: b\n\n\r\n0\r\n\r\n")
            request.finish()
            #expect(try await client.chunk() == Array("data: b\n\n".utf8))
            #expect(try await client.chunk() == [])
            let replayed = try await Self.ask(scene, "{\"a\":1}", Self.json)
            #expect(replayed.text == "data: a\n\ndata: b\n\n")
            #expect(replayed["Content-Type"] == "text/event-stream")
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `content that is too long passes through whole`() async throws {
        try await Self.run { (scene) async throws in
            let content = String(repeating: "x", count: 200_000)
            for _ in 0..<2 { try await Self.first(scene, content, gets: "passed") }
            for _ in 0..<2 {
                let client = try await scene.client()
                async let sent: Void = client.write(
                    "POST \(scene.url("/q")) HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                        + "\(String(content.utf8.count, radix: 16))\r\n\(content)\r\n0\r\n\r\n")
                #expect(try await Self.reply(scene, Self.fresh, content: "passed") == content)
                try await sent
                #expect(try await client.response().text == "passed")
                await client.close()
            }
            // Long enough to be looked at by a thread of its own.
            let long = "\"" + String(repeating: "x", count: 60_000) + "\""
            try await Self.first(scene, long, gets: "kept")
            #expect(try await Self.ask(scene, " " + long, Self.json).text == "kept")
        }
    }

    @Test func `conditions and ranges pass through`() async throws {
        try await Self.run { (scene) async throws in
            try await Self.first(scene, "{}", gets: "1")
            try await Self.first(scene, "{}", [Self.json, "If-None-Match: \"a\""], gets: "2")
            try await Self.first(scene, "{}", [Self.json, "Range: bytes=0-0"], gets: "3")
        }
    }

    @Test func `a client that waits for leave to send gets it, and the connection goes on`() async throws {
        try await Self.run { (scene) async throws in
            let client = try await scene.client()
            for answer in ["1", "1"] {
                try await client.send(
                    "POST \(scene.url("/q")) HTTP/1.1", "Host: x", "Content-Type: application/json",
                    "Expect: 100-continue", "Content-Length: 2")
                #expect(try await client.head().status == 100)
                try await client.write("12")
                if scene.origin.seen.isEmpty {
                    let request = try await scene.origin.request()
                    #expect(request["Expect"] == nil)
                    try await request.reply(Self.fresh, content: answer)
                }
                #expect(try await client.response().text == answer)
            }
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `GraphQL mutations pass through and make what is kept for queries unusable`() async throws {
        try await Self.run { (scene) async throws in
            let query = "{\"query\":\"query { a }\"}"
            try await Self.first(scene, query, gets: "old")
            #expect(try await Self.ask(scene, query, Self.json).text == "old")
            let mutation = "{\"query\":\"mutation { a }\"}"
            for number in 1...2 {
                try await Self.first(scene, mutation, gets: "\(number)")
                try await Self.first(scene, query, gets: "new")
            }
            try await Self.first(scene, "mutation { a }", ["Content-Type: application/graphql"], gets: "3")
            try await Self.first(scene, "mutation { a }", ["Content-Type: application/graphql"], gets: "4")
        }
    }

    @Test func `operators see what is stored for which content`() async throws {
        try await Self.run(onDisk: true) { (scene) async throws in
            try await Self.first(scene, "{\"a\":1}", gets: "one")
            scene.origin.answer { _ in nil }
            for restarts in [false, true] {
                if restarts { try await scene.restart() }
                let list = try await Self.admin(scene, "/-/resources")
                #expect(list.contains("/q#POST-"), "\(list)")
                let digest = try #require(list.split(separator: "#POST-").dropFirst().first).prefix(64)
                let url = scene.url("/q") + "%23POST-" + digest
                #expect(try await Self.admin(scene, "/-/resources?url=\(url)").contains("\"fresh\""))
                let explanation = try await Self.admin(scene, "/-/explain?url=\(url)")
                #expect(explanation.contains("\"POST\"") && explanation.contains("hit"), "\(explanation)")
            }
            let explanation = try await Self.admin(scene, "/-/explain?method=POST&url=\(scene.url("/q"))")
            #expect(explanation.contains("keyedByContent"), "\(explanation)")
        }
    }

    static func admin(_ scene: Scenario, _ path: String) async throws -> String {
        let client = try await scene.client()
        try await client.send("GET \(path) HTTP/1.1", "Host: localhost:\(scene.port)", "Accept: application/json")
        let text = try await client.response().text
        await client.close()
        return text.replacing("\\/", with: "/")
    }
}
