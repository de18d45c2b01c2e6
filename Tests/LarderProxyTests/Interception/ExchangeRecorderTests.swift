// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import Testing

@testable import LarderProxy

@Suite("What is being recorded")
struct ExchangeRecorderTests {
    private static let head = Array("HTTP/1.1 200 OK\r\nX-A: 1\r\n\r\n".utf8)

    private func recorder(of recording: Recording, sending count: Int = 0) -> ExchangeRecorder {
        let content = [UInt8](repeating: 0x61, count: count)
        let draft = RecordedExchange(method: "POST", url: "http://a/", requestContent: content, status: 200)
        let recorder = ExchangeRecorder(recording, draft, as: draft.key)
        recorder.take(head: Self.head, hasContent: true)
        return recorder
    }

    /// Whether all of the room can be had.
    private func isEmpty(_ room: OctetRoom, of limit: Int) -> Bool {
        guard room.take(limit) else { return false }
        room.giveBack(limit)
        return true
    }

    @Test func `content under way takes room, and gives it back whatever becomes of it`() {
        let limit = 100_000
        let room = OctetRoom(limit: limit)
        let recording = Recording(name: "a", in: room)
        let chunk = ContentChunk([UInt8](repeating: 0x62, count: 40_000))
        var first: ExchangeRecorder? = recorder(of: recording, sending: 10_000)
        let second = recorder(of: recording)
        first?.take([chunk])
        #expect(!room.take(60_000))
        // The second finds no room, and keeps nothing.
        second.take([chunk])
        second.take([chunk])
        second.finish(200, after: .zero)
        #expect(recording.count == 0 && recording.omitted == 1)
        first?.finish(200, after: .zero)
        #expect(recording.count == 1 && recording.exchanges[0].content.count == 40_000)
        #expect(!isEmpty(room, of: limit))
        // One that breaks off is left out.
        first = recorder(of: recording, sending: 20_000)
        first = nil
        #expect(recording.omitted == 2)
        #expect(room.take(limit - recording.octets))
        room.giveBack(limit - recording.octets)
        // One whose request is too long is left out.
        recorder(of: recording, sending: limit).finish(200, after: .zero)
        #expect(recording.omitted == 3)
    }

    @Test func `a recording gives its room back`() {
        let room = OctetRoom(limit: 10_000)
        do {
            let recording = Recording(name: "a", in: room)
            recorder(of: recording).finish(200, after: .zero)
            #expect(recording.count == 1 && !isEmpty(room, of: 10_000))
        }
        #expect(isEmpty(room, of: 10_000))
    }
}
