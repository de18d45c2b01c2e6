// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
import LarderPeers
import LarderTesting
import Testing

@testable import LarderUpstream

@Suite("Origins behind TLS and real addresses", .timeLimit(.minutes(10)))
struct TLSOriginTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private struct Identity: Sendable {
        let server: TLSServerContext
        let client: TLSClientContext

        init(_ names: String) throws {
            let authority = TestAuthority()
            let identity = authority.identity(names)
            server = try identity.serverContext()
            client = try TLSClientContext(trustsSystem: false, authorities: authority.pem)
        }
    }

    @Test(arguments: [
        ("https://origin.test", "DNS:origin.test"), ("https://[::1]:8443", "IP:::1"),
        ("https://127.0.0.1", "IP:127.0.0.1"),
    ])
    func `a verified origin is talked to, over one connection again and again`(
        _ origin: String, _ names: String
    ) async throws {
        let identity = try Identity(names)
        try await Fixture.run({ $0.tls = identity.client }) { test in
            let first = test.send(try .to("/1", origin: origin))
            let far = try await test.accept()
            try await far.stream.startTLS(server: identity.server)
            for (path, answer) in [("/1", first), ("/2", nil), ("/3", nil)] {
                let answer = try answer ?? test.send(try .to(path, .post, origin: origin))
                #expect(try await far.head().contains(" \(path) HTTP/1.1\nHost: "))
                try await far.send(Self.ok)
                #expect(try await answer.value().get().text() == "ok")
                await test.settle()
            }
            #expect(test.dials.count == 1)
        }
    }

    @Test func `a parent makes the tunnel that TLS goes through`() async throws {
        let identity = try Identity("DNS:origin.test")
        try await Fixture.run({ $0.tls = identity.client }) { test in
            let parent = ParentAddress(host: "parent.test", port: 3128, authorization: "Basic YTpi")
            let answer = test.send(try .to("/a", origin: "https://origin.test", parent: parent))
            let far = try await test.accept()
            #expect(
                try await far.head()
                    == "CONNECT origin.test:443 HTTP/1.1\nHost: origin.test:443\nProxy-Authorization: Basic YTpi")
            try await far.send("HTTP/1.1 200 OK\r\n\r\n")
            try await far.stream.startTLS(server: identity.server)
            #expect(try await far.head() == "GET /a HTTP/1.1\nHost: origin.test")
            try await far.send(Self.ok)
            #expect(try await answer.value().get().text() == "ok")
            #expect(test.dials == ["parent.test:3128"])
        }
    }

    @Test func `a service's own trust and name are for its requests alone`() async throws {
        let (all, own) = (try Identity("DNS:origin.test"), try Identity("DNS:inner.test"))
        let tls = UpstreamTLS(own.client, serverName: "inner.test")
        try await Fixture.run({ $0.tls = all.client }) { test in
            var ends: [FarEnd] = []
            for (number, tls) in [nil, tls, nil, tls].enumerated() {
                let request = try UpstreamRequest.to("/\(number)", origin: "https://origin.test").with { $0.tls = tls }
                let answer = test.send(request)
                if number < 2 {
                    ends.append(try await test.accept())
                    try await ends[number].stream.startTLS(server: number == 0 ? all.server : own.server)
                }
                // Only requests that speak TLS in the same way share the connection.
                let far = ends[number % 2]
                #expect(try await far.head().hasPrefix("GET /\(number) "))
                try await far.send(Self.ok)
                #expect(try await answer.value().get().text() == "ok")
                await test.settle()
            }
            #expect(test.dials.count == 2)
        }
    }

    @Test func `a certificate for another host is refused`() async throws {
        let identity = try Identity("DNS:other.test")
        try await Fixture.run({ $0.tls = identity.client }) { test in
            let answer = test.send(try .to(origin: "https://origin.test"))
            let far = try await test.accept()
            try? await far.stream.startTLS(server: identity.server)
            #expect(await code { _ = try await answer.value().get() } == .tlsCertificate)
            #expect(test.statistics?.active == 0)
        }
    }

    @Test func `an origin that does not speak TLS is named as such`() async throws {
        try await Fixture.run { test in
            let answer = test.send(try .to(origin: "https://origin.test"))
            let far = try await test.accept()
            try await far.send("HTTP/1.1 400 Bad Request\r\n\r\n")
            #expect(await code { _ = try await answer.value().get() } == .tlsProtocol)
        }
    }

    @Test(arguments: [(false, OriginHealth.Outcome.troubled), (true, .answered)])
    func `an origin that ends TLS when it has the request could be reached`(
        isHeadComplete: Bool, outcome: OriginHealth.Outcome
    ) throws {
        let error = UpstreamError.reading(
            IOError(.tlsFailed, operation: "read"), from: Origin(try TargetURI("https://origin.test/")),
            isHeadComplete: isHeadComplete, hasAnswered: false)
        #expect(!error.isUnreachable)
        #expect(error.outcome == outcome)
    }

    @Test(arguments: [(false, true), (true, false)])
    func `an origin that got no certificate and says nothing is asked for one`(
        hasAnswered: Bool, names: Bool
    ) throws {
        let error = UpstreamError.reading(
            IOError(.connectionReset, operation: "read"), from: Origin(try TargetURI("https://origin.test/")),
            isHeadComplete: false, hasAnswered: hasAnswered, lacksCertificate: true)
        #expect("\(error)".contains("asked for a client certificate") == names)
    }

    @Test func `a handshake that does not go on is given up`() async throws {
        try await Fixture.run { test in
            let answer = test.send(try .to(origin: "https://origin.test"))
            let far = try await test.accept()
            // Before the handshake another thread prepares it, in time of its own.
            _ = try await far.octets(1)
            let failure = await test.failure(at: .seconds(10)) { _ = try await answer.value().get() }
            #expect(failure == .connectionTimeout)
        }
    }

    @Test func `names and addresses are connected to for real`() async throws {
        try await Fixture.run { test in
            let holder = try PortHolder()
            let socket = try holder.listen()
            let (upstream, listener) = try poolAndListener(test.loop, socket).value
            for host in ["127.0.0.1", "127.0.0.1", "localhost"] {
                let response = try await upstream.send(try .to(origin: "http://\(host):\(socket.address.port)"))
                #expect(try await response.text() == "ok")
            }
            let local = try UpstreamRequest.to(origin: "http://localhost:\(socket.address.port)").with {
                $0.allowsAddress = { !$0.isLoopback }
            }
            #expect(await code { _ = try await upstream.send(local) } == .destinationProhibited)
            #expect(upstream.statistics.map(\.idle) == [1, 1])
            listener.close()
            let gone = try UpstreamRequest.to(origin: "http://127.0.0.1:\(holder.address.port)")
            upstream.drain()
            #expect(await code { _ = try await upstream.send(gone) } == .connectionRefused)
        }
    }

    /// A pool with a real connector, and an origin on `socket` that answers every GET.
    private func poolAndListener(
        _ loop: EventLoop, _ socket: ListeningSocket
    ) throws -> Confined<(UpstreamPool, Listener)> {
        try loop.assumeIsolated { loop in
            let listener = try Listener(socket, on: loop) { stream in
                let far = FarEnd(stream)
                loop.startHere {
                    do {
                        while try await far.head().hasPrefix("GET") { try await far.send(Self.ok) }
                    } catch {}
                }
            }
            let settings = UpstreamSettings(tls: try TLSClientContext())
            return Confined((UpstreamPool(loop: loop, connector: Connector(on: loop), settings: settings), listener))
        }
    }
}
