// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderUpstream
import Logging
import Testing

@testable import LarderCLI

@Suite("What is listed and watched, as text")
struct WatchingTextTests {
    private static let resources = """
        {"total": 2, "resources": [
         {"url": "https://api.test/users/octocat/repositories?sort=updated&per_page=100&page=3", "service": "github",
          "state": "validated each time", "status": 200, "bytes": 2048, "age": 3700, "ttl": 61, "hits": 12345},
         {"url": "https://api.test/b", "service": "github", "state": "stale", "status": 404, "bytes": 10, "age": 90000,
          "ttl": -30, "hits": 0}]}
        """

    @Test(arguments: [40, 60, 80, 100, 200]) func `a list fits the terminal`(width: Int) throws {
        let answer = try JSONValue(parsing: Array(Self.resources.utf8))
        let lines = ResourceTable.text(answer, .plain, width: width).split(separator: "\n")
        #expect(lines.count == 3)
        for line in lines { #expect(line.count <= width || width < 44, "\(line.count): \(line)") }
        #expect(lines[0].hasPrefix("state"))
        #expect(lines[0].contains("service") == (width >= 100 + 20))
        #expect(lines[2].hasSuffix("https://api.test/b"))
    }

    @Test func `a long URL keeps its beginning and its end`() {
        #expect(ResourceTable.shortened("https://api.test/users/octocat", to: 20) == "https://a…rs/octocat")
        #expect(ResourceTable.shortened("https://a/", to: 20) == "https://a/")
    }

    @Test func `a page after the first has no heading`() throws {
        let answer = try JSONValue(parsing: Array(Self.resources.utf8))
        let text = ResourceTable.text(.array(answer["resources"]?.array ?? []), .plain, hasHeading: false)
        #expect(!text.contains("state "))
        #expect(text.split(separator: "\n").count == 2)
    }

    @Test(arguments: [
        ("http://localhost:3128", "localhost:3128"), ("http://localhost:3128/", "localhost:3128"),
        ("127.0.0.1:9", "127.0.0.1:9"), ("localhost:80", "localhost:80"), ("[::1]", "[::1]:3128"),
        ("http://[::1]:9", "[::1]:9"), ("localhost", "localhost:3128"),
        ("http://anna:p%40ss@[::1]:9", "[::1]:9"), ("anna:p@ss@localhost", "localhost:3128"),
    ])
    func `a daemon's address`(text: String, authority: String) {
        #expect(TCPPlace(daemon: text)?.authority == authority)
    }

    @Test(arguments: ["", "https://localhost:3128", "http://localhost:3128/x", "localhost:x", ":3128", "a:b@", "a b"])
    func `what is no address of a daemon`(text: String) { #expect(TCPPlace(daemon: text) == nil) }

    @Test func `name and password of a daemon's address`() {
        let place = TCPPlace(daemon: "http://anna:flour%3A%201%20kg+@localhost:9")
        #expect(place?.authorization == "Basic YW5uYTpmbG91cjogMSBrZys=")
        #expect(TCPPlace(daemon: "localhost:9")?.authorization == nil)
    }

    private static let note = """
        {"event": "request", "method": "GET", "url": "https://api.test/a", "outcome": "hit", "status": 200, "bytes": 2048,
         "seconds": 0.0000123, "reason": "fresh", "problem": null}
        """

    @Test func `what is there at first is listed, or only counted`() throws {
        let event = #"{"match": "**", "resources": [{"url": "https://a.test/x", "state": {}}]}"#
        #expect(try EventLines.text(event, .plain).contains("https://a.test/x"))
        let counted = try EventLines.text(event, .plain, listsAll: false)
        #expect(counted == "watching **: 1 in memory\n")
    }

    @Test func `a failure that is the latest error is shown once`() {
        let failure: JSONValue = ["at": "2026-01-01T00:00:00Z", "error": "it was refused"]
        let text = Show.text(["latestError": failure, "failure": failure, "eTag": "x"], .plain)
        #expect(text.split(separator: "it was refused").count == 2, "\(text)")
        #expect(text.contains("ETag"))
    }

    @Test func `a request is a line`() throws {
        let line = try EventLines.text(Self.note, .plain)
        #expect(line == "hit       200   12 µs     2 KiB  GET https://api.test/a  fresh\n")
        let note = try JSONValue(parsing: Array(Self.note.utf8))
        #expect(RequestLines.line(note, .plain, width: 50).count <= 50)
    }

    @Test(arguments: [(0.0, "-"), (0.0000042, "4.2 µs"), (0.00456, "4.6 ms"), (0.12, "120 ms"), (2.34, "2.3 s")])
    func `latencies are short`(seconds: Double, text: String) { #expect(Quantity.latency(seconds) == text) }

    @Test func `a picture has rates since the one before, services and requests`() throws {
        func status(_ hits: Int) throws -> JSONValue {
            try JSONValue(
                parsing: Array(
                    """
                    {"version": "1", "state": "serving", "uptimeSeconds": 61, "hitRatio": 0.5,
                     "requests": {"hit": \(hits), "own": 99}, "bytes": {"saved": 2048},
                     "latencyMilliseconds": {"hits": {"p50": 0.012}, "loads": {"p50": 34.5}},
                     "memory": {"bytes": 1024}, "disk": {"bytes": 0}, "resources": 3, "connections": {"open": 1},
                     "services": [{"name": "api", "offline": false, "hitRatio": 0.5, "requests": {"hit": \(hits)},
                       "bytes": {"saved": 2048}, "latencyMilliseconds": {"hits": {"p50": 0.012}, "loads": {"p50": 34.5}}}],
                     "otherHosts": {"requests": {"hit": 0}}, "configuration": {"latest": {"accepted": false}}}
                    """.utf8))
        }
        let now = ContinuousClock.now
        let first = TopPicture.Moment(try status(10), at: now)
        let second = TopPicture.Moment(try status(40), at: now + .seconds(2))
        let picture = TopPicture(
            status: try status(40), requests: [try JSONValue(parsing: Array(Self.note.utf8))], last: first,
            moment: second, style: .plain, width: 80, height: 24)
        let lines = picture.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(lines[0] == "Larder 1  serving, up 1 min 1 s")
        #expect(lines[1].hasPrefix("15 requests/s   hit ratio 50 %   hits 12 µs   loads 35 ms   saved 2 KiB"))
        #expect(lines[3].contains("refused"))
        #expect(lines.contains { $0.hasPrefix("api ") && $0.contains("15") && $0.contains("40") })
        #expect(lines.contains { $0.hasPrefix("hit       200") })
        for line in lines { #expect(line.count <= 100) }
    }

    @Test func `numbers of the log's JSON are numbers`() {
        let line = LogLine(
            time: .init(nanoseconds: 0), level: .info, message: "exchange",
            metadata: [("bytes", "12"), ("url", "12")], numbers: ["bytes"])
        let text = line.text(LogLine.Style(isJSON: true, isJournal: true))
        #expect(text.hasSuffix("\"bytes\":12,\"url\":\"12\"}\n"))
    }

    @Test func `a list says how what former services have left is removed`() throws {
        let json =
            #"{"resources": [{"url": "https://a.test/x?q=1", "service": "shop", "state": "fresh", "leftover": true}]}"#
        let text = ResourceTable.text(try JSONValue(parsing: Array(json.utf8)), .plain)
        #expect(text.contains("shop (former)"))
        #expect(text.hasSuffix("larder wipe --match 'https://a.test/x'\n"))
    }
}
