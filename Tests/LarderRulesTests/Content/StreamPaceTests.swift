// SPDX-License-Identifier: Apache-2.0
import LarderRules
import Testing

@Suite("The pace of streams")
struct StreamPaceTests {
    static func recorded(_ marks: [(end: Int64, at: Duration)]) -> StreamPace? {
        var recorder = StreamPace.Recorder()
        for mark in marks { recorder.note(end: mark.end, at: mark.at) }
        return recorder.pace
    }

    @Test func `a stream that came at once has no pace`() {
        #expect(Self.recorded([]) == nil)
        #expect(Self.recorded([(100, .zero), (200, .microseconds(900))]) == nil)
    }

    @Test func `what is recorded is read back, with few octets`() throws {
        let pace = try #require(
            Self.recorded([(5, .zero), (5, .milliseconds(1)), (300, .milliseconds(20)), (301, .seconds(30))]))
        #expect(
            pace.marks == [.init(end: 5, at: 0), .init(end: 300, at: 20), .init(end: 301, at: 30_000)])
        #expect(pace.octets.count == 9)
        #expect(StreamPace(stored: pace.octets, length: 301) == pace)
        #expect(pace.duration == .seconds(30))
    }

    @Test func `no replay waits longer than ten seconds, nor ten minutes in all`() throws {
        let pace = try #require(
            Self.recorded([(1, .milliseconds(1_500)), (2, .seconds(60)), (3, .seconds(61)), (4, .seconds(62))]))
        #expect(
            pace.steps == [
                .init(end: 1, due: .milliseconds(1_500)), .init(end: 2, due: .milliseconds(11_500)),
                .init(end: 3, due: .milliseconds(12_500)), .init(end: 4, due: .milliseconds(13_500)),
            ])
        let long = try #require(Self.recorded((1...100).map { (Int64($0), .seconds(Int64($0) * 9)) }))
        #expect(long.steps.last == .init(end: 100, due: .seconds(600)))
    }

    @Test(arguments: [1_000, 1_024, 1_025, 5_000, 100_000]) func `marks stay few, and are never early`(
        count: Int
    ) throws {
        let marks = (1...count).map { (end: Int64($0) * 40, at: Duration.milliseconds($0 * 7)) }
        let pace = try #require(Self.recorded(marks))
        #expect(pace.marks.count <= StreamPace.markLimit)
        #expect(count > StreamPace.markLimit || pace.marks.count == count)
        #expect(pace.octets.count <= 8 << 10)
        // Octets that had not come by a mark are not before its end.
        #expect(pace.marks.allSatisfy { $0.end <= $0.at / 7 * 40 })
        #expect(pace.marks.last == .init(end: Int64(count) * 40, at: Int64(count) * 7))
        #expect(StreamPace(stored: pace.octets, length: Int64(count) * 40) == pace)
    }

    @Test(
        arguments: [
            [], [0x05], [0x05, 0x80], [0x00, 0x01], [0x85, 0x00, 0x01], [0x07, 0x01], [0x06, 0x01, 0x01, 0x01],
            [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], [0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
        ] as [[UInt8]]) func `octets that no recorder wrote are none`(octets: [UInt8])
    {
        #expect(StreamPace(stored: octets, length: 6) == nil)
    }

    @Test func `more marks than are recorded are none`() {
        let octets = [UInt8](repeating: 1, count: 2 * (StreamPace.markLimit + 1))
        #expect(StreamPace(stored: octets, length: 1 << 20) == nil)
        #expect(StreamPace(stored: Array(octets.dropLast(2)), length: 1 << 20) != nil)
    }
}
