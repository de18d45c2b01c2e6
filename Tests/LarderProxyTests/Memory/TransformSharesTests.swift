// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LarderProxy

@Suite("What services have of the room for transformers")
struct TransformSharesTests {
    private var shares = TransformShares(limit: 1000)

    @Test mutating func `one that takes all it gets leaves a quarter, and the next one has room`() {
        var taken = 0
        while shares.take(10, for: 1) { taken += 10 }
        #expect(taken == 750)
        let others = [(180, 2), (10, 1), (10, 3)].map { shares.take($0.0, for: $0.1) }
        #expect(others == [true, false, true], "what others have is not free any more")
        #expect(shares.used == 940)
    }

    @Test mutating func `what is refused is not counted, and what is given back is free`() {
        let first = [760, 750].map { shares.take($0, for: 1) }
        #expect(first == [false, true])
        #expect(shares.used == 750)
        shares.giveBack(750, of: 1)
        #expect(shares.used == 0)
        let isFree = shares.take(750, for: 1)
        #expect(isFree)
    }

    @Test mutating func `a limit that falls below what is used refuses all until there is room`() {
        _ = shares.take(600, for: 1)
        shares.limit = 500
        let isFree = shares.take(1, for: 2)
        #expect(!isFree)
        shares.giveBack(300, of: 1)
        let isFreeAgain = shares.take(100, for: 2)
        #expect(isFreeAgain)
        #expect(shares.used == 400)
    }
}
