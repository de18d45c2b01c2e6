// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderProxy
import LarderTesting
import Testing

/// The machine's clock is set: what is stored is judged with caution, and what waits does not notice.
@Suite("Scenarios: a clock that jumps")
struct ClockScenarios {
    static let day: Int64 = 86_400_000_000_000

    @Test(arguments: [-400, -1, 1, 400], [true, false])
    func `after a jump what is stored is asked about, and served with an age that makes sense`(
        days: Int64, onDisk: Bool
    ) async throws {
        try await Scenario.run(onDisk: onDisk) { (scene) async throws in
            scene.origin.answer { request in
                request["If-None-Match"] == "\"a\""
                    ? "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nCache-Control: max-age=60\r\n\r\n"
                    : .ok("Cache-Control: max-age=60", "ETag: \"a\"", content: "apples")
            }
            let client = try await scene.client()
            func get() async throws -> WireMessage {
                try await client.get(scene.url("/a"))
                return try await client.response()
            }
            #expect(try await get().text == "apples")
            #expect(try await get()["Cache-Status"]?.contains("hit") == true)
            #expect(scene.origin.seen.count == 1)
            scene.time.setWall(scene.time.now() + days * Self.day)
            let after = try await get()
            #expect(after.text == "apples")
            #expect(scene.origin.seen.count == 2)
            if let age = after["Age"].flatMap({ Int64($0) }) { #expect((0...60).contains(age)) }
            // From there on as if nothing had been, on the same connection.
            let again = try await get()
            #expect(again["Cache-Status"]?.contains("hit") == true)
            #expect(again["Age"].flatMap { Int64($0) }.map { (0...60).contains($0) } != false)
            #expect(scene.origin.seen.count == 2)
            // And back to the right time.
            scene.time.setWall(scene.time.now() - days * Self.day)
            #expect(try await get().text == "apples")
            #expect(try await get()["Cache-Status"]?.contains("hit") == true)
            #expect(scene.origin.seen.count == 3)
        }
    }

    @Test(arguments: [-400, 400], [true, false])
    func `what comes after a jump takes the place of what was stored before`(
        days: Int64, onDisk: Bool
    ) async throws {
        try await Scenario.run(onDisk: onDisk) { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=60", content: "apples") }
            _ = try await scene.get("/a")
            scene.time.setWall(scene.time.now() + days * Self.day)
            scene.origin.answer { _ in .ok("Cache-Control: max-age=60", content: "pears") }
            #expect(try await scene.get("/a").text == "pears")
            let again = try await scene.get("/a")
            #expect(again.text == "pears" && again["Cache-Status"]?.contains("hit") == true)
            #expect(scene.origin.seen.count == 2)
        }
    }
}
