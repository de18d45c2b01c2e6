// SPDX-License-Identifier: Apache-2.0
import Foundation
import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// The daemon's events about its resources while things happen to them.
@Suite("Scenarios: events")
struct EventScenarios {
    @Test func `RS-03 OB-04 OB-05 a stream begins with the state and then tells each change in order`() async throws {
        try await Scenario.run({ settings, _ in settings.timeouts.abandon = .zero }) { (scene) async throws in
            let events = try await scene.events(about: "/a")
            #expect(try await events.next().isObserverAdded(isLoading: false, hasData: false))

            var client = try await scene.client()
            try await client.get(scene.url("/a"))
            let requested = try await events.next()
            #expect(requested.name == "requested")
            #expect(requested.state["isLoading"]?.bool == true)
            try await scene.origin.request().reply("Cache-Control: max-age=60", "ETag: \"1\"", content: "apples")
            _ = try await client.response()
            let landed = try await events.next()
            #expect(landed.name == "newData")
            #expect(landed.json["source"]?.string == "network")
            #expect(landed.state["isLoading"]?.bool == false)
            #expect(landed.state["isUpToDate"]?.bool == true)
            #expect(landed.state["latestData"]?["bytes"]?.int == 6)
            #expect(landed.state["latestData"]?["eTag"]?.string == "\"1\"")
            #expect(landed.state["latestError"] == .null)

            scene.advance(.seconds(100))
            client = try await scene.client()
            try await client.get(scene.url("/a"))
            #expect(try await events.next().name == "requested")
            try await scene.origin.request().reply(304, "Cache-Control: max-age=60")
            _ = try await client.response()
            let confirmed = try await events.next()
            #expect(confirmed.name == "notModified")
            #expect(confirmed.state["isUpToDate"]?.bool == true)

            scene.advance(.seconds(100))
            client = try await scene.client()
            try await client.get(scene.url("/a"))
            #expect(try await events.next().name == "requested")
            try await scene.origin.request().reply(503, "Cache-Control: no-store")
            _ = try await client.response()
            let failed = try await events.next()
            #expect(failed.name == "error")
            #expect(failed.state["latestError"]?["status"]?.int == 503)
            #expect(failed.state["latestData"]?["bytes"]?.int == 6)

            await scene.wipe("/a")
            let wiped = try await events.next()
            #expect(wiped.json["source"]?.string == "wipe")
            #expect(wiped.state["latestData"] == .null)
            #expect([requested, landed, confirmed, failed, wiped].map(\.sequence) == [1, 2, 4, 6, 7])
        }
    }

    @Test(arguments: ["removed", "another password"])
    func `the stream of a user ends when that is no user any more`(end: String) async throws {
        func asking(_ settings: inout Settings, _ users: [UserTable.User]) {
            settings.access.users = "/etc/larder/users"
            settings.access.userTable = UserTable(users)
        }
        try await Scenario.run { settings, _ in
            asking(&settings, [TestUsers.anna, TestUsers.ben])
        } _: { (scene) async throws in
            let client = try await scene.client()
            let credentials = Data("anna:flour".utf8).base64EncodedString()
            try await client.send(
                "GET /-/events?match=** HTTP/1.1", "Host: localhost", "Authorization: Basic \(credentials)")
            #expect(try await client.head().status == 200)
            try await scene.reload { asking(&$0, end == "removed" ? [TestUsers.ben] : [TestUsers.changedAnna]) }
            _ = try await client.end()
        }
    }

    @Test func `OB-05 a stream about many tells of those that match, and of the state each is in`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=60", "Content-Type: text/plain", content: "apples") }
            _ = try await scene.get("/a/1")
            _ = try await scene.get("/b/1")
            let events = try await scene.stream("match=/a/*&content=1")
            let first = try await events.next()
            #expect(first.name == "observerAdded")
            #expect(first.json["isComplete"]?.bool == true)
            #expect(first.json["resources"]?.array?.compactMap { $0["url"]?.string } == [scene.url("/a/1")])
            _ = try await scene.get("/b/2")
            _ = try await scene.get("/a/2")
            #expect(try await events.next().name == "requested")
            let landed = try await events.next()
            #expect(landed.json["url"]?.string == scene.url("/a/2"))
            #expect(landed.state["latestData"]?["content"]?.string == "apples")
        }
    }

    @Test func `no pattern that a client chooses makes its stream one with content`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=60", "Content-Type: text/plain", content: "apples") }
            _ = try await scene.get("/a")
            let events = try await scene.stream("match=**&content=1&requests=1")
            #expect(try await events.next().json["resources"]?.array?.count == 1)
            let others = try await scene.stream("match=**%20content&requests=1")
            #expect(try await others.next().json["resources"]?.array?.isEmpty == true)
            #expect(scene.proxy.events.topicCount == 2)
        }
    }

    @Test func `OB-12 a silent stream shows every fifteen seconds that it lives`() async throws {
        try await Scenario.run { (scene) async throws in
            let events = try await scene.events(about: "/a")
            _ = try await events.next()
            try await scene.lettingTimePass(within: .seconds(45)...(.seconds(60))) { () async throws in
                for _ in 0..<3 { #expect(try await events.block() == ": ") }
            }
        }
    }

    @Test func `OB-12 who leaves is forgotten, and nothing is told while nobody listens`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=60") }
            let events = try await scene.events(about: "/a")
            _ = try await events.next()
            #expect(scene.proxy.events.topicCount == 1)
            await events.wire.close()
            try await eventually("the stream is forgotten") { scene.proxy.events.topicCount == 0 }
            try await eventually("it is counted") { scene.count(.own) == 1 }
            #expect(scene.count(.aborted) == 0)
            let told = scene.proxy.registry.feed.last
            _ = try await scene.get("/a")
            #expect(scene.proxy.registry.feed.last == told)
            #expect(!scene.proxy.registry.feed.isHeard)
        }
    }

    /// Nine thousand with `LARDER_FULL`: each needs two descriptors of this process, which often has twenty thousand.
    /// `Benchmarks/subscribers` has ten thousand.
    @Test func `OB-12 very many streams end on the right state, those that stalled too`() async throws {
        let count = ProcessInfo.processInfo.environment["LARDER_FULL"] != nil ? 9_000 : 100
        try await Scenario.run({ settings, _ in
            settings.threads = 4
            settings.limits.connections = max(10_000, 2 * count)
            settings.limits.clientConnections = 2 * count
        }) { (scene) async throws in
            var streams: [EventReader] = []
            for number in 0..<count {
                streams.append(try await scene.events(about: "/a", isHeld: number % 10 == 0))
            }
            for (number, stream) in streams.enumerated() where number % 10 != 0 { _ = try await stream.next() }
            for number in 1...50 {
                scene.origin.answer { _ in .ok("Cache-Control: no-cache", "ETag: \"\(number)\"") }
                _ = try await scene.get("/a")
            }
            for stream in streams {
                stream.wire.release()
                while try await stream.next().state["latestData"]?["eTag"]?.string != "\"50\"" {}
            }
        }
    }

    @Test func `OB-12 a client that names the last event it has seen gets the state, not history`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=60") }
            _ = try await scene.get("/a")
            let events = try await scene.stream("url=\(scene.url("/a"))", "Last-Event-ID: 1")
            #expect(try await events.next().isObserverAdded(isLoading: false, hasData: true))
        }
    }

    @Test func `RS-22 when all clients have gone the load is cancelled after its grace, and watchers are told`()
        async throws
    {
        try await Scenario.run({ settings, _ in settings.timeouts.abandon = .seconds(5) }) { (scene) async throws in
            let events = try await scene.stream("match=**")
            _ = try await events.next()
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            #expect(try await events.next().name == "requested")
            await client.close()
            try await eventually("nobody waits") { scene.interest(in: "/a") == 0 }
            try await scene.lettingTimePass(reaching: .seconds(5)) { _ = try await request.wire.end() }
            let cancelled = try await events.next()
            #expect(cancelled.name == "requestCancelled")
            #expect(cancelled.state["isLoading"]?.bool == false)
        }
    }

    @Test func `RS-22 who watches one resource is interested in its loads, as long as it stays`() async throws {
        try await Scenario.run({ settings, _ in settings.timeouts.abandon = .seconds(5) }) { (scene) async throws in
            let events = try await scene.events(about: "/a")
            _ = try await events.next()
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            await client.close()
            try await eventually("nobody waits") { scene.interest(in: "/a") == 0 }
            // Before the heartbeat, which `next` would skip.
            #expect(try await events.next().name == "requested")
            scene.advance(.seconds(20))
            // The heartbeat; the load's progress may come before it.
            while try await events.block() != ": " {}
            // The load's loop, too, knows of the 20 seconds, while the stream is still there.
            await scene.proxy.settle()
            #expect(!request.wire.isEnded)
            await events.wire.close()
            try await scene.lettingTimePass(reaching: .seconds(5)) { _ = try await request.wire.end() }
        }
    }

    @Test func `a stream can have its resource loaded first, with the permission for changes`() async throws {
        try await Scenario.run({ settings, _ in settings.admin.token = Secret("sesame") }) { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=60", content: "apples") }
            let stranger = try await scene.client()
            try await stranger.write(
                "GET /-/events?url=\(scene.url("/a"))&loadIfNeeded=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await stranger.response().status == 403)
            #expect(scene.origin.seen.isEmpty)
            let events = try await scene.stream(
                "url=\(scene.url("/a"))&loadIfNeeded=1", "Authorization: Bearer sesame")
            while try await events.next().state["latestData"]?["bytes"]?.int != 6 {}
        }
    }

    @Test(arguments: ["url=URL", "match=**"])
    func `the content of one user's responses is in no stream`(query: String) async throws {
        try await Scenario.run {
            $0.add("api", at: $1.url("/")) { $0.privacy = .partitioned }
        } _: { (scene) async throws in
            scene.origin.answer {
                .ok("Cache-Control: max-age=60", "Content-Type: text/plain", content: $0["Authorization"] ?? "nobody")
            }
            let events = try await scene.stream(
                query.replacing("URL", with: scene.url("/a")) + "&content=1")
            _ = try await events.next()
            _ = try await scene.get("/a", "Authorization: anna")
            _ = try await scene.get("/a")
            var contents: Set<String> = []
            while !contents.contains("nobody") {
                if let text = try await events.next().state["latestData"]?["content"]?.string { contents.insert(text) }
            }
            #expect(contents == ["nobody"])
            let late = try await scene.stream("match=**&content=1")
            let snapshot = try await late.next()
            #expect(snapshot.json["resources"] != nil && !"\(snapshot.json)".contains("\"anna\""))
        }
    }

    @Test func `an operator cancels the loads under way`() async throws {
        try await Scenario.run { (scene) async throws in
            let events = try await scene.events(about: "/a")
            _ = try await events.next()
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            #expect(try await events.next().name == "requested")
            let subject = try scene.proxy.subject(of: scene.url("/a"))
            #expect(scene.proxy.cancelLoads(of: subject) == 1)
            #expect(try await events.next().name == "requestCancelled")
            #expect(try await client.response().status == 503)
            _ = try await request.wire.end()
            #expect(scene.proxy.cancelLoads(of: subject) == 0)
        }
    }

    @Test func `when Larder stops, the streams are told and end`() async throws {
        try await Scenario.run { (scene) async throws in
            let events = try await scene.events(about: "/a")
            _ = try await events.next()
            async let drained: Void = scene.proxy.drain()
            #expect(try await events.next().name == "stoppedObserving")
            #expect(try await events.wire.chunk() == [])
            await drained
        }
    }

    @Test func `streams are guarded as everything that is read`() async throws {
        try await Scenario.run { (scene) async throws in
            for (lines, status) in [
                (["Host: attacker.example"], 403), (["Host: localhost", "Origin: http://attacker.example"], 403),
                (["Host: localhost", "Sec-Fetch-Site: cross-site"], 403),
            ] {
                let client = try await scene.client()
                try await client.write(
                    (["GET /-/events HTTP/1.1"] + lines).map { $0 + "\r\n" }.joined() + "\r\n")
                let response = try await client.response()
                #expect(response.status >= 400 && response.status < 500, "\(lines) \(status)")
                #expect(response["Content-Type"]?.contains("event-stream") != true)
            }
            for query in [
                "url=nothing", "content=2", "url=http://a/&match=**", "x=1",
            ] {
                let client = try await scene.client()
                try await client.write("GET /-/events?\(query) HTTP/1.1\r\nHost: localhost\r\n\r\n")
                #expect(try await client.response().status == 400, "\(query)")
            }
            let client = try await scene.client()
            try await client.write("HEAD /-/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let head = try await client.response(to: "HEAD")
            #expect(head.status == 200)
            #expect(head["Content-Type"] == "text/event-stream")
            #expect(head["Cache-Control"] == "no-store")
        }
    }
}
