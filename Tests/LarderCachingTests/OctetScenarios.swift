// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderTesting
import Testing

@testable import Larder
@testable import LarderProxy

/// Things that pass as they came: octets, methods, statuses, and fields that come more than once.
@Suite("Scenarios: what passes as it came")
struct OctetScenarios {
    static let fresh = "Cache-Control: max-age=600"

    /// Replies with octets that are no text.
    private func reply(_ request: OriginRequest, _ octets: [UInt8], isChunked: Bool) async throws {
        guard isChunked else {
            try await request.send("HTTP/1.1 200 OK", "Content-Length: \(octets.count)", Self.fresh)
            try await request.wire.write(octets)
            return request.finish()
        }
        try await request.send("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", Self.fresh)
        try await request.wire.write(Self.chunked(octets))
        request.finish()
    }

    /// Octets as chunks of many sizes.
    static func chunked(_ octets: [UInt8]) -> [UInt8] {
        var (text, rest, size) = ([UInt8](), octets[...], 1)
        while !rest.isEmpty {
            let chunk = rest.prefix(size)
            text += Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + [0x0D, 0x0A]
            rest = rest.dropFirst(size)
            size = min(size * 3, 20_000)
        }
        return text + Array("0\r\n\r\n".utf8)
    }

    static let lengths = [0, 1, 2, 255, 1_023, 16_384, 65_535, 65_536, 65_537, 200_001]

    @Test(arguments: [false, true], [false, true])
    func `RS-31 random octets pass unchanged, from the origin, from memory and from the store`(
        isChunked: Bool, onDisk: Bool
    ) async throws {
        try await Scenario.run(onDisk: onDisk) { (scene) async throws in
            // As no run of this generator does, each starts at another place.
            let contents = Self.lengths.enumerated().map { number, length in
                Array(SizeScenarios.content(length + 8 * number).suffix(length))
            }
            for (number, content) in contents.enumerated() {
                let client = try await scene.client()
                try await client.get(scene.url("/\(number)"))
                try await reply(try await scene.origin.request(), content, isChunked: isChunked)
                #expect(try await client.response().content == content)
                #expect(try await scene.get("/\(number)").content == content)
            }
            if onDisk { try await scene.restart() }
            for (number, content) in contents.enumerated() {
                let hit = try await scene.get("/\(number)")
                #expect(hit.content == content)
                #expect(hit["Cache-Status"] == "Larder; hit; ttl=600")
            }
            #expect(scene.origin.seen.count == contents.count)
        }
    }

    @Test(arguments: [false, true]) func `RQ-07 the octets of a request's content reach the origin unchanged`(
        isChunked: Bool
    ) async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            for (number, length) in Self.lengths.enumerated() {
                let content = Array(SizeScenarios.content(length + 8 * number).suffix(length))
                let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(length)"
                try await client.send(
                    "PUT \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Type: application/x-own", framing)
                try await client.write(isChunked ? Self.chunked(content) : content)
                let request = try await scene.origin.request()
                #expect(try await request.content().content == content)
                #expect(request["Content-Type"] == "application/x-own")
                try await request.reply(204)
                #expect(try await client.response(to: "PUT").status == 204)
            }
        }
    }

    @Test func `RQ-01 every method reaches the origin, with its content and without, and its answer comes back`()
        async throws
    {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY", "PROPFIND", "x-own"] {
                for content in method == "HEAD" ? [nil] : [nil, "", "some"] {
                    let length = content.map { ["Content-Length: \($0.utf8.count)"] } ?? []
                    let lines = ["\(method) \(scene.url("/\(method)")) HTTP/1.1", "Host: x"] + length
                    try await client.write(lines.map { $0 + "\r\n" }.joined() + "\r\n" + (content ?? ""))
                    let request = try await scene.origin.request()
                    #expect(request.head.startLine == "\(method) /\(method) HTTP/1.1")
                    #expect(try await request.content().text == content ?? "")
                    try await request.reply(content == "" ? 204 : 200, "Cache-Control: no-store", "X-Of: \(method)")
                    let answer = try await client.response(to: method)
                    #expect(answer.status == (content == "" ? 204 : 200))
                    #expect(answer["X-Of"] == method)
                    #expect(answer.content.isEmpty)
                    #expect(answer.status == 200 || answer["Content-Length"] == nil)
                }
            }
        }
    }

    @Test func `HT-09 a stored response keeps its status`() async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            let statuses = [200, 203, 204, 300, 301, 302, 307, 308, 404, 405, 410, 414, 451, 501]
            scene.origin.answer { head in
                let status = Int(head.target.dropFirst()) ?? 0
                return .response(status, Self.fresh, "Location: /there", content: status == 204 ? "" : "\(status)")
            }
            for isRestarted in [false, true] {
                if isRestarted { try await scene.restart() }
                for status in statuses {
                    for _ in 0..<2 {
                        let answer = try await scene.get("/\(status)")
                        #expect(answer.status == status)
                        #expect(answer["Location"] == "/there")
                        #expect(answer.text == (status == 204 ? "" : "\(status)"))
                    }
                }
            }
            // An error of the server's does not survive a restart.
            #expect(scene.origin.seen.count == statuses.count + 1)
        }
    }

    @Test func `HT-10 a redirect goes to the client, who may keep it where HTTP says so, and is never followed`()
        async throws
    {
        try await Scenario.run { (scene) async throws in
            for (status, asked) in [(301, 1), (308, 1), (302, 2), (303, 2), (307, 2)] {
                // Those that last may be kept without a word about it; nothing says for how long but the age of the page.
                scene.origin.answer { _ in
                    .response(
                        status, "Location: \(scene.url("/there"))", "Last-Modified: Mon, 01 Jan 1962 00:00:00 GMT",
                        "Date: Tue, 14 Nov 2023 22:13:20 GMT")
                }
                for _ in 0..<2 {
                    let answer = try await scene.get("/\(status)")
                    #expect(answer.status == status)
                    #expect(answer["Location"] == scene.url("/there"))
                }
                #expect(scene.origin.count(of: "/\(status)") == asked, "\(status)")
            }
            #expect(scene.origin.count(of: "/there") == 0)
        }
    }

    @Test func `HT-18 fields that come more than once keep their lines and their order, stored or not`() async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            scene.origin.answer { _ in
                .ok(
                    Self.fresh, "Link: </1>; rel=a", "X-Own: 1", "Link: </2>; rel=b", "x-own: 2", "Vary: X-A",
                    "Connection: X-Hop", "X-Hop: 1", "X-Hop: 2", "Vary: X-B", content: "x")
            }
            for isRestarted in [false, false, true] {
                if isRestarted { try await scene.restart() }
                let answer = try await scene.get("/a", "X-A: 1", "X-B: 2", "X-Many: 1", "X-Many: 2")
                #expect(answer.head[all: "Link"] == ["</1>; rel=a", "</2>; rel=b"])
                #expect(answer.head[all: "X-Own"] == ["1", "2"])
                #expect(answer.head[all: "Vary"] == ["X-A", "X-B"])
                #expect(answer["X-Hop"] == nil)
            }
            #expect(scene.origin.seen.map { $0[all: "X-Many"] } == [["1", "2"]])
            // Both lines of Vary count.
            for lines in [["X-A: 1", "X-B: 3"], ["X-A: 3", "X-B: 2"]] {
                _ = try await scene.get("/a", lines[0], lines[1])
            }
            #expect(scene.origin.seen.count == 3)
        }
    }

    @Test func `HT-18 cookies of one client are no other's, and each keeps its line`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, "Set-Cookie: a=1", "Set-Cookie: b=2, c", content: "x") }
            #expect(try await scene.get("/a").head[all: "Set-Cookie"] == ["a=1", "b=2, c"])
            #expect(try await scene.get("/a").head[all: "Set-Cookie"] == [])
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test(arguments: [204, 200]) func `HT-14 what has no content is not transformed, whatever type it names`(
        status: Int
    ) async throws {
        let runs = Recorder<String>()
        try await TransformingScenarios.run(
            ConfigurationEntry(description: "parsing") {
                $0.pipeline.add(.json)
                $0.pipeline[.model].add(TransformingScenarios.Counting(runs: runs))
            }
        ) { (scene) async throws in
            scene.origin.answer { _ in .response(status, Self.fresh, TransformingScenarios.json, "ETag: \"1\"") }
            for _ in 0..<2 {
                let answer = try await scene.get("/a")
                #expect(answer.status == status)
                #expect(answer["ETag"] == "\"1\"")
            }
            #expect(runs.count == 0)
        }
    }
}
