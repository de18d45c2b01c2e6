// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// Many requests for the same at once.
@Suite("Scenarios: collapsed requests")
struct CollapsingScenarios {
    static let fresh = "Cache-Control: max-age=60"

    @Test func `RS-16 SH-11 a thousand clients on several loops cause one request to the origin`() async throws {
        try await Scenario.run({ settings, _ in settings.threads = 4 }) { (scene) async throws in
            let clients = try await scene.crowd(of: 1000, askingFor: "/a")
            let request = try await scene.origin.request()
            try await eventually("all have joined") { scene.interest(in: "/a") == 1000 }
            let content = String(repeating: "apples ", count: 10_000)
            try await request.reply(Self.fresh, content: content)
            var leaders = 0
            for client in clients {
                let response = try await client.response()
                #expect(response.isWhole)
                #expect(response.text == content)
                if response["Cache-Status"]?.contains("collapsed") != true { leaders += 1 }
            }
            #expect(leaders == 1)
            #expect(scene.origin.seen.count == 1)
            try await eventually("they are counted") { scene.count(.collapsed) == 999 }
        }
    }

    @Test func `a slow client does not hold up the others, and gets all in the end`() async throws {
        try await Scenario.run { (scene) async throws in
            let content = String(repeating: "apples and pears ", count: 180_000)
            let slow = try await scene.client("the slow client", isHeld: true)
            try await slow.get(scene.url("/a"))
            let request = try await scene.origin.request()
            let quick = try await scene.client()
            try await quick.get(scene.url("/a"))
            try await eventually("both wait") { scene.interest(in: "/a") == 2 }
            try await request.reply(Self.fresh, content: content)
            #expect(try await quick.response().text == content)
            #expect(slow.received == 0)
            slow.release()
            #expect(try await slow.response().text == content)
        }
    }

    @Test func `when the client that came first leaves, the others still get all`() async throws {
        try await Scenario.run { (scene) async throws in
            let (leader, follower, request) = try await scene.twoClients()
            try await request.send("HTTP/1.1 200 OK", "Content-Length: 10", Self.fresh, content: "01234")
            try await leader.hasReceived(100)
            await leader.close()
            try await eventually("the leader has left") { scene.interest(in: "/a") == 1 }
            scene.advance(.seconds(1))
            try await request.write("56789")
            #expect(try await follower.response().text == "0123456789")
            #expect(try await scene.get("/a")["Cache-Status"] == "Larder; hit; ttl=59")
        }
    }

    @Test func `HT-16 a response that is not for sharing goes to its own client, and the others ask for themselves`()
        async throws
    {
        try await Scenario.run { (scene) async throws in
            var clients: [Wire] = []
            for number in 0..<5 {
                let client = try await scene.client("client \(number)")
                try await client.get(scene.url("/a"))
                clients.append(client)
            }
            let first = try await scene.origin.request()
            try await eventually("all have joined") { scene.interest(in: "/a") == 5 }
            try await first.reply("Cache-Control: no-store", content: "0")
            for number in 1..<5 {
                try await scene.origin.request().reply("Cache-Control: no-store", content: "\(number)")
            }
            var texts: Set<String> = []
            for client in clients { texts.insert(try await client.response().text) }
            #expect(texts == ["0", "1", "2", "3", "4"])
        }
    }

    @Test func `HT-16 nobody waits for a response that is probably not for sharing, as the last one was not`()
        async throws
    {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: no-store", content: "0") }
            _ = try await scene.get("/a")
            scene.origin.answer { _ in nil }
            var clients: [Wire] = []
            var requests: [OriginRequest] = []
            for number in 0..<3 {
                let client = try await scene.client("client \(number)")
                try await client.get(scene.url("/a"))
                clients.append(client)
                requests.append(try await scene.origin.request())
            }
            // Once a response is stored, clients share again.
            try await requests[0].reply(Self.fresh, content: "shared")
            #expect(try await clients[0].response().text == "shared")
            for number in 1..<3 {
                try await requests[number].reply(Self.fresh, content: "\(number)")
                #expect(try await clients[number].response().text == "\(number)")
            }
            #expect(try await scene.get("/a").text == "shared")
            scene.advance(.seconds(100))
            let (leader, follower, request) = try await scene.twoClients()
            try await request.reply(Self.fresh, content: "again")
            #expect(try await leader.response().text == "again")
            #expect(try await follower.response().text == "again")
        }
    }

    @Test func `after two minutes clients wait again for a response that was not for sharing`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: no-store", content: "0") }
            _ = try await scene.get("/a")
            scene.advance(.seconds(121))
            scene.origin.answer { _ in nil }
            let (leader, follower, request) = try await scene.twoClients()
            try await request.reply(Self.fresh, content: "apples")
            #expect(try await leader.response().text == "apples")
            #expect(try await follower.response().text == "apples")
        }
    }

    @Test func `HT-02 HT-16 clients that want other variants do not get this one`() async throws {
        try await Scenario.run { (scene) async throws in
            var clients: [(String, Wire)] = []
            for language in ["de", "de", "fr", "fr", "it"] {
                let client = try await scene.client(language)
                try await client.get(scene.url("/a"), "Accept-Language: \(language)")
                clients.append((language, client))
                try await eventually("it has joined") { scene.interest(in: "/a") == clients.count }
            }
            let first = try await scene.origin.request()
            scene.origin.answer { .ok(Self.fresh, "Vary: Accept-Language", content: $0["Accept-Language"] ?? "") }
            try await first.reply(Self.fresh, "Vary: Accept-Language", content: "de")
            for (language, client) in clients { #expect(try await client.response().text == language) }
            #expect(scene.origin.seen.count == 3)
        }
    }

    @Test(arguments: [
        ("no-cache", [], false), ("max-age=1", [], false), ("max-age=60", [], true),
        ("max-age=60", ["Cache-Control: no-cache"], false), ("max-age=60", ["Cache-Control: max-age=2"], false),
        ("max-age=60", ["Cache-Control: no-store"], false),
    ])
    func `RFC 9111 §4 a response that has begun answers later requests only if it would as a stored one`(
        _ directives: String, _ asked: [String], _ isShared: Bool
    ) async throws {
        try await Scenario.run { (scene) async throws in
            let first = try await scene.client()
            try await first.get(scene.url("/a"))
            let request = try await scene.origin.request()
            try await request.send(
                "HTTP/1.1 200 OK", "Cache-Control: \(directives)", "Content-Length: 10", content: "01234")
            #expect(try await first.head().status == 200)
            scene.advance(.seconds(3))
            let second = try await scene.client()
            try await second.write(
                (["GET \(scene.url("/a")) HTTP/1.1", "Host: x"] + asked).map { $0 + "\r\n" }.joined() + "\r\n")
            if isShared {
                try await eventually("both wait") { scene.interest(in: "/a") == 2 }
            } else {
                try await scene.origin.request().reply(content: "anew")
                #expect(try await second.response().text == "anew")
            }
            try await request.write("56789")
            request.finish()
            if isShared { #expect(try await second.response().text == "0123456789") }
            #expect(scene.origin.seen.count == (isShared ? 1 : 2))
        }
    }

    @Test func `a validation is shared too`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, "ETag: \"1\"", content: "apples") }
            _ = try await scene.get("/a")
            scene.advance(.seconds(100))
            scene.origin.answer { _ in nil }
            var clients: [Wire] = []
            for number in 0..<10 {
                let client = try await scene.client("client \(number)")
                try await client.get(scene.url("/a"))
                clients.append(client)
            }
            let validation = try await scene.origin.request()
            try await eventually("all have joined") { scene.interest(in: "/a") == 10 }
            try await validation.reply(304, "ETag: \"1\"", Self.fresh)
            for client in clients { #expect(try await client.response().text == "apples") }
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test func `clients that want a stream from other places on do not share one`() async throws {
        try await Scenario.run { (scene) async throws in
            var streams: [(client: Wire, request: OriginRequest)] = []
            for event in 1...2 {
                let client = try await scene.client("after \(event)")
                try await client.get(scene.url("/a"), "Last-Event-ID: \(event)")
                streams.append((client, try await scene.origin.request()))
            }
            for (client, request) in streams {
                let last = request["Last-Event-ID"] ?? ""
                try await request.reply("Content-Type: text/event-stream", content: "id: \(last)0\n\n")
                #expect(try await client.response().text == "id: \(last)0\n\n")
            }
        }
    }

    @Test func `a request with credentials is nobody else's`() async throws {
        try await Scenario.run { (scene) async throws in
            let open = try await scene.client()
            try await open.get(scene.url("/a"))
            let first = try await scene.origin.request()
            let secret = try await scene.client()
            try await secret.get(scene.url("/a"), "Authorization: Bearer x")
            let second = try await scene.origin.request()
            #expect(second["Authorization"] == "Bearer x")
            try await first.reply(Self.fresh, content: "open")
            try await second.reply(Self.fresh, content: "secret")
            #expect(try await open.response().text == "open")
            #expect(try await secret.response().text == "secret")
            #expect(try await scene.get("/a").text == "open")
        }
    }

    @Test func `a failure is everybody's`() async throws {
        try await Scenario.run { (scene) async throws in
            var clients: [Wire] = []
            for number in 0..<4 {
                let client = try await scene.client("client \(number)")
                try await client.get(scene.url("/a"))
                clients.append(client)
            }
            let request = try await scene.origin.request()
            try await eventually("all have joined") { scene.interest(in: "/a") == 4 }
            await request.reset()
            for client in clients { #expect(try await client.response().status == 502) }
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `a failure that another client's fields may have caused is not that of the others`() async throws {
        try await Scenario.run { (scene) async throws in
            let leader = try await scene.client("the leader")
            try await leader.get(scene.url("/a"), "X-Mood: bad")
            let request = try await scene.origin.request()
            let equal = try await scene.client("an equal one")
            try await equal.get(scene.url("/a"), "X-Mood: bad")
            var others: [Wire] = []
            for number in 0..<3 {
                let client = try await scene.client("client \(number)")
                try await client.get(scene.url("/a"))
                others.append(client)
            }
            try await eventually("all have joined") { scene.interest(in: "/a") == 5 }
            await request.reset()
            for client in [leader, equal] { #expect(try await client.response().status == 502) }
            // They ask once, all together.
            let second = try await scene.origin.request()
            #expect(second["X-Mood"] == nil)
            try await eventually("the others have joined") { scene.interest(in: "/a") == 3 }
            try await second.reply(Self.fresh, content: "apples")
            for client in others { #expect(try await client.response().text == "apples") }
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test func `nobody waits for a variant that is another's, once it is known what there are variants by`()
        async throws
    {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=1", "Vary: X-Mood", content: "first") }
            _ = try await scene.get("/a")
            scene.origin.answer { $0["X-Mood"] == nil ? .ok("Vary: X-Mood", content: "second") : nil }
            scene.advance(.seconds(2))
            let leader = try await scene.client("the leader")
            try await leader.get(scene.url("/a"), "X-Mood: bad")
            _ = try await scene.origin.request()
            #expect(try await scene.get("/a").text == "second")
        }
    }

    // MARK: Leaving

    @Test func `HT-15 when all clients have left, the origin's connection ends after a moment of grace`() async throws {
        try await Scenario.run({ settings, _ in settings.timeouts.abandon = .seconds(4) }) { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            await client.close()
            try await eventually("it has left") { scene.interest(in: "/a") == 0 }
            #expect(!request.wire.isEnded)
            _ = try await scene.lettingTimePass(reaching: .seconds(4)) { try await request.wire.end() }
            try await eventually("the load is over") { scene.resource("/a")?.memory.loads.isEmpty != false }
            request.finish()
        }
    }

    @Test func `HT-15 who comes within the grace takes the load over`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            await client.close()
            try await eventually("it has left") { scene.interest(in: "/a") == 0 }
            let next = try await scene.client()
            try await next.get(scene.url("/a"))
            try await eventually("the next has joined") { scene.interest(in: "/a") == 1 }
            scene.advance(.seconds(1))
            try await request.reply(Self.fresh, content: "apples")
            #expect(try await next.response().text == "apples")
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `a client that leaves a request that is passed through ends it at once`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.send("DELETE \(scene.url("/a")) HTTP/1.1", "Host: x")
            let request = try await scene.origin.request()
            await client.close()
            _ = try await request.wire.end()
            request.finish()
            try await eventually("it is counted as what it is") { scene.count(.aborted) == 1 }
            #expect(scene.count(.pass) == 0)
        }
    }

    @Test(arguments: [false, true]) func `RFC 9111 §4 an earlier response that takes longer replaces no later one`(
        onDisk: Bool
    ) async throws {
        try await Scenario.run(onDisk: onDisk) { (scene) async throws in
            let slow = try await scene.unfinished("/a", length: 10, Self.fresh)
            scene.advance(.seconds(1))
            scene.origin.answer { _ in .ok(Self.fresh, content: "later") }
            #expect(try await scene.get("/a", "Cache-Control: no-cache").text == "later")
            try await eventually("it is stored") { scene.resource("/a")?.memory.snapshot.variants.count == 1 }
            scene.advance(.seconds(1))
            #expect(try await slow.finish() == slow.content)
            #expect(try await scene.getStored("/a").text == "later")
            guard onDisk else { return }
            try await scene.restart()
            #expect(try await scene.get("/a").text == "later")
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test func `RFC 9111 §5.1 who joins a long download is told its age`() async throws {
        try await Scenario.run { (scene) async throws in
            let first = try await scene.unfinished("/a", length: 10, "Cache-Control: max-age=600", "Age: 5")
            scene.advance(.seconds(20))
            let second = try await scene.client("who joins")
            try await second.get(scene.url("/a"))
            try await eventually("both wait") { scene.interest(in: "/a") == 2 }
            _ = try await first.finish()
            #expect(try await second.response()["Age"] == "25")
        }
    }
}
