// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderTesting
import Testing

@testable import LarderIO

@Suite("The local authority", .timeLimit(.minutes(10)))
struct LocalAuthorityTests {
    static var now: Int64 { Int64(time(nil)) }

    static func authority(_ now: Int64 = now) throws -> LocalAuthority {
        try LocalAuthority(machine: "desk", day: "2026-11-22", now: now)
    }

    /// The octets that a client trusting `trusted` gets of a server with `leaf`, which has read some octets already.
    static func talk(
        _ leaf: LeafCertificate, _ context: TLSServerContext, _ client: TLSClientContext, host: String,
        early count: Int = 0
    ) async throws -> (text: String, isResumed: Bool?, failure: IOError?) {
        try await onLoop { loop in
            let failure = Lock<IOError?>(nil)
            let stream = try TLSTests.connection(on: loop) { server in
                var early: [UInt8] = []
                while early.count < count, let some = try? await server.readSome(count - early.count), !some.isEmpty {
                    early += some
                }
                do throws(IOError) {
                    try await server.startTLS(server: context, leaf: leaf, early: early)
                    try await server.write(Array("over TLS".utf8))
                    server.shutdownWrite()
                    _ = try await server.readAll()
                } catch { failure.withLock { $0 = error } }
            }
            defer { stream.close() }
            var text = ""
            do throws(IOError) {
                try await stream.startTLS(client: client, serverName: host)
                text = try await stream.readAll().text
            } catch {
                stream.close()
                while failure.withLock({ $0 == nil }) { await loop.yield() }
            }
            return (text, stream.agreement?.isResumed, failure.withLock { $0 })
        }
    }

    @Test(arguments: ["origin.example", "127.0.0.1", "::1", "a_b.example", String(repeating: "a.", count: 60) + "test"])
    func `a leaf is good for its host, whatever was read before`(host: String) async throws {
        let authority = try Self.authority()
        let leaf = try authority.leaf(for: host, now: Self.now)
        let context = try TLSServerContext()
        let client = try TLSClientContext(trustsSystem: false, authorities: authority.pem)
        for early in [0, 1, 5, 100] {
            let outcome = try await Self.talk(leaf, context, client, host: host, early: early)
            #expect(outcome.failure == nil)
            #expect(outcome.text == "over TLS")
        }
    }

    @Test func `a leaf is good for its host alone`() async throws {
        let authority = try Self.authority()
        let client = try TLSClientContext(trustsSystem: false, authorities: authority.pem)
        let outcome = try await Self.talk(
            authority.leaf(for: "origin.example", now: Self.now), TLSServerContext(), client, host: "other.example")
        #expect(outcome.text.isEmpty)
        #expect(outcome.failure?.isCertificateRefusal == true)
    }

    @Test func `a client that does not trust the authority says so`() async throws {
        let client = try TLSClientContext(trustsSystem: false, authorities: try Self.authority().pem)
        let outcome = try await Self.talk(
            Self.authority().leaf(for: "origin.example", now: Self.now), TLSServerContext(), client,
            host: "origin.example")
        #expect(outcome.failure?.isCertificateRefusal == true)
    }

    @Test func `what was agreed on as one host is resumed as that host and as no other`() async throws {
        let authority = try Self.authority()
        let context = try TLSServerContext()
        let client = try TLSClientContext(trustsSystem: false, authorities: authority.pem)
        let leaf = try authority.leaf(for: "origin.example", now: Self.now)
        _ = try await Self.talk(leaf, context, client, host: "origin.example")
        let again = try await Self.talk(leaf, context, client, host: "origin.example")
        #expect(again.isResumed == true)
        #expect(leaf.sessionName != (try authority.leaf(for: "other.example", now: Self.now)).sessionName)
    }

    @Test func `it comes back from its files, and lasts longer when it is renewed`() async throws {
        let authority = try Self.authority()
        let again = try LocalAuthority(
            certificate: authority.pem, privateKey: String(decoding: authority.keyFile, as: UTF8.self))
        #expect(again.fingerprint == authority.fingerprint)
        #expect(again.notAfter == authority.notAfter)
        #expect(authority.name == "Larder CA of desk, 2026-11-22")
        let renewed = try again.renewed(now: Self.now + 86_400)
        #expect(renewed.notAfter > authority.notAfter)
        #expect(renewed.fingerprint != authority.fingerprint)
        // A client that trusts the old certificate still trusts what is signed now.
        let client = try TLSClientContext(trustsSystem: false, authorities: authority.pem)
        let outcome = try await Self.talk(
            renewed.leaf(for: "origin.example", now: Self.now), TLSServerContext(), client, host: "origin.example")
        #expect(outcome.text == "over TLS")
    }

    @Test func `certificates and keys that do not belong together are no authority`() throws {
        let (one, other) = (try Self.authority(), try Self.authority())
        #expect(throws: IOError.self) {
            try LocalAuthority(
                certificate: one.pem, privateKey: String(decoding: other.keyFile, as: UTF8.self))
        }
        let leaf = TestAuthority().identity("DNS:origin.example")
        #expect(throws: IOError.self) {
            try LocalAuthority(certificate: leaf.certificate, privateKey: leaf.privateKey)
        }
    }

    @Test func `no leaf outlives the authority`() throws {
        let authority = try Self.authority()
        let late = authority.notAfter - 60
        #expect(try authority.leaf(for: "origin.example", now: late).notAfter == authority.notAfter)
        #expect(throws: IOError.self) { try authority.leaf(for: "origin.example", now: authority.notAfter) }
        #expect(throws: IOError.self) { try authority.leaf(for: "a,DNS:b", now: late) }
    }
}
