// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderIO
import LarderSettings
import LarderTesting
import Testing

@testable import LarderProxy

/// The progress of long loads, as watchers are told of it.
@Suite("Scenarios: progress")
struct ProgressScenarios {
    private static let step = LoadTicker.interval

    @Test func `PG-03 a load that lasts tells how far it is at its interval, and 1 before its end`() async throws {
        try await Scenario.run { (scene) async throws in
            let events = try await scene.events(about: "/a")
            _ = try await events.next()
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let load = try await scene.origin.request()
            #expect(try await events.next().name == "requested")
            scene.advance(Self.step)
            var told = [try await events.progress()]
            try await load.send(
                "HTTP/1.1 200 OK", "Content-Length: 1000", "Cache-Control: max-age=60",
                content: String(repeating: "a", count: 500))
            var received = 500
            for _ in 0..<10 {
                try await client.hasReceived(received)
                scene.advance(Self.step)
                await scene.proxy.settle()
                try await load.write(String(repeating: "a", count: 50))
                received += 50
            }
            load.finish()
            _ = try await client.response()
            var landed = try await events.next(orProgress: true)
            while landed.name == "progress" {
                told.append(try #require(landed.json["progress"]?.double))
                landed = try await events.next(orProgress: true)
            }
            #expect(told.count > 2 && told == told.sorted() && Set(told).count == told.count, "\(told)")
            #expect(told.dropLast().allSatisfy { $0 > 0 && $0 < 1 } && told.last == 1, "\(told)")
            #expect(landed.name == "newData")
            // Progress is no part of the state, and so has no number among the events.
            #expect(landed.sequence == 2)
        }
    }

    @Test(arguments: ["cancelled", "failed", "wiped"]) func `PG-03 progress ends at 1 however the load ends`(
        end: String
    ) async throws {
        try await Scenario.run { (scene) async throws in
            let events = try await scene.stream("match=**")
            _ = try await events.next()
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let load = try await scene.origin.request()
            _ = try await events.next()
            scene.advance(Self.step)
            #expect(try await events.progress() < 1)
            switch end {
            case "cancelled": _ = scene.proxy.cancelLoads(of: try scene.proxy.subject(of: scene.url("/a")))
            case "failed": await load.reset()
            default: await scene.wipe("/a")
            }
            #expect(try await events.progress() == 1)
            #expect(try await events.next(orProgress: true).name != "progress")
        }
    }

    @Test func `PG-03 nothing is told of short loads, nor of any while nobody listens`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let load = try await scene.origin.request()
            for _ in 0..<5 {
                scene.advance(Self.step)
                await scene.proxy.settle()
            }
            #expect(scene.proxy.registry.feed.last == 0)
            // A watcher who comes in the middle is told of the rest.
            let events = try await scene.events(about: "/a")
            #expect(try await events.next().isObserverAdded(isLoading: true, hasData: false))
            await scene.proxy.settle()
            scene.advance(Self.step)
            #expect(try await events.progress() > 0)
            try await load.reply("Cache-Control: max-age=1", content: "apples")
            _ = try await client.response()
            #expect(try await events.progress() == 1)
            #expect(try await events.next().name == "newData")

            scene.origin.answer { _ in .ok("Cache-Control: no-store") }
            scene.advance(.seconds(2))
            _ = try await scene.get("/a")
            #expect(try await events.next(orProgress: true).name == "requested")
            #expect(try await events.next(orProgress: true).name == "newData")
        }
    }

    @Test func `a pattern means what it does by the configuration that is in force when it is asked for`() async throws
    {
        try await Scenario.run { settings, origin in
            settings.add("api", at: origin.url("/"))
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=60", content: "apples") }
            let query = "match=a&service=api&requests=only"
            let place = try BaseURL.read(scene.origin.url("/v2/")).get()
            let former = try await scene.stream(query)
            #expect(try await former.next().name == "observerAdded")
            try await scene.reload { $0.services[0].baseURL = place }
            let stream = try await scene.stream(query)
            #expect(try await stream.next().name == "observerAdded")
            _ = try await scene.get("/v2/a")
            #expect(try await stream.next().json["url"]?.string == scene.url("/v2/a"))
        }
    }

    @Test func `a stream that is behind gets the newest progress of a load alone`() {
        struct NoText: EventText {
            func event(_: RequestNote) -> [UInt8] { [] }
            func event(_: ResourceChange, withContent: Bool, now: Timestamp) -> [UInt8] { [] }
            func snapshot(of _: EventSubject, _: Resource?, in _: Proxy) async -> EventSnapshot {
                EventSnapshot([], begun: 0, complete: 0, sequences: [:], at: Timestamp(seconds: 0))
            }
            var farewell: [UInt8] { [] }
        }
        let key = EventSubject.Key(.pattern(nil, service: nil, bases: [:]), hasContent: false, requests: "0")
        let subject = EventSubject(key, scope: .matching { _ in true }, text: NoText())
        let topic = LoopTopic(
            subject: subject, hubTopic: EventHub.Topic(number: 1, subject: subject), resource: nil)
        let loads = [NoText.self as Any.Type, Int.self].map { ObjectIdentifier($0) }
        var bytes = 0
        for (number, text) in ["a1", "b1", "event", "a2", "b2", "a3"].enumerated() {
            var item = EventItem(
                number: UInt64(number), key: ResourceKey(), sequence: 1, octets: ContentChunk(text.utf8))
            if text.count == 2 { item.progressOf = loads[text.hasPrefix("a") ? 0 : 1] }
            bytes += topic.append(item, isTight: false)
        }
        let (chunks, next) = topic.events(from: 0, after: nil, limit: 10)
        #expect(chunks.map { String(decoding: $0.bytes, as: UTF8.self) } == ["event", "b2", "a3"])
        #expect(next == 6)
        #expect(bytes == 9 && topic.bytes == 9)
    }
}

extension EventReader {
    /// The next event, which must tell a load's progress.
    fileprivate func progress() async throws -> Double {
        let event = try await next(orProgress: true)
        try #require(event.name == "progress", "\(event.json)")
        #expect(event.id == nil)
        return try #require(event.json["progress"]?.double)
    }
}
