// SPDX-License-Identifier: Apache-2.0
import Dispatch
import LarderIO
import LarderSettings
import LarderTesting
import Logging
import Testing

@testable import Larder
@testable import LarderHTTP
@testable import LarderProxy

/// Responses that go through a pipeline, as clients get them.
@Suite("Scenarios: transformed responses")
struct TransformingScenarios {
    static let fresh = "Cache-Control: max-age=60"
    static let json = "Content-Type: application/json"

    /// A transformer that counts, and makes `{"made":…}` of what it is given.
    struct Counting: ResponseTransformer {
        let runs: Recorder<String>
        var word = "made"
        var transformerDescription: String { "counting \(word)" }

        func applies(to response: Response) -> Bool {
            if case .success(let entity) = response { entity.contentType.hasPrefix("application/json") } else { false }
        }

        func process(_ response: Response) -> Response {
            response.map { entity in
                runs(word)
                return entity.withContent(JSONValue.object([word: JSONValue.string(text(entity))]) as any Sendable)
            }
        }

        private func text(_ entity: AnyEntity) -> String {
            String(decoding: entity.content as? [UInt8] ?? [], as: UTF8.self)
        }
    }

    /// A transformer that is a function of the response.
    static func closure(_ name: String, _ body: @escaping @Sendable (Response) -> Response) -> ConfigurationEntry {
        entry(ClosureTransformer(name, body))
    }

    static func entry(_ transformer: some ResponseTransformer) -> ConfigurationEntry {
        ConfigurationEntry(description: transformer.transformerDescription) {
            $0.pipeline[.model].removeTransformers()
            $0.pipeline[.model].add(transformer)
        }
    }

    /// A scenario with one service at the origin whose pipeline is that entry.
    static func run(
        _ entry: ConfigurationEntry, onDisk: Bool = false,
        _ configure: @escaping (inout Settings) -> Void = { _ in }, _ body: (Scenario) async throws -> Void
    ) async throws {
        try await Scenario.run(onDisk: onDisk) { settings, origin in
            settings.add("api", at: origin.url("/"))
            settings.services[0].declare = { $0.add(entry) }
            configure(&settings)
        } _: { scene in
            try await body(scene)
        }
    }

    static func made(_ text: String, _ word: String = "made") -> String { "{\"\(word)\":\"\(text)\"}" }

    // MARK: Loads

    @Test func `PL-12 a thousand clients at once cause one request and one transformation`() async throws {
        let runs = Recorder<String>()
        try await Self.run(Self.entry(Counting(runs: runs)), { $0.threads = 4 }) { (scene) async throws in
            let clients = try await scene.crowd(of: 1000, askingFor: "/a")
            let request = try await scene.origin.request()
            try await eventually("all have joined") { scene.interest(in: "/a") == 1000 }
            let content = String(repeating: "apples ", count: 10_000)
            try await request.reply(Self.fresh, Self.json, content: content)
            for client in clients {
                let response = try await client.response()
                #expect(response.isWhole)
                #expect(response.text == Self.made(content))
            }
            #expect(scene.origin.seen.count == 1)
            #expect(runs.count == 1)
            #expect(try await scene.get("/a")["Cache-Status"] == "Larder; hit; ttl=60")
            #expect(runs.count == 1)
        }
    }

    @Test func `what is transformed has its own tag and keeps what is still true of it`() async throws {
        try await Self.run(Self.entry(Counting(runs: Recorder()))) { (scene) async throws in
            scene.origin.answer { _ in
                .ok(
                    Self.fresh, Self.json, "ETag: \"origin\"", "Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT",
                    "Content-MD5: x", "Digest: x", "Repr-Digest: x", "Content-Digest: x", "Accept-Ranges: none",
                    "Vary: X-Kind", "X-Own: 1", content: "a")
            }
            let miss = try await scene.get("/a")
            let hit = try await scene.get("/a")
            for response in [miss, hit] {
                #expect(response.text == Self.made("a"))
                #expect(response["Content-Length"] == "12")
                #expect(response["ETag"]?.count == 34)
                #expect(response["Vary"] == "X-Kind")
                #expect(response["Cache-Control"] == "max-age=60")
                #expect(response["X-Own"] == "1")
                for gone in [
                    "Last-Modified", "Content-MD5", "Digest", "Repr-Digest", "Content-Digest", "Accept-Ranges",
                ] {
                    #expect(response[gone] == nil, "\(gone)")
                }
            }
            #expect(miss["ETag"] == hit["ETag"])
        }
    }

    @Test func `conditions of clients are about what they get, those of Larder about what the origin sent`()
        async throws
    {
        let runs = Recorder<String>()
        try await Self.run(Self.entry(Counting(runs: runs))) { (scene) async throws in
            scene.origin.answer {
                $0["If-None-Match"] == "\"origin\""
                    ? .response(304, Self.fresh, "ETag: \"origin\"", "X-New: 1")
                    : .ok(Self.fresh, Self.json, "ETag: \"origin\"", content: "a")
            }
            let tag = try await scene.get("/a")["ETag"] ?? ""
            #expect(try await scene.get("/a", "If-None-Match: \(tag)").status == 304)
            #expect(try await scene.get("/a", "If-None-Match: \"origin\"").text == Self.made("a"))
            scene.advance(.seconds(100))
            let validated = try await scene.get("/a", "If-None-Match: \(tag)")
            #expect(validated.status == 304)
            #expect(validated["X-New"] == "1")
            #expect(validated["ETag"] == tag)
            let hit = try await scene.get("/a")
            #expect(hit.text == Self.made("a"))
            #expect(hit["Cache-Status"]?.hasPrefix("Larder; hit") == true)
            #expect(hit["X-New"] == "1")
            #expect(scene.origin.seen.count == 2)
            #expect(runs.count == 1)
            // A load for somebody who has it already.
            #expect(try await scene.get("/b", "If-None-Match: \(tag)").status == 304)
            #expect(scene.origin.seen.last?["If-None-Match"] == nil)
        }
    }

    @Test(arguments: [false, true])
    func `RFC 9110 §13.1.1 a write has the origin's tag for that of what its client got`(isRestarted: Bool) async throws
    {
        try await Self.run(Self.entry(Counting(runs: Recorder())), onDisk: true) { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, "ETag: \"origin\"", content: "a") }
            let tag = try await scene.get("/a")["ETag"] ?? ""
            if isRestarted { try await scene.restart() }
            let client = try await scene.client()
            try await client.send(
                "PUT \(scene.url("/a")) HTTP/1.1", "Host: x", "If-Match: \"other\", \(tag)", "Content-Length: 1",
                content: "b")
            #expect(try await client.response().status == 200)
            #expect(scene.origin.seen.last?["If-Match"] == "\"other\", \"origin\"")
        }
    }

    @Test(arguments: ["no-transform", "type", "raw", "large", "grows"])
    func `HT-11 HT-13 what no transformer is for goes on as it came`(why: String) async throws {
        let runs = Recorder<String>()
        try await Self.run(Self.entry(Counting(runs: runs))) {
            $0.limits.transformedContent = .kibibytes(1)
            if why == "raw" {
                $0.services[0].declare = { service in
                    service.add(Self.entry(Counting(runs: runs)))
                    service.configure("**") { $0.serving = .raw }
                }
            }
        } _: { (scene) async throws in
            let content = String(repeating: "x", count: ["large", "grows"].contains(why) ? 3000 : 10)
            let type = why == "type" ? "Content-Type: text/plain" : Self.json
            let control = why == "no-transform" ? "Cache-Control: max-age=60, no-transform" : Self.fresh
            scene.origin.answer { _ in
                why == "grows"
                    ? "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\(control)\r\n\(type)\r\nETag: \"1\"\r\n\r\n"
                        + "3e8\r\n\(content.prefix(1000))\r\n7d0\r\n\(content.prefix(2000))\r\n0\r\n\r\n"
                    : .ok(control, type, "ETag: \"1\"", content: content)
            }
            for _ in 0..<2 {
                let response = try await scene.get("/a")
                #expect(response.text == content)
                #expect(response["ETag"] == "\"1\"")
            }
            #expect(scene.origin.seen.count == 1)
            #expect(runs.count == 0)
            let isSaid = scene.log.values.contains { $0.contains("too large to be transformed") }
            #expect(isSaid == ["large", "grows"].contains(why))
        }
    }

    @Test func `what may not be kept is transformed for each who asks`() async throws {
        let runs = Recorder<String>()
        try await Self.run(Self.entry(Counting(runs: runs))) { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: no-store", Self.json, content: "a") }
            #expect(try await scene.get("/a").text == Self.made("a"))
            #expect(try await scene.get("/a").text == Self.made("a"))
            #expect(runs.count == 2)
        }
    }

    @Test func `content of many pieces that a pipeline leaves as it is arrives whole`() async throws {
        let transformer = ClosureTransformer("a field more") { response in
            response.map { entity in
                var entity = entity
                entity.fields["X-Seen"] = "yes"
                return entity
            }
        }
        let entry = ConfigurationEntry(description: "a field more", methods: [.post]) {
            $0.transformedMethods.insert(.post)
            $0.pipeline[.model].removeTransformers()
            $0.pipeline[.model].add(transformer)
        }
        try await Self.run(entry) { (scene) async throws in
            let content = String(repeating: "0123456789abcdef", count: 1 << 20)
            scene.origin.answer { _ in .ok(Self.json, content: content) }
            let client = try await scene.client()
            try await client.send("POST \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 0")
            let answer = try await client.response()
            #expect(answer["X-Seen"] == "yes")
            #expect(answer.content == Array(content.utf8))
        }
    }

    @Test func `a part of what is transformed is a part of what it becomes`() async throws {
        try await Self.run(Self.entry(Counting(runs: Recorder()))) { (scene) async throws in
            scene.origin.answer {
                $0["Range"] == nil
                    ? .ok(Self.fresh, Self.json, content: "apples")
                    : .response(206, Self.fresh, Self.json, "Content-Range: bytes 0-1/6", content: "ap")
            }
            #expect(try await scene.get("/a", "Range: bytes=0-1").text == Self.made("apples"))
            let part = try await scene.get("/a", "Range: bytes=0-1")
            #expect(part.status == 206)
            #expect(part.text == "{\"")
            #expect(part["Content-Range"] == "bytes 0-1/17")
        }
    }

    /// A transformer with one thread of its own, which waits for the test.
    private final class Gated: WaitingTransformer {
        let runs = Recorder<String>()
        let gate = DispatchSemaphore(value: 0)
        private let pool = WorkerPool(name: "gated", threads: 1, queueLimit: 8)
        var threads: TransformerThreads? { TransformerThreads { [pool] in pool.submit($0) } }
        var transformerDescription: String { "gated" }

        func applies(to response: Response) -> Bool { true }

        func process(_ response: Response, until deadline: TransformDeadline?) -> Response {
            runs(String(decoding: response.entity?.content as? [UInt8] ?? [], as: UTF8.self))
            gate.wait()
            return response
        }
    }

    @Test func `nothing is transformed for clients that have left before its turn comes`() async throws {
        let gated = Gated()
        try await Self.run(Self.entry(gated)) { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, Self.json, content: $0.target) }
            let first = try await scene.client()
            try await first.get(scene.url("/a"))
            try await eventually("the first is transformed") { gated.runs.values == ["/a"] }
            let second = try await scene.client()
            try await second.get(scene.url("/b"))
            try await eventually("the second waits") { scene.origin.count(of: "/b") == 1 }
            await second.close()
            try await eventually("it has left") { scene.interest(in: "/b") == 0 }
            try await scene.lettingTimePass(reaching: .milliseconds(50)) {
                try await eventually("its load is cancelled") {
                    scene.resource("/b")?.memory.loads.allSatisfy(\.isCancelled) ?? true
                }
            }
            gated.gate.signal()
            #expect(try await first.response().text == "/a")
            gated.gate.signal()
            #expect(try await scene.get("/c").text == "/c")
            #expect(gated.runs.values == ["/a", "/c"])
        }
    }

    @Test func `an origin that always sends parts is not asked for the whole again and again`() async throws {
        try await Self.run(Self.entry(Counting(runs: Recorder()))) { (scene) async throws in
            scene.origin.answer { _ in
                .response(206, Self.fresh, Self.json, "Content-Range: bytes 0-1/6", content: "ap")
            }
            let whole = try await scene.get("/a")
            #expect(whole.status == 502)
            #expect(whole.text.contains("sent a part (206) of what was asked for as a whole"))
            #expect(scene.origin.seen.count == 1)
            #expect(try await scene.get("/a", "Range: bytes=0-1").status == 502)
            #expect(scene.origin.seen.map { $0["Range"] } == [nil, "bytes=0-1", nil])
        }
    }

    @Test func `a part that is asked for as a whole again, and has not changed, is a part of what is stored`()
        async throws
    {
        try await Self.run(Self.entry(Counting(runs: Recorder()))) { (scene) async throws in
            scene.origin.answer { request in
                if request["Range"] != nil {
                    return .response(206, Self.fresh, Self.json, "Content-Range: bytes 0-1/6", content: "ap")
                }
                return request["If-None-Match"] == nil
                    ? .ok(Self.fresh, Self.json, "ETag: \"1\"", content: "apples") : .response(304, Self.fresh)
            }
            #expect(try await scene.get("/a").text == Self.made("apples"))
            scene.advance(.seconds(1_000))
            let part = try await scene.get("/a", "Range: bytes=0-1")
            #expect(part.status == 206)
            #expect(part.text == "{\"")
            #expect(scene.origin.seen.map { $0["If-None-Match"] != nil } == [false, true, true])
        }
    }

    @Test func `HT-14 HEAD says nothing of octets that nobody gets`() async throws {
        try await Self.run(Self.entry(Counting(runs: Recorder()))) { (scene) async throws in
            scene.origin.answer { request in
                request.method == "HEAD"
                    ? "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nETag: \"1\"\r\n\(Self.json)\r\n\r\n"
                    : .ok(Self.fresh, Self.json, "ETag: \"1\"", content: "apples")
            }
            let client = try await scene.client()
            func head() async throws -> WireMessage {
                try await client.write("HEAD \(scene.url("/a")) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                return try await client.response(to: "HEAD")
            }
            let cold = try await head()
            #expect(cold["ETag"] == nil)
            #expect(cold["Content-Length"] == nil)
            let got = try await scene.get("/a")
            let warm = try await head()
            #expect(warm["ETag"] == got["ETag"])
            #expect(warm["Content-Length"] == "17")
        }
    }
}
