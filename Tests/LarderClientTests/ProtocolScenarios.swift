// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// HTTP/1.1 itself, on both sides.
@Suite("Scenarios: the protocol")
struct ProtocolScenarios {
    static let fresh = "Cache-Control: max-age=60"

    // MARK: HEAD

    @Test func `HEAD is answered from what a GET has stored`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, "ETag: \"1\"", content: "apples") }
            _ = try await scene.get("/a")
            let client = try await scene.client()
            try await client.send("HEAD \(scene.url("/a")) HTTP/1.1", "Host: x")
            let head = try await client.head()
            #expect(head.status == 200)
            #expect(head["Content-Length"] == "6")
            #expect(head["Cache-Status"] == "Larder; hit; ttl=60")
            // Nothing follows it.
            try await client.get(scene.url("/a"))
            #expect(try await client.response().text == "apples")
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `HEAD of what is not stored is passed through, and stores nothing`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer {
                $0.method == "HEAD"
                    ? "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\(Self.fresh)\r\n\r\n" : .ok(content: "apples")
            }
            let client = try await scene.client()
            try await client.send("HEAD \(scene.url("/a")) HTTP/1.1", "Host: x")
            #expect(try await client.head()["Content-Length"] == "6")
            try await client.get(scene.url("/a"))
            #expect(try await client.response().text == "apples")
        }
    }

    @Test func `HT-14 a HEAD that shows another representation makes the stored one stale`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer {
                $0.method == "HEAD"
                    ? "HTTP/1.1 200 OK\r\nETag: \"2\"\r\nContent-Length: 9\r\n\r\n"
                    : .ok(Self.fresh, "ETag: \"1\"", content: "apples")
            }
            _ = try await scene.get("/a")
            let client = try await scene.client()
            try await client.send("HEAD \(scene.url("/a")) HTTP/1.1", "Host: x", "Cache-Control: no-cache")
            #expect(try await client.head()["ETag"] == "\"2\"")
            _ = try await scene.get("/a")
            #expect(scene.origin.seen.map(\.method) == ["GET", "HEAD", "GET"])
        }
    }

    // MARK: Pipelining

    @Test func `a hundred requests in one go are answered in order`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, content: "this is \($0.target)") }
            let client = try await scene.client()
            let paths = (0..<100).map { "/\($0 % 30)" }
            try await client.write(paths.map { "GET \(scene.url($0)) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined())
            for path in paths { #expect(try await client.response().text == "this is \(path)") }
            #expect(scene.origin.seen.count == 30)
        }
    }

    @Test func `requests arrive whole however they are cut`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, content: $0.target) }
            let client = try await scene.client()
            let text =
                "GET \(scene.url("/a")) HTTP/1.1\r\nHost: x\r\n\r\nGET \(scene.url("/b")) HTTP/1.1\r\nHost: x\r\n\r\n"
            for octet in text.utf8 { try await client.write([octet]) }
            #expect(try await client.response().text == "/a")
            #expect(try await client.response().text == "/b")
        }
    }

    @Test func `a request behind one with content is found where the content ends`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { .ok(content: "\($0.method) \($0.target)") }
            let client = try await scene.client()
            try await client.write(
                "POST \(scene.url("/a")) HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n01234GET \(scene.url("/b")) HTTP/1.1\r\nHost: x\r\n\r\n"
                    + "POST \(scene.url("/c")) HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n0\r\n\r\nGET \(scene.url("/d")) HTTP/1.1\r\nHost: x\r\n\r\n"
            )
            for expected in ["POST /a", "GET /b", "POST /c", "GET /d"] {
                #expect(try await client.response().text == expected)
            }
        }
    }

    // MARK: 100 and other interim responses

    @Test func `a client that waits for 100 gets it when the origin asks for the content`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.send(
                "POST \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 5", "Expect: 100-continue")
            let request = try await scene.origin.request()
            #expect(request["Expect"] == "100-continue")
            try await request.write("HTTP/1.1 100 Continue\r\n\r\n")
            #expect(try await client.response().status == 100)
            try await client.write("01234")
            #expect(try await request.content().text == "01234")
            try await request.reply(content: "thanks")
            #expect(try await client.response().text == "thanks")
        }
    }

    @Test func `a client that waits for 100 is spared sending what the origin does not want`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.send(
                "POST \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 5", "Expect: 100-continue")
            let request = try await scene.origin.request()
            try await request.wire.write(.response(417, content: "no"))
            request.finish()
            let answer = try await client.response()
            #expect(answer.status == 417)
            #expect(answer.text == "no")
            // The next octets could be the content or a request: nobody can tell.
            #expect(try await client.end() == .closed)
        }
    }

    @Test func `an origin that never says 100 gets the content after a moment`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.send(
                "POST \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 5", "Expect: 100-continue")
            let request = try await scene.origin.request()
            let interim = try await scene.lettingTimePass(reaching: .seconds(1)) { try await client.response() }
            #expect(interim.status == 100)
            try await client.write("01234")
            #expect(try await request.content().text == "01234")
            try await request.reply(content: "thanks")
            #expect(try await client.response().text == "thanks")
        }
    }

    @Test func `interim responses are passed on to those who understand them`() async throws {
        try await Scenario.run { (scene) async throws in
            for (version, method) in [("1.1", "GET"), ("1.1", "DELETE"), ("1.0", "GET")] {
                let client = try await scene.client()
                try await client.send("\(method) \(scene.url("/a")) HTTP/\(version)", "Host: x")
                let request = try await scene.origin.request()
                try await request.write(
                    "HTTP/1.1 103 Early Hints\r\nLink: </s.css>; rel=preload\r\nConnection: x\r\n\r\n")
                try await request.write("HTTP/1.1 102 Processing\r\n\r\n")
                try await request.reply("Cache-Control: no-store", content: "apples")
                if version == "1.1" {
                    let hint = try await client.response()
                    #expect(hint.status == 103)
                    #expect(hint["Link"] == "</s.css>; rel=preload")
                    #expect(hint["Connection"] == nil)
                    #expect(try await client.response().status == 102)
                }
                #expect(try await client.response().text == "apples")
            }
        }
    }

    @Test func `an early answer ends the sending, and the connection with it`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.send(
                "POST \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 1000000", content: "begin")
            let request = try await scene.origin.request()
            try await request.wire.write(.response(413, content: "too much"))
            #expect(try await client.response().text == "too much")
            #expect(try await client.end() == .closed)
            _ = try await request.wire.end()
            request.finish()
        }
    }

    // MARK: Content

    @Test func `chunked content and its trailers pass in both directions`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.write(
                "POST \(scene.url("/a")) HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
                    + "5;ext=1\r\n01234\r\n3\r\n567\r\n0\r\nX-Sum: 8\r\n\r\n")
            let request = try await scene.origin.request()
            let content = try await request.content()
            #expect(content.text == "01234567")
            #expect(content.trailers.map { "\($0.name): \($0.value)" } == ["X-Sum: 8"])
            try await request.write(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nX-Done: yes\r\n\r\n")
            request.finish()
            let answer = try await client.response()
            #expect(answer["Transfer-Encoding"] == "chunked")
            #expect(answer.text == "abc")
            #expect(answer.trailers.map { "\($0.name): \($0.value)" } == ["X-Done: yes"])
        }
    }

    @Test func `chunked content of a client that is not chunked well is the client's mistake`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.write(
                "POST \(scene.url("/a")) HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\nzz\r\n")
            let answer = try await client.response()
            #expect(answer.status == 400)
            #expect(try await client.end() == .closed)
            let request = try await scene.origin.request()
            _ = try await request.wire.end()
            request.finish()
        }
    }

    @Test func `a client that leaves inside its content takes the request with it`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.send("POST \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 10", content: "01234")
            let request = try await scene.origin.request()
            try await request.wire.hasReceived(5)
            await client.close()
            _ = try await request.wire.end()
            request.finish()
        }
    }

    @Test func `content of unknown length is stored with its length`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            try await request.write(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\(Self.fresh)\r\n\r\n5\r\n01234\r\n")
            let first = try await client.head()
            #expect(first["Content-Length"] == nil)
            try await request.write("3\r\n567\r\n0\r\n\r\n")
            request.finish()
            #expect(try await client.message(first, isResponse: true).text == "01234567")
            let hit = try await scene.get("/a")
            #expect(hit.text == "01234567")
            #expect(hit["Content-Length"] == "8")
            #expect(hit["Transfer-Encoding"] == nil)
        }
    }

    // MARK: HTTP/1.0

    @Test func `an HTTP/1.0 client gets content of unknown length until the connection ends`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.send("GET \(scene.url("/a")) HTTP/1.0", "Connection: keep-alive")
            let request = try await scene.origin.request()
            try await request.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n")
            let head = try await client.head()
            try await request.write("0\r\n\r\n")
            request.finish()
            let answer = try await client.message(head, isResponse: true)
            #expect(answer["Transfer-Encoding"] == nil)
            #expect(answer["Connection"] == "close")
            #expect(answer.text == "01234")
            #expect(try await client.end() == .closed)
        }
    }

    @Test func `an HTTP/1.0 client of a gateway may keep its connection when the length is known`() async throws {
        try await Scenario.run {
            $0.add("api", at: $1.url("/")) { $0.mount = "/api/" }
        } _: { (scene) async throws in
            scene.origin.answer { .ok(content: $0.target) }
            let client = try await scene.client()
            try await client.send("GET /api/a HTTP/1.0", "Connection: keep-alive")
            let answer = try await client.response()
            #expect(answer["Connection"] == "keep-alive")
            #expect(answer.text == "/a")
            try await client.send("GET /api/b HTTP/1.0")
            #expect(try await client.response().text == "/b")
            #expect(try await client.end() == .closed)
        }
    }

    @Test func `RFC 9112 §9.3 an HTTP/1.0 client of a proxy does not keep its connection`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { .ok(content: $0.target) }
            let client = try await scene.client()
            try await client.send("GET \(scene.url("/a")) HTTP/1.0", "Connection: keep-alive")
            let answer = try await client.response()
            #expect(answer["Connection"] == "close")
            #expect(answer.text == "/a")
            #expect(try await client.end() == .closed)
        }
    }

    @Test func `an HTTP/1.0 origin is understood`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            #expect(request.head.startLine == "GET /a HTTP/1.1")
            try await request.write("HTTP/1.0 200 OK\r\n\(Self.fresh)\r\n\r\nold but good")
            await request.close()
            let answer = try await client.response()
            #expect(answer.head.startLine == "HTTP/1.1 200 OK")
            #expect(answer.text == "old but good")
        }
    }

    // MARK: Connections

    @Test func `connections to the origin are used again`() async throws {
        try await Scenario.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            scene.origin.answer { .ok(content: $0.target) }
            for number in 0..<5 { #expect(try await scene.get("/\(number)").text == "/\(number)") }
            #expect(scene.origin.wires.count == 1)
            scene.origin.answer { .ok("Connection: close", content: $0.target) }
            for number in 5..<8 { #expect(try await scene.get("/\(number)").text == "/\(number)") }
            #expect(scene.origin.wires.count == 3)
        }
    }

    @Test func `a connection to the origin that idles for too long is closed`() async throws {
        try await Scenario.run({ settings, _ in
            settings.threads = 1
            settings.timeouts.upstreamIdle = .seconds(4)
        }) { (scene) async throws in
            scene.origin.answer { .ok(content: $0.target) }
            _ = try await scene.get("/a")
            _ = try await scene.lettingTimePass(reaching: .seconds(4)) { try await scene.origin.wires[0].end() }
        }
    }

    @Test func `a client that says close is told so and closed`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { .ok(content: $0.target) }
            let client = try await scene.client()
            try await client.get(scene.url("/a"), "Connection: close")
            let answer = try await client.response()
            #expect(answer["Connection"] == "close")
            #expect(try await client.end() == .closed)
        }
    }

    @Test func `HT-18 fields of the hop do not cross it`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in
                .ok(
                    Self.fresh, "Connection: X-Hop, keep-alive", "X-Hop: 1", "Keep-Alive: timeout=5",
                    "Proxy-Authenticate: Basic", "X-End: 1")
            }
            let answer = try await scene.get(
                "/a", "Connection: X-Mine", "X-Mine: 1", "TE: trailers", "Proxy-Connection: keep-alive",
                "Proxy-Authorization: Basic x", "X-Other: 1")
            let seen = scene.origin.seen[0]
            for name in ["Connection", "X-Mine", "TE", "Proxy-Connection", "Proxy-Authorization"] {
                #expect(seen[name] == nil, "\(name)")
            }
            #expect(seen["X-Other"] == "1")
            #expect(seen["Via"]?.hasPrefix("1.1 larder-") == true)
            for name in ["X-Hop", "Keep-Alive", "Proxy-Authenticate"] { #expect(answer[name] == nil, "\(name)") }
            #expect(answer["X-End"] == "1")
            #expect(answer["Via"] == "1.1 larder")
        }
    }

    // MARK: Other protocols

    @Test func `HT-20 an upgrade is asked for and then passed through, octet by octet`() async throws {
        try await Scenario.run({ settings, _ in settings.log.access = true }) { (scene) async throws in
            let client = try await scene.client()
            try await client.get(
                scene.url("/chat"), "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x")
            let request = try await scene.origin.request()
            #expect(request["Upgrade"] == "websocket")
            #expect(request["Connection"]?.lowercased() == "upgrade")
            try await request.write(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: y\r\n\r\nearly"
            )
            let answer = try await client.response()
            #expect(answer.status == 101)
            #expect(answer["Upgrade"] == "websocket")
            #expect(answer["Sec-WebSocket-Accept"] == "y")
            #expect(try await client.text(5) == "early")
            try await client.write("ping\0\r\n\r\n")
            #expect(try await request.wire.text(9) == "ping\0\r\n\r\n")
            try await request.write("pong")
            #expect(try await client.text(4) == "pong")
            await client.close()
            _ = try await request.wire.end()
            await request.wire.close()
            request.finish()
            try await eventually("the log says what came to the client") {
                scene.log.values.contains { $0.contains("bytes=9") }
            }
        }
    }

    @Test func `an upgrade to anything but WebSocket is not asked for, and not passed through`() async throws {
        try await Scenario.run { (scene) async throws in
            for (number, protocols) in ["h2c", "TLS/1.0", "tcp", "anything, TLS/1.0"].enumerated() {
                let client = try await scene.client()
                try await client.get(scene.url("/\(number)"), "Connection: Upgrade", "Upgrade: \(protocols)")
                let request = try await scene.origin.request()
                #expect(request["Upgrade"] == nil && request["Connection"] == nil)
                try await request.send(
                    "HTTP/1.1 101 Switching Protocols", "Upgrade: \(protocols)", "Connection: upgrade")
                #expect(try await client.response().status == 502)
                request.finish()
            }
            let client = try await scene.client()
            try await client.get(scene.url("/chat"), "Connection: Upgrade", "Upgrade: TLS/1.0, WebSocket")
            let request = try await scene.origin.request()
            #expect(request["Upgrade"] == "websocket")
            try await request.send("HTTP/1.1 101 Switching Protocols", "Upgrade: TLS/1.0", "Connection: upgrade")
            #expect(try await client.response().status == 502)
            request.finish()
        }
    }

    @Test func `an upgrade that is declined is an ordinary response`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok(content: "no") }
            let client = try await scene.client()
            try await client.get(scene.url("/chat"), "Connection: Upgrade", "Upgrade: websocket")
            #expect(try await client.response().text == "no")
            try await client.get(scene.url("/chat"))
            #expect(try await client.response().text == "no")
        }
    }

    @Test func `HT-20 CONNECT leads through, and each side may end its own`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.send("CONNECT \(scene.origin.authority) HTTP/1.1", "Host: \(scene.origin.authority)")
            #expect(try await client.head().status == 200)
            try await client.send("GET /through HTTP/1.1", "Host: y")
            let request = try await scene.origin.request()
            #expect(request.target == "/through")
            #expect(request["Via"] == nil)
            await client.shutdownWrite()
            #expect(try await request.wire.end() == .closed)
            // The other direction goes on.
            try await request.write("still here")
            #expect(try await client.text(10) == "still here")
            #expect(scene.proxy.openTunnels == 1)
            await request.close()
            #expect(try await client.end() == .closed)
            try await eventually("the tunnel is counted out") { scene.proxy.openTunnels == 0 }
            try await eventually("it is counted") { scene.count(.tunnel) == 1 }
        }
    }

    @Test(arguments: [true, false])
    func `a tunnel that breaks on one side does not look whole on the other`(originBreaks: Bool) async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.tunnel()
            try await client.send("GET /through HTTP/1.1", "Host: y")
            let request = try await scene.origin.request()
            try await request.write("half")
            #expect(try await client.text(4) == "half")
            if originBreaks {
                await request.reset()
                #expect(try await client.end() == .reset)
            } else {
                await client.reset()
                #expect(try await request.wire.end() == .reset)
                request.finish()
            }
        }
    }

    /// The break is usually told to the direction that writes to the origin; the other one reads an end in good order.
    @Test func `a tunnel's break that a writer finds does not look whole either`() async throws {
        try await Scenario.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            let client = try await scene.client(isHeld: true)
            try await client.send("CONNECT \(scene.origin.authority) HTTP/1.1", "Host: \(scene.origin.authority)")
            try await client.send("GET /through HTTP/1.1", "Host: y")
            let request = try await scene.origin.request()
            // More than the kernel takes for a client that does not read.
            let sending = Task { try? await request.write(String(repeating: "x", count: 20_000_000)) }
            for _ in 0..<500 { await scene.proxy.settle() }
            await request.reset()
            // Once: the client's system tells a write or a read of the break, whichever is first.
            let isTold = (try? await client.write("more")) == nil
            client.release()
            let end = try await client.end()
            #expect(isTold || end == .reset)
            await sending.value
        }
    }

    @Test func `a tunnel in which nothing moves is closed`() async throws {
        try await Scenario.run({ settings, _ in settings.timeouts.tunnelIdle = .seconds(4) }) { (scene) async throws in
            let client = try await scene.client()
            try await client.send("CONNECT \(scene.origin.authority) HTTP/1.1", "Host: \(scene.origin.authority)")
            #expect(try await client.head().status == 200)
            _ = try await scene.lettingTimePass(reaching: .seconds(4)) { try await client.end() }
        }
    }

    @Test func `a tunnel to where nobody listens is answered with why`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            await scene.origin.refuse()
            try await client.send("CONNECT \(scene.origin.authority) HTTP/1.1", "Host: \(scene.origin.authority)")
            let answer = try await client.response()
            #expect(answer.status == 502)
            #expect(answer["Proxy-Status"]?.contains("connection_refused") == true)
        }
    }
}
