// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LarderStores

@Suite("Which parts of segments are in use")
struct SegmentTableTests {
    private static func place(_ segment: Int64, _ page: Int64, _ length: Int64 = 10_000) -> SegmentPlace {
        // Holds: numbers of these tests are possible ones.
        SegmentPlace(segment: segment, offset: page * SegmentPlace.alignment, length: length)!
    }

    private static func gap(_ segment: Int64, _ page: Int64, pages: Int64) -> SegmentGap {
        SegmentGap(segment: segment, offset: page * SegmentPlace.alignment, length: pages * SegmentPlace.alignment)
    }

    @Test(
        arguments: [
            (0, 0, 1), (-1, 0, 1), (.max, 0, 1), (1, -4096, 1), (1, 1, 1), (1, .max - 4095, 1), (1, 0, 0), (1, 0, -1),
            (1, 0, 1 << 20 + 1), (1, 0, .max),
        ] as [(Int64, Int64, Int64)])
    func `a place with impossible numbers is none`(segment: Int64, offset: Int64, length: Int64) {
        #expect(SegmentPlace(segment: segment, offset: offset, length: length) == nil)
    }

    @Test func `content takes whole pages`() {
        for (length, room) in [(1, 4096), (4096, 4096), (4097, 8192), (65_536, 65_536)] as [(Int64, Int64)] {
            #expect(Self.place(1, 0, length).room == room)
        }
    }

    @Test func `neighbours that are freed leave one gap`() {
        let places = [Self.place(1, 6), Self.place(2, 0), Self.place(1, 0), Self.place(1, 3), Self.place(1, 12, 1)]
        #expect(
            SegmentGap.left(by: places) == [
                Self.gap(1, 0, pages: 9), Self.gap(1, 12, pages: 1), Self.gap(2, 0, pages: 3),
            ])
    }

    @Test func `all but what rows refer to is a gap`() {
        let places = [Self.place(1, 2), Self.place(1, 5), Self.place(1, 9, 1)]
        #expect(
            SegmentGap.between(places, in: 1, length: 20 * 4096) == [
                Self.gap(1, 0, pages: 2), Self.gap(1, 8, pages: 1), Self.gap(1, 10, pages: 10),
            ])
        #expect(SegmentGap.between([], in: 1, length: 4096) == [Self.gap(1, 0, pages: 1)])
        #expect(SegmentGap.between([Self.place(1, 0)], in: 1, length: 100) == [])
        // Damaged rows may overlap.
        #expect(
            SegmentGap.between([Self.place(1, 0, 40_000), Self.place(1, 1)], in: 1, length: 40_960) == [])
    }

    @Test(arguments: [true, false])
    func `a segment goes when nothing is in it, unless it is the current one`(canPunch: Bool) {
        var table = SegmentTable()
        table.canPunch = canPunch
        table.current = 2
        for place in [Self.place(1, 0), Self.place(1, 3), Self.place(2, 0)] { table.store(place) }
        #expect(table.occupied == 9 * 4096)
        let first = table.free([Self.place(1, 0), Self.place(2, 0)])
        #expect(first.empty == [])
        #expect(first.gaps == (canPunch ? [Self.gap(1, 0, pages: 3), Self.gap(2, 0, pages: 3)] : []))
        #expect(table.occupied == (canPunch ? 3 : 9) * 4096)
        let second = table.free([Self.place(1, 3), Self.place(7, 0)])
        // Nothing is known of the seventh, so it may have other content.
        #expect(second.empty == [1] && second.gaps == (canPunch ? [Self.gap(7, 0, pages: 3)] : []))
        #expect(table.close() == 2)
        #expect(table.occupied == 0)
    }
}
