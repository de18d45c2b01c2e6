// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderStores
import Testing

@testable import LarderShared

extension SharedEntity {
    static func sample(
        variant: String = "v", head: String = "head", groups: [String] = [], at time: Int64 = 7, isPart: Bool = false,
        content: SharedEntity.Content = .inline(Array("hello".utf8))
    ) -> SharedEntity {
        SharedEntity(
            variant: Array(variant.utf8), head: Array(head.utf8), requestTime: Timestamp(nanoseconds: 5),
            responseTime: Timestamp(nanoseconds: time), groups: groups, origin: "https://a.test", isPart: isPart,
            content: content)
    }
}

extension SharedKey {
    static func sample(_ path: String = "/a", service: String = "s", base: String = "https://a.test/") -> SharedKey {
        SharedKey(service: service, base: base, url: Array("https://a.test\(path)".utf8))
    }
}

extension EntityGenerations {
    static func random(_ count: Int = 2, url: Generation? = nil) -> EntityGenerations {
        EntityGenerations(url: url, scopes: (0..<count).map { _ in .random() })
    }
}

@Suite("Sealed entities")
struct EntityCodingTests {
    private let coding = EntityCoding(namespace: "team", seal: Seal(secret: Array("secret".utf8)))

    private static let samples: [SharedEntity] = [
        .sample(), .sample(content: .inline([])), .sample(groups: ["a", "b"]),
        .sample(content: .pieces([ContentDigest(of: [1])], length: 5000)),
        .sample(content: .pieces([ContentDigest(of: [1]), ContentDigest(of: [2])], length: 262_145)),
        .sample(isPart: true), .sample(content: .lists([ContentDigest(of: [3])], length: 129 * 262_144)),
    ]

    @Test(arguments: samples)
    func `what is sealed opens again`(_ entity: SharedEntity) throws {
        let generations = EntityGenerations.random(2 + 2 * entity.groups.count, url: .random())
        let octets = coding.encode(entity, under: .sample(), in: generations)
        #expect(
            coding.decode(octets, under: .sample()) == EntityCoding.Opened(entity: entity, generations: generations))
    }

    @Test(arguments: samples)
    func `not one bit of it can be altered, and nothing cut or added`(_ entity: SharedEntity) {
        let octets = coding.encode(
            entity, under: .sample(), in: .random(2 + 2 * entity.groups.count))
        for bit in 0..<octets.count * 8 {
            var altered = octets
            altered[bit / 8] ^= 1 << (bit % 8)
            #expect(coding.decode(altered, under: .sample()) == nil)
        }
        for cut in 0..<octets.count { #expect(coding.decode(Array(octets[..<cut]), under: .sample()) == nil) }
        #expect(coding.decode(octets + [0], under: .sample()) == nil)
    }

    @Test(arguments: [
        SharedKey.sample("/b"), .sample(service: "t"), .sample(base: "https://b.test/"),
        // The same octets, otherwise divided.
        SharedKey(service: "sh", base: "ttps://a.test/", url: Array("https://a.test/a".utf8)),
    ])
    func `it opens nowhere else`(_ key: SharedKey) {
        let octets = coding.encode(.sample(), under: .sample(), in: .random())
        #expect(coding.decode(octets, under: key) == nil)
        #expect(key.name != SharedKey.sample().name)
    }

    @Test func `it opens for nobody else`() {
        let octets = coding.encode(.sample(), under: .sample(), in: .random())
        let stranger = EntityCoding(namespace: "team", seal: Seal(secret: Array("secret2".utf8)))
        let neighbour = EntityCoding(namespace: "team2", seal: Seal(secret: Array("secret".utf8)))
        #expect(stranger.decode(octets, under: .sample()) == nil)
        #expect(neighbour.decode(octets, under: .sample()) == nil)
    }

    @Test func `a code for one purpose is none for another`() {
        let seal = Seal(secret: [1])
        let code = seal.code(for: [1, 2], as: .entity)
        #expect(seal.verifies(code, for: [1, 2], as: .entity) && !seal.verifies(code, for: [1, 2], as: .message))
        #expect(!seal.verifies([], for: [1, 2], as: .entity))
    }

    @Test func `the seal is HMAC-SHA256`() {
        // Computed with Python: hmac.new(sha256(b"larder shared tier 2\0" + b"secret").digest(), b"\1abc", "sha256").
        let code = Seal(secret: Array("secret".utf8)).code(for: Array("abc".utf8), as: .entity)
        #expect(code.map { String($0, radix: 16) }.joined(separator: ",") == Self.expected)
    }

    private static let expected =
        "56,2f,52,8a,f3,96,ef,c,b,f0,ff,cd,61,39,7d,2b,6,"
        + "cd,7f,a6,72,7d,91,a3,12,c2,8a,4c,9b,d1,60,85"

    private static let one = [ContentDigest(of: [1])]
    private static let piece: Int64 = 262_144
    private static let unfit: [SharedEntity.Content] = [
        .pieces([], length: 5), .pieces(one, length: 0), .pieces(one, length: piece + 1), .pieces(one, length: .max),
        .inline([UInt8](repeating: 0, count: 4097)), .lists(one, length: piece), .lists(one, length: 128 * piece),
        .lists(one, length: 8192 * piece + 1), .lists([], length: 129 * piece), .pieces(one, length: 129 * piece),
    ]

    @Test(arguments: unfit)
    func `lengths that do not fit the pieces are refused`(_ content: SharedEntity.Content) {
        let octets = coding.encode(.sample(content: content), under: .sample(), in: .random())
        #expect(coding.decode(octets, under: .sample()) == nil)
    }

    @Test(arguments: [0, 1, 4096, 4097, 262_144, 262_145, 600_000])
    func `content is cut into pieces that are found again`(_ length: Int) throws {
        let octets = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        let (content, pieces) = SharedContent.cut([
            ContentChunk(octets.prefix(length / 3)), ContentChunk(octets.dropFirst(length / 3)),
        ])
        #expect(content.length == Int64(length))
        switch content {
        case .inline(let inline): #expect(inline == octets && pieces.isEmpty && length <= 4096)
        case .pieces(let digests, _):
            #expect(pieces.map(\.digest) == digests && pieces.flatMap(\.octets) == octets)
            for (index, piece) in pieces.enumerated() {
                #expect(Int64(piece.octets.count) == SharedContent.length(of: index, in: Int64(length)))
                #expect(SharedContent.chunk(piece.octets, piece.digest) != nil)
                #expect(SharedContent.chunk(piece.octets + [0], piece.digest) == nil)
            }
        case .lists: Issue.record("content in memory has few pieces")
        }
    }

    @Test func `a list of digests is read as it was written, and as no other`() {
        let digests = (0..<5).map { ContentDigest(of: [$0]) }
        let list = SharedContent.list(digests[1..<4])
        #expect(SharedContent.digests(list.octets, list.digest, count: 3) == Array(digests[1..<4]))
        #expect(SharedContent.digests(list.octets, list.digest, count: 2) == nil)
        #expect(SharedContent.digests(list.octets.reversed(), list.digest, count: 3) == nil)
        #expect(SharedContent.digests(list.octets, digests[0], count: 3) == nil)
    }
}

@Suite("The index of a URL")
struct SharedIndexTests {
    @Test func `it is read as it was written`() {
        let index = SharedIndex.none.adding([1, 2]) { _ in false }.adding([3]) { _ in false }
        #expect(SharedIndex(index.octets) == index)
        #expect(index.entries == [[3], [1, 2]] && index.revision.count == 16)
    }

    @Test func `every version has another revision`() {
        let first = SharedIndex.none.adding([1]) { _ in false }
        #expect(first.revision != first.adding([1]) { _ in true }.revision)
        #expect(first.adding([2]) { $0 == [1] }.entries == [[2]])
    }

    @Test func `it keeps sixteen variants, the newest`() {
        var index = SharedIndex.none
        for number in 0..<20 { index = index.adding([UInt8(number)]) { _ in false } }
        #expect(index.entries.map { $0[0] } == (4..<20).reversed().map { UInt8($0) })
    }

    @Test func `what is damaged has no entries, and can be replaced by its revision`() {
        let octets = SharedIndex.none.adding([1, 2]) { _ in false }.octets
        for length in 0..<octets.count {
            let cut = SharedIndex(Array(octets[..<length]))
            #expect(cut.entries.isEmpty && cut.revision == Array(octets.prefix(min(16, length))))
        }
        #expect(SharedIndex(octets + [0]).entries.isEmpty)
    }
}
