// SPDX-License-Identifier: Apache-2.0
import LarderCodings
import Testing

@Suite struct `Content codings` {
    /// Octets that do not repeat, from a generator that gives the same ones each time.
    private static func noise(_ count: Int) -> [UInt8] {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 33)
        }
    }

    private static func words(_ count: Int) -> [UInt8] {
        Array(String(repeating: "the same few words again and again; ", count: count / 36 + 1).utf8.prefix(count))
    }

    struct Content: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let octets: [UInt8]
        init(_ kind: String, _ octets: [UInt8]) {
            testDescription = "\(octets.count) octets of \(kind)"
            self.octets = octets
        }
    }

    private static let contents = [
        Content("nothing", []), Content("zero", [0]), Content("text", words(1_000)), Content("text", words(32_767)),
        Content("text", words(32_768)), Content("text", words(100_000)), Content("noise", noise(1_000)),
        Content("noise", noise(70_000)),
    ]

    private func decode(_ coding: ContentCoding, _ octets: [UInt8], limit: Int = 1 << 30) -> CodingError.Problem? {
        do throws(CodingError) {
            _ = try coding.decode(octets, limit: limit)
            return nil
        } catch {
            #expect(error.coding == coding)
            return error.problem
        }
    }

    @Test(arguments: ContentCoding.allCases, contents)
    func `what was encoded decodes to the same octets`(_ coding: ContentCoding, _ content: Content) throws {
        let encoded = try coding.encode(content.octets)
        let isSame = try coding.decode(encoded, limit: content.octets.count) == content.octets
        #expect(isSame)
        if content.octets.starts(with: "the ".utf8) { #expect(encoded.count < content.octets.count / 5) }
    }

    @Test(arguments: ContentCoding.allCases)
    func `every level decodes`(_ coding: ContentCoding) throws {
        let content = `Content codings`.words(20_000)
        for level in [coding.levels.lowerBound - 1, coding.levels.lowerBound, coding.levels.upperBound, 99] {
            #expect(try coding.decode(coding.encode(content, level: level), limit: 20_000) == content)
        }
    }

    @Test(arguments: ContentCoding.allCases, [1, 7, 100])
    func `content may be decoded in parts of any size`(_ coding: ContentCoding, _ size: Int) throws {
        let content = `Content codings`.words(3_000) + `Content codings`.noise(300)
        let encoded = try coding.encode(content)
        let decoder = try coding.decoder(limit: content.count)
        var output: [UInt8] = []
        for start in stride(from: 0, to: encoded.count, by: size) {
            try decoder.decode(Array(encoded[start..<min(start + size, encoded.count)]), into: &output)
        }
        try decoder.finish()
        #expect(output.elementsEqual(content))
        #expect(decoder.produced == content.count)
    }

    @Test(arguments: ContentCoding.allCases, [1, 5, 50])
    func `content that ends early is said to`(_ coding: ContentCoding, _ kept: Int) throws {
        let encoded = try coding.encode(`Content codings`.noise(500))
        #expect(decode(coding, Array(encoded.prefix(kept))) == .truncated)
        #expect(decode(coding, encoded.dropLast()) == .truncated)
    }

    @Test(arguments: ContentCoding.allCases)
    func `no octets are no content`(_ coding: ContentCoding) throws {
        #expect(try coding.decode([], limit: 10) == [])
        let decoder = try coding.decoder(limit: 10)
        var output: [UInt8] = []
        try decoder.decode([], into: &output)
        try decoder.finish()
        #expect(output.isEmpty)
    }

    @Test(arguments: ContentCoding.allCases)
    func `a bomb stops at the limit`(_ coding: ContentCoding) throws {
        let bomb = try coding.encode([UInt8](repeating: 0, count: 16 << 20))
        #expect(bomb.count < 100_000)
        let decoder = try coding.decoder(limit: 10_000)
        var output: [UInt8] = []
        #expect(throws: CodingError(coding, .tooLarge(limit: 10_000))) { try decoder.decode(bomb, into: &output) }
        #expect(output == [UInt8](repeating: 0, count: 10_000))
        // It stays as it is, whatever comes after.
        #expect(throws: CodingError(coding, .tooLarge(limit: 10_000))) { try decoder.decode([0], into: &output) }
        #expect(throws: CodingError(coding, .tooLarge(limit: 10_000))) { try decoder.finish() }
        #expect(output.count == 10_000)
    }

    @Test(arguments: [ContentCoding.gzip, .deflate, .br, .zstd])
    func `a bomb is decoded in small steps`(_ coding: ContentCoding) throws {
        let content = [UInt8](repeating: 0, count: 10 << 20)
        let coded = try coding.encode(content)
        let decoder = try coding.decoder(limit: content.count)
        var (offset, total, isDone) = (0, 0, false)
        while !isDone {
            var output: [UInt8] = []
            let progress = try coded.withUnsafeBytes {
                try decoder.decode(
                    UnsafeRawBufferPointer(rebasing: $0[offset...]), untilOutputOf: 65_536, into: &output)
            }
            offset += progress.consumed
            total += output.count
            isDone = progress.isDone
            #expect(output.count <= 2 * 65_536)
        }
        #expect(offset == coded.count)
        #expect(total == content.count)
        try decoder.finish()
    }

    @Test(arguments: ContentCoding.allCases)
    func `the limit is exact`(_ coding: ContentCoding) throws {
        let encoded = try coding.encode(`Content codings`.words(70_000))
        #expect(decode(coding, encoded, limit: 70_000) == nil)
        #expect(decode(coding, encoded, limit: 69_999) == .tooLarge(limit: 69_999))
        #expect(decode(coding, try coding.encode([]), limit: 0) == nil)
    }

    @Test(arguments: ContentCoding.allCases)
    func `octets behind the end are refused`(_ coding: ContentCoding) throws {
        let encoded = try coding.encode(Array("whole".utf8))
        switch decode(coding, encoded + Array("and more".utf8)) {
        case .trailingOctets: break
        case .malformed where coding == .zstd: break
        case let other: Issue.record("\(String(describing: other))")
        }
    }

    @Test(arguments: [ContentCoding.gzip, .br, .zstd])
    func `what is in no coding is malformed`(_ coding: ContentCoding) {
        guard case .malformed(let detail) = decode(coding, Array("<html>This is not encoded at all</html>".utf8)) else {
            Issue.record("it was accepted")
            return
        }
        #expect(!detail.isEmpty)
    }

    @Test func `damage is noticed`() throws {
        for coding in [ContentCoding.gzip, .deflate] {
            var encoded = try coding.encode(`Content codings`.words(1_000))
            encoded[encoded.count - 2] ^= 0xFF
            guard case .malformed = decode(coding, encoded) else {
                Issue.record("\(coding) was accepted")
                continue
            }
        }
    }

    @Test(arguments: [ContentCoding.gzip, .zstd])
    func `parts encoded one by one are one content`(_ coding: ContentCoding) throws {
        let encoded = try coding.encode(Array("one ".utf8)) + coding.encode(Array("two".utf8))
        #expect(try coding.decode(encoded, limit: 7) == Array("one two".utf8))
    }

    @Test func `deflate without its header is understood`() throws {
        // The zlib format is two octets, deflated octets and a checksum of four.
        let bare = try ContentCoding.deflate.encode(Array("hello hello hello".utf8)).dropFirst(2).dropLast(4)
        #expect(try ContentCoding.deflate.decode(Array(bare), limit: 100) == Array("hello hello hello".utf8))
    }

    @Test(arguments: [
        ("gzip", ContentCoding.gzip), ("GZip", .gzip), ("x-gzip", .gzip), ("deflate", .deflate), ("br", .br),
        ("zstd", .zstd), ("identity", nil), ("compress", nil), ("brotli", nil), ("", nil),
    ])
    func `codings are found by their names`(_ token: String, _ coding: ContentCoding?) {
        #expect(ContentCoding(token: token) == coding)
    }

    @Test func `content in more codings than anybody applies is not decoded`() throws {
        var octets = Array("apples".utf8)
        for count in 1...6 {
            octets = try ContentCoding.gzip.encode(octets)
            let codings = ContentCodings(Array(repeating: "gzip", count: count).joined(separator: ", "))
            if count <= 4 {
                #expect(try codings.decode(octets, limit: 1_000) == Array("apples".utf8))
            } else {
                #expect(throws: TooManyContentCodings.self) { try codings.decode(octets, limit: 1_000) }
            }
        }
    }
}
