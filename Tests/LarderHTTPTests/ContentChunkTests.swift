// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@Suite("Content in pieces")
struct ContentChunkTests {
    @Test(arguments: [[1], [1, 2_000], [2_000, 100, 70_000, 1, 1], [3_000, 1]])
    func `is collected in few pieces, whatever it came in`(lengths: [Int]) {
        var pieces: [ContentChunk] = []
        var expected: [UInt8] = []
        var number = 0
        while expected.count < 300_000 {
            let octets = (0..<lengths[number % lengths.count]).map { UInt8(truncatingIfNeeded: $0 &+ number) }
            pieces.collect(ContentChunk(octets))
            expected += octets
            number += 1
        }
        #expect(pieces.flatMap { $0.withBytes(Array.init) } == expected)
        // A piece and the next are longer than 2 KiB together.
        #expect(pieces.count <= 2 * expected.count / 2_048 + 1)
    }
}
