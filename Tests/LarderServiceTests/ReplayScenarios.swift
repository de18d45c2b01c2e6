// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// Stored streams of events, sent again at once or as they came.
@Suite("Scenarios: streams that are replayed")
struct ReplayScenarios {
    static let type = "Content-Type: text/event-stream"
    static let events = ["data: one\n\n", "data: two\n\n", "data: three\n\n"]
    static let all = events.joined()

    static func run(
        _ replay: Configuration.StreamReplay? = .paced, onDisk: Bool = false,
        _ body: (Scenario) async throws -> Void
    ) async throws {
        try await Scenario.run(onDisk: onDisk) { settings, origin in
            settings.add("api", at: "http://127.0.0.1:\(origin.port)/") { service in
                service.configure { $0.replay = replay }
            }
        } _: {
            try await body($0)
        }
    }

    /// Has the origin send its events a second, two seconds and half a minute after the one before.
    static func record(
        _ scene: Scenario, _ events: [String] = events, pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(30)],
        framing: String = "Transfer-Encoding: chunked"
    ) async throws {
        let client = try await scene.client()
        try await client.get(scene.url("/s"))
        let request = try await scene.origin.request()
        try await request.send("HTTP/1.1 200 OK", type, "Cache-Control: max-age=600", framing)
        let head = try await client.head()
        #expect(head.status == 200)
        for (event, pause) in zip(events, pauses) {
            scene.advance(pause)
            // The loops notice the time in their next turn.
            await scene.proxy.settle()
            try await request.write("\(String(event.utf8.count, radix: 16))\r\n\(event)\r\n")
            #expect(try await client.chunk() == Array(event.utf8))
        }
        try await request.write("0\r\n\r\n")
        request.finish()
        #expect(try await client.chunk() == [])
        await client.close()
    }

    @Test(arguments: [false, true]) func `events come as they came, without the long pause`(onDisk: Bool) async throws {
        try await Self.run(onDisk: onDisk) { (scene) async throws in
            try await Self.record(scene)
            if onDisk { try await scene.restart() }
            let client = try await scene.client()
            try await client.get(scene.url("/s"))
            let head = try await client.head()
            #expect(head["Cache-Status"]?.contains("hit") == true)
            #expect(head["Content-Length"] == "\(Self.all.utf8.count)")
            // What is on disk is read first, in no time for the daemon but in some for the machine.
            let start = scene.time.monotonic()
            for (event, due) in zip(Self.events, [1, 3, 13]) {
                let text = try await scene.lettingTimePass(
                    .milliseconds(25), after: { await scene.proxy.settle() },
                    until: { try await client.text(event.utf8.count) })
                #expect(text == event)
                let passed = Duration.nanoseconds(scene.time.monotonic() - start)
                #expect((.seconds(due)...(.seconds(due + 15))).contains(passed))
            }
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test(arguments: [nil, .immediate] as [Configuration.StreamReplay?])
    func `unless that is configured, they come at once`(
        replay: Configuration.StreamReplay?
    ) async throws {
        try await Self.run(replay) { (scene) async throws in
            try await Self.record(scene)
            #expect(try await scene.get("/s").text == Self.all)
            // A stream that has its times is replayed by them once that is configured.
            try await scene.reload { $0.services[0].configure[0].replay = .paced }
            let client = try await scene.client()
            try await client.get(scene.url("/s"))
            _ = try await client.head()
            let text = try await scene.lettingTimePass(reaching: .seconds(13)) {
                try await client.text(Self.all.utf8.count)
            }
            #expect(text == Self.all)
        }
    }

    @Test func `parts, heads and confirmations wait for nothing`() async throws {
        try await Self.run { (scene) async throws in
            try await Self.record(scene)
            let part = try await scene.get("/s", "Range: bytes=11-20")
            #expect(part.status == 206)
            #expect(part.text == "data: two\n")
            let client = try await scene.client()
            try await client.send("HEAD \(scene.url("/s")) HTTP/1.1", "Host: x")
            #expect(try await client.response(to: "HEAD")["Content-Length"] == "\(Self.all.utf8.count)")
            let date = try #require(part["Date"])
            #expect(try await scene.get("/s", "If-Modified-Since: \(date)").status == 304)
        }
    }

    @Test func `a stream that came at once has no times`() async throws {
        try await Self.run { (scene) async throws in
            try await Self.record(scene, pauses: [.zero, .zero, .zero])
            #expect(try await scene.get("/s").text == Self.all)
            scene.origin.answer { _ in
                .ok(Self.type, "Cache-Control: max-age=600", content: Self.all)
            }
            #expect(try await scene.get("/whole").text == Self.all)
            #expect(try await scene.get("/whole").text == Self.all)
        }
    }

    @Test func `a client that leaves ends its replay`() async throws {
        try await Self.run { (scene) async throws in
            try await Self.record(scene)
            let client = try await scene.client()
            try await client.get(scene.url("/s"))
            _ = try await client.head()
            await client.close()
            // Nothing of it is left although no time passes.
            try await eventually("its connection is closed") { scene.proxy.openConnections == 0 }
            #expect(scene.count(.aborted) == 1)
        }
    }

    @Test func `many pieces of a large stream stay in order`() async throws {
        let events = (0..<1_500).map { "data: \($0) \(String(repeating: "x", count: $0 % 97))\n\n" }
        try await Self.run(onDisk: true) { (scene) async throws in
            try await Self.record(scene, events, pauses: events.map { _ in .milliseconds(3) })
            try await scene.restart()
            let client = try await scene.client()
            try await client.get(scene.url("/s"))
            let head = try await client.head()
            let text = try await scene.lettingTimePass(reaching: .milliseconds(4_500)) {
                try await client.message(head, isResponse: true).text
            }
            #expect(text == events.joined())
        }
    }
}
