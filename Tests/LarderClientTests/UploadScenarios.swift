// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// Clients that still send, or do not read, while the origin has something to say.
@Suite("Scenarios: uploads")
struct UploadScenarios {
    enum Ending: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case reset, closed, refused, refusedAndClosed, answeredChunked
        var testDescription: String { rawValue }
    }

    /// The origin's action in the middle of a request's content.
    private func end(_ request: OriginRequest, _ ending: Ending) async throws {
        switch ending {
        case .reset: await request.reset()
        case .closed: await request.close()
        case .refused: try await request.write(.response(413, content: "too much"))
        case .refusedAndClosed:
            try await request.write(.response(413, "Connection: close", content: "too much"))
            await request.wire.shutdownWrite()
        case .answeredChunked:
            try await request.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ntoo much\r\n")
            try await request.write("0\r\n\r\n")
        }
    }

    @Test(arguments: Ending.allCases, [true, false])
    func `an origin that ends an upload early is told of, while the client still sends`(
        ending: Ending, isChunked: Bool
    ) async throws {
        try await Scenario.run { settings, _ in
            settings.threads = 1
            settings.timeouts.body = .seconds(4)
        } _: { (scene) async throws in
            for round in 0..<40 {
                let client = try await scene.client()
                let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 1000000"
                try await client.send("POST \(scene.url("/a")) HTTP/1.1", "Host: x", framing)
                let sending = Task {
                    let piece = isChunked ? "a\r\n0123456789\r\n" : "0123456789"
                    for _ in 0..<400 where !client.isEnded { try? await client.write(piece) }
                }
                let request = try await scene.origin.request()
                if round % 2 == 1 { try await request.wire.hasReceived(round * 10) }
                try await end(request, ending)
                let answer = try await client.response()
                switch ending {
                case .reset, .closed: #expect(answer.status == 502)
                case .answeredChunked: #expect(answer.text == "too much")
                case .refused, .refusedAndClosed: #expect(answer.status == 413 && answer.text == "too much")
                }
                await sending.value
                // The rest of a request is waited for, and not for ever.
                _ = try await scene.lettingTimePass(within: .zero...(.seconds(12))) { try await client.end() }
                request.finish()
            }
            scene.origin.answer { _ in .ok(content: "still here") }
            #expect(try await scene.get("/b").text == "still here")
        }
    }

    @Test(arguments: [true, false], [true, false])
    func `RFC 9112 §9.5 an origin that answers before it has read all gets all`(
        isChunked: Bool, isWhole: Bool
    ) async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 300000"
            try await client.send("POST \(scene.url("/a")) HTTP/1.1", "Host: x", framing)
            let piece = String(repeating: "x", count: 100_000)
            func write() async throws { try await client.write(isChunked ? "186a0\r\n\(piece)\r\n" : piece) }
            async let first: Void = write()
            let request = try await scene.origin.request()
            try await request.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n")
            if isWhole { try await request.write("0\r\n\r\n") }
            #expect(try await client.head().status == 200)
            try await first
            async let rest: Void = {
                for _ in 0..<2 { try await write() }
                if isChunked { try await client.write("0\r\n\r\n") }
            }()
            #expect(try await request.content().text == piece + piece + piece)
            try await rest
            if !isWhole { try await request.write("0\r\n\r\n") }
            request.finish()
            #expect(try await client.chunk() == Array("ok".utf8))
            #expect(try await client.chunk() == [])
            scene.origin.answer { _ in .ok(content: "next") }
            try await client.get(scene.url("/b"))
            #expect(try await client.response().text == "next")
        }
    }

    @Test func `a client that sends content unasked does not wait for 100 Continue`() async throws {
        try await Scenario.run { (scene) async throws in
            for isLate in [false, true] {
                let client = try await scene.client()
                try await client.send(
                    "POST \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 5", "Expect: 100-continue",
                    content: isLate ? "" : "01234")
                let request = try await scene.origin.request()
                if isLate { try await client.write("01234") }
                #expect(try await request.content().text == "01234")
                try await request.reply(content: "thanks")
                #expect(try await client.response().text == "thanks")
            }
        }
    }

    @Test func `a client is told that its connection ends where its content was not read to the end`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.send(
                "POST \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 1000", content: "begin")
            let request = try await scene.origin.request()
            try await request.wire.hasReceived(5)
            try await request.write(.response(413, content: "too much"))
            let answer = try await client.response()
            #expect(answer["Connection"] == "close")
            #expect(answer.text == "too much")
            #expect(try await client.end() == .closed)
            request.finish()
        }
    }

    @Test func `the answer to an early end is not cut off by the time for content`() async throws {
        try await Scenario.run { settings, _ in
            settings.timeouts.body = .seconds(4)
            settings.timeouts.write = .seconds(40)
        } _: { (scene) async throws in
            let client = try await scene.client()
            try await client.send(
                "POST \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 1000", content: "begin")
            let request = try await scene.origin.request()
            try await request.wire.hasReceived(5)
            // More than the kernel's buffers hold, for a client that does not read on and still sends.
            let content = String(repeating: "x", count: 16 << 20)
            try await request.write("HTTP/1.1 413 Too Much\r\nContent-Length: \(content.utf8.count)\r\n\r\n")
            let head = try await client.head()
            client.hold()
            let replying = Task { try await request.write(content) }
            let ended = try await scene.lettingTimePass(reaching: .seconds(40)) { try await request.wire.end() }
            #expect(ended == .reset || ended == .closed)
            client.release()
            #expect((try? await client.message(head, isResponse: true))?.isWhole != true)
            _ = try? await replying.value
            request.finish()
        }
    }

    @Test func `uploads that stop halfway say nothing of an origin that does not wait for them`() async throws {
        try await Scenario.run { settings, origin in
            settings.add("api", at: origin.url("/"))
        } _: { (scene) async throws in
            for number in 0..<8 {
                let client = try await scene.client()
                try await client.send(
                    "POST \(scene.url("/\(number)")) HTTP/1.1", "Host: x", "Content-Length: 1000", content: "begin")
                let request = try await scene.origin.request()
                try await request.wire.hasReceived(5)
                await request.close()
                #expect(try await client.response().status == 502)
                scene.advance(.milliseconds(500))
            }
            scene.origin.answer { _ in .ok(content: "fine") }
            #expect(try await scene.get("/a").status == 200)
        }
    }

    @Test(arguments: [false, true])
    func `an interim response is a sign of life while an upload is not taken`(isLong: Bool) async throws {
        try await Scenario.run({ settings, _ in settings.timeouts.upstream = .seconds(4) }) { (scene) async throws in
            let client = try await scene.client()
            let content = String(repeating: "x", count: isLong ? 24 << 20 : 1_000)
            try await client.send(
                "POST \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: \(content.utf8.count)")
            let sending = Task { try await client.write(content) }
            let request = try await scene.origin.request()
            request.wire.hold()
            for _ in 0..<5 {
                try await request.write("HTTP/1.1 102 Processing\r\n\r\n")
                #expect(try await client.head().status == 102)
                scene.advance(.seconds(2))
            }
            request.wire.release()
            try await request.reply(content: "done")
            #expect(try await client.response().text == "done")
            _ = try? await sending.value
        }
    }

    @Test func `protocols are not switched before the request has come to its end`() async throws {
        try await Scenario.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            for content in ["", "some of it"] {
                let client = try await scene.client()
                try await client.send(
                    "GET \(scene.url("/chat")) HTTP/1.1", "Host: x", "Connection: Upgrade", "Upgrade: websocket",
                    "Content-Length: 1000", content: content)
                let request = try await scene.origin.request()
                try await request.send(
                    "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: upgrade", content: "early")
                try await client.write("more")
                let answer = try await client.response()
                #expect(answer.status == 502)
                #expect(answer["Proxy-Status"]?.contains("http_protocol_error") == true)
                #expect(try await client.end() == .closed)
                _ = try await request.wire.end()
                request.finish()
            }
        }
    }

    @Test func `protocols are switched behind a request's content`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.send(
                "GET \(scene.url("/chat")) HTTP/1.1", "Host: x", "Connection: Upgrade", "Upgrade: websocket",
                "Content-Length: 5")
            let request = try await scene.origin.request()
            try await client.write("01234")
            #expect(try await request.content().text == "01234")
            try await request.send(
                "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: upgrade", content: "early")
            #expect(try await client.response().status == 101)
            #expect(try await client.text(5) == "early")
            try await client.write("ping")
            #expect(try await request.wire.text(4) == "ping")
            await client.close()
            _ = try await request.wire.end()
            request.finish()
        }
    }

    // MARK: Interim responses

    private static let hint = "HTTP/1.1 103 Early Hints\r\nLink: <\(String(repeating: "x", count: 60_000))>\r\n\r\n"

    @Test(arguments: [false, true])
    func `interim responses and 100 Continue reach a slow client one after the other`(
        isAnsweredEarly: Bool
    ) async throws {
        try await Scenario.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            let client = try await scene.client(isHeld: true)
            try await client.send(
                "POST \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 5", "Expect: 100-continue")
            let request = try await scene.origin.request()
            let hinting = Task {
                for _ in 0..<30 { try await request.write(Self.hint) }
                if isAnsweredEarly { try await request.write(.response(413, content: "too much")) }
            }
            // Both sides of the exchange have something for the client; each request shows that the loop has run.
            for turn in 0..<20 {
                scene.advance(.milliseconds(100))
                let other = try await scene.client()
                try await other.send("OPTIONS * HTTP/1.1", "Host: x")
                #expect(try await other.response().status == 204, "\(turn)")
                await other.close()
            }
            client.release()
            var statuses: [Int] = []
            while statuses.last.map({ $0 < 200 }) ?? true {
                let answer = try await client.response()
                statuses.append(answer.status)
                if answer.status == 103 { #expect(answer["Link"]?.utf8.count == 60_002) }
                if answer.status == 100, !isAnsweredEarly {
                    try await hinting.value
                    try await client.write("01234")
                    #expect(try await request.content().text == "01234")
                    try await request.write(.response(200, content: "thanks"))
                }
            }
            #expect(statuses.count { $0 == 103 } == 30)
            #expect(statuses.count { $0 == 100 } <= 1)
            #expect(statuses.last == (isAnsweredEarly ? 413 : 200))
            request.finish()
            try await hinting.value
        }
    }

    @Test func `a client that does not take interim responses is given up in time`() async throws {
        try await Scenario.run({ settings, _ in
            settings.threads = 1
            settings.timeouts.write = .seconds(4)
        }) { (scene) async throws in
            let client = try await scene.client(isHeld: true)
            try await client.send("DELETE \(scene.url("/a")) HTTP/1.1", "Host: x")
            let request = try await scene.origin.request()
            // The kernel takes the first of them.
            let hint = Self.hint
            let hinting = Task { for _ in 0..<32 { try await request.write(hint) } }
            for _ in 0..<2 { _ = try await scene.client().close() }
            // What its system's buffers still take is progress.
            let end = try await scene.lettingTimePass(within: .seconds(4)...(.seconds(40))) {
                try await request.wire.end()
            }
            #expect(end == .closed || end == .reset)
            _ = try? await hinting.value
            request.finish()
        }
    }
}
