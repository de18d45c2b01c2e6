// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
import LarderTesting
import Testing

@testable import LarderUpstream

@Suite("Responses from origins", .timeLimit(.minutes(10)))
struct ResponseTests {
    @Test func `a request is written as it is and its response read`() async throws {
        try await Fixture.run { test in
            let response = try await test.exchange(try .to("/a?b", fields: ["Accept": "*/*"])) { origin in
                #expect(try await origin.head() == "GET /a?b HTTP/1.1\nHost: origin.test\nAccept: */*")
                try await origin.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"x\"\r\n\r\nhello")
            }
            #expect(response.head.status == 200 && response.head.fields[.eTag] == "\"x\"")
            #expect(response.contentLength == 5)
            #expect(try await response.text() == "hello")
            #expect(test.statistics?.idle == 1)
            #expect(test.dials == ["origin.test:80"])
        }
    }

    /// A response, the content it has, and whether its connection is kept.
    static let samples: [(String, method: String, content: String, isKept: Bool)] = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "GET", "abc", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "GET", "", true),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", "GET", "abc", true),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "GET", "", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc", "GET", "abc", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd", "GET", "abc", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\n\r\n", "GET", "abc", false),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\nx", "GET", "a", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", "GET", "abc", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\nabc", "GET", "abc", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "HEAD", "", true),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HEAD", "", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HEAD", "", false),
        ("HTTP/1.1 204 No Content\r\n\r\n", "GET", "", true),
        ("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", "GET", "", true),
        ("HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n", "GET", "", false),
        ("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", "GET", "", false),
        ("HTTP/1.1 205 Reset Content\r\nContent-Length: 3\r\n\r\n", "GET", "", false),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", "GET", "", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nKeep-Alive: timeout=1\r\n\r\na", "GET", "a", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nKeep-Alive: timeout=30, max=9\r\n\r\na", "GET", "a", true),
    ]

    @Test(arguments: samples)
    func `content ends where it is said to, and what is odd is not used again`(
        _ text: String, _ method: String, _ content: String, _ isKept: Bool
    ) async throws {
        // Whole, and each octet by itself.
        for isWhole in [true, false] {
            try await Fixture.run { test in
                let response = try await test.exchange(try .to("/", Method(method)!)) { origin in
                    _ = try await origin.head()
                    for piece in isWhole ? [text] : text.utf8.map({ String(decoding: [$0], as: UTF8.self) }) {
                        do {
                            try await origin.send(piece)
                        } catch  where !isKept {
                            // The connection is given up as soon as the first octet too many has come.
                            break
                        }
                        if !isWhole { await test.settle() }
                    }
                }
                #expect(try await response.text() == content)
                await test.settle()
                let next = test.send(try .to("/next"))
                await test.settle()
                #expect(test.dials.count == (isKept ? 1 : 2))
                withExtendedLifetime(next) {}
            }
        }
    }

    @Test func `content that has come is taken in one piece, without waiting for what has not`() async throws {
        let content = String(repeating: "0123456789abcdef", count: 2_500)
        for sent in [content.utf8.count, 30_000] {
            try await Fixture.run { test in
                let response = try await test.exchange(try .to("/")) { origin in
                    _ = try await origin.head()
                    try await origin.send(
                        "HTTP/1.1 200 OK\r\nContent-Length: \(content.utf8.count)\r\n\r\n\(content.prefix(sent))")
                    if sent < content.utf8.count { origin.close() }
                }
                let isWhole = sent == content.utf8.count
                #expect(try response.isAllHere() == isWhole)
                #expect(response.contentHere.count == 1 && response.contentHere.first?.count == sent)
                guard isWhole else {
                    #expect(await code { while try await response.nextChunk() != nil {} } != nil)
                    return
                }
                #expect(try await response.text() == content)
                #expect(test.statistics?.idle == 1)
            }
        }
    }

    @Test func `content without a length ends with the connection`() async throws {
        try await Fixture.run { test in
            let response = try await test.exchange(try .to()) { origin in
                _ = try await origin.head()
                try await origin.send("HTTP/1.0 200 OK\r\n\r\nabc")
                try await origin.send("def")
                origin.close()
            }
            #expect(response.contentLength == nil)
            #expect(try await response.text() == "abcdef")
            #expect(test.statistics?.idle == 0 && test.statistics?.active == 0)
        }
    }

    @Test(arguments: ["Content-Length: 9\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"])
    func `content that is cut short is an error behind what came`(_ rest: String) async throws {
        try await Fixture.run { test in
            let response = try await test.exchange(try .to()) { origin in
                _ = try await origin.head()
                try await origin.send("HTTP/1.1 200 OK\r\n" + rest)
                origin.close()
            }
            #expect(try await response.nextChunk()?.withBytes { Array($0) } == Array("abc".utf8))
            #expect(await code { _ = try await response.nextChunk() } == .responseIncomplete)
            #expect(try await response.nextChunk() == nil)
            #expect(test.statistics?.active == 0 && test.statistics?.failures == 1)
        }
    }

    @Test func `trailers come behind the content`() async throws {
        try await Fixture.run { test in
            let response = try await test.exchange(try .to()) { origin in
                _ = try await origin.head()
                try await origin.send(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\nHost: z\r\n\r\n")
            }
            #expect(try await response.text() == "a")
            #expect(response.trailers == ["X": "y"])
        }
    }

    @Test(arguments: [false, true])
    func `large content arrives whole while others share the buffer`(_ isChunked: Bool) async throws {
        try await Fixture.run { test in
            let content = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
            let answers = [test.send(try .to("/1")), test.send(try .to("/2"))]
            let origins = [try await test.accept(), try await test.accept()]
            for origin in origins {
                test.loop.startHere {
                    do {
                        _ = try await origin.head()
                        if isChunked {
                            try await origin.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                            for start in stride(from: 0, to: content.count, by: 50_000) {
                                try await origin.send("c350\r\n")
                                try await origin.send(Array(content[start..<(start + 50_000)]))
                                try await origin.send("\r\n")
                            }
                            try await origin.send("0\r\n\r\n")
                        } else {
                            try await origin.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
                            try await origin.send(content)
                        }
                    } catch { Issue.record(error) }
                }
            }
            let first = try await answers[0].value().get()
            let second = try await answers[1].value().get()
            var received: [[UInt8]] = [[], []]
            var isOver = [false, false]
            while isOver != [true, true] {
                for (index, response) in [first, second].enumerated() where !isOver[index] {
                    if let chunk = try await response.nextChunk() {
                        #expect(chunk.count <= ScratchBuffer.size)
                        chunk.withBytes { received[index].append(contentsOf: $0) }
                    } else {
                        isOver[index] = true
                    }
                }
            }
            #expect(received[0] == content && received[1] == content)
            #expect(test.statistics?.idle == 2)
        }
    }

    static let malformed: [(String, UpstreamError.Code)] = [
        ("HTTP/1.1 200 OK\nContent-Length: 0\n\n", .protocolError),
        ("SSH-2.0-OpenSSH\r\n", .protocolError),
        ("HTTP/2.0 200 OK\r\n\r\n", .protocolError),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", .protocolError),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", .protocolError),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", .protocolError),
        ("HTTP/1.1 200 OK\r\nX: \(String(repeating: "x", count: 70000))", .headerSectionSize),
        ("HTTP/1.1 200 OK\r\n\(String(repeating: "X: y\r\n", count: 300))\r\n", .headerSectionSize),
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", .protocolError),
        (String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 40), .protocolError),
    ]

    @Test(arguments: malformed)
    func `what is not a response is refused and its connection closed`(
        _ text: String, _ expected: UpstreamError.Code
    ) async throws {
        try await Fixture.run { test in
            let answer = test.send(try .to())
            let origin = try await test.accept()
            _ = try await origin.head()
            try? await origin.send(text)
            #expect(await code { _ = try await answer.value().get() } == expected)
            #expect(await origin.isClosed())
            #expect(test.statistics?.active == 0 && test.dials.count == 1)
        }
    }

    @Test func `a malformed chunk ends the content with an error`() async throws {
        try await Fixture.run { test in
            let response = try await test.exchange(try .to()) { origin in
                _ = try await origin.head()
                try await origin.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\nZ\r\n")
            }
            #expect(await code { _ = try await response.text() } == .protocolError)
            #expect(test.statistics?.active == 0)
        }
    }

    @Test func `interim responses are handed on before the final one`() async throws {
        try await Fixture.run { test in
            var seen: [Status] = []
            let request = try UpstreamRequest.to().with { $0.onInterim = { seen.append($0.status) } }
            let response = try await test.exchange(request) { origin in
                _ = try await origin.head()
                try await origin.send(
                    "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200")
                await test.settle()
                try await origin.send(" OK\r\nContent-Length: 2\r\n\r\nok")
            }
            #expect(try await response.text() == "ok")
            #expect(seen == [103, 102])
        }
    }

    @Test func `after 101 the connection belongs to who asked`() async throws {
        try await Fixture.run { test in
            let request = try UpstreamRequest.to(fields: ["Connection": "upgrade", "Upgrade": "echo"])
            let answer = test.send(request)
            let origin = try await test.accept()
            #expect(try await origin.head() == "GET / HTTP/1.1\nHost: origin.test\nConnection: upgrade\nUpgrade: echo")
            try await origin.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n\r\nearly")
            let response = try await answer.value().get()
            #expect(response.head.status == 101)
            let (stream, early) = try #require(response.takeStream())
            #expect(String(decoding: early, as: UTF8.self) == "early")
            #expect(test.statistics?.active == 0 && test.statistics?.idle == 0)
            try await stream.write(Array("ping".utf8))
            #expect(try await origin.octets(4) == "ping")
            stream.close()
        }
    }

    @Test func `a response that nobody wants closes its connection`() async throws {
        try await Fixture.run { test in
            var response: UpstreamResponse? = try await test.exchange(try .to()) { origin in
                _ = try await origin.head()
                try await origin.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
            }
            #expect(test.statistics?.active == 1)
            response = nil
            #expect(test.statistics?.active == 0 && test.statistics?.idle == 0)
            _ = response
        }
    }

    @Test func `an origin that is silent before its head or in its content is given up`() async throws {
        try await Fixture.run { test in
            let answer = test.send(try .to())
            let origin = try await test.accept()
            _ = try await origin.head()
            let withoutHead = await test.failure(at: .seconds(60)) { _ = try await answer.value().get() }
            #expect(withoutHead == .responseTimeout)

            let response = try await test.exchange(try .to()) { origin in
                _ = try await origin.head()
                try await origin.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
            }
            #expect(try await response.nextChunk()?.count == 3)
            let withinContent = await test.failure(at: .seconds(60)) { _ = try await response.nextChunk() }
            #expect(withinContent == .readTimeout)
        }
    }
}
