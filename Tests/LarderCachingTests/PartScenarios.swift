// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderProxy
import LarderRules
import LarderSettings
import LarderTesting
import Testing

/// Parts that are stored, put together, and completed.
@Suite("Scenarios: parts")
struct PartScenarios {
    static let content = String((0..<1000).map { Character(UnicodeScalar(UInt8(0x61 + $0 % 26))) })
    static let fresh = "Cache-Control: max-age=600"

    static func octets(_ range: ClosedRange<Int>, of content: String = content) -> String {
        String(decoding: Array(content.utf8)[range], as: UTF8.self)
    }

    /// An origin that has ranges, and obeys `If-Range` and `If-None-Match`.
    static func answer(
        _ request: WireHead, tag: String = "\"1\"", content: String = content, fields: String = fresh
    ) -> String {
        let length = content.utf8.count
        if request["If-None-Match"] == tag { return .response(304, fields, "ETag: \(tag)") }
        guard let range = request["Range"], request["If-Range"].map({ $0 == tag }) ?? true else {
            return .ok(fields, "ETag: \(tag)", "Content-Type: text/plain", content: content)
        }
        let ends = range.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
        guard let first = Int(ends[0]) else { return .response(400, content: range) }
        let last = Int(ends[1]) ?? length - 1
        return .response(
            206, fields, "ETag: \(tag)", "Content-Type: text/plain", "Content-Range: bytes \(first)-\(last)/\(length)",
            content: octets(first...last, of: content))
    }

    static func isHit(_ response: WireMessage) -> Bool { response["Cache-Status"]?.hasPrefix("Larder; hit") == true }

    /// The `Range` fields that the origin has seen.
    static func asked(_ scene: Scenario) -> [String?] { scene.origin.seen.map { $0["Range"] } }

    @Test(arguments: [false, true]) func `HT-12 a part answers for what it covers, and for nothing else`(
        onDisk: Bool
    ) async throws {
        try await Scenario.run(onDisk: onDisk) { (scene) async throws in
            scene.origin.answer { Self.answer($0) }
            let first = try await scene.get("/a", "Range: bytes=100-199")
            #expect(first.status == 206)
            #expect(first.text == Self.octets(100...199))
            #expect(first["Cache-Status"]?.contains("stored") == true)
            if onDisk { try await scene.restart() }
            for (range, expected) in [("100-199", 100...199), ("150-160", 150...160), ("199-199", 199...199)] {
                let part = try await scene.get("/a", "Range: bytes=\(range)")
                #expect(part.status == 206)
                #expect(part.text == Self.octets(expected))
                #expect(part["Content-Range"] == "bytes \(range)/1000")
                #expect(Self.isHit(part), "\(range)")
            }
            #expect(scene.origin.seen.count == 1)
            let whole = try await scene.get("/a")
            #expect(whole.status == 200)
            #expect(whole.text == Self.content)
            #expect(Self.asked(scene) == ["bytes=100-199", nil])
            #expect(Self.isHit(try await scene.get("/a", "Range: bytes=0-9")))
        }
    }

    @Test func `only what is missing is asked for, until the parts are the whole`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { Self.answer($0) }
            _ = try await scene.get("/a", "Range: bytes=100-199")
            let after = try await scene.get("/a", "Range: bytes=150-249")
            #expect(after.status == 206)
            #expect(after.text == Self.octets(150...249))
            #expect(after["Content-Range"] == "bytes 150-249/1000")
            #expect(after["Content-Length"] == "100")
            let before = try await scene.get("/a", "Range: bytes=0-120")
            #expect(before.text == Self.octets(0...120))
            #expect(Self.isHit(try await scene.get("/a", "Range: bytes=0-249")))
            let rest = try await scene.get("/a", "Range: bytes=200-")
            #expect(rest.text == Self.octets(200...999))
            #expect(Self.asked(scene) == ["bytes=100-199", "bytes=200-249", "bytes=0-99", "bytes=250-"])
            #expect(scene.origin.seen.dropFirst().allSatisfy { $0["If-Range"] == "\"1\"" })
            // That was all of it.
            let whole = try await scene.get("/a")
            #expect(whole.status == 200)
            #expect(whole.text == Self.content)
            #expect(whole["Content-Range"] == nil)
            #expect(whole["Content-Type"] == "text/plain")
            #expect(Self.isHit(whole))
        }
    }

    @Test func `parts with a gap between them are kept beside each other`() async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            scene.origin.answer { Self.answer($0) }
            _ = try await scene.get("/a", "Range: bytes=0-99")
            _ = try await scene.get("/a", "Range: bytes=500-599")
            try await scene.restart()
            let low = try await scene.get("/a", "Range: bytes=50-60")
            let high = try await scene.get("/a", "Range: bytes=550-560")
            #expect(Self.isHit(low) && Self.isHit(high))
            #expect(low.text + high.text == Self.octets(50...60) + Self.octets(550...560))
            let across = try await scene.get("/a", "Range: bytes=50-549")
            #expect(across.text == Self.octets(50...549))
            #expect(Self.asked(scene).last == "bytes=100-499")
            let whole = try await scene.get("/a")
            #expect(whole.status == 200)
            #expect(whole.text == Self.content)
            #expect(Self.asked(scene).last == "bytes=600-")
        }
    }

    @Test func `new content overlaps the old`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { Self.answer($0) }
            _ = try await scene.get("/a", "Range: bytes=100-199")
            // Around what is held, so that nothing is saved and all of it comes anew.
            _ = try await scene.get("/a", "Range: bytes=50-300")
            #expect(Self.asked(scene) == ["bytes=100-199", "bytes=50-300"])
            let part = try await scene.get("/a", "Range: bytes=60-290")
            #expect(Self.isHit(part))
            #expect(part.text == Self.octets(60...290))
        }
    }

    @Test func `a stale part is validated, and its range served`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { Self.answer($0) }
            _ = try await scene.get("/a", "Range: bytes=100-199")
            scene.advance(.seconds(700))
            let part = try await scene.get("/a", "Range: bytes=110-119")
            #expect(part.status == 206)
            #expect(part.text == Self.octets(110...119))
            #expect(scene.origin.seen.last?["If-None-Match"] == "\"1\"")
            #expect(part["Cache-Status"]?.contains("fwd-status=304") == true)
            #expect(Self.isHit(try await scene.get("/a", "Range: bytes=100-109")))
        }
    }

    @Test func `a part of something new takes the place of the old ones`() async throws {
        try await Scenario.run { (scene) async throws in
            let changed = Self.content.uppercased()
            scene.origin.answer { Self.answer($0) }
            _ = try await scene.get("/a", "Range: bytes=100-199")
            scene.origin.answer { Self.answer($0, tag: "\"2\"", content: changed) }
            // The answer to our `If-Range` is a 200, which the client did not ask for.
            let part = try await scene.get("/a", "Range: bytes=150-249")
            #expect(part.status == 206)
            #expect(part.text == Self.octets(150...249, of: changed))
            #expect(part["ETag"] == "\"2\"")
            #expect(Self.asked(scene) == ["bytes=100-199", "bytes=200-249", "bytes=150-249"])
            #expect(!Self.isHit(try await scene.get("/a", "Range: bytes=100-110")))
            let whole = try await scene.get("/a")
            #expect(whole.text == changed)
        }
    }

    @Test(arguments: [
        "HTTP/1.1 206 X\r\nContent-Length: 50\r\nCache-Control: max-age=60\r\nETag: \"2\"\r\nContent-Range: bytes 200-249/1000",
        "HTTP/1.1 206 X\r\nContent-Length: 50\r\nCache-Control: max-age=60\r\nETag: \"1\"\r\nContent-Range: bytes 201-250/1000",
        "HTTP/1.1 206 X\r\nContent-Length: 50\r\nCache-Control: max-age=60\r\nETag: \"1\"\r\nContent-Range: bytes 200-249/1001",
        "HTTP/1.1 206 X\r\nContent-Length: 50\r\nCache-Control: max-age=60\r\nETag: \"1\"",
        "HTTP/1.1 206 X\r\nContent-Length: 50\r\nCache-Control: max-age=60\r\nContent-Range: bytes 200-249/1000",
        "HTTP/1.1 416 X\r\nContent-Length: 50\r\nContent-Range: bytes */100",
        "HTTP/1.1 304 X\r\nETag: \"1\"",
    ])
    func `what is not exactly the missing part is never mixed in`(head: String) async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { request in
                guard request["If-Range"] != nil else { return Self.answer(request) }
                return head + "\r\n\r\n" + (head.contains("304") ? "" : String(repeating: "#", count: 50))
            }
            _ = try await scene.get("/a", "Range: bytes=100-199")
            let part = try await scene.get("/a", "Range: bytes=150-249")
            #expect(part.status == 206)
            #expect(part.text == Self.octets(150...249))
            #expect(Self.asked(scene) == ["bytes=100-199", "bytes=200-249", "bytes=150-249"])
            #expect(try await scene.get("/a").text == Self.content)
        }
    }

    @Test(arguments: [40, 60]) func `a missing part of another length than it said breaks the response off`(
        count: Int
    ) async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { $0["If-Range"] == nil ? Self.answer($0) : nil }
            _ = try await scene.get("/a", "Range: bytes=100-199")
            let client = try await scene.client()
            try await client.get(scene.url("/a"), "Range: bytes=150-249")
            let request = try await scene.origin.request()
            try await request.write(
                "HTTP/1.1 206 X\r\nTransfer-Encoding: chunked\r\n\(Self.fresh)\r\nETag: \"1\"\r\n"
                    + "Content-Range: bytes 200-249/1000\r\n\r\n")
            #expect(try await client.head()["Content-Length"] == "100")
            #expect(try await client.text(50) == Self.octets(150...199))
            try await request.write("\(String(count, radix: 16))\r\n\(String(repeating: "#", count: count))\r\n")
            if count < 50 { _ = try await client.octets(count) }
            try? await request.write("0\r\n\r\n")
            _ = try await client.end()
            #expect(client.pending == 0)
            request.finish()
            // A part that cannot be completed is not tried again.
            let part = try await scene.get("/a", "Range: bytes=150-249")
            #expect(part.text == Self.octets(150...249))
        }
    }

    @Test func `a missing part that is longer than it said is not kept, wherever its pieces end`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { $0["If-Range"] == nil ? Self.answer($0) : nil }
            _ = try await scene.get("/a", "Range: bytes=100-199")
            let client = try await scene.client()
            try await client.get(scene.url("/a"), "Range: bytes=150-249")
            let request = try await scene.origin.request()
            let piece = String(repeating: "#", count: 50)
            try await request.write(
                "HTTP/1.1 206 X\r\nTransfer-Encoding: chunked\r\n\(Self.fresh)\r\nETag: \"1\"\r\n"
                    + "Content-Range: bytes 200-249/1000\r\n\r\n32\r\n\(piece)\r\n1\r\n#\r\n0\r\n\r\n")
            request.finish()
            _ = try await client.end()
            #expect(try await scene.get("/a", "Range: bytes=150-249").text == Self.octets(150...249))
        }
    }

    @Test func `parts without a strong validator are not put together`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { Self.answer($0, tag: "W/\"1\"") }
            _ = try await scene.get("/a", "Range: bytes=0-499")
            #expect(Self.isHit(try await scene.get("/a", "Range: bytes=10-19")))
            _ = try await scene.get("/a", "Range: bytes=500-999")
            #expect(!Self.isHit(try await scene.get("/a")))
            #expect(Self.asked(scene) == ["bytes=0-499", "bytes=500-999", nil])
        }
    }

    @Test func `a part that is all there is makes the whole`() async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            scene.origin.answer { Self.answer($0) }
            #expect(try await scene.get("/a", "Range: bytes=0-").status == 206)
            try await scene.restart()
            let whole = try await scene.get("/a")
            #expect(whole.status == 200)
            #expect(Self.isHit(whole))
            #expect(whole.text == Self.content)
        }
    }

    /// Whether it is kept in memory or on disk alone.
    @Test(arguments: [(1_000, -1), (1_000, 1), (200_000, -1), (200_000, 1)], [true, false])
    func `a part that is not as long as it says is kept nowhere, and does not look whole`(
        _ lengths: (stated: Int, difference: Int), isChunked: Bool
    ) async throws {
        let length = lengths.stated
        try await Scenario.run(onDisk: true) { settings, _ in
            settings.cache.memory = .mebibytes(1)
        } _: { (scene) async throws in
            let sent = String(repeating: "#", count: length + lengths.difference)
            let framing = isChunked ? "Transfer-Encoding: chunked" : "Connection: close"
            let content = isChunked ? "\(String(sent.utf8.count, radix: 16))\r\n\(sent)\r\n0\r\n\r\n" : sent
            for _ in 0..<2 {
                let client = try await scene.client()
                try await client.get(scene.url("/a"), "Range: bytes=0-", "Connection: close")
                let request = try await scene.origin.request()
                try await request.write(
                    "HTTP/1.1 206 X\r\n\(framing)\r\n\(Self.fresh)\r\nETag: \"1\"\r\n"
                        + "Content-Range: bytes 0-\(length - 1)/\(length)\r\n\r\n\(content)")
                await request.close()
                _ = try await client.end()
                let answer = String(decoding: try await client.octets(client.pending), as: UTF8.self)
                #expect(answer.hasPrefix("HTTP/1.1 502") || !answer.hasSuffix("\r\n0\r\n\r\n"))
            }
            #expect(scene.origin.seen.count == 2)
            scene.origin.answer { _ in .ok(Self.fresh, content: Self.content) }
            try await scene.restart()
            let whole = try await scene.get("/a")
            #expect(whole.status == 200 && !Self.isHit(whole))
            #expect(whole.text == Self.content)
        }
    }

    @Test func `a part never takes the place of the whole`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { Self.answer($0) }
            _ = try await scene.get("/a")
            _ = try await scene.get("/a", "Range: bytes=0-9", "Cache-Control: no-store")
            #expect(scene.origin.seen.count == 2)
            #expect(Self.isHit(try await scene.get("/a")))
        }
    }

    @Test func `an origin without ranges answers with the whole, which is stored`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, "ETag: \"1\"", content: Self.content) }
            let answer = try await scene.get("/a", "Range: bytes=0-9")
            #expect(answer.status == 200)
            #expect(answer.text == Self.content)
            let part = try await scene.get("/a", "Range: bytes=0-9")
            #expect(part.status == 206)
            #expect(part.text == Self.octets(0...9))
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `several ranges in one response answer the same request only`() async throws {
        try await Scenario.run { (scene) async throws in
            let content = "--x\r\nContent-Range: bytes 0-0/1000\r\n\r\na\r\n--x--\r\n"
            scene.origin.answer { _ in
                .response(206, Self.fresh, "Content-Type: multipart/byteranges; boundary=x", content: content)
            }
            _ = try await scene.get("/a", "Range: bytes=0-0,9-9")
            let same = try await scene.get("/a", "Range: bytes=0-0,9-9")
            #expect(Self.isHit(same))
            #expect(same.text == content)
            #expect(!Self.isHit(try await scene.get("/a", "Range: bytes=0-0")))
            #expect(!Self.isHit(try await scene.get("/a")))
        }
    }

    @Test func `what answers If-Range lacks fields, and is not stored`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { Self.answer($0) }
            _ = try await scene.get("/a", "Range: bytes=0-9", "If-Range: \"1\"")
            #expect(!Self.isHit(try await scene.get("/a", "Range: bytes=0-9")))
        }
    }

    @Test func `a client that names another representation gets no part of this one`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { Self.answer($0) }
            _ = try await scene.get("/a", "Range: bytes=0-99")
            scene.advance(.seconds(700))
            scene.origin.answer { Self.answer($0, tag: "\"2\"") }
            let answer = try await scene.get("/a", "Range: bytes=0-99", "If-Range: \"1\"")
            #expect(answer.status == 200)
            #expect(answer["ETag"] == "\"2\"")
            #expect(answer.text == Self.content)
        }
    }

    @Test func `HEAD is the origin's to answer while only parts are held`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { request in
                request.method == "HEAD"
                    ? "HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\(Self.fresh)\r\nETag: \"1\"\r\n\r\n"
                    : Self.answer(request)
            }
            _ = try await scene.get("/a", "Range: bytes=0-99")
            let client = try await scene.client()
            try await client.send("HEAD \(scene.url("/a")) HTTP/1.1", "Host: x")
            #expect(try await client.response(to: "HEAD")["Content-Length"] == "999")
            // Another length: the parts are not of what the origin has now.
            #expect(!Self.isHit(try await scene.get("/a", "Range: bytes=0-99")))
        }
    }

    @Test func `no more ranges than the limit are kept`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { Self.answer($0) }
            for number in 0..<20 { _ = try await scene.get("/a", "Range: bytes=\(number * 10)-\(number * 10 + 1)") }
            let variants = scene.resource("/a")?.memory.snapshot.variants ?? []
            #expect(variants.count == 1)
            guard case .parts(let parts, _) = variants.first?.stored.extent else {
                Issue.record("no parts")
                return
            }
            #expect(parts.count == 16)
            #expect(variants.first?.content.length == 32)
        }
    }

    @Test(arguments: [false, true]) func `parts at the end of what numbers can name are completed as others are`(
        onDisk: Bool
    ) async throws {
        try await Scenario.run(onDisk: onDisk) { (scene) async throws in
            scene.origin.answer { request in
                guard let range = request["Range"]?.dropFirst("bytes=".count) else { return .response(400) }
                let ends = range.split(separator: "-").compactMap { Int64($0) }
                guard ends.count == 2 else { return .response(416) }
                return .response(
                    206, Self.fresh, "ETag: \"1\"", "Content-Range: bytes \(range)/\(Int64.max)",
                    content: (ends[0]...ends[1]).map { String($0 % 10) }.joined())
            }
            let start = Int64.max - 20
            func ask(_ first: Int64, _ last: Int64) async throws -> String {
                try await scene.get("/a", "Range: bytes=\(start + first)-\(start + last)").text
            }
            #expect(try await ask(0, 5) == (0...5).map { String((start + $0) % 10) }.joined())
            if onDisk { try await scene.restart() }
            for (first, last) in [(0, 10), (3, 15), (0, 19), (16, 19)] as [(Int64, Int64)] {
                #expect(try await ask(first, last) == (first...last).map { String((start + $0) % 10) }.joined())
            }
        }
    }
}
