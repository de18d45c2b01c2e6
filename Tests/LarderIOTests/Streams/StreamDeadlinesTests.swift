// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LarderIO

@Suite("When the waits of a stream end")
struct StreamDeadlinesTests {
    private static let second: Int64 = 1_000_000_000

    /// Deadlines of idleness eight seconds long, set at 0.
    private static var idle: StreamDeadlines {
        var deadlines = StreamDeadlines()
        deadlines.setIdle(after: .seconds(8), now: 0)
        return deadlines
    }

    private func seconds(_ instant: Int64) -> Int64 { instant / Self.second }

    private func look(_ deadlines: inout StreamDeadlines, untaken: Int32, now: Int64) -> Bool {
        deadlines.looked(untaken: untaken, now: now)
    }

    /// Looks at each second at what the peer has not taken, and answers when both deadlines pass, in seconds.
    private func end(untaken: [Int32]) -> Int64 {
        var deadlines = Self.idle
        for (second, count) in untaken.enumerated() {
            let now = Int64(second + 1) * Self.second
            guard deadlines.read > now else { break }
            _ = deadlines.looked(untaken: count, now: now)
        }
        #expect(deadlines.read == deadlines.write)
        return seconds(deadlines.read)
    }

    @Test func `silence begins when the peer has taken the last octet`() {
        #expect(end(untaken: [0]) == 8)
        #expect(end(untaken: [5, 5, 5, 5, 5, 5, 5, 5, 5]) == 8)
        #expect(end(untaken: [5, 4, 4, 3, 3]) == 12)
        #expect(end(untaken: [5, 5, 5, 5, 5, 5, 4, 4, 4, 4, 4, 1, 0, 0, 0]) == 21)
    }

    @Test func `the timer fires early only while the peer has something to take`() {
        var deadlines = Self.idle
        #expect(seconds(deadlines.next(after: 0)) == 1)
        #expect(!look(&deadlines, untaken: 7, now: Self.second))
        #expect(seconds(deadlines.next(after: Self.second)) == 2)
        #expect(look(&deadlines, untaken: 0, now: 2 * Self.second))
        #expect(seconds(deadlines.next(after: 2 * Self.second)) == 10)
        deadlines.moved(now: 3 * Self.second)
        #expect(seconds(deadlines.next(after: 3 * Self.second)) == 4)
        #expect(deadlines.next(after: 11 * Self.second) == .max)
    }

    @Test func `a deadline of writes is looked at when it passes, and moves that of reads not`() {
        var deadlines = StreamDeadlines()
        deadlines.setRead(at: 9 * Self.second)
        deadlines.setWrite(after: .seconds(8), now: 0)
        deadlines.beganToWait(untaken: 5)
        #expect(!deadlines.wantsLook(now: 7 * Self.second))
        #expect(seconds(deadlines.next(after: 0)) == 8)
        #expect(deadlines.wantsLook(now: 8 * Self.second))
        #expect(look(&deadlines, untaken: 4, now: 8 * Self.second))
        #expect(seconds(deadlines.write) == 16 && seconds(deadlines.read) == 9)
    }

    @Test func `a deadline that is set for an instant stays`() {
        var deadlines = Self.idle
        deadlines.set(at: 5 * Self.second)
        #expect(!deadlines.wantsLook(now: 5 * Self.second))
        deadlines.moved(now: Self.second)
        #expect(seconds(deadlines.read) == 5 && seconds(deadlines.write) == 5)
        deadlines.setIdle(after: nil, now: 0)
        #expect(deadlines.next(after: 0) == .max)
    }
}
