// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// Responses that are not what they should be.
@Suite("Scenarios: broken origins")
struct BrokenOriginScenarios {
    static let fresh = "Cache-Control: max-age=60"

    struct Cut: Sendable, CustomTestStringConvertible {
        let name: String
        let response: String
        var resets = false
        var testDescription: String { name }
    }

    static let cuts = [
        Cut(
            name: "a length, closed inside", response: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\(fresh)\r\n\r\n01234"),
        Cut(
            name: "a length, reset inside", response: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\(fresh)\r\n\r\n01234",
            resets: true),
        Cut(
            name: "chunked, closed inside a chunk",
            response: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\(fresh)\r\n\r\na\r\n01234"),
        Cut(
            name: "chunked, closed behind a chunk",
            response: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\(fresh)\r\n\r\n5\r\n01234\r\n"),
        Cut(
            name: "chunked, closed inside the last chunk",
            response: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\(fresh)\r\n\r\n5\r\n01234\r\n0"),
        Cut(
            name: "chunked, closed before the trailers end",
            response: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\(fresh)\r\n\r\n5\r\n01234\r\n0\r\nX-A: b\r\n"),
        Cut(
            name: "chunked, bad size",
            response: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\(fresh)\r\n\r\n5\r\n01234\r\nzz\r\n"),
        Cut(name: "until close, reset", response: "HTTP/1.1 200 OK\r\n\(fresh)\r\n\r\n01234", resets: true),
    ]

    @Test(arguments: cuts) func `a response that breaks off is not stored, and its client can tell`(
        cut: Cut
    ) async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            for version in ["1.1", "1.0"] {
                let client = try await scene.client()
                try await client.send("GET \(scene.url("/a")) HTTP/\(version)", "Host: x")
                let request = try await scene.origin.request()
                try await request.write(cut.response)
                try await client.hasReceived(50)
                if cut.resets { await request.reset() } else { await request.close() }
                let response = try? await client.response()
                #expect(response?.isWhole != true || response?.status == 502, "HTTP/\(version)")
            }
            #expect(scene.resource("/a")?.memory.snapshot.variants.isEmpty != false)
            scene.origin.answer { _ in .ok(Self.fresh, content: "whole") }
            #expect(try await scene.get("/a").text == "whole")
        }
    }

    @Test(arguments: cuts) func `a response that breaks off while it is passed through is not whole either`(
        cut: Cut
    ) async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.send("DELETE \(scene.url("/a")) HTTP/1.1", "Host: x")
            let request = try await scene.origin.request()
            try await request.write(cut.response)
            try await client.hasReceived(50)
            if cut.resets { await request.reset() } else { await request.close() }
            let response = try? await client.response(to: "DELETE")
            #expect(response?.isWhole != true || response?.status == 502)
        }
    }

    @Test func `a response that ends with its connection is whole, and is stored`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            try await request.write("HTTP/1.1 200 OK\r\n\(Self.fresh)\r\n\r\n01234")
            try await client.hasReceived(20)
            await request.close()
            #expect(try await client.response().text == "01234")
            #expect(try await scene.get("/a")["Cache-Status"] == "Larder; hit; ttl=60")
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabcd", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nBad Name: x\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", "no HTTP at all",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: \(String(repeating: "x", count: 80_000))\r\n\r\n",
    ])
    func `what is not HTTP is answered 502`(response: String) async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            try? await request.write(response)
            await request.wire.shutdownWrite()
            let answer = try await client.response()
            #expect(answer.status == 502)
            #expect(answer["Content-Type"] == "application/problem+json")
            #expect(answer["Proxy-Status"]?.hasPrefix("Larder; error=") == true)
            request.finish()
            // The client's connection is as good as before.
            scene.origin.answer { _ in .ok(content: "fine") }
            try await client.get(scene.url("/b"))
            #expect(try await client.response().text == "fine")
        }
    }

    @Test func `content behind the response's end is not taken for the next response`() async throws {
        try await Scenario.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            try await request.write(.ok(content: "one") + .ok(content: "poison"))
            #expect(try await client.response().text == "one")
            request.finish()
            scene.origin.answer { _ in .ok(content: "two") }
            try await client.get(scene.url("/b"))
            #expect(try await client.response().text == "two")
            #expect(scene.origin.wires.count == 2)
        }
    }

    @Test func `an origin that is silent for too long is given up`() async throws {
        try await Scenario.run({ settings, _ in settings.timeouts.upstream = .seconds(4) }) { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            let answer = try await scene.lettingTimePass(reaching: .seconds(4)) { try await client.response() }
            #expect(answer.status == 504)
            #expect(answer["Proxy-Status"]?.contains("http_response_timeout") == true)
            _ = try await request.wire.end()
            request.finish()
        }
    }

    @Test func `an origin that goes silent inside its content breaks the response off`() async throws {
        try await Scenario.run({ settings, _ in settings.timeouts.upstream = .seconds(4) }) { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            try await request.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\(Self.fresh)\r\n\r\n01234")
            try await client.hasReceived(50)
            let answer = try await scene.lettingTimePass(reaching: .seconds(4)) { try await client.response() }
            #expect(answer.cut != nil)
            request.finish()
        }
    }

    @Test func `a pooled connection that was closed meanwhile costs nobody anything`() async throws {
        try await Scenario.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            try await scene.origin.request().reply(content: "one")
            #expect(try await client.response().text == "one")
            // The request goes out on the pooled connection, which ends without an answer.
            try await client.get(scene.url("/b"))
            let second = try await scene.origin.request()
            #expect(scene.origin.wires.count == 1)
            await second.close()
            let again = try await scene.origin.request()
            #expect(again.target == "/b")
            try await again.reply(content: "two")
            #expect(try await client.response().text == "two")
            #expect(scene.origin.wires.count == 2)
        }
    }

    @Test func `a write is not sent twice`() async throws {
        try await Scenario.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            try await scene.origin.request().reply(content: "one")
            _ = try await client.response()
            try await client.send("POST \(scene.url("/b")) HTTP/1.1", "Host: x", "Content-Length: 3", content: "abc")
            let second = try await scene.origin.request()
            try await second.content()
            await second.close()
            #expect(try await client.response().status == 502)
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test func `the head goes to the client before there is content`() async throws {
        try await Scenario.run { (scene) async throws in
            for line in [Self.fresh, "Cache-Control: no-store"] {
                let client = try await scene.client()
                try await client.get(scene.url("/events"))
                let request = try await scene.origin.request()
                try await request.send(
                    "HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked", line)
                let head = try await client.head()
                #expect(head["Content-Type"] == "text/event-stream")
                try await request.write("5\r\n01234\r\n0\r\n\r\n")
                request.finish()
                #expect(try await client.message(head, isResponse: true).text == "01234")
                scene.advance(.seconds(100))
            }
            let client = try await scene.client()
            try await client.send("DELETE \(scene.url("/events")) HTTP/1.1", "Host: x")
            let request = try await scene.origin.request()
            try await request.send("HTTP/1.1 200 OK", "Transfer-Encoding: chunked")
            let head = try await client.head()
            try await request.write("5\r\n01234\r\n0\r\n\r\n")
            request.finish()
            #expect(try await client.message(head, isResponse: true).text == "01234")
        }
    }
}
