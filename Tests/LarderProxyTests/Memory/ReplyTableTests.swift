// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LarderProxy

@Suite("The table of the loop's front")
struct ReplyTableTests {
    final class Answer {
        let number: UInt64
        var mayGo = false

        init(_ number: UInt64) { self.number = number }
    }

    /// A hash for a number, spread over all bits.
    private static func hash(_ number: UInt64) -> UInt64 { (number &+ 1) &* 0x9E37_79B9_7F4A_7C15 ^ number << 7 }

    /// Puts an answer where the table says, in place of what is there. False if it says nowhere.
    @discardableResult
    private static func keep(_ answer: Answer, _ hash: UInt64, in table: inout ReplyTable<Answer>) -> Bool {
        guard let place = table.place(for: hash, where: \.mayGo) else { return false }
        _ = table.remove(at: place)
        table.put(answer, hash, at: place)
        return true
    }

    @Test func `what was put in is found, through all growing, and nothing else`() {
        var table = ReplyTable<Answer>(size: 8, largest: 1 << 12)
        let kept = (0..<1500 as Range<UInt64>).filter { Self.keep(Answer($0), Self.hash($0), in: &table) }
        #expect(table.size == 1 << 12)
        #expect(table.count == kept.count)
        #expect(kept.count > 1400, "few find no room while the table is half full at most: \(kept.count)")
        for number in kept { #expect(table.find(Self.hash(number))?.number == number) }
        for number in 1500..<3000 as Range<UInt64> { #expect(table.find(Self.hash(number)) == nil) }
    }

    @Test func `a table that may not grow keeps what is in use`() {
        var table = ReplyTable<Answer>(size: 4, largest: 4)
        let answers = (0..<4 as Range<UInt64>).map(Answer.init)
        for answer in answers { #expect(Self.keep(answer, Self.hash(answer.number), in: &table)) }
        #expect(!Self.keep(Answer(4), Self.hash(4), in: &table))
        answers[2].mayGo = true
        #expect(Self.keep(Answer(4), Self.hash(4), in: &table))
        #expect((0..<5).filter { table.find(Self.hash($0)) != nil } == [0, 1, 3, 4])
        #expect(table.count == 4)
    }

    @Test func `an answer takes the place of the one before it, in use or not`() {
        var table = ReplyTable<Answer>(size: 4, largest: 4)
        for number in 0..<4 as Range<UInt64> { Self.keep(Answer(number), Self.hash(number), in: &table) }
        #expect(Self.keep(Answer(9), Self.hash(1), in: &table))
        #expect(table.find(Self.hash(1))?.number == 9)
        #expect(table.count == 4)
    }

    @Test func `what was taken out is gone and its place is free`() {
        var table = ReplyTable<Answer>(size: 4, largest: 4)
        for number in 0..<4 as Range<UInt64> { Self.keep(Answer(number), Self.hash(number), in: &table) }
        let place = (0..<4).first { table[$0]?.number == 2 }
        #expect(place.flatMap { table.remove(at: $0) }?.number == 2)
        #expect(place.flatMap { table.remove(at: $0) } == nil)
        #expect(table.find(Self.hash(2)) == nil)
        #expect(table.count == 3)
        #expect(Self.keep(Answer(7), Self.hash(7), in: &table))
    }

    @Test func `the hands come by every place`() {
        var table = ReplyTable<Answer>(size: 8)
        #expect(Set((0..<8).map { _ in table.advanceHand() }) == Set(0..<8))
        #expect(Set((0..<8).map { _ in table.advanceSweeper() }) == Set(0..<8))
    }
}
