// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderIO
import LarderRules
import LarderSettings
import LarderTesting
import LarderUpstream
import Testing

@testable import LarderProxy

/// Clients that reach Larder itself over TLS.
@Suite("TLS listeners", .timeLimit(.minutes(10)))
struct TLSListenerScenarios {
    /// Certificate and key in files, which the test may replace.
    private final class Files {
        let directory = FreshDirectory()
        let authority = TestAuthority()
        var certificate: String { directory.path + "/server.pem" }
        var key: String { directory.path + "/server.key" }

        init() throws { try renew() }

        func renew() throws {
            let identity = authority.identity("DNS:localhost,IP:127.0.0.1")
            try Files.write(identity.certificate, to: certificate)
            try Files.write(identity.privateKey, to: key)
        }

        static func write(_ text: String, to path: String) throws {
            let file = try #require(fopen(path, "w"))
            fputs(text, file)
            fclose(file)
        }
    }

    private static func run(
        _ configure: @escaping (inout Settings) -> Void = { _ in }, _ body: (Scenario, Files) async throws -> Void
    ) async throws {
        let files = try Files()
        try await Scenario.run { settings, _ in
            settings.tls.listen = [.loopback(port: 0)]
            settings.tls.certificate = files.certificate
            settings.tls.key = files.key
            configure(&settings)
        } _: { scenario in
            scenario.origin.answer(InterceptionScenarios.fresh)
            try await body(scenario, files)
        }
    }

    private static func client(_ scenario: Scenario, _ files: Files) async throws -> Wire {
        let trust = try TLSClientContext(trustsSystem: false, authorities: files.authority.pem)
        let address = try #require(scenario.proxy.tlsAddresses.first)
        return try await scenario.connect(to: address, "the client over TLS") { stream in
            try await stream.startTLS(client: trust, serverName: "127.0.0.1")
        }
    }

    @Test func `a client that has too many connections over TLS is counted as one`() async throws {
        try await Self.run {
            $0.limits.clientConnections = 2
            $0.limits.reservedConnections = 0
        } _: { scenario, files in
            for _ in 0..<scenario.proxy.configuration.settings.limits.connectionsOfClient {
                _ = try await Self.client(scenario, files)
            }
            await #expect(throws: IOError.self) { try await Self.client(scenario, files) }
            #expect(scenario.count(.connectionsRefusedByClient) == 1)
            #expect(scenario.count(.connectionsRefused) == 1)
        }
    }

    @Test func `all ways in are there over TLS`() async throws {
        try await Self.run { scenario, files in
            let client = try await Self.client(scenario, files)
            for _ in 0..<2 {
                try await client.get(scenario.url("/a"))
                #expect(try await client.response().text == "/a")
            }
            #expect(scenario.origin.count(of: "/a") == 1)
            try await client.send("GET /-/ready HTTP/1.1", "Host: localhost")
            #expect(try await client.response().text == "ready\n")
            try await client.send("GET /http/\(scenario.origin.authority)/a HTTP/1.1", "Host: localhost")
            #expect(try await client.response().text == "/a")
            try await client.send("CONNECT \(scenario.origin.authority) HTTP/1.1", "Host: \(scenario.origin.authority)")
            #expect(try await client.head().status == 200)
            try await client.send("GET /inside HTTP/1.1", "Host: \(scenario.origin.authority)")
            #expect(try await client.response().text == "/inside")
        }
    }

    @Test(arguments: ["GET /-/ready", "POST /-/ready", "CONNECT a.example:443"])
    func `a client that speaks plain HTTP is told how to speak here`(_ line: String) async throws {
        try await Self.run { scenario, _ in
            let address = try #require(scenario.proxy.tlsAddresses.first)
            let client = try await scenario.connect(to: address, "the client without TLS") { _ in }
            try await client.send("\(line) HTTP/1.1", "Host: localhost")
            let response = try await client.response()
            #expect(response.status == 400 && response.text.contains("https://"))
            #expect(try await client.end() == .closed)
        }
    }

    @Test func `URLs of the gateway say https to clients over TLS`() async throws {
        try await Self.run { scenario, files in
            let origin = scenario.origin.authority
            scenario.origin.answer { _ in
                "HTTP/1.1 302 Found\r\nLocation: http://\(origin)/b\r\nSet-Cookie: a=b; Secure\r\nContent-Length: 0\r\n\r\n"
            }
            let client = try await Self.client(scenario, files)
            try await client.send("GET /http/\(origin)/a HTTP/1.1", "Host: localhost:1")
            let answer = try await client.response()
            #expect(answer["location"] == "https://localhost:1/http/\(origin)/b")
            #expect(answer["set-cookie"]?.hasSuffix("; Secure") == true)
        }
    }

    @Test func `a host that is opened passes unseen where the client reached Larder over TLS`() async throws {
        try await Self.run {
            $0.intercept.hosts = [HostPattern(host: "127.0.0.1")]
        } _: { scenario, files in
            let client = try await Self.client(scenario, files)
            try await client.send("CONNECT \(scenario.origin.authority) HTTP/1.1", "Host: \(scenario.origin.authority)")
            #expect(try await client.head().status == 200)
            try await client.send("GET /inside HTTP/1.1", "Host: \(scenario.origin.authority)")
            #expect(try await client.response().text == "/inside")
            #expect(scenario.proxy.interception.tunnels.map(\.reason) == [.overTLS])
        }
    }

    @Test func `a renewed certificate counts after a reload, and connections go on`() async throws {
        try await Self.run { scenario, files in
            let before = try await Self.client(scenario, files)
            try files.renew()
            try await scenario.reload { _ in }
            let after = try await Self.client(scenario, files)
            for client in [before, after] {
                try await client.get(scenario.url("/a"))
                #expect(try await client.response().text == "/a")
            }
            // Files that cannot be used are refused, and change nothing.
            unlink(files.key)
            await #expect(throws: IOError.self) { try await scenario.reload { _ in } }
            try await Self.client(scenario, files).get(scenario.url("/a"))
        }
    }

    /// The next change of a variable makes the configuration that is in force anew.
    @Test func `a reload that is refused leaves the services' TLS as it was`() async throws {
        let (own, other) = (FreshDirectory(), FreshDirectory())
        for directory in [own, other] { try Files.write(TestAuthority().pem, to: directory.path + "/ca.pem") }
        try await Self.run { settings in
            settings.variables = [VariableScenarios.variable("token", "one")]
            settings.add("api", at: "http://127.0.0.1:1/") { service in
                service.tls.caFile = own.path + "/ca.pem"
                service.configure { $0.headers = [VariableScenarios.bearer("token")] }
            }
        } _: { scenario, files in
            func context() throws -> TLSClientContext? {
                let service = try #require(scenario.proxy.configuration.router.table.services.first)
                return service.tls(for: try #require(service.base))?.context
            }
            let before = try #require(try context())
            unlink(files.key)
            await #expect(throws: IOError.self) {
                try await scenario.reload { $0.services[0].tls.caFile = other.path + "/ca.pem" }
            }
            try await VariableScenarios.set(scenario, "two")
            #expect(try context() === before)
        }
    }

    @Test func `EC-13 what is known of an origin under former TLS settings is forgotten with them`() async throws {
        let own = FreshDirectory()
        func renew() throws { try Files.write(TestAuthority().pem, to: own.path + "/ca.pem") }
        try renew()
        try await Scenario.run { settings, _ in
            settings.add("gone", at: "http://127.0.0.1:1/") { $0.tls.caFile = own.path + "/ca.pem" }
            settings.add("lost", at: "http://127.0.0.1:2/")
            settings.upstream.breaker.failures = 2
        } _: { (scenario) async throws in
            for (port, number) in [(1, 0), (1, 1), (2, 0), (2, 1)] {
                let client = try await scenario.client()
                try await client.get("http://127.0.0.1:\(port)/\(number)")
                #expect(try await client.response().status == 502)
            }
            func failing() -> [String] { scenario.proxy.originReports().map(\.origin) }
            try await scenario.reload { _ in }
            await scenario.proxy.settle()
            #expect(failing() == ["http://127.0.0.1:1", "http://127.0.0.1:2"])
            try renew()
            try await scenario.reload { _ in }
            try await eventually("it is forgotten") { failing() == ["http://127.0.0.1:2"] }
        }
    }

    @Test func `hits over TLS are answered at once, however many are asked for in one go`() async throws {
        try await Self.run { scenario, files in
            let client = try await Self.client(scenario, files)
            for count in [1, 1, 1, 1, 3, 200] {
                for _ in 0..<count { try await client.get(scenario.url("/a")) }
                for _ in 0..<count { #expect(try await client.response().text == "/a") }
                let one = "GET \(scenario.url("/a")) HTTP/1.1\r\nHost: \(scenario.origin.authority)\r\n\r\n"
                try await client.write(String(repeating: one, count: count))
                for _ in 0..<count { #expect(try await client.response().text == "/a") }
            }
            #expect(scenario.count(.answeredAtOnce) > 0)
            #expect(scenario.origin.count(of: "/a") == 1)
        }
    }

    @Test func `a last response arrives whole, and behind it an orderly end`() async throws {
        try await Self.run { scenario, files in
            for (path, size) in [("/short", 10), ("/long", 300_000)] {
                let content = String(repeating: "a", count: size)
                scenario.origin.answer { _ in
                    "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: \(size)\r\n\r\n\(content)"
                }
                for _ in 0..<4 {
                    let client = try await Self.client(scenario, files)
                    try await client.send(
                        "GET \(scenario.url(path)) HTTP/1.1", "Host: \(scenario.origin.authority)", "Connection: close")
                    #expect(try await client.response().text == content)
                    #expect(try await client.end() == .closed)
                }
                #expect(scenario.origin.count(of: path) == 1)
            }
        }
    }

    @Test func `the certificate is the one for the host that the client asks for`() async throws {
        let other = FreshDirectory()
        let authority = TestAuthority()
        let identity = authority.identity("DNS:second.test,DNS:*.wild.test")
        try Files.write(identity.certificate, to: other.path + "/c.pem")
        try Files.write(identity.privateKey, to: other.path + "/k.pem")
        try await Self.run {
            $0.tls.certificates = [TLSIdentityFiles(certificate: other.path + "/c.pem", key: other.path + "/k.pem")]
        } _: { scenario, files in
            let address = try #require(scenario.proxy.tlsAddresses.first)
            for (name, issuer) in [
                ("second.test", authority), ("a.wild.test", authority), ("localhost", files.authority),
                ("127.0.0.1", files.authority),
            ] {
                let trust = try TLSClientContext(trustsSystem: false, authorities: issuer.pem)
                // Twice: a session that is resumed is one with the same certificate.
                for _ in 0..<2 {
                    let client = try await scenario.connect(to: address, "the client of \(name)") { stream in
                        try await stream.startTLS(client: trust, serverName: name)
                    }
                    try await client.get(scenario.url("/a"))
                    #expect(try await client.response().text == "/a")
                    await client.close()
                }
            }
        }
    }

    @Test func `clients prove who they are, and are told apart by that`() async throws {
        let directory = FreshDirectory()
        let (team, strangers) = (TestAuthority(), TestAuthority())
        try Files.write(team.pem, to: directory.path + "/team.pem")
        try await Self.run {
            $0.tls.clientCA = directory.path + "/team.pem"
            $0.services = []
        } _: { scenario, files in
            try await scenario.reload { settings in
                settings.add("api", at: scenario.url("/")) {
                    $0.privacy = .partitioned
                    $0.identity = [.client]
                }
            }
            let address = try #require(scenario.proxy.tlsAddresses.first)
            func ask(_ name: String?, _ issuer: TestAuthority) async throws -> WireMessage {
                var paths: (certificate: String, key: String)?
                if let name {
                    // Certificates of services have no subject, only a name for them.
                    let identity = issuer.identity("DNS:\(name)", subject: name.hasSuffix("-service") ? "" : name)
                    paths = (directory.path + "/\(name).pem", directory.path + "/\(name).key")
                    try Files.write(identity.certificate, to: paths!.certificate)
                    try Files.write(identity.privateKey, to: paths!.key)
                }
                let trust = try TLSClientContext(
                    trustsSystem: false, authorities: files.authority.pem, certificateFile: paths?.certificate,
                    keyFile: paths?.key)
                let client = try await scenario.connect(to: address, "\(name ?? "nobody")") { stream in
                    try await stream.startTLS(client: trust, serverName: "127.0.0.1")
                }
                try await client.get(scenario.url("/a"))
                return try await client.response()
            }
            #expect(try await ask("anna", team)["cache-status"]?.contains("fwd=uri-miss") == true)
            // A renewed certificate is the same user's.
            #expect(try await ask("anna", team)["cache-status"]?.contains("hit") == true)
            #expect(try await ask("ben", team)["cache-status"]?.contains("fwd=uri-miss") == true)
            await #expect(throws: (any Error).self) { try await ask("eve", strangers) }
            await #expect(throws: (any Error).self) { try await ask(nil, team) }
            for name in ["mail-service", "web-service"] {
                #expect(try await ask(name, team)["cache-status"]?.contains("fwd=uri-miss") == true)
                #expect(try await ask(name, team)["cache-status"]?.contains("hit") == true)
            }
            #expect(scenario.origin.count(of: "/a") == 4)
        }
    }

    @Test func `who speaks no TLS, or does not finish, is let go`() async throws {
        try await Self.run {
            $0.timeouts.head = .seconds(3)
        } _: { scenario, files in
            let address = try #require(scenario.proxy.tlsAddresses.first)
            let plain = try await scenario.connect(to: address, "the client without TLS")
            try await plain.send("GET / HTTP/1.1", "Host: localhost")
            _ = try await plain.end()
            let slow = try await scenario.connect(to: address, "the slow client")
            try await slow.write([22, 3, 1, 2, 0, 1])
            _ = try await scenario.lettingTimePass(reaching: .seconds(3)) { try await slow.end() }
        }
    }
}
