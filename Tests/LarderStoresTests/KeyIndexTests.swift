// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LarderStores

@Suite("Index of keys")
struct KeyIndexTests {
    @Test(arguments: [1, 0x9e37_79b9_7f4a_7c15] as [UInt64])
    func `a table of hashes does what a set does`(seed: UInt64) {
        var table = HashTable(seed: seed)
        var model: [UInt64: Bool] = [:]
        var random = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            // Few enough that they meet often, and not distinguished by the lowest bit.
            let hash = UInt64.random(in: 0..<600, using: &random) << 20 | 2
            switch UInt8.random(in: 0..<5, using: &random) {
            case 0, 1:
                table.insert(hash)
                model[hash] = model[hash] ?? false
            case 2:
                table.remove(hash)
                model[hash] = nil
            case 3:
                #expect(table.mark(hash) == (model[hash] == false))
                if model[hash] != nil { model[hash] = true }
            default:
                #expect(table.clearMark(hash) == (model[hash] == true))
                if model[hash] != nil { model[hash] = false }
            }
            #expect(table.contains(hash) == (model[hash] != nil))
        }
        #expect(table.count == model.count)
        for hash in 0..<600 as Range<UInt64> {
            #expect(table.contains(hash << 20 | 2) == (model[hash << 20 | 2] != nil))
            #expect(table.isMarked(hash << 20 | 2) == (model[hash << 20 | 2] == true))
        }
    }

    @Test func `until all keys are known anything may be there`() {
        let index = KeyIndex()
        #expect(index.mayContain(1))
        index.insert(5)
        index.isLoaded = true
        #expect(!index.mayContain(1 << 40))
        #expect(index.mayContain(5))
        index.remove(5)
        #expect(!index.mayContain(5))
    }

    @Test func `only what is stored can be marked, once`() {
        let index = KeyIndex()
        index.insert(7 << 8)
        index.touch(7 << 8)
        index.touch(7 << 8)
        index.touch(9 << 8)
        #expect(index.takeMarks() == [7 << 8])
        #expect(index.clearMark(7 << 8))
        #expect(!index.clearMark(7 << 8))
    }
}
