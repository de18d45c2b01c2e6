// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
import LarderTesting
import Testing

@testable import LarderUpstream

@Suite("Connections to origins", .timeLimit(.minutes(10)))
struct PoolTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test func `attempts end with those who wait, however many leave in whatever order`() async throws {
        try await Fixture.run { test in
            test.holdDials(true)
            let aborts = (0..<6).map { _ in UpstreamAbort() }
            for (number, abort) in aborts.enumerated() {
                _ = test.send(try UpstreamRequest.to("/\(number)").with { $0.abort = abort })
            }
            await test.settle()
            #expect(test.dials.count == 6)
            for (left, abort) in zip([5, 4, 3, 2, 1, 0], [3, 0, 5, 1, 4, 2].map { aborts[$0] }) {
                abort.abort()
                await test.settle()
                #expect(test.connectAborts.count { !$0.isAborted } == left)
            }
            test.holdDials(false)
        }
    }

    @Test func `a clean connection carries one request after the other`() async throws {
        try await Fixture.run { test in
            let answer = test.send(try .to("/1"))
            let origin = try await test.accept()
            _ = try await origin.head()
            try await origin.send(Self.ok)
            #expect(try await answer.value().get().text() == "ok")
            for _ in 0..<3 {
                let answer = test.send(try .to("/2"))
                #expect(try await origin.head().hasPrefix("GET /2"))
                try await origin.send(Self.ok)
                #expect(try await answer.value().get().text() == "ok")
            }
            #expect(test.dials.count == 1)
            #expect(test.statistics?.requests == 4)
        }
    }

    @Test func `answers with errors of the server are counted, and are no failures`() async throws {
        try await Fixture.run { test in
            for (status, errors) in [(500, 1), (503, 2), (404, 2), (200, 2)] as [(Int, UInt64)] {
                _ = try await test.exchange(try .to()) { far in
                    _ = try await far.head()
                    try await far.send("HTTP/1.1 \(status) X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                }.text()
                #expect(test.statistics?.serverErrors == errors)
            }
            #expect(test.statistics?.failures == 0)
        }
    }

    @Test func `origins, schemes and ports have connections of their own`() async throws {
        try await Fixture.run { test in
            for origin in ["http://a.test", "http://b.test", "http://a.test:81", "http://[::1]:8080"] {
                let response = try await test.exchange(try .to(origin: origin)) { far in
                    _ = try await far.head()
                    try await far.send(Self.ok)
                }
                #expect(try await response.text() == "ok")
            }
            #expect(test.dials == ["a.test:80", "b.test:80", "a.test:81", "[::1]:8080"])
        }
    }

    @Test func `connections to many origins that wait longest make room for others`() async throws {
        try await Fixture.run {
            $0.idleConnections = 8
        } _: { test in
            for number in 0..<40 {
                let response = try await test.exchange(try .to(origin: "http://\(number).test")) { far in
                    _ = try await far.head()
                    try await far.send(Self.ok)
                }
                #expect(try await response.text() == "ok")
                test.time.advance(by: .milliseconds(1))
            }
            func idle() -> Set<String> { Set(test.pool.statistics.filter { $0.idle > 0 }.map(\.origin)) }
            // It is looked with each sixteenth.
            #expect(idle().count <= 8 + 16)
            #expect(idle().contains("http://39.test") && !idle().contains("http://0.test"))
            test.time.advance(by: .seconds(5))
            await test.settle()
            #expect(idle() == Set((34..<40).map { "http://\($0).test" }))
        }
    }

    @Test(arguments: ["", "HTTP/1.1 408 Request Timeout\r\n\r\n"])
    func `an idle connection that ends or says something is not used again`(_ unasked: String) async throws {
        try await Fixture.run { test in
            let answer = test.send(try .to())
            let origin = try await test.accept()
            _ = try await origin.head()
            try await origin.send(Self.ok)
            _ = try await answer.value().get().text()
            if unasked.isEmpty { origin.close() } else { try await origin.send(unasked) }
            await test.settle()
            if unasked.isEmpty { #expect(test.statistics?.idle == 0) }
            let response = try await test.exchange(try .to("/", .post)) { fresh in
                _ = try await fresh.head()
                try await fresh.send(Self.ok)
            }
            #expect(try await response.text() == "ok")
            #expect(test.dials.count == 2)
        }
    }

    /// A request of its own connection, answered.
    private func exchangeOnNew(_ test: Fixture, _ method: Method = .get) async throws -> FarEnd {
        let answer = test.send(try .to("/", method))
        let origin = try await test.accept()
        _ = try await origin.head()
        try await origin.send(Self.ok)
        #expect(try await answer.value().get().text() == "ok")
        return origin
    }

    @Test(arguments: [false, true])
    func `an origin that speaks unasked gets one request on each connection for a while`(isAtOnce: Bool) async throws {
        try await Fixture.run { test in
            let poison = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
            let answer = test.send(try .to())
            let origin = try await test.accept()
            _ = try await origin.head()
            try await origin.send(isAtOnce ? Self.ok + poison : Self.ok)
            #expect(try await answer.value().get().text() == "ok")
            if !isAtOnce { try await origin.send(poison) }
            // Nobody has to ask for the connection for this to be noticed.
            #expect(await origin.isClosed())
            #expect(test.statistics?.idle == 0)
            #expect(test.statistics?.lastError?.contains("answers no request") == true)
            for _ in 0..<3 {
                let fresh = try await exchangeOnNew(test)
                #expect(await fresh.isClosed())
            }
            #expect(test.dials.count == 4)
            test.time.advance(by: .seconds(300) - .milliseconds(1))
            _ = try await exchangeOnNew(test)
            await test.settle()
            try #require(test.statistics?.idle == 0)
            test.time.advance(by: .milliseconds(1))
            let trusted = try await exchangeOnNew(test)
            let again = test.send(try .to("/2"))
            _ = try await trusted.head()
            try await trusted.send(Self.ok)
            #expect(try await again.value().get().text() == "ok")
            #expect(test.dials.count == 6)
        }
    }

    @Test func `a server that says goodbye to an idle connection is as good as before`() async throws {
        try await Fixture.run { test in
            let origin = try await exchangeOnNew(test)
            try await origin.send("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n")
            #expect(await origin.isClosed())
            let other = try await exchangeOnNew(test)
            let again = test.send(try .to("/2"))
            _ = try await other.head()
            try await other.send(Self.ok)
            #expect(try await again.value().get().text() == "ok")
            #expect(test.dials.count == 2)
        }
    }

    @Test func `what an origin sent before it had the request does not answer it`() async throws {
        try await Fixture.run { test in
            let origin = try await exchangeOnNew(test)
            let answer = test.send(try .to("/2"))
            // The request is in the origin's kernel at most: nobody has read it.
            try await origin.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")
            let fresh = try await test.accept()
            #expect(try await fresh.head().hasPrefix("GET /2"))
            try await fresh.send(Self.ok)
            #expect(try await answer.value().get().text() == "ok")
            // Nor is that connection used again.
            #expect(await fresh.isClosed())
            _ = try await exchangeOnNew(test)
            #expect(test.dials.count == 3)
        }
    }

    @Test func `what came since the kernel was asked last is noticed before a request is sent`() async throws {
        try await Fixture.run { test in
            let origin = try await exchangeOnNew(test)
            // No turn of the loop between what the origin says and the request.
            try await origin.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")
            let answer = test.send(try .to("/2", .post))
            let fresh = try await test.accept()
            _ = try await fresh.head()
            try await fresh.send(Self.ok)
            #expect(try await answer.value().get().text() == "ok")
            #expect(test.dials.count == 2)
        }
    }

    @Test func `idle connections are closed when their time is up`() async throws {
        try await Fixture.run { test in
            let answer = test.send(try .to())
            let origin = try await test.accept()
            _ = try await origin.head()
            try await origin.send(Self.ok)
            _ = try await answer.value().get().text()
            #expect(test.statistics?.idle == 1)
            await test.pass(.seconds(60)) { test.statistics?.idle == 0 }
            // They are looked at every five seconds.
            test.time.advance(by: .seconds(5))
            #expect(await origin.isClosed())
            #expect(test.statistics?.idle == 0)
        }
    }

    // MARK: Sending again (RFC 9110 §9.2.2)

    /// Has one connection in the pool, sends `request` on it, and answers that connection.
    private func reused(
        _ test: Fixture, _ request: UpstreamRequest
    ) async throws -> (FarEnd, Promise<Result<UpstreamResponse, any Error>>) {
        let first = test.send(try .to("/first"))
        let origin = try await test.accept()
        _ = try await origin.head()
        try await origin.send(Self.ok)
        _ = try await first.value().get().text()
        let answer = test.send(request)
        _ = try await origin.head()
        return (origin, answer)
    }

    @Test(arguments: ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "QUERY"])
    func `an idempotent request is sent again when an old connection ends without an answer`(
        _ method: String
    ) async throws {
        try await Fixture.run { test in
            let (origin, answer) = try await reused(test, try .to("/again", Method(method)!))
            origin.close()
            let fresh = try await test.accept()
            #expect(try await fresh.head().hasPrefix("\(method) /again"))
            try await fresh.send("HTTP/1.1 204 No Content\r\n\r\n")
            #expect(try await answer.value().get().head.status == 204)
            #expect(test.dials.count == 2)
        }
    }

    @Test func `content that is at hand is sent again with its request`() async throws {
        try await Fixture.run { test in
            let request = try UpstreamRequest.to("/again", .put).with { $0.content = .octets(ContentChunk("abc".utf8)) }
            let (origin, answer) = try await reused(test, request)
            #expect(try await origin.octets(3) == "abc")
            origin.close()
            let fresh = try await test.accept()
            #expect(try await fresh.head() == "PUT /again HTTP/1.1\nHost: origin.test\nContent-Length: 3")
            #expect(try await fresh.octets(3) == "abc")
            try await fresh.send(Self.ok)
            #expect(try await answer.value().get().text() == "ok")
        }
    }

    @Test func `it is sent again once only`() async throws {
        try await Fixture.run { test in
            let (origin, answer) = try await reused(test, try .to("/again"))
            origin.close()
            let fresh = try await test.accept()
            _ = try await fresh.head()
            fresh.close()
            #expect(await code { _ = try await answer.value().get() } == .connectionTerminated)
            #expect(test.dials.count == 2)
            #expect(test.statistics?.requests == 2)
        }
    }

    /// Requests that must not be sent again, and what came of the first time.
    static let onceOnly: [(String, UpstreamError.Code)] = [
        ("POST", .connectionTerminated), ("PATCH", .connectionTerminated), ("BREW", .connectionTerminated),
    ]

    @Test(arguments: onceOnly)
    func `a request that may have been carried out is not sent again`(
        _ method: String, _ expected: UpstreamError.Code
    ) async throws {
        try await Fixture.run { test in
            let (origin, answer) = try await reused(test, try .to("/once", Method(method)!))
            origin.close()
            #expect(await code { _ = try await answer.value().get() } == expected)
            #expect(test.dials.count == 1)
        }
    }

    @Test(arguments: ["HTTP/1.1 2", "HTTP/1.1 103 Early Hints\r\n\r\n"])
    func `nothing is sent again after the first octet of an answer`(_ part: String) async throws {
        try await Fixture.run { test in
            let (origin, answer) = try await reused(test, try .to("/once"))
            try await origin.send(part)
            await test.settle()
            origin.close()
            #expect(await code { _ = try await answer.value().get() } == .connectionTerminated)
            #expect(test.dials.count == 1)
        }
    }

    @Test func `nothing is sent again on a connection that was new`() async throws {
        try await Fixture.run { test in
            let answer = test.send(try .to())
            let origin = try await test.accept()
            _ = try await origin.head()
            origin.close()
            #expect(await code { _ = try await answer.value().get() } == .connectionTerminated)
            #expect(test.dials.count == 1)
        }
    }

    @Test func `a silence is no reason to send again`() async throws {
        try await Fixture.run { test in
            let (_, answer) = try await reused(test, try .to("/once"))
            let failure = await test.failure(at: .seconds(60)) { _ = try await answer.value().get() }
            #expect(failure == .responseTimeout)
            #expect(test.dials.count == 1)
        }
    }

    // MARK: Limits

    @Test func `at the limit requests wait in line`() async throws {
        try await Fixture.run({ $0.connectionLimit = 1 }) { test in
            let first = test.send(try .to("/1"))
            let second = test.send(try .to("/2"))
            let third = test.send(try .to("/3"))
            let origin = try await test.accept()
            await test.settle()
            #expect(test.statistics?.waiting == 2)
            for (path, answer) in [("/1", first), ("/2", second), ("/3", third)] {
                #expect(try await origin.head().hasPrefix("GET \(path) "))
                try await origin.send(Self.ok)
                #expect(try await answer.value().get().text() == "ok")
            }
            #expect(test.dials.count == 1)
        }
    }

    @Test func `nobody waits for ever, nor in too long a line`() async throws {
        try await Fixture.run({
            $0.connectionLimit = 1; $0.waiterLimit = 1
        }) { test in
            let first = test.send(try .to("/1"))
            let second = test.send(try .to("/2"))
            let third = test.send(try .to("/3"))
            #expect(await code { _ = try await third.value().get() } == .connectionLimit)
            let failure = await test.failure(at: .seconds(10)) { _ = try await second.value().get() }
            #expect(failure == .connectionLimit)
            let origin = try await test.accept()
            _ = try await origin.head()
            try await origin.send(Self.ok)
            #expect(try await first.value().get().text() == "ok")
        }
    }

    @Test func `a request that is given up leaves the line`() async throws {
        try await Fixture.run({ $0.connectionLimit = 1 }) { test in
            let first = test.send(try .to("/1"))
            let request = try UpstreamRequest.to("/2")
            let second = test.send(request)
            let third = test.send(try .to("/3"))
            request.abort.abort()
            #expect(await code { _ = try await second.value().get() } == .aborted)
            let origin = try await test.accept()
            for answer in [first, third] {
                _ = try await origin.head()
                try await origin.send(Self.ok)
                #expect(try await answer.value().get().text() == "ok")
            }
            #expect(test.statistics?.failures == 0)
        }
    }

    @Test func `a request that is given up while it is connected to leaves the connection to others`() async throws {
        try await Fixture.run { test in
            test.holdDials(true)
            let request = try UpstreamRequest.to("/1")
            let answer = test.send(request)
            request.abort.abort()
            #expect(await code { _ = try await answer.value().get() } == .aborted)
            test.holdDials(false)
            await test.settle()
            #expect(test.statistics?.idle == 1)
            #expect(await code { _ = try await test.send(request).value().get() } == .aborted)
            let next = test.send(try .to("/2"))
            let origin = try await test.accept()
            #expect(try await origin.head().hasPrefix("GET /2"))
            try await origin.send(Self.ok)
            #expect(try await next.value().get().text() == "ok")
            #expect(test.dials.count == 1)
        }
    }

    @Test func `giving up ends an exchange wherever it is`() async throws {
        try await Fixture.run { test in
            let waiting = try UpstreamRequest.to("/1")
            let answer = test.send(waiting)
            let origin = try await test.accept()
            _ = try await origin.head()
            waiting.abort.abort()
            #expect(await code { _ = try await answer.value().get() } == .aborted)
            #expect(await origin.isClosed())

            let reading = try UpstreamRequest.to("/2")
            let response = try await test.exchange(reading) { origin in
                _ = try await origin.head()
                try await origin.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
            }
            #expect(try await response.nextChunk()?.count == 3)
            let ended = Promise<UpstreamError.Code?>()
            test.loop.startHere { ended.fulfil(await code { _ = try await response.nextChunk() }) }
            await test.settle()
            reading.abort.abort()
            #expect(await ended.value() == .aborted)
            #expect(test.statistics?.failures == 0 && test.statistics?.active == 0)
        }
    }

    // MARK: Addresses

    @Test(arguments: [
        ("http://nosuch.invalid", "nosuch.invalid"), ("nosuch.invalid:443", "nosuch.invalid"),
        ("http://[::1]", "[::1]"),
    ])
    func `a host that is not there is named alone`(place: String, host: String) {
        let error = UpstreamError.connecting(IOError(.nameNotFound, operation: "resolve x"), to: place)
        #expect("\(error)".contains("The host \(host) does not exist."), "\(error)")
    }

    @Test func `a pooled connection does not serve a request that may not reach its address`() async throws {
        try await Fixture.run { test in
            let response = try await test.exchange(try .to(origin: "http://10.0.0.1")) { origin in
                _ = try await origin.head()
                try await origin.send(Self.ok)
            }
            #expect(try await response.text() == "ok")
            let stranger = try UpstreamRequest.to(origin: "http://10.0.0.1").with {
                $0.allowsAddress = { $0.host != "10.0.0.1" }
            }
            #expect(await code { _ = try await test.send(stranger).value().get() } == .destinationProhibited)
            #expect(test.statistics?.idle == 1)
        }
    }

    // MARK: Failing to connect

    static let failures: [(IOError, UpstreamError.Code, Status)] = [
        (IOError(.nameNotFound, operation: "resolve x"), .dnsError, 502),
        (IOError(.nameServerFailure, operation: "resolve x"), .dnsError, 502),
        (IOError(.lookupTimedOut, operation: "resolve x"), .dnsTimeout, 504),
        (IOError(.timedOut, operation: "connect to x"), .connectionTimeout, 504),
        (IOError(.refused, operation: "connect to x"), .connectionRefused, 502),
        (IOError(.unreachable, operation: "connect to x"), .destinationUnavailable, 503),
        (IOError(.connectionReset, operation: "connect to x"), .connectionTerminated, 502),
        (IOError(.permissionDenied, operation: "connect to x"), .destinationProhibited, 403),
        (IOError(.certificateInvalid, operation: "tls"), .tlsCertificate, 502),
        (IOError(.tlsFailed, operation: "tls"), .tlsProtocol, 502),
        (IOError(.descriptorsExhausted, operation: "socket"), .connectionLimit, 503),
        (IOError(.other, operation: "x"), .destinationUnavailable, 503),
    ]

    @Test(arguments: failures)
    func `a failure to connect is named as RFC 9209 does`(
        _ error: IOError, _ expected: UpstreamError.Code, _ status: Status
    ) async throws {
        try await Fixture.run { test in
            test.refuseDials(with: error)
            do {
                _ = try await test.pool.send(try .to())
                Issue.record("it should have failed")
            } catch let failure as UpstreamError {
                #expect(failure.code == expected)
                #expect(failure.status == status)
                #expect(failure.cause as? IOError == error)
                #expect(!failure.mayRetry)
            }
            #expect(test.statistics?.failures == 1 && test.statistics?.active == 0)
            #expect(test.statistics?.lastError?.hasPrefix(expected.description) == true)
        }
    }

    // MARK: Memory

    @Test func `an exchange that is over keeps nothing alive`() async throws {
        try await Fixture.run { test in
            weak var abort: UpstreamAbort?
            weak var response: UpstreamResponse?
            weak var connection: UpstreamConnection?
            do {
                let request = try UpstreamRequest.to("/")
                let answer = try await test.exchange(request) { origin in
                    _ = try await origin.head()
                    try await origin.send(Self.ok)
                }
                (abort, response, connection) = (request.abort, answer, answer.connectionInUse)
                #expect(connection != nil)
                #expect(try await answer.text() == "ok")
            }
            await test.settle()
            #expect(abort == nil && response == nil)
            #expect(connection != nil, "the pool has it")
            test.pool.drain()
            await test.settle()
            #expect(connection == nil)
        }
    }

    // MARK: Changing

    @Test func `a drained pool closes what is idle and keeps nothing more`() async throws {
        try await Fixture.run { test in
            let busy = test.send(try .to("/1"))
            let first = try await test.accept()
            let idle = test.send(try .to("/2"))
            let second = try await test.accept()
            _ = try await second.head()
            try await second.send(Self.ok)
            _ = try await idle.value().get().text()
            test.pool.drain()
            #expect(await second.isClosed())
            _ = try await first.head()
            try await first.send(Self.ok)
            #expect(try await busy.value().get().text() == "ok")
            #expect(await first.isClosed())
        }
    }

    @Test func `connections made with other trust are not used again`() async throws {
        try await Fixture.run { test in
            let answer = test.send(try .to("/1"))
            let idle = try await test.accept()
            _ = try await idle.head()
            try await idle.send(Self.ok)
            _ = try await answer.value().get().text()
            let busy = test.send(try .to("/2"))
            #expect(try await idle.head().hasPrefix("GET /2"))
            test.pool.apply(UpstreamSettings(tls: try TLSClientContext()))
            try await idle.send(Self.ok)
            #expect(try await busy.value().get().text() == "ok")
            let response = try await test.exchange(try .to("/3")) { fresh in
                _ = try await fresh.head()
                try await fresh.send(Self.ok)
            }
            #expect(try await response.text() == "ok")
            #expect(test.dials.count == 2)
        }
    }
}
