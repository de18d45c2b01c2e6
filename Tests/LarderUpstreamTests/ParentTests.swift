// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
import LarderTesting
import Testing

@testable import LarderUpstream

@Suite("Parents and tunnels", .timeLimit(.minutes(10)))
struct ParentTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let parent = ParentAddress(host: "parent.test", port: 3128, authorization: "Basic YTpi")

    @Test func `a parent is asked for http in absolute form`() async throws {
        try await Fixture.run { test in
            let request = try UpstreamRequest.to("/a?b", origin: "http://origin.test:81", parent: Self.parent)
                .with { $0.allowsAddress = { _ in false } }
            let response = try await test.exchange(request) { parent in
                #expect(
                    try await parent.head()
                        == "GET http://origin.test:81/a?b HTTP/1.1\nHost: origin.test:81\nProxy-Authorization: Basic YTpi"
                )
                try await parent.send(Self.ok)
            }
            #expect(try await response.text() == "ok")
            #expect(test.dials == ["parent.test:3128"])
        }
    }

    @Test func `a 407 is the parent's about this connection, and no answer for a client`() async throws {
        try await Fixture.run { test in
            let request = try UpstreamRequest.to("/", origin: "http://origin.test", parent: Self.parent)
            let failure = await code {
                _ = try await test.exchange(request) { parent in
                    _ = try await parent.head()
                    try await parent.send(
                        "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n")
                }
            }
            #expect(failure == .configurationError)
            let direct = try await test.exchange(try .to()) { origin in
                _ = try await origin.head()
                try await origin.send("HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")
            }
            #expect(direct.head.status == 407)
        }
    }

    @Test func `it is told when a connection to the origin stands, and not when it is one to a parent`() async throws {
        try await Fixture.run { test in
            var count = 0
            for parent in [nil, Self.parent] {
                let request = try UpstreamRequest.to(parent: parent).with { $0.whenConnected = { count += 1 } }
                let response = try await test.exchange(request) { far in
                    _ = try await far.head()
                    // Nothing was answered yet.
                    #expect(count == 1)
                    try await far.send(Self.ok)
                }
                #expect(try await response.text() == "ok")
            }
            #expect(count == 1)
        }
    }

    @Test func `connections with and without a parent are kept apart`() async throws {
        try await Fixture.run { test in
            for parent in [Self.parent, nil, ParentAddress(host: "parent.test", port: 3128)] {
                let response = try await test.exchange(try .to(parent: parent)) { far in
                    let head = try await far.head()
                    #expect(head.contains("Proxy-Authorization") == (parent?.authorization != nil))
                    try await far.send(Self.ok)
                }
                #expect(try await response.text() == "ok")
            }
            #expect(test.dials.count == 3)
        }
    }

    private func tunnel(
        _ test: Fixture, parent: ParentAddress?, abort: UpstreamAbort = UpstreamAbort()
    ) -> Promise<Result<ByteStream, any Error>> {
        let answer = Promise<Result<ByteStream, any Error>>()
        let pool = test.pool
        test.loop.startHere {
            do {
                let target = try Array("origin.test:443".utf8).withUnsafeBytes { try Authority($0, defaultPort: nil) }
                answer.fulfil(
                    .success(
                        try await pool.connectTunnel(to: target, parent: parent, abort: abort, allows: { _ in true })))
            } catch { answer.fulfil(.failure(error)) }
        }
        return answer
    }

    @Test func `a tunnel leads straight to the origin`() async throws {
        try await Fixture.run { test in
            let stream = try await tunnel(test, parent: nil).value().get()
            let origin = try await test.accept()
            try await stream.write(Array("hello".utf8))
            #expect(try await origin.octets(5) == "hello")
            #expect(test.dials == ["origin.test:443"])
            stream.close()
        }
    }

    @Test func `a tunnel through a parent begins with the other end's first octet`() async throws {
        try await Fixture.run { test in
            let answer = tunnel(test, parent: Self.parent)
            let parent = try await test.accept()
            #expect(
                try await parent.head()
                    == "CONNECT origin.test:443 HTTP/1.1\nHost: origin.test:443\nProxy-Authorization: Basic YTpi")
            try await parent.send(
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Connection established\r\nContent-Length: 9\r\n\r\n220 mail")
            let stream = try await answer.value().get()
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 100, alignment: 16)
            defer { buffer.deallocate() }
            let count = try await stream.read(into: buffer)
            #expect(String(decoding: buffer[..<count], as: UTF8.self) == "220 mail")
            test.time.advance(by: .seconds(3600))
            try await stream.write(Array("still open".utf8))
            #expect(try await parent.octets(10) == "still open")
            stream.close()
        }
    }

    static let refusals: [(String, UpstreamError.Code)] = [
        ("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", .configurationError),
        ("HTTP/1.1 403 Forbidden\r\n\r\n", .destinationUnavailable),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", .protocolError),
        (String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 34), .protocolError),
        ("SSH-2.0\r\n", .protocolError),
        ("", .connectionTerminated),
    ]

    @Test(arguments: refusals)
    func `a parent that makes no tunnel is an error with a name`(
        _ text: String, _ expected: UpstreamError.Code
    ) async throws {
        try await Fixture.run { test in
            let answer = tunnel(test, parent: Self.parent)
            let parent = try await test.accept()
            _ = try await parent.head()
            if text.isEmpty { parent.close() } else { try await parent.send(text) }
            #expect(await code { _ = try await answer.value().get() } == expected)
            if !text.isEmpty { #expect(await parent.isClosed()) }
        }
    }

    @Test func `a parent that does not answer is not waited for longer than a connection is`() async throws {
        try await Fixture.run { test in
            let answer = tunnel(test, parent: Self.parent)
            let parent = try await test.accept()
            _ = try await parent.head()
            let failure = await test.failure(at: .seconds(10)) { _ = try await answer.value().get() }
            #expect(failure == .connectionTimeout)
        }
    }

    @Test func `a tunnel that is given up is closed when it comes`() async throws {
        try await Fixture.run { test in
            test.holdDials(true)
            let abort = UpstreamAbort()
            let answer = tunnel(test, parent: nil, abort: abort)
            abort.abort()
            #expect(await code { _ = try await answer.value().get() } == .aborted)
            test.holdDials(false)
            let origin = try await test.accept()
            #expect(await origin.isClosed())
        }
    }

    @Test func `names of errors tell no credentials`() {
        #expect("\(Self.parent)" == "the parent proxy parent.test:3128")
    }
}

@Suite("Handing values over")
struct HandoffTests {
    @Test func `a value that comes first is kept`() async {
        let promise = Promise<Int>()
        #expect(promise.fulfil(1))
        #expect(!promise.fulfil(2))
        #expect(await promise.value() == 1)
        #expect(!promise.fulfil(3))
    }
}
