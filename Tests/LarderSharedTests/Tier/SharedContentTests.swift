// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
import LarderStores
import Testing

@testable import LarderShared

/// Content of any length, and what takes whose place.
extension SharedTierTests {
    /// Content that is made up as it is asked for; no two pieces are the same.
    private static func octets(from offset: Int64, _ count: Int) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: offset >> 18), count: count)
    }

    @Test func `content of any length is written and read a piece at a time`() async throws {
        try await Self.run { (loop, server) async throws in
            let a = Member(server, on: loop)
            await a.join()
            // More pieces than have their digests in the entity.
            for length in [5 << 20, 130 << 18 + 7] as [Int64] {
                let content = try #require(
                    await a.tier.write(contentOf: length) { offset, count in Self.octets(from: offset, count) })
                var isListed = false
                if case .lists = content { isListed = true }
                #expect(content.length == length && isListed == (length > 128 << 18))
                var total: Int64 = 0
                var isRight = true
                let isWhole = await a.tier.read(content) { chunk in
                    isRight = isRight && Array(chunk.bytes) == Self.octets(from: total, chunk.count)
                    total += Int64(chunk.count)
                    return true
                }
                #expect(isWhole && isRight && total == length)
                // It stops when nobody wants more, and where a piece is missing or another.
                var taken = 0
                let isLeft = await a.tier.read(content) { _ in
                    taken += 1
                    return taken < 3
                }
                #expect(!isLeft && taken == 3)
                let middle = SharedContent.Piece(
                    digest: ContentDigest(of: Self.octets(from: 4 << 18, 1 << 18)), octets: [1])
                _ = await a.tier.engine.perform(
                    a.state.keys.write(middle.digest, middle.octets), until: a.engine.instant(after: .seconds(20)))
                taken = 0
                let isFound = await a.tier.read(content) { _ in
                    taken += 1
                    return true
                }
                #expect(!isFound && taken == 4)
                #expect(await a.tier.write(contentOf: length) { _, _ in nil } == nil)
            }
        }
    }

    @Test func `a part takes no whole's place, and what is older none of what is newer`() async throws {
        try await Self.run { (loop, server) async throws in
            let a = Member(server, on: loop)
            await a.join()
            func write(_ text: String, at time: Int64, isPart: Bool) async throws -> Bool {
                let look = try #require(await a.tier.look(.sample()))
                return await a.tier.write(
                    .sample(at: time, isPart: isPart, content: .inline(Array(text.utf8))), [], after: look)
            }
            #expect(try await write("part", at: 10, isPart: true))
            #expect(try await write("more", at: 11, isPart: true))
            #expect(try await a.found("/a") == ["more"])
            #expect(try await write("whole", at: 12, isPart: false))
            let isPartTaken = try await write("part", at: 13, isPart: true)
            let isOlderTaken = try await write("older", at: 11, isPart: false)
            #expect(!isPartTaken && !isOlderTaken)
            #expect(try await a.found("/a") == ["whole"])
            #expect(try await write("newer", at: 14, isPart: false))
            #expect(try await a.found("/a") == ["newer"])
        }
    }
}
