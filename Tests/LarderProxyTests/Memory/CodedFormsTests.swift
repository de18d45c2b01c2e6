// SPDX-License-Identifier: Apache-2.0
import LarderCodings
import LarderHTTP
import LarderIO
import LarderRules
import LarderTesting
import Testing

@testable import Larder
@testable import LarderProxy

@Suite("The forms of a stored response")
struct CodedFormsTests {
    static let policy: CachePolicy = {
        var policy = CachePolicy()
        policy.codings = [.br, .gzip]
        return policy
    }()

    static func variant(_ fields: Fields = ["Content-Type": "text/plain", "ETag": "\"a\""]) -> Variant {
        let stored = StoredResponse(
            ResponseHead(status: 200, fields: fields), to: RequestHead(), requestTime: Timestamp(seconds: 1000),
            responseTime: Timestamp(seconds: 1000), contentLength: 6, policy: policy)
        return Variant(
            stored: stored, content: .memory([ContentChunk("apples".utf8)], length: 6),
            storedAt: Timestamp(seconds: 1000), via: "1.1 larder")
    }

    static let product = CodedForms.Product(
        chunks: [ContentChunk("coded".utf8)], length: 5, digest: "0123456789abcdef")

    /// Makes something once it is told to, and counts.
    final class Maker: Sendable {
        let calls = Recorder<String>()
        private let gate = Lock<CheckedContinuation<Void, Never>?>(nil)
        let making: CodedForms.Making

        init(_ making: CodedForms.Making) { self.making = making }

        func make() async -> CodedForms.Making {
            calls("made")
            await withCheckedContinuation { continuation in gate.withLock { $0 = continuation } }
            return making
        }

        func open() async throws {
            try await eventually("somebody makes it") { gate.withLock { $0 != nil } }
            gate.withLock { $0.take() }?.resume()
        }
    }

    @Test func `a form is made once, however many ask`() async throws {
        let variant = Self.variant()
        let forms = try #require(variant.forms)
        let maker = Maker(.made(Self.product))
        let made = await withTaskGroup(of: Variant?.self) { group in
            for _ in 0..<50 {
                group.addTask { await forms.form(.br, of: variant) { await maker.make() } }
            }
            try? await maker.open()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(made.allSatisfy { $0?.text == "coded" })
        #expect(maker.calls.values.count == 1)
        let form = try #require(made.first ?? nil)
        #expect(form.served.fields[.eTag] == "\"a;larder.br.0123456789abcdef\"")
        #expect(form.served.fields[.contentEncoding] == "br")
        #expect(form.served.fields[.vary] == "Accept-Encoding")
        #expect(form.stored === variant.stored)
        #expect(form.forms == nil)
        #expect(variant.cost > Self.variant().cost + 5)
    }

    @Test func `what found no room is tried again by who comes later`() async throws {
        let variant = Self.variant()
        let forms = try #require(variant.forms)
        #expect(await forms.form(.br, of: variant) { .busy } == nil)
        #expect(await forms.form(.br, of: variant) { .made(Self.product) }?.text == "coded")
    }

    @Test func `what cannot be made is not tried again`() async throws {
        let variant = Self.variant()
        let forms = try #require(variant.forms)
        #expect(await forms.form(.gzip, of: variant) { .impossible } == nil)
        #expect(await forms.form(.gzip, of: variant) { .made(Self.product) } == nil)
        #expect(await forms.form(.br, of: variant) { .made(Self.product) }?.text == "coded")
    }

    @Test func `forms stay when their response is freshened, and get its new fields`() async throws {
        let variant = Self.variant()
        _ = await variant.forms?.form(.br, of: variant) { .made(Self.product) }
        let fresher = Self.variant(["Content-Type": "text/plain", "ETag": "\"b\"", "X-New": "yes"]).stored
        let fresh = variant.with(fresher, via: "1.1 larder")
        let form = await fresh.forms?.form(.br, of: fresh) { .impossible }
        #expect(form?.text == "coded")
        #expect(form?.served.fields["X-New"] == "yes")
        #expect(form?.served.fields[.eTag] == "\"b;larder.br.0123456789abcdef\"")
    }

    @Test func `there are none where the octets go out as they came`() {
        #expect(Self.variant(["Content-Type": "image/png"]).forms == nil)
        #expect(Variant.variant("apples", fields: ["Content-Type": "text/plain"]).forms == nil)
    }

    // MARK: Octets

    @Test(arguments: [ServedCoding.identity, .gzip, .br, .zstd], [ServedCoding.identity, .gzip, .br, .zstd])
    func `content comes out of every coding what it was`(from: ServedCoding, to: ServedCoding) throws {
        let octets = Array(String(repeating: "apples and pears ", count: 100).utf8)
        let received = try ContentCoding(token: from.rawValue)?.encode(octets) ?? octets
        let product = try #require(try ContentRecoder.recode(received, from: from, to: to, limit: 1 << 20))
        let given = product.chunks.flatMap(\.bytes)
        #expect(try ContentCoding(token: to.rawValue)?.decode(given, limit: 1 << 20) ?? given == octets)
        #expect(product.length == given.count)
        #expect(product.digest.count == CodedTag.digestLength)
    }

    @Test func `what is damaged, grows without bounds or gains nothing is not made`() throws {
        let bomb = try ContentCoding.gzip.encode([UInt8](repeating: 0, count: 1 << 20))
        #expect(throws: CodingError(.gzip, .tooLarge(limit: 1 << 16))) {
            try ContentRecoder.recode(bomb, from: .gzip, to: .identity, limit: 1 << 16)
        }
        #expect(throws: CodingError(.gzip, .truncated)) {
            try ContentRecoder.recode(Array(bomb.dropLast(9)), from: .gzip, to: .br, limit: 1 << 21)
        }
        let noise = (0..<1024).map { _ in UInt8.random(in: .min ... .max) }
        #expect(try ContentRecoder.recode(noise, from: .identity, to: .gzip, limit: 1 << 20) == nil)
    }
}
