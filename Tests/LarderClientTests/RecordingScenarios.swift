// SPDX-License-Identifier: Apache-2.0

import Foundation
import Larder
import LarderHTTP
import LarderIO
import LarderSettings
import LarderTesting
import Testing

@testable import LarderProxy

/// Lanes whose requests are recorded, and answered from that without anybody being asked.
@Suite("Recordings", .timeLimit(.minutes(10)))
struct RecordingScenarios {
    private static func lane(_ scenario: Scenario, _ use: Lane.RecordingUse) -> String {
        var options = Lane.Options()
        options.recordingUse = use
        if case .replay = use { options.isOffline = true }
        let lane = scenario.proxy.lanes.open(options, at: scenario.proxy.now)
        return "Proxy-Authorization: Basic " + Data("lane-\(lane.token):x".utf8).base64EncodedString()
    }

    private static func ask(
        _ scenario: Scenario, _ lane: String, _ line: String, content: String? = nil
    ) async throws -> WireMessage {
        let client = try await scenario.client()
        let words = line.split(separator: " ").map(String.init)
        var head = ["\(words[0]) \(scenario.url(words[1])) HTTP/1.1", "Host: \(scenario.origin.authority)", lane]
        if let content { head += ["Content-Type: text/plain", "Content-Length: \(content.utf8.count)"] }
        try await client.write(head.map { $0 + "\r\n" }.joined() + "\r\n" + (content ?? ""))
        let response = try await client.response(to: words[0])
        await client.close()
        return response
    }

    /// Counts, so that no two answers are the same.
    private static func answer(_ scenario: Scenario) {
        let count = Recorder<Int>()
        scenario.origin.answer { head in
            count.add(1)
            let text = "\(head.method) \(head.target) \(count.values.count)"
            return "HTTP/1.1 200 OK\r\nX-Number: \(count.values.count)\r\nSet-Cookie: id=1\r\n"
                + "Cache-Control: no-store\r\nContent-Length: \(text.utf8.count)\r\n\r\n"
                + (head.method == "HEAD" ? "" : text)
        }
    }

    @Test func `a response that breaks off is left out, and counted`() async throws {
        try await Scenario.run({ settings, _ in settings.timeouts.abandon = .zero }) { scenario in
            let recording = Recording(name: "one")
            let lane = Self.lane(scenario, .record(recording))
            for isOrigin in [true, false] {
                let client = try await scenario.client()
                try await client.send(
                    "GET \(scenario.url("/\(isOrigin)")) HTTP/1.1", "Host: \(scenario.origin.authority)", lane)
                let request = try await scenario.origin.request()
                try await request.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
                _ = try await client.head()
                if isOrigin {
                    await request.reset()
                    _ = try await client.end()
                } else {
                    await client.close()
                    _ = try await request.wire.end()
                    request.finish()
                }
            }
            // An answer of Larder's own is none of the origin's.
            await scenario.origin.refuse()
            #expect(try await Self.ask(scenario, lane, "GET /c").status == 502)
            try await eventually("both are counted") { recording.omitted == 2 }
            #expect(recording.count == 0)
        }
    }

    @Test func `whatever was asked is answered again in the same order, with the origin off`() async throws {
        try await Scenario.run { scenario in
            Self.answer(scenario)
            let recording = Recording(name: "one")
            let recorded = Self.lane(scenario, .record(recording))
            let asked: [(String, String?)] = [
                ("GET /a", nil), ("GET /a", nil), ("POST /p", "one"), ("POST /p", "two"), ("POST /p", "one"),
                ("HEAD /a", nil), ("PUT /p", "one"), ("DELETE /a", nil),
            ]
            var first: [WireMessage] = []
            for (line, content) in asked {
                first.append(try await Self.ask(scenario, recorded, line, content: content))
            }
            try await eventually("all are recorded") { recording.count == asked.count }
            #expect(recording.omitted == 0)
            await scenario.origin.refuse()
            let replayed = Self.lane(scenario, .replay(Replay(recording)))
            for ((line, content), before) in zip(asked, first) {
                let again = try await Self.ask(scenario, replayed, line, content: content)
                #expect(again.status == before.status)
                #expect(again.content == before.content)
                for name in ["X-Number", "Set-Cookie", "Content-Length", "Cache-Control"] {
                    #expect(again[name] == before[name], "\(name) of \(line)")
                }
                #expect(again["Cache-Status"] == "Larder; hit; detail=recorded")
            }
            // A request made more often than before gets the last answer; one that was never made gets none.
            #expect(try await Self.ask(scenario, replayed, "GET /a").text == first[1].text)
            #expect(try await Self.ask(scenario, replayed, "GET /b").status == 504)
            #expect(try await Self.ask(scenario, replayed, "POST /p", content: "three").status == 504)
            #expect(scenario.origin.seen.count == asked.count)
        }
    }

    @Test func `what is recorded stays out of the cache's way, and holds no credentials`() async throws {
        try await Scenario.run { scenario in
            scenario.origin.answer(InterceptionScenarios.fresh)
            let recording = Recording(name: "one")
            let recorded = Self.lane(scenario, .record(recording))
            let client = try await scenario.client()
            try await client.get(scenario.url("/a"), recorded, "Authorization: Bearer x", "X-Api-Key: y", "X-Other: z")
            _ = try await client.response()
            try await eventually("it is recorded") { recording.count == 1 }
            let fields = recording.exchanges[0].requestFields
            #expect(fields["Authorization"] == nil)
            #expect(fields["X-Api-Key"] == nil)
            #expect(fields["Proxy-Authorization"] == nil)
            #expect(fields["X-Other"] == "z")
            // A client in no lane is answered as ever, after the time of the recording.
            let replayed = Self.lane(scenario, .replay(Replay(recording)))
            scenario.advance(.seconds(100_000))
            #expect(try await scenario.get("/a")["Cache-Status"]?.contains("fwd") == true)
            #expect(try await Self.ask(scenario, replayed, "GET /a").text == "/a")
        }
    }

    @Test func `content that is read for a recording, and again for a key, reaches the origin whole`() async throws {
        try await Scenario.run { settings, origin in
            settings.add("api", at: origin.url("/")) { service in
                service.configure {
                    $0.keyedByContent = true
                    $0.keyedContentLimit = 1 << 10
                }
            }
        } _: { scenario in
            let lane = Self.lane(scenario, .record(Recording(name: "one")))
            let client = try await scenario.client()
            let piece = String(repeating: "0123456789", count: 400)
            try await client.send(
                "POST \(scenario.url("/a")) HTTP/1.1", "Host: x", lane, "Transfer-Encoding: chunked")
            async let sent: Void = client.write(String(repeating: "fa0\r\n\(piece)\r\n", count: 50) + "0\r\n\r\n")
            let request = try await scenario.origin.request()
            let content = try await request.content().text
            #expect(content.utf8.count == 200_000 && content == String(repeating: piece, count: 50))
            try await request.reply(content: "thanks")
            try await sent
            #expect(try await client.response().text == "thanks")
        }
    }

    @Test func `an answer that is cut off is not recorded`() async throws {
        try await Scenario.run { scenario in
            let recording = Recording(name: "one")
            let recorded = Self.lane(scenario, .record(recording))
            let client = try await scenario.client()
            try await client.get(scenario.url("/a"), recorded)
            let request = try await scenario.origin.request()
            try await request.wire.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
            await request.wire.reset()
            _ = try? await client.response()
            // By then the loops have ended what they had begun.
            await scenario.proxy.settle()
            #expect(recording.count == 0)
        }
    }

    @Test func `content that there is no room for may be sent again later`() async throws {
        try await Scenario.run { scenario in
            Self.answer(scenario)
            let recording = Recording(name: "one")
            let recorded = Self.lane(scenario, .record(recording))
            let first = try await Self.ask(scenario, recorded, "POST /p", content: "one")
            try await eventually("it is recorded") { recording.count == 1 }
            let replayed = Self.lane(scenario, .replay(Replay(recording)))
            let (room, client) = (scenario.proxy.contentRoom, ClientAddress(.loopback(port: 0)))
            #expect(room.take(ContentRoom.limit, for: client))
            let refused = try await Self.ask(scenario, replayed, "POST /p", content: "one")
            #expect(refused.status == 503 && refused.text.contains("Too many requests with long content"))
            room.giveBack(ContentRoom.limit, of: client)
            #expect(try await Self.ask(scenario, replayed, "POST /p", content: "one").text == first.text)
        }
    }

    @Test func `a replaying lane lets no tunnel through`() async throws {
        try await Scenario.run { scenario in
            let replayed = Self.lane(scenario, .replay(Replay(Recording(name: "none"))))
            let client = try await scenario.client()
            try await client.send(
                "CONNECT \(scenario.origin.authority) HTTP/1.1", "Host: \(scenario.origin.authority)", replayed)
            #expect(try await client.response(to: "CONNECT").status != 200)
            #expect(scenario.origin.wires.isEmpty)
        }
    }

    @Test func `a replay counts what was not recorded, and keeps the first of it without secrets`() async throws {
        try await Scenario.run { scenario in
            let replay = Replay(Recording(name: "none"))
            let lane = Self.lane(scenario, .replay(replay))
            for number in 0..<7 { _ = try await Self.ask(scenario, lane, "GET /\(number)?token=topsecret") }
            _ = try await Self.ask(scenario, lane, "GET /0?token=topsecret")
            #expect(replay.lacking.requests == 8)
            #expect(replay.lacking.first.count == 5)
            #expect(replay.lacking.first.first?.hasPrefix("GET http://") == true)
            #expect(!replay.lacking.first.joined().contains("topsecret"))
        }
    }

    @Test func `long content is found without its secrets`() async throws {
        try await Scenario.run { scenario in
            Self.answer(scenario)
            func content(_ token: String) -> String {
                #"{"a":"\#(String(repeating: "x?", count: 20_000))","token":"\#(token)"}"#
            }
            let recording = Recording(name: "one")
            let recorded = Self.lane(scenario, .record(recording))
            let first = try await Self.ask(scenario, recorded, "POST /p", content: content("one"))
            try await eventually("it is recorded") { recording.count == 1 }
            let replayed = Self.lane(
                scenario, .replay(Replay(Recording(name: "one", recording.exchanges.map(\.withoutSecrets)))))
            let again = try await Self.ask(scenario, replayed, "POST /p", content: content("two"))
            #expect(again.content == first.content)
            let other = try await Self.ask(scenario, replayed, "POST /p", content: content("two") + " ")
            #expect(other.status == 504)
        }
    }
}
