// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderSettings
import LarderTesting
import Testing

@testable import Larder
@testable import LarderProxy

/// The data that the state of a resource shows.
@Suite("Scenarios: snapshots")
struct SnapshotScenarios {
    @Test(arguments: [
        (["Content-Type: text/plain; charset=EUC-JP", "ETag: W/\"1\""], "text/plain; charset=EUC-JP", "W/\"1\""),
        (["Content-Type: application/vnd.own+json"], "application/vnd.own+json", nil),
        (["ETag: \"x\"", "Last-Modified: Tue, 14 Nov 2023 00:00:00 GMT"], nil, "\"x\""), ([], nil, nil),
    ]) func `RS-02 the data that is there is told with its type, its charset, its fields and its tag`(
        lines: [String], type: String?, tag: String?
    ) async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in
                OriginRequest.response(200, ["Cache-Control: max-age=60", "X-Own: 1"] + lines, content: "{}")
            }
            _ = try await scene.get("/a")
            let state = try await scene.events(about: "/a").next().state
            let data = state["latestData"] ?? .null
            #expect(data["status"]?.int == 200)
            #expect(data["bytes"]?.int == 2)
            #expect(data["contentType"]?.string == type)
            #expect(data["eTag"]?.string == tag)
            #expect((data["lastModified"] != nil) == lines.contains { $0.hasPrefix("Last-Modified") })
            #expect(state["latestError"] == .null)

            let client = try await scene.client()
            try await client.send("GET /-/resources?url=\(scene.url("/a")) HTTP/1.1", "Host: localhost")
            let shown = try JSONValue(parsing: try await client.response().content)
            let fields = shown["variants"]?[0]?["fields"]?.array?.compactMap(\.string) ?? []
            for line in lines + ["X-Own: 1"] { #expect(fields.contains(line), "\(line) in \(fields)") }
        }
    }

    @Test func `RS-02 what is told of data that a pipeline made is what clients get`() async throws {
        let transformer = ClosureTransformer("as text") { response in
            response.map { entity in
                var made = entity.withContent("made" as any Sendable)
                made.fields[.contentType] = "text/plain"
                return made
            }
        }
        try await Scenario.run { settings, origin in
            settings.add("api", at: origin.url("/"))
            settings.services[0].declare = { service in service.configure { $0.pipeline[.model].add(transformer) } }
        } _: { (scene) async throws in
            scene.origin.answer { _ in
                .ok(
                    "Cache-Control: max-age=60", "Content-Type: application/x-own", "ETag: \"origin\"",
                    "Content-Encoding: x-own", content: "octets")
            }
            let served = try await scene.get("/a")
            #expect(served.text == "made")
            let data = try await scene.events(about: "/a", content: true).next().state["latestData"] ?? .null
            #expect(data["contentType"]?.string == served["Content-Type"])
            #expect(data["eTag"]?.string == served["ETag"])
            #expect(data["bytes"]?.int == 4)
            #expect(data["content"]?.string == "made")
        }
    }

    @Test func `OB-12 a stream that fell behind loses its place and gets a snapshot in place of what it missed`()
        async throws
    {
        try await Scenario.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            let quick = try await scene.events(about: "/a", content: true)
            let slow = try await scene.events(about: "/a", content: true)
            for stream in [quick, slow] { _ = try await stream.next() }
            slow.wire.hold()
            // More than a socket's buffers and the list of the topic take.
            let filler = String(repeating: "x", count: 15_000)
            let rounds = 300
            var last = 0
            let client = try await scene.client()
            for number in 1...rounds {
                scene.origin.answer { _ in
                    .ok("Cache-Control: no-cache", "ETag: \"\(number)\"", "Content-Type: text/plain", content: filler)
                }
                try await client.get(scene.url("/a"))
                _ = try await client.response()
                // Nobody else is held up: the other one has each change as it happens.
                while last < 2 * number {
                    let event = try await quick.next()
                    #expect(event.name != "observerAdded")
                    #expect(event.sequence == last + 1)
                    last = event.sequence
                }
            }
            slow.wire.release()
            var events = [try await slow.next()]
            while events.last?.sequence != last { events.append(try await slow.next()) }
            // It was told in order what there was room for, and then how it is now.
            let snapshots = events.filter { $0.name == "observerAdded" }
            #expect(snapshots.count == 1)
            #expect(events.map(\.sequence) == events.map(\.sequence).sorted())
            #expect(events.count < 2 * rounds)
            #expect(snapshots.first?.state["latestData"]?["eTag"]?.string != "\"1\"")
            #expect(events.last?.state["latestData"]?["eTag"]?.string == "\"\(rounds)\"")
            // From there on it has its place again.
            scene.origin.answer { _ in .ok("Cache-Control: no-cache", "ETag: \"new\"") }
            _ = try await scene.get("/a")
            #expect(try await slow.next().name == "requested")
            #expect(try await slow.next().state["latestData"]?["eTag"]?.string == "\"new\"")
        }
    }
}
