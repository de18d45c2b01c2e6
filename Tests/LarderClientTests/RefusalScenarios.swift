// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderSettings
import LarderTesting
import Testing

@testable import LarderProxy

/// Requests that are not served, and what their clients are told.
@Suite("Scenarios: refusals")
struct RefusalScenarios {
    struct Malformed: Sendable, CustomTestStringConvertible {
        let name: String
        let text: String
        var status = 400
        var testDescription: String { name }
    }

    /// SETTINGS, and GOAWAY with HTTP_1_1_REQUIRED (RFC 9113 §7) and a text.
    @Test func `HTTP/2 with prior knowledge is refused in HTTP/2`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            let answer = Array(try await client.text(26 + 51).utf8)
            #expect(answer.prefix(9).elementsEqual([0, 0, 0, 4, 0, 0, 0, 0, 0]))
            #expect(answer[12] == 7 && answer[25] == 13)
            #expect(
                String(decoding: answer[26...], as: UTF8.self) == "Larder speaks HTTP/1.1 with its clients, not HTTP/2")
            #expect(try await client.end() == .closed)
        }
    }

    @Test(arguments: [
        Malformed(name: "no version", text: "GET http://x/\r\nHost: x\r\n\r\n"),
        Malformed(name: "two spaces", text: "GET  http://x/ HTTP/1.1\r\nHost: x\r\n\r\n"),
        Malformed(name: "no Host", text: "GET http://x/ HTTP/1.1\r\n\r\n"),
        Malformed(name: "two Hosts", text: "GET http://x/ HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n"),
        Malformed(name: "a space before the colon", text: "GET http://x/ HTTP/1.1\r\nHost : x\r\n\r\n"),
        Malformed(name: "a folded line", text: "GET http://x/ HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n"),
        Malformed(name: "a bare CR", text: "GET http://x/ HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n"),
        Malformed(name: "a NUL", text: "GET http://x/ HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n"),
        Malformed(
            name: "two lengths",
            text: "POST http://x/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc"),
        Malformed(
            name: "a length and chunked",
            text:
                "POST http://x/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        Malformed(name: "a signed length", text: "POST http://x/ HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc"),
        Malformed(
            name: "chunked twice",
            text: "POST http://x/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
        Malformed(
            name: "chunked from HTTP/1.0",
            text: "POST http://x/ HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        Malformed(
            name: "an unknown coding",
            text: "POST http://x/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", status: 501
        ),
        Malformed(name: "user information", text: "GET http://me:pass@x/ HTTP/1.1\r\nHost: x\r\n\r\n"),
        Malformed(name: "another scheme", text: "GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n"),
        Malformed(
            name: "a long target",
            text: "GET http://x/\(String(repeating: "x", count: 20_000)) HTTP/1.1\r\nHost: x\r\n\r\n", status: 414),
        Malformed(
            name: "a large head",
            text: "GET http://x/ HTTP/1.1\r\nHost: x\r\nA: \(String(repeating: "x", count: 70_000))\r\n\r\n",
            status: 431),
        Malformed(name: "TLS", text: "\u{16}\u{03}\u{01}\u{02}\r\n\r\n"),
    ])
    func `what is malformed is refused with a problem, and nothing behind it is believed`(
        request: Malformed
    ) async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.write(request.text + "GET \(scene.url("/smuggled")) HTTP/1.1\r\nHost: x\r\n\r\n")
            let answer = try await client.response()
            #expect(answer.status == request.status)
            #expect(answer["Content-Type"] == "application/problem+json")
            #expect(answer["Connection"] == "close")
            #expect(answer["Proxy-Status"]?.hasPrefix("Larder; error=http_request_error") == true)
            #expect(answer.text.contains("\"status\":\(request.status)"))
            #expect(try await client.end() == .closed)
            #expect(scene.origin.seen.isEmpty)
        }
    }

    @Test func `a refusal says nothing of the request before it`() async throws {
        try await Scenario.run({ settings, _ in settings.log.access = true }) { (scene) async throws in
            scene.origin.answer { _ in .ok(content: "x") }
            let client = try await scene.client()
            try await client.get(scene.url("/first"))
            _ = try await client.response()
            try await client.write("nonsense\r\n\r\n")
            let answer = try await client.response()
            #expect(answer.status == 400)
            #expect(!answer.text.contains("/first"))
            _ = try await client.end()
            try await eventually("both are logged") { scene.log.values.count { $0.hasPrefix("exchange") } == 2 }
            #expect(scene.log.values.count { $0.contains("/first") } == 1)
        }
    }

    @Test func `a head that takes too long is answered 408`() async throws {
        try await Scenario.run({ settings, _ in settings.timeouts.head = .seconds(4) }) { (scene) async throws in
            let client = try await scene.client()
            try await client.write("GET \(scene.url("/a")) HTTP/1.1\r\nHo")
            let answer = try await scene.lettingTimePass(reaching: .seconds(4)) { try await client.response() }
            #expect(answer.status == 408)
            #expect(answer["Connection"] == "close")
            #expect(try await client.end() == .closed)
        }
    }

    @Test func `a connection that stays idle is closed without a word`() async throws {
        try await Scenario.run({ settings, _ in settings.timeouts.idle = .seconds(4) }) { (scene) async throws in
            let client = try await scene.client()
            #expect(try await scene.lettingTimePass(reaching: .seconds(4)) { try await client.end() } == .closed)
            #expect(client.received == 0)
        }
    }

    @Test func `a client that stops inside its content is answered, or closed, in time`() async throws {
        try await Scenario.run({ settings, _ in settings.timeouts.body = .seconds(4) }) { (scene) async throws in
            let client = try await scene.client()
            try await client.send("POST \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 10", content: "01234")
            let request = try await scene.origin.request()
            _ = try await scene.lettingTimePass(reaching: .seconds(4)) { try await client.end() }
            _ = try await request.wire.end()
            request.finish()
        }
    }

    @Test func `a client that does not take its answer is closed in time`() async throws {
        try await Scenario.run({ settings, _ in settings.timeouts.write = .seconds(4) }) { (scene) async throws in
            let content = String(repeating: "x", count: 24 << 20)
            let client = try await scene.client("the client", isHeld: true)
            try await client.send("DELETE \(scene.url("/a")) HTTP/1.1", "Host: x")
            let request = try await scene.origin.request()
            async let replied: Void = request.reply(content: content)
            try await eventually("the answer is under way") { scene.count(.received) > 256 << 10 }
            // What its system's buffers still take is progress.
            try await scene.lettingTimePass(within: .seconds(4)...(.seconds(40))) {
                try await eventually("it is closed") { scene.proxy.openConnections == 0 }
            }
            try? await replied
            request.finish()
        }
    }

    @Test func `a request that comes round again is a loop`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: no-store", content: "x") }
            _ = try await scene.get("/a")
            let via = try #require(scene.origin.seen[0]["Via"])
            let answer = try await scene.get("/a", "Via: 1.0 other, \(via)")
            #expect(answer.status == 508)
            #expect(answer["Proxy-Status"]?.contains("proxy_loop_detected") == true)
            #expect(try await scene.get("/a", "Via: 1.1 larder-of-somebody-else").status == 200)
            #expect(scene.origin.seen.count == 2)
            // Through Larder nobody gets to its own pages either.
            for (via, status) in [(via, 508), ("1.1 other", 200)] {
                let client = try await scene.client()
                try await client.send("GET /-/ready HTTP/1.1", "Host: localhost", "Via: \(via)")
                #expect(try await client.response().status == status)
            }
        }
    }

    @Test func `each origin knows Larder by another name, and Larder knows all of them`() async throws {
        let names = Pseudonym()
        let (one, other) = (names.via("https://a.example"), names.via("https://b.example"))
        #expect(one != other)
        #expect(one == names.via("https://a.example"))
        for via in [one, other, "1.0 first, \(one)", "1.1 larder-1-2,\(other) (comment)"] {
            #expect(names.knows(via), "\(via)")
            #expect(!Pseudonym().knows(via))
        }
        for via in [
            "1.1 larder", "1.1 larder-", "1.1 larder-1", "1.1 larder--", "1.1 larder-1-2", one + "x", one.uppercased(),
        ] {
            #expect(!names.knows(via), "\(via)")
        }
    }

    @Test func `Larder's own pages do not answer what comes through Larder`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.send(
                "GET /http/localhost:\(scene.port)/-/status HTTP/1.1", "Host: localhost:\(scene.port)")
            let answer = try await client.response()
            #expect(answer.status == 508)
            #expect(!answer.text.contains("uptimeSeconds"))
            await client.close()
        }
    }

    @Test(arguments: [
        "/api/..%2fx", "/api/a/..%2F..%2Fx", "/api/..%5cx", "/api/a%5c..%5cx", "/api/..;/x", "/api/..;a=b/x",
        "/api/a/..;",
        "/api/..%3bx/y", "/api/%2e%2e%2fx", "/api/.%2e%2fx", "/api/..%00/x", "/api/a%2f..", "/api/..%3fx",
        "/api/..%20/x",
    ])
    func `a path that an origin may take for a way out is refused`(path: String) async throws {
        try await Scenario.run { settings, origin in
            settings.add("api", at: origin.url("/v1/")) { service in
                service.configure { $0.headers = [HeaderEdit(name: "X-Api-Key", value: Secret("secret"))] }
            }
        } _: { (scene) async throws in
            let rest = path.dropFirst("/api".utf8.count)
            for (target, host) in [
                (path, nil), (String(rest), "api.localhost:\(scene.port)"), (scene.url("/v1\(rest)"), nil),
                ("/http/\(scene.origin.authority)/v1\(rest)", nil),
            ] {
                let client = try await scene.client()
                try await client.send("GET \(target) HTTP/1.1", "Host: \(host ?? "localhost:\(scene.port)")")
                let answer = try await client.response()
                #expect(answer.status == 400, "\(target)")
                await client.close()
            }
            #expect(scene.origin.seen.isEmpty)
        }
    }

    @Test(arguments: [
        "/api/a..%2fb", "/api/a/..b", "/api/...%2f", "/api/a;..", "/api/%2f", "/api/a%2fb?x=..%2f", "/api/..a%2f..",
    ])
    func `two dots that are no segment's are nobody's way out`(path: String) async throws {
        try await Scenario.run { settings, origin in
            settings.add("api", at: origin.url("/v1/"))
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok(content: "x") }
            let client = try await scene.client()
            try await client.send("GET \(path) HTTP/1.1", "Host: localhost:\(scene.port)")
            let answer = try await client.response()
            #expect(answer.status == (path.hasSuffix("%2f..") ? 400 : 200), "\(path)")
            await client.close()
        }
    }

    /// A page can cause as many of them as it likes.
    @Test func `what is refused says nothing of how long origins take`() async throws {
        try await Scenario.run { settings, origin in
            settings.add("api", at: origin.url("/"))
        } _: { (scene) async throws in
            let client = try await scene.client()
            for _ in 0..<3 {
                try await client.send(
                    "GET /api/a HTTP/1.1", "Host: localhost:\(scene.port)", "Origin: http://evil.example",
                    "Sec-Fetch-Site: cross-site")
                #expect(try await client.response().status == 403)
            }
            try await client.send("GET \(scene.url("/a")) HTTP/1.1", "Host: x", "Cache-Control: only-if-cached")
            #expect(try await client.response().status == 504)
            #expect(scene.origin.seen.isEmpty)
            try await eventually("all are counted") { scene.count(.refused) == 3 && scene.count(.error) == 1 }
            try await eventually("all are noted") { scene.proxy.requests.notes().count == 4 }
            #expect(scene.proxy.requests.slowest(10).isEmpty)
            let totals = try #require(scene.proxy.serviceTotals()["api"])
            #expect(totals.latencies(.origin).allSatisfy { $0 == 0 })
            // A failure of the origin is waited for.
            try await client.get(scene.url("/b"))
            try await scene.origin.request().wire.reset()
            #expect(try await client.response().status == 502)
            try await eventually("it is noted") {
                scene.proxy.requests.slowest(10).map(\.url) == [scene.url("/b")]
            }
        }
    }

    @Test func `a proxy that leads to itself is noticed`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.send(
                "GET /http/127.0.0.1:\(scene.port)/http/\(scene.origin.authority)/a HTTP/1.1", "Host: localhost")
            #expect(try await client.response().status == 508)
            #expect(scene.origin.seen.isEmpty)
        }
    }

    @Test func `TRACE is not done, and OPTIONS ends where it says`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.send("TRACE \(scene.url("/a")) HTTP/1.1", "Host: x", "Authorization: x")
            #expect(try await client.response().status == 405)
            try await client.send("OPTIONS \(scene.url("/a")) HTTP/1.1", "Host: x", "Max-Forwards: 0")
            let answer = try await client.response()
            #expect(answer.status == 200)
            #expect(answer["Allow"]?.contains("GET") == true)
            try await client.send("OPTIONS \(scene.url("/a")) HTTP/1.1", "Host: x", "Max-Forwards: 5")
            let request = try await scene.origin.request()
            #expect(request["Max-Forwards"] == "4")
            try await request.reply(204)
            #expect(try await client.response().status == 204)
        }
    }

    @Test func `a tunnel to a port where mail is goes nowhere`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.send("CONNECT mail.example:25 HTTP/1.1", "Host: x")
            let answer = try await client.response()
            #expect(answer.status == 403)
            #expect(answer.text.contains("tunnels.ports"))
        }
    }

    @Test(arguments: ["forward.anyHost", "gateway.anyHost", "tunnels.loopback"])
    func `a tunnel leads nowhere that its client is not let to`(setting: String) async throws {
        try await Scenario.run({ settings, _ in
            settings.forward.anyHost = setting != "forward.anyHost"
            settings.gateway.anyHost = setting != "gateway.anyHost"
            settings.tunnels.loopback = setting != "tunnels.loopback"
        }) { (scene) async throws in
            let client = try await scene.client()
            try await client.send("CONNECT \(scene.origin.authority) HTTP/1.1", "Host: x")
            let answer = try await client.response()
            #expect(answer.status == 403)
            #expect(answer.text.contains(setting))
            #expect(scene.origin.wires.isEmpty)
        }
    }

    @Test(arguments: [
        ("application/json", "", "application/problem+json"), ("text/html", "", "text/html; charset=utf-8"),
        ("*/*", "curl/8", "text/plain; charset=utf-8"), ("text/plain", "", "text/plain; charset=utf-8"),
    ])
    func `a problem is written for who asks`(accept: String, agent: String, type: String) async throws {
        try await Scenario.run { (scene) async throws in
            await scene.origin.refuse()
            let answer = try await scene.get("/<b>", "Accept: \(accept)", "User-Agent: \(agent)")
            #expect(answer.status == 502)
            #expect(answer["Content-Type"] == type)
            #expect(answer["Cache-Control"] == "no-store")
            #expect(!answer.text.contains("<b>/") && !answer.text.contains("/<b>"))
        }
    }
}

extension Pseudonym {
    fileprivate func via(_ origin: String) -> String { "1.1 \(name(for: origin))" }
    fileprivate func knows(_ via: String) -> Bool { own(in: ["Via": via]) != nil }
}
