// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import Testing

@testable import LarderCLI

@Suite("Watching")
struct WatchTests {
    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    private static let events =
        "id: 1\ndata: {\"a\": 1}\n\n: \n\ndata: {\"b\": 2}\n\n"

    @Test func `events come whole, however the octets are cut`() throws {
        let octets = Array(WatchTests.events.utf8)
        for size in 1...octets.count {
            var reader = EventStreamReader()
            var events: [String] = []
            for start in stride(from: 0, to: octets.count, by: size) {
                events += try reader.read(Array(octets[start..<min(start + size, octets.count)]))
            }
            #expect(events == ["{\"a\": 1}", "{\"b\": 2}"], "pieces of \(size)")
        }
    }

    @Test func `a refusal is told in the daemon's words, and is not tried again`() throws {
        let answer = "HTTP/1.1 400 Bad\r\nContent-Length: 31\r\n\r\n{\"title\": \"no\", \"detail\": \"why\"}"
        let peer = try ScriptedPeer(answer: answer.replacing("31", with: "32"))
        #expect {
            try AdminClient(socket: peer.path).follow("/-/events") { _ in true }
        } throws: { error in
            if case StreamEnd.refused(let failure) = error { "\(failure)" == "why" } else { false }
        }
    }

    @Test func `a stream that ends is told from one that was refused`() async throws {
        let peer = try ScriptedPeer(answer: WatchTests.head + WatchTests.events)
        var events: [String] = []
        #expect {
            try AdminClient(socket: peer.path).follow("/-/events?match=%2A%2A") { event in
                events.append(event)
                return true
            }
        } throws: { error in
            if case StreamEnd.broken = error { true } else { false }
        }
        #expect(events.count == 2)
        #expect(await peer.request()?.hasPrefix("GET /-/events?match=%2A%2A HTTP/1.1\r\n") == true)
    }

    @Test func `who has heard enough is not asked again`() throws {
        let peer = try ScriptedPeer(answer: WatchTests.head + WatchTests.events)
        var count = 0
        try AdminClient(socket: peer.path).follow("/") { _ in
            count += 1
            return false
        }
        #expect(count == 1)
    }

    @Test func `without a daemon there is nothing to watch`() {
        #expect {
            try AdminClient(socket: "/nowhere/larder.sock").follow("/-/events") { _ in true }
        } throws: { error in
            if case StreamEnd.broken(let failure) = error {
                failure.problem.hasPrefix("no daemon is running")
            } else {
                false
            }
        }
    }

    @Test func `a stream that never was is not looked for again, one that broke for a minute`() {
        var never = Reconnecting()
        #expect(never.pause() == nil)
        var broken = Reconnecting()
        broken.hears()
        var pauses: [Int] = []
        while let pause = broken.pause() {
            pauses.append(pause)
            #expect(broken.isFirst == (pauses.count == 1))
        }
        #expect(pauses.reduce(0, +) == 60)
        broken.hears()
        #expect(broken.pause() == 1)
    }

    @Test func `what answers endlessly is no daemon`() throws {
        var reader = EventStreamReader()
        #expect(throws: StreamEnd.self) {
            for _ in 0..<100 { _ = try reader.read(Array(repeating: 0x41, count: 1 << 20)) }
        }
    }

    @Test(arguments: [
        (
            #"{"event":"newData","source":"network","url":"https://a/b","state":{"isLoading":false,"isUpToDate":true,"latestData":{"status":200,"bytes":1536},"latestError":null}}"#,
            "new data, loaded        https://a/b  200, 1.5 KiB, up to date\n"
        ),
        (
            #"{"event":"newData","source":"localOverride","url":"https://a/b","state":{"isUpToDate":true,"latestData":{"status":200,"bytes":1,"isOverride":true}}}"#,
            "new data, override      https://a/b  override, 1 B, up to date\n"
        ),
        (
            #"{"event":"newData","source":"wipe","url":"https://a/b","state":{"isUpToDate":false,"latestData":null}}"#,
            "wiped                   https://a/b  no data\n"
        ),
        (
            #"{"event":"error","url":"https://a/b","state":{"isLoading":true,"isUpToDate":false,"latestData":null,"latestError":{"status":503}}}"#,
            "error                   https://a/b  no data, failed: the origin said 503, loading\n"
        ),
        (
            #"{"event":"progress","url":"https://a/b","progress":0.456}"#,
            "progress                https://a/b  45.6 %\n"
        ),
        (
            #"{"event":"error","url":"https://a/\u001b[2J","state":{"latestError":{"error":"\u0007"}}}"#,
            "error                   https://a/\\u{1b}[2J  no data, failed: \\u{7}\n"
        ),
        (#"{"event":"stoppedObserving"}"#, "the daemon is stopping\n"),
        (
            #"{"event":"observerAdded","match":"**","isComplete":false,"resources":[{"url":"https://a/b","state":{"isLoading":true}}]}"#,
            "now                     https://a/b  no data, loading\nwatching **: 1 and more in memory\n"
        ),
    ]) func `an event is a line for people`(event: String, line: String) throws {
        #expect(try EventLines.text(event, .plain) == line)
    }

    @Test func `what is no event is told as such`() {
        #expect(throws: CommandFailure.self) { try EventLines.text("nonsense", .plain) }
    }
}
