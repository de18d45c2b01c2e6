// SPDX-License-Identifier: Apache-2.0
import LarderCodings
import LarderHTTP
import LarderRules
import LarderUpstream
import Testing

@testable import LarderProxy

@Suite("Links in content that arrives")
struct LinkStreamTests {
    private func stream(_ coding: ServedCoding) throws -> LinkStream {
        try #require(LinkStream(try LinkScannerTests().map(), undoing: coding))
    }

    /// All pieces made of one chunk.
    private func pieces(_ octets: [UInt8], _ stream: LinkStream) throws -> [ContentChunk] {
        var part = stream.part(ContentChunk(octets))
        var pieces: [ContentChunk] = []
        while !part.isDone { pieces += try stream.take(&part) }
        return try pieces + stream.finish()
    }

    @Test(arguments: [ServedCoding.identity, .gzip, .br, .zstd])
    func `a long chunk becomes short pieces`(coding: ServedCoding) throws {
        let text = Array(String(repeating: #"{"next":"https://api.example/v1/users?page=2"}"#, count: 40_000).utf8)
        let octets = try ContentCoding(token: coding.rawValue)?.encode(text) ?? text
        let pieces = try pieces(octets, stream(coding))
        #expect(pieces.allSatisfy { $0.count < 256 << 10 })
        let expected = String(repeating: #"{"next":"http://localhost:3128/api/users?page=2"}"#, count: 40_000)
        #expect(pieces.flatMap(\.bytes).elementsEqual(expected.utf8))
    }

    @Test(arguments: [256, 16 << 10, 256 << 10])
    func `others get their turns however the content is divided into chunks`(count: Int) throws {
        let stream = try stream(.identity)
        var (turns, longest, length) = (0, 0, 0)
        let text = Array(String(repeating: #"{"next":"https://api.example/v1/../x"}"#, count: 1 << 15).utf8)
        for start in Swift.stride(from: 0, to: text.count, by: count) {
            var part = stream.part(ContentChunk(Array(text[start..<min(start + count, text.count)])))
            repeat {
                length += try stream.take(&part).reduce(0) { $0 + $1.count }
                if stream.endsTurn() { (turns, longest, length) = (turns + 1, max(longest, length), 0) }
            } while !part.isDone
        }
        #expect(turns > 16)
        #expect(longest < 64 << 10)
    }

    @Test(arguments: [ServedCoding.gzip, .br, .zstd])
    func `a bomb is refused before it is long`(coding: ServedCoding) throws {
        let blanks = [UInt8](repeating: 32, count: 64 << 20)
        let bomb = try #require(try ContentCoding(token: coding.rawValue)?.encode(blanks))
        let stream = try stream(coding)
        var part = stream.part(ContentChunk(bomb))
        var made = 0
        #expect(throws: UpstreamError.self) {
            while !part.isDone { made += try stream.take(&part).reduce(0) { $0 + $1.count } }
        }
        #expect(made < 32 << 20)
    }
}
