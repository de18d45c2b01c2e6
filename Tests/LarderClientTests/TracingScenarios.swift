// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// Traces of requests, as a collector gets them.
@Suite("Scenarios: traces")
struct TracingScenarios {
    static let fresh = "Cache-Control: max-age=60"
    static let trace = "0af7651916cd43dd8448eb211c80319c"
    static let caller = "b7ad6b7169203331"
    static let sampled = "traceparent: 00-\(trace)-\(caller)-01"

    /// A scenario with a collector.
    private func run(
        _ configure: @escaping (inout Settings) -> Void = { _ in },
        _ body: (Scenario, ScriptedOrigin) async throws -> Void
    ) async throws {
        let collector = try await ScriptedOrigin.start(on: try #require(Peers.loop))
        try await Scenario.run { settings, _ in
            settings.threads = 1
            settings.trace.otlp = try? BaseURL.read(collector.url("")).get()
            settings.trace.sample = 0
            configure(&settings)
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: "apples") }
            do {
                try await body(scene, collector)
            } catch {
                await collector.stop()
                throw error
            }
            await collector.stop()
        }
    }

    /// The spans of the next batch, which comes after that time and which the collector accepts.
    private func spans(
        _ scene: Scenario, _ collector: ScriptedOrigin, after wait: Duration = .seconds(1)
    ) async throws -> [SpanSeen] {
        let request = try await scene.lettingTimePass(reaching: wait) { try await collector.request() }
        #expect(request.head.method == "POST")
        #expect(request.target == "/v1/traces")
        #expect(request.head["Content-Type"] == "application/json")
        // Otherwise a collector behind this Larder would get a span for each batch, and so another batch.
        #expect(request.head["traceparent"]?.hasSuffix("-00") == true)
        let batch = try JSONValue(parsing: try await request.content().text)
        try await request.reply("Content-Type: application/json", content: "{}")
        let resource = batch["resourceSpans"]?[0]
        #expect(SpanSeen.attributes(resource?["resource"])["service.name"] == "larder")
        return (resource?["scopeSpans"]?[0]?["spans"]?.array ?? []).map(SpanSeen.init)
    }

    // MARK: Spans

    @Test func `a load has a span for each side, a hit one, and the origin gets Larder's`() async throws {
        try await run { scene, collector in
            let path = "/a?token=secret"
            #expect(try await scene.get(path, Self.sampled, "tracestate: a=b", "User-Agent: test").status == 200)
            let sent = try #require(scene.origin.seen.first)
            #expect(sent["tracestate"] == "a=b")
            #expect(try await scene.get(path, Self.sampled).status == 200)
            let spans = try await spans(scene, collector)
            #expect(spans.map(\.kind) == [3, 2, 2])
            #expect(spans.allSatisfy { $0.trace == Self.trace && !$0.isFailed })
            let (client, server, hit) = (spans[0], spans[1], spans[2])
            #expect(sent["traceparent"] == "00-\(Self.trace)-\(client.id)-01")
            #expect(client.parent == server.id)
            #expect([server.parent, hit.parent] == [Self.caller, Self.caller])
            #expect(Set(spans.map(\.id)).count == 3)
            #expect(spans.map(\.name) == ["GET", "GET", "GET"])
            let common = [
                "http.request.method": "GET", "url.full": scene.url("/a"), "http.response.status_code": "200",
            ]
            for span in spans { #expect(span.attributes.filter { common[$0.key] != nil } == common) }
            #expect(client.attributes["server.port"] == "\(scene.origin.port)")
            #expect(server.attributes["user_agent.original"] == "test")
            #expect(server.attributes["larder.cache_status"]?.contains("fwd=uri-miss") == true)
            #expect(hit.attributes["larder.cache_status"]?.contains("hit") == true)
            #expect([server, hit].map { $0.attributes["larder.outcome"] } == ["miss", "hit"])
            try await eventually("they are counted") { scene.proxy.traces.counts.exported == 3 }
        }
    }

    @Test func `who waits for another's load names its span`() async throws {
        try await run { scene, collector in
            scene.origin.answer { _ in nil }
            let clients = [try await scene.client(), try await scene.client()]
            for client in clients {
                try await client.get(scene.url("/a"), Self.sampled)
                try await eventually("it waits") { scene.interest(in: "/a") > 0 }
            }
            try await eventually("both wait") { scene.interest(in: "/a") == 2 }
            try await scene.origin.request().reply(Self.fresh, content: "apples")
            for client in clients { #expect(try await client.response().text == "apples") }
            let spans = try await spans(scene, collector)
            #expect(spans.count == 3)
            let leader = spans.first { $0.attributes["larder.outcome"] == "miss" }
            let follower = spans.first { $0.attributes["larder.outcome"] == "collapsed" }
            #expect(follower?.link == leader?.id)
            #expect(leader?.link == nil)
        }
    }

    @Test func `an origin that cannot be reached is a failure of both sides`() async throws {
        try await run { scene, collector in
            await scene.origin.refuse()
            #expect(try await scene.get("/a", Self.sampled).status == 502)
            let spans = try await spans(scene, collector)
            #expect(spans.map(\.kind) == [3, 2])
            #expect(spans.allSatisfy { $0.isFailed })
            #expect(spans.map { $0.attributes["error.type"] } == ["connection_refused", "connection_refused"])
        }
    }

    @Test func `the span of a load lasts until its content ends`() async throws {
        try await run { scene, collector in
            scene.origin.answer { _ in nil }
            let client = try await scene.client()
            try await client.get(scene.url("/a"), Self.sampled)
            let request = try await scene.origin.request()
            try await request.send("HTTP/1.1 200 OK", "Content-Length: 10", Self.fresh, content: "01234")
            try await client.hasReceived(100)
            scene.advance(.milliseconds(500))
            await request.reset()
            #expect(try await !client.response().isWhole)
            let spans = try await spans(scene, collector)
            let load = try #require(spans.first { $0.kind == 3 })
            #expect(load.isFailed)
            #expect(load.attributes["error.type"] == "http_response_incomplete")
            #expect(load.nanoseconds >= 500_000_000)
        }
    }

    // MARK: Sampling

    @Test func `without a collector the fields pass as they came`() async throws {
        try await run({ $0.trace.otlp = nil }) { scene, _ in
            _ = try await scene.get("/a", "traceparent: nonsense", "tracestate: a=b")
            _ = try await scene.get("/b", Self.sampled)
            #expect(scene.origin.seen.map { $0["traceparent"] } == ["nonsense", "00-\(Self.trace)-\(Self.caller)-01"])
            #expect(scene.origin.seen[0]["tracestate"] == "a=b")
        }
    }

    @Test func `what is no trace is dropped, and one that is not sampled passes as it came`() async throws {
        try await run { scene, collector in
            _ = try await scene.get("/a", "traceparent: nonsense", "tracestate: a=b")
            let unsampled = "00-\(Self.trace)-\(Self.caller)-00"
            _ = try await scene.get("/b", "traceparent: \(unsampled)", "tracestate: a=b")
            #expect(scene.origin.seen.map { $0["traceparent"] } == [nil, unsampled])
            #expect(scene.origin.seen.map { $0["tracestate"] } == [nil, "a=b"])
            // Only this one is recorded.
            _ = try await scene.get("/c", Self.sampled)
            #expect(try await spans(scene, collector).map { $0.attributes["url.path"] } == [nil, "/c"])
        }
    }

    @Test(arguments: [0.0, 1])
    func `as many requests without a trace begin one as configured, repeated ones too`(share: Double) async throws {
        try await run({ $0.trace.sample = share }) { scene, collector in
            let client = try await scene.client()
            for _ in 0..<6 {
                try await client.get(scene.url("/a"))
                #expect(try await client.response().text == "apples")
            }
            #expect((scene.count(.answeredAtOnce) > 0) == (share == 0))
            guard share > 0 else { return #expect(scene.origin.seen[0]["traceparent"] == nil) }
            let spans = try await spans(scene, collector)
            #expect(spans.map(\.kind) == [3, 2, 2, 2, 2, 2, 2])
            #expect(Set(spans.map(\.trace)).count == 6)
            #expect(spans.filter { $0.kind == 2 }.allSatisfy { $0.parent == nil })
        }
    }

    // MARK: The collector

    @Test func `a collector that fails is left alone for a while, and gets all in the end`() async throws {
        try await run { scene, collector in
            _ = try await scene.get("/a", Self.sampled)
            let request = try await scene.lettingTimePass(reaching: .seconds(1)) { try await collector.request() }
            try await request.reply(503)
            func lines() -> Int { scene.log.values.count { $0.contains("traces were not delivered") } }
            try await eventually("it is told of") { lines() == 1 }
            #expect(try await scene.get("/a", Self.sampled).status == 200)
            let again = try await scene.lettingTimePass(reaching: .seconds(5)) { try await collector.request() }
            try await again.reply(502)
            #expect(try await spans(scene, collector, after: .seconds(5)).count == 3)
            #expect(lines() == 1)
            #expect(scene.proxy.traces.counts.dropped == 0)
        }
    }

    @Test func `spans that the collector does not want are counted`() async throws {
        try await run { scene, collector in
            _ = try await scene.get("/a", Self.sampled)
            let request = try await scene.lettingTimePass(reaching: .seconds(1)) { try await collector.request() }
            try await request.reply(content: #"{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too long"}}"#)
            try await eventually("they are counted") {
                let counts = scene.proxy.traces.counts
                return counts.exported == 1 && counts.dropped == 1
            }
            try await eventually("it is told of") { scene.log.values.contains { $0.contains("error=too long") } }
        }
    }

    @Test func `what waits when the daemon ends is sent before`() async throws {
        let collector = try await ScriptedOrigin.start(on: try #require(Peers.loop))
        collector.answer { _ in .ok(content: "{}") }
        try await Scenario.run { settings, _ in
            settings.trace.otlp = try? BaseURL.read(collector.url("/otlp")).get()
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: "apples") }
            _ = try await scene.get("/a", Self.sampled)
        }
        #expect(collector.seen.map(\.target) == ["/otlp/v1/traces"])
        await collector.stop()
    }
}

/// A span as the collector gets it.
private struct SpanSeen {
    let trace, id, name: String
    let parent, link: String?
    let kind: Int
    let attributes: [String: String]
    let isFailed: Bool
    let nanoseconds: Int

    init(_ json: JSONValue) {
        func number(_ name: String) -> Int { json[name]?.string.flatMap { Int($0) } ?? 0 }
        trace = json["traceId"]?.string ?? ""
        id = json["spanId"]?.string ?? ""
        name = json["name"]?.string ?? ""
        parent = json["parentSpanId"]?.string
        link = json["links"]?[0]?["spanId"]?.string
        kind = json["kind"]?.int ?? 0
        attributes = Self.attributes(json)
        isFailed = json["status"]?["code"]?.int == 2
        nanoseconds = number("endTimeUnixNano") - number("startTimeUnixNano")
    }

    static func attributes(_ json: JSONValue?) -> [String: String] {
        (json?["attributes"]?.array ?? []).reduce(into: [:]) { all, attribute in
            guard let key = attribute["key"]?.string else { return }
            all[key] = attribute["value"]?["stringValue"]?.string ?? attribute["value"]?["intValue"]?.string
        }
    }
}
