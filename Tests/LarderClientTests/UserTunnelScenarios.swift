// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderIO
import LarderRules
import LarderSettings
import LarderTesting
import Testing

@testable import LarderProxy

/// Users in tunnels, in https that is opened, and over TLS: who they are is said once.
@Suite("Users in tunnels", .timeLimit(.minutes(10)))
struct UserTunnelScenarios {
    private static let anna = UserScenarios.anna
    private static let ben = UserScenarios.ben

    private static func run(
        opens: Bool = true, _ configure: @escaping (inout Settings, ScriptedOrigin) -> Void = { _, _ in },
        _ body: (Scenario) async throws -> Void
    ) async throws {
        try await InterceptionScenarios.run { settings, origin in
            if !opens { settings.intercept.hosts = [] }
            UserScenarios.asking(&settings)
            configure(&settings, origin)
        } _: { (scene) async throws in
            scene.origin.answer(InterceptionScenarios.fresh)
            try await body(scene)
        }
    }

    @Test func `a tunnel is for users, and asking for one goes on over the same connection`() async throws {
        try await Self.run(opens: false) { (scene) async throws in
            let client = try await scene.client()
            let connect = "CONNECT \(scene.origin.authority) HTTP/1.1\r\nHost: \(scene.origin.authority)\r\n"
            try await client.write(connect + "\r\n")
            let refused = try await client.response()
            #expect(refused.status == 407)
            #expect(refused["Proxy-Authenticate"]?.hasPrefix("Basic realm=") == true)
            try await client.write(connect + Self.anna + "\r\n\r\n")
            #expect(try await client.head().status == 200)
            #expect(scene.proxy.openTunnels == 1)
        }
    }

    @Test func `inside of what is opened nobody is asked again, and both are told apart`() async throws {
        try await Self.run { settings, origin in
            settings.add("api", at: "https://\(origin.authority)/") {
                $0.privacy = .partitioned
                $0.identity = [.user]
            }
        } _: { (scene) async throws in
            scene.origin.answer { _ in
                let number = "\(scene.origin.seen.count)"
                return "HTTP/1.1 200 OK\r\nCache-Control: private, max-age=600\r\nContent-Length: 1\r\n\r\n\(number)"
            }
            let trust = try InterceptionScenarios.trust(scene)
            await #expect(throws: (any Error).self) { try await scene.tunnel(trusting: trust) }
            let (hers, his) = (
                try await scene.tunnel(trusting: trust, Self.anna), try await scene.tunnel(trusting: trust, Self.ben)
            )
            let first = try await InterceptionScenarios.get(hers, scene, "/a").text
            let second = try await InterceptionScenarios.get(his, scene, "/a").text
            #expect(first != second)
            for _ in 0..<5 {
                #expect(try await InterceptionScenarios.get(hers, scene, "/a").text == first)
                #expect(try await InterceptionScenarios.get(his, scene, "/a").text == second)
            }
            #expect(scene.origin.seen.count == 2)
            try await eventually("all are noted") { scene.proxy.requests.notes().contains { $0.user == "ben" } }
        }
    }

    @Test func `the connections of whoever is gone end with a reload, and those of others do not`() async throws {
        try await Self.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            let trust = try InterceptionScenarios.trust(scene)
            let (hers, his) = (
                try await scene.tunnel(trusting: trust, Self.anna), try await scene.tunnel(trusting: trust, Self.ben)
            )
            for client in [hers, his] {
                for _ in 0..<6 { #expect(try await InterceptionScenarios.get(client, scene, "/a").text == "/a") }
            }
            #expect(scene.count(.answeredAtOnce) > 0)
            try await scene.reload { UserScenarios.asking(&$0, [TestUsers.ben]) }
            _ = try await hers.end()
            for _ in 0..<6 { #expect(try await InterceptionScenarios.get(his, scene, "/a").text == "/a") }
        }
    }

    @Test func `a connection that was just told to rest ends with its user all the same`() async throws {
        try await Self.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            let client = try await scene.tunnel(trusting: try InterceptionScenarios.trust(scene), Self.anna)
            #expect(try await InterceptionScenarios.get(client, scene, "/a").text == "/a")
            await scene.proxy.settle()
            let count = try await scene.proxy.anyContext().run { context in
                let connections = (context.clients as? ClientConnections)?.connections.all ?? []
                for connection in connections {
                    connection.goToRest()
                    connection.revoke()
                }
                return connections.count { $0.shallRest }
            }
            #expect(count == 1)
            _ = try await client.end()
        }
    }

    @Test func `a response under way inside is finished, and is the last one`() async throws {
        try await Self.run { (scene) async throws in
            let client = try await scene.tunnel(trusting: try InterceptionScenarios.trust(scene), Self.anna)
            scene.origin.answer { _ in nil }
            try await client.send("GET /slow HTTP/1.1", "Host: \(scene.origin.authority)")
            let request = try await scene.origin.request()
            try await scene.reload { UserScenarios.asking(&$0, [TestUsers.ben]) }
            try await request.reply("Cache-Control: no-store", content: "whole")
            let answer = try await client.response()
            #expect(answer.text == "whole" && answer["Connection"] == "close")
            _ = try await client.end()
        }
    }

    @Test func `a blind tunnel ends with its user, and when clients have to say who they are`() async throws {
        try await Self.run(opens: false) { (scene) async throws in
            let (hers, his) = (try await scene.tunnel(Self.anna), try await scene.tunnel(Self.ben))
            try await scene.reload { UserScenarios.asking(&$0, [TestUsers.ben]) }
            _ = try await hers.end()
            try await eventually("one is left") { scene.proxy.openTunnels == 1 }
            // Without users everybody is served, and with them again nobody who has not said who it is.
            try await scene.reload { $0.access = Settings.Access() }
            let somebody = try await scene.tunnel()
            try await scene.reload { UserScenarios.asking(&$0, [TestUsers.ben]) }
            _ = try await somebody.end()
            try await eventually("his is left") { scene.proxy.openTunnels == 1 }
            await his.close()
        }
    }

    /// A port that is taken, and where nobody listens.
    private static func unheardPort() -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                _ = bind(descriptor, raw, length)
                _ = getsockname(descriptor, raw, &length)
            }
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    @Test func `a WebSocket ends with its user`() async throws {
        try await Scenario.run { settings, _ in
            UserScenarios.asking(&settings)
        } _: { (scene) async throws in
            let client = try await scene.client()
            try await client.get(
                scene.url("/chat"), Self.anna, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x")
            let request = try await scene.origin.request()
            #expect(request["Proxy-Authorization"] == nil)
            try await request.write(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nhello")
            #expect(try await client.response().status == 101)
            #expect(try await client.text(5) == "hello")
            try await scene.reload { UserScenarios.asking(&$0, [TestUsers.ben]) }
            _ = try await client.end()
            _ = try await request.wire.end()
            request.finish()
        }
    }

    /// Removed, or anonymous where users are named from now on.
    @Test(arguments: [true, false])
    func `a WebSocket that is not open yet does not outlast its user`(wasUser: Bool) async throws {
        try await Scenario.run { settings, _ in
            if wasUser { UserScenarios.asking(&settings) }
        } _: { (scene) async throws in
            let client = try await scene.client()
            let fields = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x"]
            try await client.get(scene.url("/chat"), (wasUser ? [Self.anna] : []) + fields)
            let request = try await scene.origin.request()
            try await scene.reload { UserScenarios.asking(&$0, [TestUsers.ben]) }
            try await request.write(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nhello")
            _ = try await client.end()
            #expect(client.pending == 0)
            _ = try await request.wire.end()
            request.finish()
        }
    }

    @Test func `a CONNECT that fails says nothing about the next request`() async throws {
        try await Self.run(opens: false) { (scene) async throws in
            let client = try await scene.client()
            let closed = Self.unheardPort()
            defer { close(closed.descriptor) }
            let authority = "127.0.0.1:\(closed.port)"
            try await client.write("CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\n\(Self.anna)\r\n\r\n")
            #expect(try await client.response().status == 502)
            try await client.get("http://\(authority)/")
            #expect(try await client.response().status == 407)
        }
    }

    @Test func `a certificate says who a client is, and what it gets is for nobody without one`() async throws {
        let directory = FreshDirectory()
        let (server, team) = (TestAuthority(), TestAuthority())
        func write(_ text: String, to name: String) throws -> String {
            let path = "\(directory.path)/\(name)"
            let file = try #require(fopen(path, "w"))
            fputs(text, file)
            fclose(file)
            return path
        }
        let own = server.identity("DNS:localhost,IP:127.0.0.1")
        let files = (
            certificate: try write(own.certificate, to: "server.pem"), key: try write(own.privateKey, to: "server.key"),
            team: try write(team.pem, to: "team.pem")
        )
        let cleo = team.identity("DNS:cleo", subject: "cleo")
        let hers = (
            certificate: try write(cleo.certificate, to: "cleo.pem"), key: try write(cleo.privateKey, to: "cleo.key")
        )
        try await Scenario.run { settings, origin in
            UserScenarios.asking(&settings)
            settings.threads = 1
            settings.tls.listen = [.loopback(port: 0)]
            settings.tls.certificate = files.certificate
            settings.tls.key = files.key
            settings.tls.clientCA = files.team
        } _: { (scene) async throws in
            scene.origin.answer(InterceptionScenarios.fresh)
            let address = try #require(scene.proxy.tlsAddresses.first)
            func client(proves: Bool) async throws -> Wire {
                let trust = try TLSClientContext(
                    trustsSystem: false, authorities: server.pem, certificateFile: proves ? hers.certificate : nil,
                    keyFile: proves ? hers.key : nil)
                return try await scene.connect(to: address, "the client over TLS") { stream in
                    try await stream.startTLS(client: trust, serverName: "127.0.0.1")
                }
            }
            let proven = try await client(proves: true)
            for _ in 0..<6 {
                try await proven.get(scene.url("/a"))
                #expect(try await proven.response().text == "/a")
            }
            #expect(scene.count(.answeredAtOnce) > 0)
            // A reload with the same authorities keeps the connection.
            try await scene.reload { $0.log.access.toggle() }
            try await scene.reload { $0.log.access.toggle() }
            try await proven.get(scene.url("/a"))
            #expect(try await proven.response().text == "/a")
            // From now on certificates are not asked for: whoever was let in by one is asked like everybody.
            try await scene.reload { $0.tls.clientCA = nil }
            _ = try await proven.end()
            let other = try await client(proves: false)
            for _ in 0..<2 {
                try await other.get(scene.url("/a"))
                #expect(try await other.response().status == 407)
            }
            try await other.get(scene.url("/a"), Self.anna)
            #expect(try await other.response().text == "/a")
        }
    }
}
