// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import Foundation
import Glibc
import LarderTesting
import Testing

@testable import LarderIO

@Suite("TLS", .timeLimit(.minutes(10)))
struct TLSTests {
    struct Side: Sendable {
        let server: TLSServerContext
        let client: TLSClientContext
    }

    static func contexts(
        _ names: String = "DNS:origin.example,IP:127.0.0.1", validity: ClosedRange<Int> = -3600...86400,
        trusting: Bool = true, offering protocols: [String] = ["http/1.1"]
    ) throws -> Side {
        let authority = TestAuthority()
        let identity = authority.identity(names, validity: validity)
        return Side(
            server: try identity.serverContext(),
            client: try TLSClientContext(
                trustsSystem: false, authorities: trusting ? authority.pem : TestAuthority().pem,
                applicationProtocols: protocols))
    }

    /// Both ends of a TCP connection. `serve` runs at the server's end, as a task of its own.
    static func connection(
        on loop: isolated EventLoop, serve: @escaping (ByteStream) async -> Void
    ) throws -> ByteStream {
        let (a, b) = try connectedPair(AF_INET)
        let server = try ByteStream(adopting: b, on: loop)
        loop.spawnHere {
            await serve(server)
            server.close()
        }
        return try ByteStream(adopting: a, on: loop)
    }

    /// The error of a handshake with the server of `side` as `host`.
    static func failure(_ side: Side, host: String) async throws -> IOError? {
        try await onLoop { loop -> IOError? in
            let client = try connection(on: loop) { try? await $0.startTLS(server: side.server) }
            defer { client.close() }
            do throws(IOError) {
                try await client.startTLS(client: side.client, serverName: host)
                // The server says what it does not like after the client is done (TLS 1.3).
                _ = try await client.readSome()
                return nil
            } catch { return error }
        }
    }

    @Test(arguments: ["origin.example", "ORIGIN.example.", "127.0.0.1"])
    func `a verified peer is talked to`(host: String) async throws {
        let side = try Self.contexts()
        let (text, agreement) = try await onLoop { loop in
            let client = try Self.connection(on: loop) { server in
                guard (try? await server.startTLS(server: side.server)) != nil else { return }
                while let some = try? await server.readSome(), !some.isEmpty { try? await server.write(some) }
            }
            defer { client.close() }
            try await client.startTLS(client: side.client, serverName: host)
            try await client.write(Array("over TLS".utf8))
            client.shutdownWrite()
            return (try await client.readAll().text, client.agreement)
        }
        #expect(text == "over TLS")
        #expect(agreement?.version == "TLSv1.3")
        #expect(agreement?.applicationProtocol == "http/1.1")
        #expect(agreement?.isResumed == false)
    }

    @Test(arguments: ["other.example", "127.0.0.2", "sub.origin.example"])
    func `a certificate for another host is refused`(host: String) async throws {
        let error = try #require(try await Self.failure(Self.contexts(), host: host))
        #expect(error.code == .certificateInvalid)
        #expect(error.description.contains("for another host"))
    }

    @Test func `a common name is no name of a certificate`() async throws {
        let authority = TestAuthority()
        let identity = authority.identity(subject: "origin.example")
        let side = Side(
            server: try identity.serverContext(),
            client: try TLSClientContext(trustsSystem: false, authorities: authority.pem))
        #expect(try await Self.failure(side, host: "origin.example")?.code == .certificateInvalid)
    }

    @Test func `a certificate from an unknown issuer is refused`() async throws {
        let error = try #require(try await Self.failure(Self.contexts(trusting: false), host: "origin.example"))
        #expect(error.code == .certificateInvalid)
        #expect(error.description.contains("issuer"))
    }

    @Test func `an expired certificate is refused`() async throws {
        let side = try Self.contexts(validity: -7200...(-3600))
        let error = try #require(try await Self.failure(side, host: "origin.example"))
        #expect(error.code == .certificateInvalid)
        #expect(error.description.contains("expired"))
    }

    @Test func `a certificate of the future is refused`() async throws {
        let side = try Self.contexts(validity: 3600...7200)
        let error = try #require(try await Self.failure(side, host: "origin.example"))
        #expect(error.code == .certificateInvalid)
        #expect(error.description.contains("not valid yet"))
    }

    @Test func `without a common application protocol there is no agreement`() async throws {
        let error = try #require(try await Self.failure(Self.contexts(offering: ["h9"]), host: "origin.example"))
        #expect(error.code == .tlsFailed)
    }

    @Test func `a peer that does not speak TLS is told apart`() async throws {
        let side = try Self.contexts()
        let error = try await onLoop { loop -> IOError? in
            let client = try Self.connection(on: loop) { server in
                try? await server.write(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
                _ = try? await server.readSome()
            }
            defer { client.close() }
            do throws(IOError) {
                try await client.startTLS(client: side.client, serverName: "origin.example")
                return nil
            } catch { return error }
        }
        #expect(error?.code == .tlsFailed)
        #expect(error?.description.contains("does not speak TLS") == true)
    }

    @Test func `much data goes both ways at once, in gathered and in single writes`() async throws {
        let side = try Self.contexts()
        let size = 1 << 20
        let (received, echoed) = try await onLoop { loop in
            var received = 0
            let client = try Self.connection(on: loop) { server in
                guard (try? await server.startTLS(server: side.server)) != nil else { return }
                loop.spawnHere {
                    let part = UnsafeMutableRawBufferPointer.allocate(byteCount: 700, alignment: 1)
                    defer { part.deallocate() }
                    part.initializeMemory(as: UInt8.self, repeating: 9)
                    var parts = GatherList()
                    for _ in 0..<60 { parts.append(UnsafeRawBufferPointer(part)) }
                    for _ in 0..<25 { try? await server.write(parts) }
                    server.shutdownWrite()
                }
                while let some = try? await server.readSome(5000), !some.isEmpty { received += some.count }
                while !server.isPeerClosed { await loop.yield() }
            }
            defer { client.close() }
            try await client.startTLS(client: side.client, serverName: "origin.example")
            loop.spawnHere {
                try? await client.write([UInt8](repeating: 3, count: size))
                client.shutdownWrite()
            }
            let echoed = try await client.readAll()
            while received < size { await loop.yield() }
            return (received, echoed)
        }
        #expect(received == size)
        #expect(echoed.count == 700 * 60 * 25)
        #expect(echoed.allSatisfy { $0 == 9 })
    }

    @Test func `an end without close_notify is a broken connection, one with it is an end`() async throws {
        let side = try Self.contexts()
        for isOrderly in [true, false] {
            let outcome = try await onLoop { loop in
                let client = try Self.connection(on: loop) { server in
                    guard (try? await server.startTLS(server: side.server)) != nil else { return }
                    try? await server.write(Array("part".utf8))
                    // The kernel's end of the stream, without OpenSSL knowing.
                    if !isOrderly { Glibc.shutdown(server.descriptor, SocketKind.ourSide) }
                }
                defer { client.close() }
                try await client.startTLS(client: side.client, serverName: "origin.example")
                var outcome = [try await client.readSome().text]
                do throws(IOError) { outcome.append(try await client.readSome().text) } catch {
                    outcome.append("\(error.code)")
                }
                return outcome
            }
            #expect(outcome == ["part", isOrderly ? "" : "connectionReset"])
        }
    }

    @Test func `a client that waits for input may write, though the handshake waited for some`() async throws {
        let side = try Self.contexts()
        let answer = try await onLoop { loop in
            let client = try Self.connection(on: loop) { server in
                guard (try? await server.startTLS(server: side.server)) != nil else { return }
                while let some = try? await server.readSome(), !some.isEmpty { try? await server.write(some) }
            }
            defer { client.close() }
            client.setDeadline(after: .seconds(20))
            try await client.startTLS(client: side.client, serverName: "origin.example")
            var answer: [UInt8]?
            loop.spawnHere { answer = try? await client.readExactly(4) }
            // Until the reader has found that nothing is there, the session's tickets included.
            while client.isReadable { await loop.yield() }
            try await client.write(Array("said".utf8))
            while answer == nil, client.isOpen { await loop.yield() }
            return answer?.text
        }
        #expect(answer == "said")
    }

    @Test func `a host's session is resumed`() async throws {
        let side = try Self.contexts()
        let resumed = try await onLoop { loop in
            var resumed: [Bool?] = []
            for host in ["origin.example", "origin.example", "127.0.0.1"] {
                let client = try Self.connection(on: loop) { server in
                    guard (try? await server.startTLS(server: side.server)) != nil else { return }
                    try? await server.write(Array("x".utf8))
                    _ = try? await server.readSome()
                }
                try await client.startTLS(client: side.client, serverName: host)
                // Tickets come after the handshake, before the first octet.
                _ = try await client.readSome()
                resumed.append(client.agreement?.isResumed)
                client.close()
            }
            return resumed
        }
        #expect(resumed == [false, true, false])
    }

    @Test func `a session ends with the certificate that it was made with`() async throws {
        // Valid for two seconds more.
        let side = try Self.contexts(validity: -3600...2)
        let error = try await onLoop { loop -> IOError? in
            let begun = ContinuousClock.now
            while true {
                let client = try Self.connection(on: loop) { server in
                    guard (try? await server.startTLS(server: side.server)) != nil else { return }
                    try? await server.write(Array("x".utf8))
                    _ = try? await server.readSome()
                }
                defer { client.close() }
                do throws(IOError) {
                    try await client.startTLS(client: side.client, serverName: "origin.example")
                    _ = try await client.readSome()
                } catch { return error }
                guard begun.duration(to: .now) < .seconds(30) else { return nil }
            }
        }
        #expect(error?.code == .certificateInvalid)
    }

    @Test func `small records are read many at a time, and others have their turns meanwhile`() async throws {
        let side = try Self.contexts()
        let count = 20_000
        let (reads, turns) = try await onLoop { loop in
            let client = try Self.connection(on: loop) { server in
                guard (try? await server.startTLS(server: side.server)) != nil else { return }
                for _ in 0..<count { try? await server.write([1]) }
                _ = try? await server.readSome()
            }
            defer { client.close() }
            try await client.startTLS(client: side.client, serverName: "origin.example")
            var (reads, turns, received, isOver) = (0, 0, 0, false)
            loop.spawnHere {
                while !isOver {
                    turns += 1
                    await loop.yield()
                }
            }
            while received < count {
                received += try await client.readSome().count
                reads += 1
            }
            isOver = true
            return (reads, turns)
        }
        #expect(reads < count / 4 && reads >= count / 64, "\(reads)")
        #expect(turns > reads / 32, "\(turns) for \(reads)")
    }

    @Test func `between exchanges nothing is pending, whatever TLS sends for itself`() async throws {
        let side = try Self.contexts()
        let log = try await onLoop { loop in
            let client = try Self.connection(on: loop) { server in
                guard (try? await server.startTLS(server: side.server)) != nil else { return }
                while let some = try? await server.readSome(), !some.isEmpty { try? await server.write(some) }
            }
            defer { client.close() }
            try await client.startTLS(client: side.client, serverName: "origin.example")
            var log: [Bool] = []
            for _ in 0..<3 {
                try await client.write(Array("again".utf8))
                log.append(try await client.readExactly(5).text == "again")
                log.append(client.hasPendingInput)
            }
            try await client.write(Array("unasked".utf8))
            _ = try await client.readExactly(3)
            log.append(client.hasPendingInput)
            return log
        }
        #expect(log == [true, false, true, false, true, false, true])
    }

    @Test func `a handshake that stalls fails when the deadline passes`() async throws {
        let side = try Self.contexts()
        let time = ManualTime()
        let code = try await onLoop(time: time) { loop in
            let (stream, peer) = try streamAndPeer(on: loop, AF_INET)
            defer {
                stream.close()
                peer.close()
            }
            stream.setDeadline(after: .seconds(10))
            loop.spawnHere {
                await loop.yield()
                time.advance(by: .seconds(10))
            }
            do throws(IOError) {
                try await stream.startTLS(client: side.client, serverName: "origin.example")
                return "agreed"
            } catch { return "\(error.code)" }
        }
        #expect(code == "timedOut")
    }

    @Test func `a server agrees without a task, with clients that speak early, late, nonsense or not`() async throws {
        let side = try Self.contexts()
        let outcomes = try await onLoop { loop in
            var outcomes: [String] = []
            for kind in ["early", "late", "nonsense", "silence"] {
                let (a, b) = try connectedPair(AF_INET)
                let (stream, peer) = (try ByteStream(adopting: b, on: loop), try ByteStream(adopting: a, on: loop))
                var outcome: ByteStream.Agreement?
                loop.spawnHere {
                    if kind == "late" { await loop.yield() }
                    switch kind {
                    case "nonsense": try? await peer.write(Array("GET / HTTP/1.1\r\n\r\n".utf8))
                    case "silence": peer.close()
                    default: try? await peer.startTLS(client: side.client, serverName: "origin.example")
                    }
                }
                stream.setDeadline(after: .seconds(20))
                stream.startTLS(server: side.server) { outcome = $0 }
                while outcome == nil { await loop.yield() }
                outcomes.append("\(kind) \(outcome == .agreed ? "agreed" : "failed")")
                if outcome == .agreed {
                    try await stream.write(Array("said".utf8))
                    outcomes.append(try await peer.readExactly(4).text)
                }
                stream.close()
                peer.close()
            }
            return outcomes
        }
        #expect(outcomes == ["early agreed", "said", "late agreed", "said", "nonsense failed", "silence failed"])
    }

    @Test func `closing ends a handshake under way`() async throws {
        let side = try Self.contexts()
        let code = try await onLoop { loop in
            let (stream, peer) = try streamAndPeer(on: loop, AF_INET)
            defer { peer.close() }
            loop.spawnHere {
                await loop.yield()
                stream.close()
            }
            do throws(IOError) {
                try await stream.startTLS(client: side.client, serverName: "origin.example")
                return "agreed"
            } catch { return "\(error.code)" }
        }
        #expect(code == "closed")
    }

    @Test func `a client proves who it is where it has a certificate`() async throws {
        let authority = TestAuthority()
        let (server, client) = (authority.identity("DNS:origin.example"), authority.identity("DNS:client.example"))
        let directory = FreshDirectory()
        for (name, text) in [("certificate", client.certificate), ("key", client.privateKey), ("ca", authority.pem)] {
            try text.write(toFile: "\(directory.path)/\(name)", atomically: true, encoding: .utf8)
        }
        let demanding = try server.serverContext()
        SSL_CTX_set_verify(demanding.context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        #expect(SSL_CTX_load_verify_locations(demanding.context, "\(directory.path)/ca", nil) == 1)
        for hasCertificate in [true, false] {
            let context = try TLSClientContext(
                trustsSystem: false, authorityFiles: ["\(directory.path)/ca"],
                certificateFile: hasCertificate ? "\(directory.path)/certificate" : nil,
                keyFile: hasCertificate ? "\(directory.path)/key" : nil)
            let heard = try await onLoop { loop in
                let stream = try Self.connection(on: loop) { server in
                    guard (try? await server.startTLS(server: demanding)) != nil else { return }
                    while let some = try? await server.readSome(), !some.isEmpty { try? await server.write(some) }
                }
                defer { stream.close() }
                try await stream.startTLS(client: context, serverName: "origin.example")
                try? await stream.write(Array("me".utf8))
                return (try? await stream.readSome())?.text
            }
            #expect((heard == "me") == hasCertificate)
        }
        #expect {
            try TLSClientContext(certificateFile: "\(directory.path)/certificate", keyFile: "\(directory.path)/ca")
        } throws: { "\($0)".contains("private key") }
    }

    @Test func `contexts say what is wrong with what they are given`() throws {
        let identity = TestAuthority().identity("DNS:a.example")
        let other = TestAuthority().identity("DNS:a.example")
        func message(_ certificate: String, _ key: String) -> String {
            var given = identity
            (given.certificate, given.privateKey) = (certificate, key)
            do {
                _ = try given.serverContext()
                return "accepted"
            } catch { return "\(error)" }
        }
        #expect(message(identity.certificate, identity.privateKey) == "accepted")
        #expect(message("nonsense", identity.privateKey).contains("not a readable PEM file of certificates"))
        #expect(message(identity.certificate, "nonsense").contains("not a readable PEM file of the certificate's key"))
        #expect(message(identity.certificate, other.privateKey).contains("PEM file of the certificate's key"))
        #expect { try TLSClientContext(authorityFiles: ["/nonexistent.pem"]) } throws: {
            "\($0)".contains("/nonexistent.pem")
        }
    }

    @Test func `the system's authorities are read for the first connection, once`() async throws {
        func count(_ context: OpaquePointer) -> Int32 {
            OPENSSL_sk_num(X509_STORE_get0_objects(SSL_CTX_get_cert_store(context)))
        }
        let all = try #require(SSL_CTX_new(TLS_client_method()))
        defer { SSL_CTX_free(all) }
        #expect(SSL_CTX_set_default_verify_paths(all) == 1)
        let context = try TLSClientContext()
        #expect(count(try context.context.made()) == 0)
        try await withThrowingTaskGroup { group in
            for _ in 0..<8 { group.addTask { try await context.prepared() } }
            try await group.waitForAll()
        }
        #expect(count(try context.context.made()) == count(all))
        let none = try TLSClientContext(trustsSystem: false)
        try await none.prepared()
        #expect(count(try none.context.made()) == 0)
    }

    @Test func `who waits for authorities that are not there learns it`() async {
        let reads = Lock(0)
        let trust = SystemTrust {
            reads.withLock { $0 += 1 }
            return false
        }
        async let first = trust.isFound()
        async let second = trust.isFound()
        let found = await [first, second, trust.isFound()]
        #expect(found == [false, false, false])
        #expect(reads.withLock { $0 } == 1)
    }
}

extension ByteStream {
    /// What both ends have agreed on, once TLS has begun.
    var agreement: (version: String, applicationProtocol: String, isResumed: Bool)? {
        guard let ssl = tls?.ssl else { return nil }
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &name, &length)
        let octets = UnsafeBufferPointer(start: name, count: Int(length))
        return (
            version: String(cString: SSL_get_version(ssl)),
            applicationProtocol: String(decoding: octets, as: UTF8.self), isResumed: SSL_session_reused(ssl) == 1
        )
    }
}
