// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LarderStores

@Suite("Where eviction looks")
struct EvictionCursorTests {
    @Test func `at first everything is on probation, oldest first`() {
        let cursor = EvictionCursor()
        let range = cursor.next(entries: 100, newest: 100, atMost: 512)
        #expect(range == .init(isProbation: true, after: 0, through: 100, limit: 90))
    }

    @Test func `a tenth of the rows stays on probation`() {
        var cursor = EvictionCursor()
        cursor.border = 850
        #expect(cursor.next(entries: 1000, newest: 1000, atMost: 512).limit == 50)
        cursor.border = 900
        let range = cursor.next(entries: 1000, newest: 1000, atMost: 512)
        #expect(range == .init(isProbation: false, after: 0, through: 900, limit: 512))
    }

    @Test func `the hand goes on where it was, and begins again when it has come round`() {
        var cursor = EvictionCursor(border: 900, hand: 0)
        let first = cursor.next(entries: 1000, newest: 1000, atMost: 512)
        cursor.passed(300, of: first)
        #expect(cursor.next(entries: 1000, newest: 1000, atMost: 512).after == 300)
        cursor.exhausted(cursor.next(entries: 1000, newest: 1000, atMost: 512))
        #expect(cursor == EvictionCursor(border: 900, hand: 0))
    }

    @Test func `rows that were removed on probation do not hold the border back`() {
        var cursor = EvictionCursor(border: 900, hand: 0)
        let range = cursor.next(entries: 100, newest: 2000, atMost: 4096)
        #expect(range == .init(isProbation: true, after: 900, through: 2000, limit: 1090))
        cursor.exhausted(range)
        #expect(cursor.border == 2000)
    }
}
