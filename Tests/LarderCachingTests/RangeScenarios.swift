// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderProxy
import LarderTesting
import Testing

/// Parts of what is stored, from memory and from files.
@Suite("Scenarios: ranges")
struct RangeScenarios {
    static let content = String((0..<400_000).map { Character(UnicodeScalar(UInt8(0x61 + $0 % 26))) })

    enum Place: CaseIterable { case memory, file }

    /// Runs `body` with the content stored under `/a`.
    func stored(in place: Place, _ body: (Scenario) async throws -> Void) async throws {
        try await Scenario.run(onDisk: place == .file) { (scene) async throws in
            scene.origin.answer { _ in
                .ok(
                    "Cache-Control: max-age=6000", "ETag: \"1\"", "Content-Type: text/plain",
                    "Last-Modified: Tue, 14 Nov 2023 00:00:00 GMT", content: Self.content)
            }
            _ = try await scene.get("/a")
            if place == .file { try await scene.restart() }
            try await body(scene)
            #expect(scene.origin.seen.count == 1)
        }
    }

    func part(_ range: Range<Int>) -> String {
        let octets = Array(Self.content.utf8)
        return String(decoding: octets[range], as: UTF8.self)
    }

    @Test(arguments: Place.allCases) func `HT-12 one range`(place: Place) async throws {
        try await stored(in: place) { (scene) async throws in
            let cases: [(String, Range<Int>)] = [
                ("bytes=0-0", 0..<1), ("bytes=10-99", 10..<100), ("bytes=-5", 399_995..<400_000),
                ("bytes=399999-", 399_999..<400_000), ("bytes=0-", 0..<400_000),
                ("bytes=70000-350000", 70_000..<350_001),
                ("bytes=5-900000", 5..<400_000),
            ]
            for (range, expected) in cases {
                let answer = try await scene.get("/a", "Range: \(range)")
                #expect(answer.status == 206)
                #expect(answer["Content-Range"] == "bytes \(expected.lowerBound)-\(expected.upperBound - 1)/400000")
                #expect(answer["Content-Length"] == "\(expected.count)")
                #expect(answer["Cache-Status"]?.hasPrefix("Larder; hit") == true)
                #expect(answer.text == part(expected))
            }
        }
    }

    @Test(arguments: Place.allCases) func `HT-12 several ranges`(place: Place) async throws {
        try await stored(in: place) { (scene) async throws in
            let answer = try await scene.get("/a", "Range: bytes=0-4,100000-100009,-3")
            #expect(answer.status == 206)
            let type = try #require(answer["Content-Type"])
            let boundary = try #require(type.split(separator: "boundary=").last)
            #expect(type.hasPrefix("multipart/byteranges; boundary="))
            func part(_ range: Range<Int>) -> String {
                "--\(boundary)\r\nContent-Type: text/plain\r\nContent-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/400000\r\n\r\n\(self.part(range))"
            }
            #expect(answer.isWhole)
            #expect(
                answer.text == [part(0..<5), part(100_000..<100_010), part(399_997..<400_000)].joined(separator: "\r\n")
                    + "\r\n--\(boundary)--\r\n")
        }
    }

    @Test(arguments: Place.allCases) func `a range that is not there`(place: Place) async throws {
        try await stored(in: place) { (scene) async throws in
            let answer = try await scene.get("/a", "Range: bytes=400000-")
            #expect(answer.status == 416)
            #expect(answer["Content-Range"] == "bytes */400000")
        }
    }

    @Test(arguments: Place.allCases) func `a range if it is still the same`(place: Place) async throws {
        try await stored(in: place) { (scene) async throws in
            for (condition, status) in [
                ("\"1\"", 206), ("\"2\"", 200), ("W/\"1\"", 200), ("Tue, 14 Nov 2023 00:00:00 GMT", 206),
                ("Wed, 15 Nov 2023 00:00:00 GMT", 200),
            ] {
                let answer = try await scene.get("/a", "Range: bytes=0-9", "If-Range: \(condition)")
                #expect(answer.status == status, "\(condition)")
                #expect(answer.content.count == (status == 206 ? 10 : 400_000))
            }
        }
    }

    @Test(arguments: Place.allCases) func `what is not a range of octets is ignored`(place: Place) async throws {
        try await stored(in: place) { (scene) async throws in
            for range in ["lines=1-2", "bytes=9-1", "bytes=", "bytes=a-b"] {
                let answer = try await scene.get("/a", "Range: \(range)")
                #expect(answer.status == 200, "\(range)")
                #expect(answer.content.count == 400_000)
            }
        }
    }

    @Test(arguments: Place.allCases) func `HEAD has no ranges`(place: Place) async throws {
        try await stored(in: place) { (scene) async throws in
            let client = try await scene.client()
            try await client.send("HEAD \(scene.url("/a")) HTTP/1.1", "Host: x", "Range: bytes=0-9")
            let head = try await client.head()
            #expect(head.status == 200)
            #expect(head["Content-Length"] == "400000")
        }
    }

    @Test func `HT-12 a range of what is not stored is the origin's to answer`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer {
                $0["Range"] == nil
                    ? .ok("Cache-Control: max-age=60", content: "0123456789")
                    : .response(206, "Cache-Control: max-age=60", "Content-Range: bytes 2-4/10", content: "234")
            }
            let part = try await scene.get("/a", "Range: bytes=2-4")
            #expect(part.status == 206)
            #expect(part.text == "234")
            #expect(try await scene.get("/a").text == "0123456789")
            #expect(try await scene.get("/a", "Range: bytes=0-1").text == "01")
            #expect(scene.origin.seen.count == 2)
        }
    }
}
