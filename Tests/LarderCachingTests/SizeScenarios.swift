// SPDX-License-Identifier: Apache-2.0
import Foundation
import Larder
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// Much content, many resources, and the limits on both.
@Suite("Scenarios: sizes")
struct SizeScenarios {
    static let fresh = "Cache-Control: max-age=6000"

    /// Content in which every position can be told from every other.
    static func content(_ count: Int) -> [UInt8] {
        var octets: [UInt8] = []
        octets.reserveCapacity(count)
        var number: UInt64 = 88_172_645_463_325_252
        while octets.count < count {
            number ^= number << 13
            number ^= number >> 7
            number ^= number << 17
            withUnsafeBytes(of: number) { octets.append(contentsOf: $0) }
        }
        return Array(octets.prefix(count))
    }

    enum Way: CaseIterable { case length, chunked }

    /// Replies with much content, which takes as long as the readers do.
    func reply(_ request: OriginRequest, _ content: [UInt8], _ way: Way) async throws {
        switch way {
        case .length:
            try await request.send("HTTP/1.1 200 OK", "Content-Length: \(content.count)", Self.fresh)
            for start in stride(from: 0, to: content.count, by: 1 << 20) {
                try await request.wire.write(Array(content[start..<min(start + 1 << 20, content.count)]))
            }
        case .chunked:
            try await request.send("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", Self.fresh)
            for start in stride(from: 0, to: content.count, by: 1 << 20) {
                let piece = content[start..<min(start + 1 << 20, content.count)]
                try await request.wire.write(
                    Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + [0x0D, 0x0A])
            }
            try await request.write("0\r\n\r\n")
        }
        request.finish()
    }

    @Test(arguments: Way.allCases)
    func `SH-12 HT-11 B-37 32 MiB go through to a quick and to a lagging client, and are stored`(
        way: Way
    ) async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            let content = Self.content(32 << 20)
            let slow = try await scene.client("the lagging client", isHeld: true)
            try await slow.get(scene.url("/a"))
            let request = try await scene.origin.request()
            let quick = try await scene.client("the quick client")
            try await quick.get(scene.url("/a"))
            try await eventually("both wait") { scene.interest(in: "/a") == 2 }
            // The load gives a busy disk a moment now and then, which passes by the scenario's clock.
            try await scene.lettingTimePass(.milliseconds(1)) {
                async let replied: Void = reply(request, content, way)
                let first = try await quick.response()
                #expect(first.isWhole)
                #expect(first.content == content)
                try await replied
                slow.release()
                let second = try await slow.response()
                #expect(second.isWhole)
                #expect(second.content == content)
            }
            let hit = try await scene.get("/a")
            #expect(hit["Cache-Status"]?.hasPrefix("Larder; hit") == true)
            #expect(hit.content == content)
            #expect(scene.origin.seen.count == 1)
            #expect(scene.proxy.registry.bytes < 1 << 20)
        }
    }

    enum Ending: CaseIterable { case invalidation, wipe, otherClientsWrite }

    /// What is no longer stored is still what the clients of the load asked for.
    @Test(arguments: Ending.allCases)
    func `who lags behind gets all of a response that is not stored in the end`(because ending: Ending) async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            let content = Self.content(24 << 20)
            let slow = try await scene.client("the lagging client", isHeld: true)
            try await slow.get(scene.url("/a"))
            let request = try await scene.origin.request()
            try await request.send("HTTP/1.1 200 OK", "Content-Length: \(content.count)", Self.fresh)
            try await scene.lettingTimePass(.milliseconds(1)) {
                try await request.wire.write(Array(content[..<(16 << 20)]))
                let resource = try #require(scene.resource("/a"))
                let load = try #require(resource.memory.loads.first)
                let subject = try scene.proxy.subject(of: scene.url("/a"))
                try await eventually("most has come") { load.received >= 16 << 20 }
                switch ending {
                case .invalidation: _ = try await scene.proxy.invalidate(subject)
                case .wipe: _ = await scene.proxy.wipe(subject, keepsStored: false)
                case .otherClientsWrite:
                    let writer = try await scene.client("another client")
                    try await writer.send("POST \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 0")
                    try await scene.origin.request().reply(204)
                    #expect(try await writer.response().status == 204)
                }
                try await request.wire.write(Array(content[(16 << 20)...]))
                request.finish()
                try await eventually("the load has ended") {
                    load.received == content.count && resource.memory.loads.isEmpty
                }
                slow.release()
                let response = try await slow.response()
                #expect(response.isWhole)
                #expect(response.content == content)
            }
        }
    }

    /// The disk takes 2 MiB. Memory keeps less of it, and more.
    @Test(arguments: [(1, 1), (48, 3)])
    func `content of unknown length that turns out to be too long for the disk reaches a lagging client whole`(
        memory: Int, received: Int64
    ) async throws {
        let sizes: (inout Settings, ScriptedOrigin) -> Void = { settings, _ in
            settings.cache.disk = .mebibytes(16)
            settings.cache.memory = .mebibytes(memory)
        }
        try await Scenario.run(onDisk: true, sizes) { (scene) async throws in
            let content = Self.content(8 << 20)
            let slow = try await scene.client("the lagging client", isHeld: true)
            try await slow.get(scene.url("/a"))
            let request = try await scene.origin.request()
            try await scene.lettingTimePass(.milliseconds(1)) {
                async let replied: Void = reply(request, content, .chunked)
                let load = try #require(scene.resource("/a")?.memory.loads.first)
                try await eventually("much has come") { load.received >= received << 20 }
                slow.release()
                let response = try await slow.response()
                try await replied
                #expect(response.isWhole)
                #expect(response.content == content)
            }
            // An eighth of the disk: known beforehand, such content is not said to be stored.
            let other = try await scene.client("a client")
            try await other.get(scene.url("/b"))
            async let replied: Void = reply(try await scene.origin.request(), content, .length)
            let response = try await other.response()
            try await replied
            #expect(response["Cache-Status"]?.hasSuffix("detail=too-large") == true)
            #expect(response.content == content)
        }
    }

    @Test func `HT-11 B-37 without a store the slowest client sets the pace, and nothing is lost`() async throws {
        try await Scenario.run({ settings, _ in settings.cache.memory = .mebibytes(1) }) { (scene) async throws in
            let content = Self.content(16 << 20)
            let slow = try await scene.client("the lagging client", isHeld: true)
            try await slow.get(scene.url("/a"))
            let request = try await scene.origin.request()
            let quick = try await scene.client("the quick client")
            try await quick.get(scene.url("/a"))
            try await eventually("both wait") { scene.interest(in: "/a") == 2 }
            async let replied: Void = reply(request, content, .chunked)
            try await eventually("the origin is held back") {
                scene.resource("/a")?.memory.loads.first?.shared?.isHoldingBack == true
            }
            #expect(quick.received < 12 << 20)
            slow.release()
            #expect(try await slow.response().content == content)
            #expect(try await quick.response().content == content)
            try await replied
            #expect(scene.resource("/a")?.memory.snapshot.variants.isEmpty != false)
        }
    }

    @Test(arguments: Way.allCases, [true, false])
    func `what is larger than maxObject goes through and is not kept`(way: Way, onDisk: Bool) async throws {
        try await Scenario.run(onDisk: onDisk, { settings, _ in settings.cache.maxObject = .kibibytes(100) }) {
            (scene) async throws in
            let content = Self.content(150 << 10)
            for _ in 0..<2 {
                let client = try await scene.client()
                try await client.get(scene.url("/a"))
                try await reply(try await scene.origin.request(), content, way)
                #expect(try await client.response().content == content)
            }
            #expect(scene.resource("/a")?.memory.snapshot.variants.isEmpty != false)
        }
    }

    /// A hundred thousand with `LARDER_FULL`, which takes a while.
    @Test func `SV-07 B-34 very many resources stay within the limit of memory`() async throws {
        let batches = ProcessInfo.processInfo.environment["LARDER_FULL"] != nil ? 500 : 50
        try await Scenario.run({ settings, _ in settings.cache.memory = .mebibytes(1) }) { (scene) async throws in
            let filler = String(repeating: "x", count: 500)
            scene.origin.answer { .ok(Self.fresh, content: $0.target + filler) }
            try await withThrowingTaskGroup { group in
                for lane in 0..<4 {
                    group.addTask {
                        let client = try await scene.client("lane \(lane)")
                        for batch in 0..<batches {
                            let paths = (0..<50).map { "/\(lane)/\(batch)/\($0)" }
                            try await client.write(
                                paths.map { "GET \(scene.url($0)) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined())
                            for path in paths { #expect(try await client.response().text == path + filler) }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let registry = scene.proxy.registry
            #expect(scene.origin.seen.count == 200 * batches)
            #expect(registry.bytes <= registry.limit)
            #expect(registry.count > 100)
            #expect(registry.evicted > 5_000)
            #expect(registry.checkInvariants() == [])
            // The responses still there are as they were.
            var kept: [String] = []
            registry.forEach { if let variant = $0.memory.snapshot.variants.first { kept.append(variant.text) } }
            #expect(kept.allSatisfy { $0.hasPrefix("/") && $0.hasSuffix(filler) })
        }
    }

    @Test func `connections beyond the limit are answered 503`() async throws {
        try await Scenario.run({ settings, _ in settings.limits.connections = 2 }) { (scene) async throws in
            scene.origin.answer { .ok(content: $0.target) }
            let first = try await scene.client()
            let second = try await scene.client()
            for client in [first, second] {
                try await client.get(scene.url("/a"))
                _ = try await client.response()
            }
            let third = try await scene.client()
            try await third.get(scene.url("/a"))
            let answer = try await third.response()
            #expect(answer.status == 503)
            #expect(answer["Content-Type"] == "application/problem+json")
            #expect(try await third.end() == .closed)
            try await eventually("the client is gone") { scene.proxy.openConnections == 2 }
            await first.close()
            try await eventually("there is room") { scene.proxy.openConnections < 2 }
            let fourth = try await scene.client()
            try await fourth.get(scene.url("/a"))
            #expect(try await fourth.response().text == "/a")
        }
    }

    @Test func `tunnels beyond the limit are answered 503`() async throws {
        try await Scenario.run({ settings, _ in settings.limits.tunnels = 1 }) { (scene) async throws in
            let first = try await scene.client()
            try await first.send("CONNECT \(scene.origin.authority) HTTP/1.1", "Host: x")
            #expect(try await first.head().status == 200)
            let second = try await scene.client()
            try await second.send("CONNECT \(scene.origin.authority) HTTP/1.1", "Host: x")
            #expect(try await second.response().status == 503)
        }
    }
}
