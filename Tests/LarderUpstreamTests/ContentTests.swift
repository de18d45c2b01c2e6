// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
import LarderTesting
import Testing

@testable import LarderUpstream

@Suite("Content on its way to origins", .timeLimit(.minutes(10)))
struct ContentTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    /// Content that a test hands out piece by piece.
    final class Source {
        private var pieces: [Promise<Result<String?, any Error>>] = []
        private var asked = 0
        private(set) var brought = 0
        private let trailers: Fields

        init(_ ready: [String?] = [], trailers: Fields = [:]) {
            self.trailers = trailers
            for piece in ready { fulfil(piece) }
        }

        func fulfil(_ piece: String?) { fulfil(.success(piece)) }
        func fail(_ error: any Error = ClientLeft()) { fulfil(.failure(error)) }

        private func fulfil(_ result: Result<String?, any Error>) {
            slot(brought).fulfil(result)
            brought += 1
        }

        private func slot(_ index: Int) -> Promise<Result<String?, any Error>> {
            while pieces.count <= index { pieces.append(Promise()) }
            return pieces[index]
        }

        func content(_ framing: BodyFraming) -> UpstreamRequest.Content {
            .stream(
                framing,
                next: { [self] in
                    let index = asked
                    asked += 1
                    return try await slot(index).value().get().map { ContentChunk($0.utf8) }
                }, trailers: { [trailers] in trailers })
        }
    }

    struct ClientLeft: Error, Equatable {}

    private func post(_ content: UpstreamRequest.Content, fields: Fields = [:]) throws -> UpstreamRequest {
        try UpstreamRequest.to("/", .post, fields: fields).with { $0.content = content }
    }

    /// A request whose content has begun, and what its origin has answered to that.
    private func begun(
        in test: Fixture, answered: String
    ) async throws -> (source: Source, origin: FarEnd, response: UpstreamResponse) {
        let source = Source(["ab"])
        let answer = test.send(try post(source.content(.chunked)))
        let origin = try await test.accept()
        _ = try await origin.head()
        #expect(try await origin.octets(7) == "2\r\nab\r\n")
        try await origin.send(answered)
        return (source, origin, try await answer.value().get())
    }

    @Test func `content of a known length follows the head as it is`() async throws {
        try await Fixture.run { test in
            let response = try await test.exchange(try post(Source(["ab", "", "cde", nil]).content(.length(5)))) {
                origin in
                #expect(try await origin.head() == "POST / HTTP/1.1\nHost: origin.test\nContent-Length: 5")
                #expect(try await origin.octets(5) == "abcde")
                try await origin.send(Self.ok)
            }
            #expect(try await response.text() == "ok")
            #expect(test.statistics?.idle == 1)
        }
    }

    @Test func `content of an unknown length is chunked and may have trailers`() async throws {
        try await Fixture.run { test in
            let source = Source(["ab", "", "cde", nil], trailers: ["X-Sum": "1", "Content-Length": "9"])
            let response = try await test.exchange(try post(source.content(.chunked))) { origin in
                #expect(try await origin.head() == "POST / HTTP/1.1\nHost: origin.test\nTransfer-Encoding: chunked")
                let expected = "2\r\nab\r\n3\r\ncde\r\n0\r\nx-sum: 1\r\n\r\n"
                #expect(try await origin.octets(expected.utf8.count) == expected)
                try await origin.send(Self.ok)
            }
            #expect(try await response.text() == "ok")
            #expect(test.statistics?.idle == 1)
        }
    }

    @Test(arguments: [BodyFraming.none, .untilClose, .length(0)])
    func `content that was not announced is not sent`(_ framing: BodyFraming) async throws {
        try await Fixture.run { test in
            let answer = test.send(try post(Source(["GET /smuggled HTTP/1.1\r\n\r\n", nil]).content(framing)))
            let origin = try await test.accept()
            _ = try await origin.head()
            try await origin.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            _ = try await answer.value().get()
            #expect(await origin.isClosed())
        }
    }

    @Test(arguments: [["abc", "def", nil], ["abc", nil]] as [[String?]])
    func `content longer or shorter than announced ends the exchange`(_ pieces: [String?]) async throws {
        try await Fixture.run { test in
            let answer = test.send(try post(Source(pieces).content(.length(5))))
            let origin = try await test.accept()
            _ = try await origin.head()
            #expect(try await origin.octets(5) == "abc")
            #expect(await code { _ = try await answer.value().get() } == .internalError)
            #expect(test.statistics?.active == 0 && test.statistics?.idle == 0)
        }
    }

    @Test func `a client that leaves ends the exchange with its error`() async throws {
        try await Fixture.run { test in
            let source = Source(["ab"])
            let answer = test.send(try post(source.content(.chunked)))
            let origin = try await test.accept()
            _ = try await origin.head()
            #expect(try await origin.octets(7) == "2\r\nab\r\n")
            source.fail()
            await #expect(throws: ClientLeft()) { _ = try await answer.value().get() }
            #expect(await origin.isClosed())
            #expect(test.statistics?.failures == 0)
        }
    }

    @Test func `a slow client is not the origin's silence`() async throws {
        try await Fixture.run { test in
            let source = Source(["ab"])
            let answer = test.send(try post(source.content(.length(4))))
            let origin = try await test.accept()
            _ = try await origin.head()
            #expect(try await origin.octets(2) == "ab")
            for _ in 0..<3 {
                test.time.advance(by: .seconds(50))
                await test.settle()
            }
            source.fulfil("cd")
            #expect(try await origin.octets(2) == "cd")
            let failure = await test.failure(at: .seconds(60)) { _ = try await answer.value().get() }
            #expect(failure == .responseTimeout)
        }
    }

    @Test(arguments: [2, 32])
    func `an origin that takes content slowly is not silent before it has all`(pieces: Int) async throws {
        try await Fixture.run { test in
            let piece = 64 << 10
            let source = Source([String(repeating: "x", count: pieces * piece)])
            let answer = test.send(try post(source.content(.length(UInt64(pieces * piece)))))
            let origin = try await test.accept()
            _ = try await origin.head()
            func pass(seconds: Int) async {
                await test.settle()
                for _ in 0..<seconds / 5 {
                    test.time.advance(by: .seconds(5))
                    await test.settle()
                }
            }
            for _ in 0..<pieces {
                await pass(seconds: 45)
                try #require(try await origin.octets(piece).utf8.count == piece)
            }
            // Now it has all.
            await pass(seconds: 45)
            try await origin.send(Self.ok)
            #expect(try await answer.value().get().text() == "ok")
        }
    }

    @Test(arguments: [2, 32])
    func `an origin that takes none of the content is given up`(pieces: Int) async throws {
        try await Fixture.run { test in
            let count = pieces * 64 << 10
            let source = Source([String(repeating: "x", count: count)])
            let answer = test.send(try post(source.content(.length(UInt64(count)))))
            _ = try await test.accept()
            await test.settle()
            for _ in 0..<5 {
                test.time.advance(by: .seconds(10))
                await test.settle()
            }
            let failure = await test.failure(at: .seconds(10)) { _ = try await answer.value().get() }
            #expect(failure == .responseTimeout)
        }
    }

    @Test func `an origin that works on content and says so is not silent`() async throws {
        try await Fixture.run { test in
            let source = Source(["ab"])
            let answer = test.send(try post(source.content(.length(2))))
            let origin = try await test.accept()
            _ = try await origin.head()
            #expect(try await origin.octets(2) == "ab")
            await test.settle()
            for _ in 0..<3 {
                test.time.advance(by: .seconds(50))
                try await origin.send("HTTP/1.1 102 Processing\r\n\r\n")
                await test.settle()
            }
            test.time.advance(by: .seconds(50))
            try await origin.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            #expect(try await answer.value().get().text() == "ok")
        }
    }

    @Test func `an answer before the content is complete is taken, and the rest not sent`() async throws {
        try await Fixture.run { test in
            let (source, origin, response) = try await begun(
                in: test, answered: "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig")
            #expect(response.head.status == 413)
            source.fulfil("cd")
            source.fulfil(nil)
            #expect(try await response.text() == "big")
            #expect(await origin.isClosed())
        }
    }

    @Test(arguments: [BodyFraming.chunked, .length(4)])
    func `RFC 9112 §9.5 an origin that answers before it has read all gets the rest`(framing: BodyFraming) async throws
    {
        try await Fixture.run { test in
            let source = Source(["ab"])
            let answer = test.send(try post(source.content(framing)))
            let origin = try await test.accept()
            _ = try await origin.head()
            #expect(try await origin.octets(framing == .chunked ? 7 : 2).contains("ab"))
            try await origin.send(Self.ok)
            let response = try await answer.value().get()
            #expect(try await response.text() == "ok")
            #expect(response.isBesideRequest && test.statistics?.idle == 0)
            // The client may take its time.
            test.time.advance(by: .seconds(50))
            await test.settle()
            source.fulfil("cd")
            source.fulfil(nil)
            #expect(try await origin.octets(framing == .chunked ? 12 : 2).contains("cd"))
            await response.endOfRequest()
            #expect(!response.isBesideRequest && test.statistics?.idle == 0)
            // It may not have read all that.
            #expect(await origin.isClosed())
        }
    }

    @Test func `what an origin makes of content comes back while more of it is sent`() async throws {
        try await Fixture.run { test in
            let (source, origin, response) = try await begun(
                in: test, answered: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nAB\r\n")
            func next() async throws -> String? {
                try await response.nextChunk().map { $0.withBytes { String(decoding: $0, as: UTF8.self) } }
            }
            #expect(try await next() == "AB")
            for _ in 0..<3 {
                // A slow client is not the origin's silence.
                let piece = Promise<String?>()
                test.loop.startHere { piece.fulfil(try? await next()) }
                test.time.advance(by: .seconds(50))
                await test.settle()
                source.fulfil("cd")
                #expect(try await origin.octets(7) == "2\r\ncd\r\n")
                try await origin.send("2\r\nCD\r\n")
                #expect(await piece.value() == "CD")
            }
            source.fulfil(nil)
            #expect(try await origin.octets(5) == "0\r\n\r\n")
            try await origin.send("0\r\n\r\n")
            #expect(try await next() == nil)
            await response.endOfRequest()
            #expect(test.statistics?.idle == 1)
        }
    }

    @Test func `a connection is not kept for a response whose origin stopped reading before its end`() async throws {
        try await Fixture.run { test in
            let (source, origin, response) = try await begun(
                in: test, answered: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nokok")
            origin.stream.reset()
            await test.settle()
            for _ in 0..<2 { source.fulfil(String(repeating: "x", count: 100_000)) }
            await response.endOfRequest()
            _ = try? await response.text()
            #expect(test.statistics?.active == 0 && test.statistics?.idle == 0)
        }
    }

    @Test func `a client that stops sending beside a response may still get that`() async throws {
        try await Fixture.run { test in
            let (source, origin, response) = try await begun(
                in: test, answered: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok")
            source.fail(IOError(.timedOut, operation: "read a request's content"))
            await response.endOfRequest()
            #expect(response.failureOfRequest == nil)
            try await origin.send("ok")
            #expect(try await response.text() == "okok")
            #expect(test.statistics?.active == 0 && test.statistics?.idle == 0)
        }
    }

    @Test func `a client that leaves beside a response is not the origin's failure`() async throws {
        try await Fixture.run { test in
            let (source, _, response) = try await begun(
                in: test, answered: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok")
            source.fail()
            await #expect(throws: UpstreamError.self) { _ = try await response.text() }
            #expect(response.failureOfRequest is ClientLeft)
            #expect(test.statistics?.failures == 0 && test.statistics?.active == 0)
        }
    }

    @Test func `a response that is given up ends the content`() async throws {
        try await Fixture.run { test in
            let (source, origin, response) = try await begun(
                in: test, answered: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            response.abort()
            source.fulfil("cd")
            await response.endOfRequest()
            #expect(await origin.isClosed())
            #expect(test.statistics?.active == 0 && test.statistics?.idle == 0)
        }
    }

    @Test func `an origin that stops reading but answers is heard`() async throws {
        try await Fixture.run { test in
            let source = Source(Array(repeating: String(repeating: "x", count: 100_000), count: 50))
            let answer = test.send(try post(source.content(.chunked)))
            let origin = try await test.accept()
            _ = try await origin.head()
            try await origin.send("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
            #expect(try await answer.value().get().head.status == 503)
            #expect(test.statistics?.active == 0 && test.statistics?.idle == 0)
        }
    }

    @Test func `content that is complete by its length leaves the connection usable`() async throws {
        try await Fixture.run { test in
            // The source has not said that it is over; the length has.
            let response = try await test.exchange(try post(Source(["abc"]).content(.length(3)))) { origin in
                _ = try await origin.head()
                #expect(try await origin.octets(3) == "abc")
                try await origin.send(Self.ok)
            }
            #expect(try await response.text() == "ok")
            #expect(test.statistics?.idle == 1)
        }
    }

    // MARK: RFC 9110 §10.1.1

    @Test func `content waits for 100 Continue`() async throws {
        try await Fixture.run { test in
            var interim: [Status] = []
            let request = try post(Source(["abc", nil]).content(.length(3)), fields: ["Expect": "100-continue"])
                .with { $0.onInterim = { interim.append($0.status) } }
            let answer = test.send(request)
            let origin = try await test.accept()
            #expect(try await origin.head().hasSuffix("Expect: 100-continue\nContent-Length: 3"))
            await test.settle()
            #expect(try origin.stream.tryRead(into: ScratchBuffer().memory) == nil)
            try await origin.send("HTTP/1.1 100 Continue\r\n\r\n")
            #expect(try await origin.octets(3) == "abc")
            try await origin.send(Self.ok)
            #expect(try await answer.value().get().text() == "ok")
            #expect(interim == [100])
            #expect(test.statistics?.idle == 1)
        }
    }

    @Test func `content does not wait for 100 Continue for ever`() async throws {
        try await Fixture.run { test in
            let request = try post(Source(["abc", nil]).content(.length(3)), fields: ["Expect": "100-continue"])
            let answer = test.send(request)
            let origin = try await test.accept()
            _ = try await origin.head()
            await test.pass(.seconds(1)) { origin.stream.hasPendingInput }
            #expect(try await origin.octets(3) == "abc")
            try await origin.send(Self.ok)
            #expect(try await answer.value().get().text() == "ok")
        }
    }

    @Test func `content that is there does not wait for 100 Continue`() async throws {
        try await Fixture.run { test in
            var proceed: (() -> Void)?
            let request = try post(Source(["abc", nil]).content(.length(3)), fields: ["Expect": "100-continue"])
                .with { $0.whenContentIsAtHand = { proceed = $0 } }
            let answer = test.send(request)
            let origin = try await test.accept()
            _ = try await origin.head()
            await test.settle()
            #expect(try origin.stream.tryRead(into: ScratchBuffer().memory) == nil)
            proceed?()
            #expect(try await origin.octets(3) == "abc")
            try await origin.send(Self.ok)
            #expect(try await answer.value().get().text() == "ok")
        }
    }

    @Test func `content that was not asked for is not sent after the final response`() async throws {
        try await Fixture.run { test in
            let request = try post(Source(["abc", nil]).content(.length(3)), fields: ["Expect": "100-continue"])
            let answer = test.send(request)
            let origin = try await test.accept()
            _ = try await origin.head()
            try await origin.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
            #expect(try await answer.value().get().head.status == 401)
            #expect(await origin.isClosed())
        }
    }

    @Test(arguments: ["stays", "closes"])
    func `RFC 9110 §15.5.14 an origin that refuses content at hand is heard before all is sent`(
        ending: String
    ) async throws {
        try await Fixture.run { test in
            let content = UpstreamRequest.Content.octets(ContentChunk([UInt8](repeating: 0x61, count: 8 << 20)))
            let answer = test.send(try post(content))
            let origin = try await test.accept()
            #expect(try await origin.head().hasPrefix("POST / HTTP/1.1"))
            try await origin.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig")
            if ending == "closes" { origin.stream.close() }
            let response = try await answer.value().get()
            #expect(response.head.status == 413)
            #expect(try await response.text() == "big")
            // The rest of the content would be taken for the next request.
            let next = test.send(try post(.none))
            let other = try await test.accept()
            #expect(other !== origin)
            _ = try await other.head()
            try await other.send(Self.ok)
            #expect(try await next.value().get().head.status == 200)
        }
    }

    @Test func `content at hand is whole for an origin that answers before it has read it`() async throws {
        try await Fixture.run { test in
            let count = 4 << 20
            let answer = test.send(try post(.octets(ContentChunk([UInt8](repeating: 0x61, count: count)))))
            let origin = try await test.accept()
            _ = try await origin.head()
            try await origin.send(Self.ok)
            #expect(try await origin.octets(count).utf8.count == count)
            let response = try await answer.value().get()
            #expect(try await response.text() == "ok")
            let next = test.send(try post(.none))
            _ = try await origin.head()
            try await origin.send(Self.ok)
            #expect(try await next.value().get().head.status == 200)
        }
    }

    @Test func `an early refusal over a connection that was used before is an answer`() async throws {
        try await Fixture.run { test in
            let first = test.send(try post(.none))
            let origin = try await test.accept()
            _ = try await origin.head()
            try await origin.send(Self.ok)
            #expect(try await first.value().get().text() == "ok")
            var request = try post(.octets(ContentChunk([UInt8](repeating: 0x61, count: 8 << 20))))
            request.head.method = .put
            let answer = test.send(request)
            #expect(try await origin.head().hasPrefix("PUT / HTTP/1.1"))
            try await origin.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig")
            #expect(try await answer.value().get().head.status == 413)
            #expect(test.dials.count == 1)
        }
    }
}
