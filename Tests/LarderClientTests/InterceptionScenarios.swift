// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderHTTP
import LarderIO
import LarderSettings
import LarderTesting
import LarderUpstream
import Testing

@testable import LarderProxy

/// Clients behind a proxy that answers https in the origin's place.
@Suite("Https that is opened", .timeLimit(.minutes(10)))
struct InterceptionScenarios {
    /// Runs a scenario whose origin speaks TLS, and whose daemon opens what leads there.
    static func run(
        names: String = "IP:127.0.0.1", protocols: [String] = ["http/1.1"],
        _ configure: @escaping (inout Settings, ScriptedOrigin) -> Void = { _, _ in },
        _ body: (Scenario) async throws -> Void
    ) async throws {
        let authority = TestAuthority()
        let identity = authority.identity(names)
        let context = try identity.serverContext(protocols)
        let file = FreshDirectory()
        let path = file.path + "/authority.pem"
        try write(authority.pem, to: path)
        // Certificates are judged by the machine's clock.
        try await Scenario.run(startingAt: Int64(time(nil)) * 1_000_000_000) { settings, origin in
            origin.speakTLS(context)
            settings.upstream.caFile = path
            settings.upstream.systemTrust = false
            settings.intercept.hosts = [HostPattern(host: "127.0.0.1"), HostPattern(host: "localhost")]
            configure(&settings, origin)
        } _: { scenario in
            try await body(scenario)
        }
        withExtendedLifetime(file) {}
    }

    private static func write(_ text: String, to path: String) throws {
        let file = try #require(fopen(path, "w"))
        fputs(text, file)
        fclose(file)
    }

    /// A client that trusts Larder.
    static func trust(_ scenario: Scenario, _ protocols: [String] = ["http/1.1"]) throws -> TLSClientContext {
        try TLSClientContext(
            trustsSystem: false, authorities: try #require(scenario.proxy.interception.authority).pem,
            applicationProtocols: protocols)
    }

    static func get(_ wire: Wire, _ scenario: Scenario, _ path: String, _ lines: String...) async throws -> WireMessage
    {
        let head = ["GET \(path) HTTP/1.1", "Host: \(scenario.origin.authority)"] + lines
        try await wire.write(head.map { $0 + "\r\n" }.joined() + "\r\n")
        return try await wire.response()
    }

    static let fresh: ScriptedOrigin.Script = { head in
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: \(head.target.utf8.count)\r\n\r\n\(head.target)"
    }

    // MARK: Answers

    @Test func `clients have a kind, however many kinds there were`() async throws {
        try await Scenario.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            let numbers = try await scene.proxy.anyContext().run { context in
                let clients = try #require(context.clients as? ClientConnections)
                let kinds = (1...600).map {
                    Router.Client(isLoopback: true, localHost: "127.0.0.1", localPort: UInt16($0))
                }
                let numbers = kinds.map { clients.kind(of: $0) }
                #expect(clients.kind(of: kinds[599]) == numbers[599])
                return numbers
            }
            #expect(Set(numbers).count == numbers.count)
        }
    }

    @Test func `what came over https is answered from the cache the next time`() async throws {
        try await Self.run { scenario in
            scenario.origin.answer(Self.fresh)
            let trust = try Self.trust(scenario)
            let first = try await scenario.tunnel(trusting: trust)
            let miss = try await Self.get(first, scenario, "/a")
            #expect(miss.text == "/a")
            #expect(miss["cache-status"]?.contains("fwd=uri-miss") == true)
            let again = try await Self.get(first, scenario, "/a")
            #expect(again["cache-status"]?.contains("hit") == true)
            let second = try await scenario.tunnel(trusting: trust)
            #expect(try await Self.get(second, scenario, "/a")["cache-status"]?.contains("hit") == true)
            #expect(scenario.origin.count(of: "/a") == 1)
            #expect(scenario.proxy.interception.opened == 2)
            #expect(scenario.proxy.interception.leavesMade == 1)
        }
    }

    @Test func `content goes both ways, and what is sent at once is answered in order`() async throws {
        try await Self.run { scenario in
            scenario.origin.answer(Self.fresh)
            let client = try await scenario.tunnel(trusting: try Self.trust(scenario))
            let host = "Host: \(scenario.origin.authority)\r\n"
            try await client.write(
                "POST /p HTTP/1.1\r\n\(host)Content-Length: 5\r\n\r\nhelloGET /q HTTP/1.1\r\n\(host)\r\n")
            #expect(try await client.response().text == "/p")
            #expect(try await client.response().text == "/q")
        }
    }

    @Test func `forms of addressing the same origin are one resource`() async throws {
        try await Self.run { scenario in
            scenario.origin.answer(Self.fresh)
            let client = try await scenario.tunnel(trusting: try Self.trust(scenario))
            _ = try await Self.get(client, scenario, "/a")
            let authority = scenario.origin.authority
            try await client.send("GET https://\(authority)/a HTTP/1.1", "Host: \(authority)")
            #expect(try await client.response()["cache-status"]?.contains("hit") == true)
            try await client.send("GET /a HTTP/1.0", "Connection: keep-alive")
            #expect(try await client.response().status == 200)
            #expect(scenario.origin.count(of: "/a") == 1)
        }
    }

    @Test func `hits inside are answered at once, each connection's from its own origin`() async throws {
        try await Self.run { scenario in
            scenario.origin.answer(Self.fresh)
            let trust = try Self.trust(scenario)
            let client = try await scenario.tunnel(trusting: trust)
            for _ in 0..<6 { #expect(try await Self.get(client, scenario, "/a").text == "/a") }
            #expect(scenario.count(.answeredAtOnce) > 0)
            // The same octets over a connection to another place mean something else.
            let other = try await scenario.tunnel(
                to: "localhost:\(scenario.origin.port)", serverName: "localhost", trusting: trust)
            #expect(try await Self.get(other, scenario, "/a").status == 421)
            let plain = try await scenario.client()
            try await plain.send("GET /a HTTP/1.1", "Host: \(scenario.origin.authority)")
            #expect(try await plain.response().text != "/a")
        }
    }

    @Test func `a URL without a path asks about the server as a whole`() async throws {
        try await Self.run { scenario in
            scenario.origin.answer(Self.fresh)
            let client = try await scenario.tunnel(trusting: try Self.trust(scenario))
            let authority = scenario.origin.authority
            for (target, seen) in [("https://\(authority)", "*"), ("https://\(authority)/", "/"), ("*", "*")] {
                try await client.send("OPTIONS \(target) HTTP/1.1", "Host: \(authority)")
                #expect(try await client.response().text == seen)
            }
        }
    }

    // MARK: What does not belong inside

    @Test(arguments: [
        ("GET / HTTP/1.1", "Host: other.test", 421), ("GET https://other.test/ HTTP/1.1", "Host: other.test", 421),
        ("GET http://127.0.0.1/ HTTP/1.1", "Host: 127.0.0.1", 421), ("GET /-/status HTTP/1.1", "Host: localhost", 421),
        ("CONNECT other.test:443 HTTP/1.1", "Host: other.test:443", 400),
    ])
    func `requests for other places are refused inside`(line: String, host: String, status: Int) async throws {
        try await Self.run { scenario in
            scenario.origin.answer(Self.fresh)
            let client = try await scenario.tunnel(trusting: try Self.trust(scenario))
            try await client.send(line, host)
            #expect(try await client.response().status == status)
            #expect(scenario.origin.seen.isEmpty)
        }
    }

    @Test func `Larder's own pages are the origin's inside`() async throws {
        try await Self.run { scenario in
            scenario.origin.answer(Self.fresh)
            let client = try await scenario.tunnel(trusting: try Self.trust(scenario))
            #expect(try await Self.get(client, scenario, "/-/status").text == "/-/status")
        }
    }

    @Test func `an upgrade passes inside`() async throws {
        try await Self.run { scenario in
            let client = try await scenario.tunnel(trusting: try Self.trust(scenario))
            try await client.send(
                "GET /chat HTTP/1.1", "Host: \(scenario.origin.authority)", "Connection: upgrade", "Upgrade: websocket")
            let request = try await scenario.origin.request()
            #expect(request.head["upgrade"] == "websocket")
            try await request.wire.write(
                "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nhello")
            #expect(try await client.head().status == 101)
            #expect(try await client.text(5) == "hello")
            try await client.write("back")
            #expect(try await request.wire.text(4) == "back")
        }
    }

    // MARK: What is not opened

    @Test func `another name in the first message passes unseen`() async throws {
        try await Self.run(names: "DNS:other.test,IP:127.0.0.1") { scenario in
            scenario.origin.answer(Self.fresh)
            // The origin's own authority is not known here; that the handshake fails says that it was not Larder's.
            let trust = try Self.trust(scenario)
            await #expect(throws: IOError.self) { try await scenario.tunnel(serverName: "other.test", trusting: trust) }
            #expect(scenario.proxy.interception.tunnels.map(\.reason) == [.otherProtocol])
        }
    }

    @Test func `what is no TLS passes unseen, with what was read of it`() async throws {
        try await Self.run { scenario in
            let plain = try await PlainPeer.start()
            let client = try await scenario.tunnel(to: plain.authority)
            try await client.write("SSH-2.0-x\r\n")
            #expect(try await client.text(11) == "SSH-2.0-x\r\n")
            #expect(scenario.proxy.interception.tunnels.first?.reason == .otherProtocol)
            await client.close()
            withExtendedLifetime(plain) {}
        }
    }

    @Test func `a server that speaks first is heard, and TLS that begins at once is opened`() async throws {
        try await Self.run { scenario in
            scenario.origin.answer(Self.fresh)
            let plain = try await PlainPeer.start(greeting: "SSH-2.0-s\r\n")
            let client = try await scenario.tunnel(to: plain.authority)
            let greeting = try await scenario.lettingTimePass(reaching: .seconds(1)) { try await client.text(11) }
            #expect(greeting == "SSH-2.0-s\r\n")
            try await client.write("hello")
            #expect(try await client.text(5) == "hello")
            #expect(scenario.proxy.interception.tunnels.first?.reason == .otherProtocol)
            await client.close()
            let browser = try await scenario.tunnel(trusting: try Self.trust(scenario))
            #expect(try await Self.get(browser, scenario, "/a").status == 200)
            withExtendedLifetime(plain) {}
        }
    }

    @Test func `a client that ends its side after it has spoken is answered`() async throws {
        try await Self.run { scenario in
            let plain = try await PlainPeer.start()
            let client = try await scenario.tunnel(to: plain.authority)
            try await client.write("question\r\n")
            await client.shutdownWrite()
            #expect(try await client.text(10) == "question\r\n")
            withExtendedLifetime(plain) {}
        }
    }

    @Test func `hosts that are not listed, or excepted, pass unseen and are counted`() async throws {
        try await Self.run { settings, _ in
            settings.intercept.hosts = [HostPattern(host: "127.0.0.1")]
            settings.intercept.except = [HostPattern(host: "127.0.0.1")]
        } _: { scenario in
            let trust = try Self.trust(scenario)
            await #expect(throws: IOError.self) { try await scenario.tunnel(trusting: trust) }
            #expect(scenario.proxy.interception.tunnels.map(\.reason) == [.excluded])
            try await scenario.reload { settings in
                settings.intercept.hosts = []
                settings.intercept.except = []
            }
            await #expect(throws: IOError.self) { try await scenario.tunnel(trusting: trust) }
            #expect(Set(scenario.proxy.interception.tunnels.map(\.reason)) == [.excluded, .notListed])
        }
    }

    @Test func `an unfinished first message is not waited for any longer than a head`() async throws {
        try await Self.run { settings, _ in
            settings.timeouts.head = .seconds(3)
        } _: { scenario in
            let client = try await scenario.tunnel()
            try await client.write([22, 3, 1, 2, 0, 1])
            let end = try await scenario.lettingTimePass(reaching: .seconds(3)) { try await client.end() }
            #expect(end == .closed)
            #expect(scenario.proxy.interception.tunnels.isEmpty)
        }
    }

    // MARK: Trust

    @Test func `a client that does not trust the authority passes unseen from the second time on`() async throws {
        try await Self.run { scenario in
            scenario.origin.answer(Self.fresh)
            let stranger = try TLSClientContext(trustsSystem: false, authorities: TestAuthority().pem)
            await #expect(throws: IOError.self) {
                try await scenario.tunnel(trusting: stranger, "User-Agent: careful/1")
            }
            try await eventually("the refusal is noted") {
                scenario.log.values.contains { $0.contains("does not trust the local CA") }
            }
            // Another client is served as before.
            let other = try await scenario.tunnel(trusting: try Self.trust(scenario), "User-Agent: other/1")
            #expect(try await Self.get(other, scenario, "/a").text == "/a")
            await #expect(throws: IOError.self) {
                try await scenario.tunnel(trusting: stranger, "User-Agent: careful/1")
            }
            let line = try #require(scenario.proxy.interception.tunnels.first)
            #expect(line.reason == .refused)
            #expect(line.client == "127.0.0.1 (careful/1)")
            // After a while it is tried again.
            scenario.advance(.seconds(3_601))
            let again = try await scenario.tunnel(trusting: try Self.trust(scenario), "User-Agent: careful/1")
            #expect(try await Self.get(again, scenario, "/a").text == "/a")
        }
    }

    @Test(arguments: [false, true])
    func `a client that trusts the authority by now need not wait`(byReload: Bool) async throws {
        try await Self.run { scenario in
            scenario.origin.answer(Self.fresh)
            let stranger = try TLSClientContext(trustsSystem: false, authorities: TestAuthority().pem)
            await #expect(throws: IOError.self) { try await scenario.tunnel(trusting: stranger) }
            try await eventually("the refusal is noted") {
                !scenario.proxy.interception.retreats(now: scenario.proxy.monotonicNow).isEmpty
            }
            if byReload {
                try await scenario.reload { _ in }
            } else {
                scenario.proxy.interception.forgetRefusals()
            }
            let again = try await scenario.tunnel(trusting: try Self.trust(scenario))
            #expect(try await Self.get(again, scenario, "/a").text == "/a")
        }
    }

    @Test(arguments: [("ben", nil), (nil, 1), (nil, 2)] as [(String?, UInt32?)])
    func `a refusal is for one user`(name: String?, owner: UInt32?) throws {
        var table = RetreatTable()
        let authority = try Authority("api.test:443", defaultPort: 443)
        func key(_ user: String?, _ owner: UInt32?) -> RetreatTable.Key {
            RetreatTable.Key(
                client: "127.0.0.1", agent: "curl/8", lane: "", authority: authority, user: user, owner: owner)
        }
        let isNew = table.failed(.refusal, of: key("anna", 3), now: 0, for: .seconds(60))
        #expect(isNew)
        let isForAnna = table.isRetreat(key("anna", 3), now: 1)
        let isForOther = table.isRetreat(key(name, owner), now: 1)
        #expect(isForAnna && !isForOther)
    }

    @Test func `the owner of a client on this machine is part of what it refuses`() async throws {
        try await Self.run { scenario in
            let stranger = try TLSClientContext(trustsSystem: false, authorities: TestAuthority().pem)
            await #expect(throws: IOError.self) { try await scenario.tunnel(trusting: stranger) }
            try await eventually("the refusal is noted") {
                !scenario.proxy.interception.retreats(now: scenario.proxy.monotonicNow).isEmpty
            }
            let known = await scenario.proxy.doorObstacle() == nil ? geteuid() : nil
            let retreats = scenario.proxy.interception.retreats(now: scenario.proxy.monotonicNow)
            #expect(retreats.map(\.key.owner) == [known])
        }
    }

    // MARK: HTTP/2

    @Test func `an origin that refuses HTTP/1.1 is tunnelled from the next connection on`() async throws {
        try await Self.run(protocols: ["h2"]) { scenario in
            let trust = try Self.trust(scenario)
            let client = try await scenario.tunnel(trusting: trust)
            let answer = try await Self.get(client, scenario, "/a")
            #expect(answer.status == 502)
            #expect(answer.text.contains("speaks HTTP/2 only"), "\(answer.text)")
            #expect(answer["connection"] == "close")
            #expect(try await client.end() == .closed)
            // A handshake with the origin itself, whose authority the client does not trust.
            await #expect(throws: IOError.self) { try await scenario.tunnel(trusting: trust) }
            let line = try #require(scenario.proxy.interception.tunnels.first)
            #expect(line.reason == .originHTTP2)
            #expect(line.reason.words == "the origin speaks HTTP/2 only")
            // After a while it is asked again.
            scenario.advance(.seconds(3_601))
            let later = try await scenario.tunnel(trusting: trust)
            #expect(try await Self.get(later, scenario, "/a").status == 502)
        }
    }

    @Test func `an origin that answers with frames of HTTP/2 is tunnelled from the next connection on`() async throws {
        try await Self.run { scenario in
            scenario.origin.answer { _ in
                String(decoding: [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100] as [UInt8], as: UTF8.self)
            }
            let trust = try Self.trust(scenario)
            let client = try await scenario.tunnel(trusting: trust)
            let answer = try await Self.get(client, scenario, "/a")
            #expect(answer.status == 502)
            #expect(answer.text.contains("speaks HTTP/2 only"), "\(answer.text)")
            await #expect(throws: IOError.self) { try await scenario.tunnel(trusting: trust) }
            #expect(scenario.proxy.interception.tunnels.map(\.reason) == [.originHTTP2])
        }
    }

    @Test func `a client that offers HTTP/2 alone is called that, and passes unseen`() async throws {
        try await Self.run { scenario in
            let trust = try Self.trust(scenario, ["h2"])
            await #expect(throws: IOError.self) { try await scenario.tunnel(trusting: trust) }
            #expect(scenario.proxy.interception.tunnels.map(\.reason) == [.clientHTTP2])
        }
    }

    // MARK: Silence

    @Test(arguments: [true, false])
    func `a tunnel in which neither side speaks ends with the time for a head`(isIntercepted: Bool) async throws {
        try await Self.run { settings, _ in
            settings.timeouts.head = .seconds(3)
            if !isIntercepted { settings.intercept.hosts = [HostPattern(host: "other.test")] }
        } _: { scenario in
            let plain = try await PlainPeer.start()
            let client = try await scenario.tunnel(to: plain.authority)
            let end = try await scenario.lettingTimePass(within: .seconds(3)...Duration.seconds(12)) {
                try await client.end()
            }
            #expect(end == .closed)
            // A tunnel that has begun may be idle for longer.
            let talker = try await scenario.tunnel(to: plain.authority)
            try await talker.write("hello")
            #expect(try await talker.text(5) == "hello")
            scenario.advance(.seconds(60))
            await scenario.proxy.settle()
            try await talker.write("again")
            #expect(try await talker.text(5) == "again")
            await talker.close()
            withExtendedLifetime(plain) {}
        }
    }

    @Test func `an origin that asked for a certificate is tried again after a reload`() async throws {
        try await Self.run { scenario in
            scenario.origin.answer(Self.fresh)
            let interception = scenario.proxy.interception
            let authority = try Authority(scenario.origin.authority, defaultPort: 443)
            interception.note(
                .asksForCertificate, of: Origin(scheme: .https, host: "127.0.0.1", port: scenario.origin.port), now: 0,
                for: .zero)
            let key = RetreatTable.Key(
                client: "127.0.0.1", agent: "", lane: "", authority: authority)
            #expect(interception.exception(for: key, now: scenario.proxy.monotonicNow) == .clientCertificate)
            // There may be one for it now.
            try await scenario.reload { _ in }
            #expect(interception.exception(for: key, now: scenario.proxy.monotonicNow) == nil)
            let client = try await scenario.tunnel(trusting: try Self.trust(scenario))
            #expect(try await Self.get(client, scenario, "/a").text == "/a")
        }
    }

    @Test func `an origin whose certificate is for another host gets nothing of a request`() async throws {
        try await Self.run(names: "DNS:other.test") { scenario in
            scenario.origin.answer(Self.fresh)
            let client = try await scenario.tunnel(trusting: try Self.trust(scenario))
            let answer = try await Self.get(client, scenario, "/a")
            #expect(answer.status == 502)
            #expect(answer["proxy-status"]?.contains("tls_certificate_error") == true)
            #expect(scenario.origin.seen.isEmpty)
        }
    }

    @Test func `whom Larder trusts is read again on each reload, and connections go on`() async throws {
        try await Self.run { scenario in
            scenario.origin.answer(Self.fresh)
            let client = try await scenario.tunnel(trusting: try Self.trust(scenario))
            #expect(try await Self.get(client, scenario, "/a").status == 200)
            let renewed = TestAuthority()
            let identity = renewed.identity("IP:127.0.0.1")
            scenario.origin.speakTLS(
                try identity.serverContext())
            try Self.write(renewed.pem, to: try #require(scenario.proxy.configuration.settings.upstream.caFile))
            try await scenario.reload { _ in }
            #expect(try await Self.get(client, scenario, "/b").status == 200)
        }
    }

    @Test func `content that the end of the connection ends is cut without TLS's own end`() async throws {
        try await Self.run { scenario in
            let client = try await scenario.tunnel(trusting: try Self.trust(scenario))
            try await client.send("GET /cut HTTP/1.1", "Host: \(scenario.origin.authority)")
            let request = try await scenario.origin.request()
            try await request.wire.write(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nConnection: close\r\n\r\nhalf")
            let head = try await client.head()
            #expect(head.status == 200)
            await request.wire.reset()
            let message = try await client.message(head, isResponse: true)
            #expect(!message.isWhole)
        }
    }

    @Test func `content that the end of the connection ends is not ended by a daemon that stops`() async throws {
        try await Self.run { settings, _ in
            settings.timeouts.drain = .seconds(1)
        } _: { scenario in
            let client = try await scenario.tunnel(trusting: try Self.trust(scenario))
            try await client.send("GET /slow HTTP/1.0", "Host: \(scenario.origin.authority)")
            let request = try await scenario.origin.request()
            try await request.wire.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
            _ = try await client.head()
            #expect(try await client.text(4) == "half")
            let proxy = scenario.proxy
            async let drained: Void = proxy.drain()
            let end = try await scenario.lettingTimePass(reaching: .seconds(1)) { try await client.end() }
            await drained
            // To a client of HTTP/1.0 an orderly end would say that this was all.
            #expect(end == .reset)
        }
    }

    @Test func `https and http of one place are two resources`() async throws {
        try await Self.run { scenario in
            scenario.origin.answer(Self.fresh)
            let client = try await scenario.tunnel(trusting: try Self.trust(scenario))
            _ = try await Self.get(client, scenario, "/a")
            // The origin speaks TLS only, so over http there is nothing.
            let plain = try await scenario.client()
            try await plain.get("http://\(scenario.origin.authority)/a")
            #expect(try await plain.response().status == 502)
        }
    }
}

/// Somebody who sends back what it is sent.
final class PlainPeer: Sendable {
    let authority: String
    private let listener: Confined<Listener>
    private let loop: EventLoop

    private init(authority: String, listener: Confined<Listener>, loop: EventLoop) {
        self.authority = authority
        self.listener = listener
        self.loop = loop
    }

    /// - Parameter greeting: sent before anything is received.
    static func start(greeting: String = "") async throws -> PlainPeer {
        let loop = try #require(Peers.loop)
        let sockets = try ListeningSocket.tcp(.loopback(port: 0), count: 1)
        let listener = try await loop.perform { loop in
            Confined(
                try Listener(sockets[0], on: loop) { stream in
                    loop.assumeIsolated { [stream = Confined(stream)] loop in
                        loop.spawnHere { _ in
                            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 1)
                            defer { buffer.deallocate() }
                            if !greeting.isEmpty { try? await stream.value.write(Array(greeting.utf8)) }
                            while let count = try? await stream.value.read(into: buffer), count > 0 {
                                try? await stream.value.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                            }
                            stream.value.close()
                        }
                    }
                })
        }
        return PlainPeer(authority: "127.0.0.1:\(sockets[0].address.port)", listener: listener, loop: loop)
    }

    deinit { loop.execute { [listener] _ in listener.value.close() } }
}
