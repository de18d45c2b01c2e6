// SPDX-License-Identifier: Apache-2.0
import Foundation
import Larder
import LarderIO
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

@testable import LarderStores

/// Clients of a daemon whose store cannot read at the moment: it loses nothing by that.
@Suite("Scenarios: a store that cannot read")
struct StoreUnavailableScenarios {
    static let fresh = "Cache-Control: max-age=600"
    static let content = String(repeating: "a file's content; ", count: 60_000)

    static func isHit(_ response: WireMessage) -> Bool { response["Cache-Status"]?.hasPrefix("Larder; hit") == true }

    /// Has no file of content be opened while `body` runs: in the place of each is a socket, which exists and cannot be.
    static func withoutFiles(in scene: Scenario, _ body: () async throws -> Void) async throws {
        let folder = try #require(scene.directory).path + "/content/"
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.contains("/") }
            .map { folder + $0 }
        #expect(!files.isEmpty)
        for file in files {
            rename(file, file + ".away")
            #expect(mknod(file, S_IFSOCK | 0o600, 0) == 0)
        }
        try await body()
        for file in files { rename(file + ".away", file) }
    }

    @Test func `content that cannot be opened is asked of the origin meanwhile, and stays stored`() async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: Self.content) }
            _ = try await scene.get("/a")
            try await scene.restart()
            try await Self.withoutFiles(in: scene) {
                let response = try await scene.get("/a")
                #expect(response.text == Self.content)
                #expect(response["Cache-Status"] == "Larder; fwd=miss; fwd-status=200")
                #expect(try await scene.get("/a", "Cache-Control: only-if-cached").status == 504)
                #expect(scene.origin.seen.count == 2)
            }
            for _ in 0..<2 {
                let response = try await scene.get("/a")
                #expect(response.text == Self.content)
                #expect(Self.isHit(response))
                try await scene.restart()
            }
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test func `offline, nobody is asked for what cannot be opened, and it is there later`() async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: Self.content) }
            _ = try await scene.get("/a")
            try await scene.restart()
            scene.proxy.goOffline(.on, service: nil)
            try await Self.withoutFiles(in: scene) { () async throws in
                #expect(try await scene.get("/a").status == 504)
            }
            #expect(try await scene.get("/a").text == Self.content)
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `a response ends where reads are refused, and is whole for the next client`() async throws {
        let content = String(repeating: "many octets; ", count: 1_200_000)
        try await Scenario.run(onDisk: true) { settings, _ in
            settings.cache.memory = .mebibytes(1)
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: content) }
            // A load gives a store that is behind a moment to catch up.
            _ = try await scene.lettingTimePass(within: .zero...(.seconds(60))) { try await scene.get("/a") }
            let store = try #require(scene.proxy.diskTier).store
            // From here on it is read from its file.
            await store.flush()
            let client = try await scene.client(isHeld: true)
            try await client.get(scene.url("/a"))
            try await eventually("its response has begun") { scene.count(.saved) > 0 }
            try await store.refusingReads {
                client.release()
                let end = try await client.response().cut
                #expect(end == .reset)
            }
            let response = try await scene.get("/a")
            // Not as one expression, which would print all of it.
            let isWhole = response.text == content
            #expect(isWhole)
            #expect(Self.isHit(response))
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test(arguments: ["short", content])
    func `offline, a read that fails hides nothing from the next request`(content: String) async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: content) }
            _ = try await scene.get("/a")
            try await scene.restart()
            scene.proxy.goOffline(.on, service: nil)
            let store = try #require(scene.proxy.diskTier).store
            try await store.refusingReads { () async throws in
                for _ in 0..<2 { #expect(try await scene.get("/a").status == 504) }
            }
            let response = try await scene.get("/a")
            #expect(response.text == content)
            #expect(Self.isHit(response))
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `a response loaded while reads are refused replaces the stored one`() async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: "old") }
            _ = try await scene.get("/a")
            try await scene.restart()
            scene.origin.answer { _ in .ok(Self.fresh, content: "new") }
            scene.advance(.seconds(1))
            let store = try #require(scene.proxy.diskTier).store
            try await store.refusingReads { () async throws in
                for _ in 0..<2 { #expect(try await scene.get("/a").text == "new") }
            }
            for _ in 0..<2 {
                #expect(try await scene.get("/a").text == "new")
                try await scene.restart()
            }
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test func `an error replaces nothing that a pipeline has made, while that cannot be opened`() async throws {
        typealias Base = TransformingScenarios
        try await Base.run(Base.entry(Base.Counting(runs: Recorder<String>())), onDisk: true) { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, Base.json, content: Self.content) }
            let made = try await scene.get("/a").text
            try await scene.restart()
            scene.origin.answer { _ in .response(503, Self.fresh) }
            try await Self.withoutFiles(in: scene) { () async throws in
                let response = try await scene.get("/a")
                #expect(response.status == 503)
                #expect(response["Cache-Status"]?.contains("stored-unread") == true)
            }
            let response = try await scene.get("/a")
            #expect(Self.isHit(response))
            let isMade = response.text == made
            #expect(isMade)
        }
    }

    @Test func `what a new pipeline cannot read is transformed when it can be`() async throws {
        typealias Base = TransformingScenarios
        let runs = Recorder<String>()
        try await Base.run(Base.entry(Base.Counting(runs: runs, word: "one")), onDisk: true) { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, Base.json, content: Self.content) }
            _ = try await scene.get("/a")
            let two = Base.Counting(runs: runs, word: "two")
            scene.change { $0.services[0].declare = { $0.add(Base.entry(two)) } }
            try await scene.restart()
            scene.proxy.goOffline(.on, service: nil)
            try await Self.withoutFiles(in: scene) { () async throws in
                #expect(try await scene.get("/a").status == 504)
            }
            #expect(try await scene.get("/a").text == Base.made(Self.content, "two"))
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `parts that cannot be opened are not completed, and stay`() async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            scene.origin.answer { PartScenarios.answer($0, content: Self.content) }
            _ = try await scene.get("/a", "Range: bytes=0-599999")
            try await scene.restart()
            try await Self.withoutFiles(in: scene) {
                let part = try await scene.get("/a", "Range: bytes=500000-699999")
                #expect(part.status == 206)
                #expect(part.text == PartScenarios.octets(500_000...699_999, of: Self.content))
                #expect(
                    PartScenarios.asked(scene)
                        == ["bytes=0-599999", "bytes=600000-699999", "bytes=500000-699999"])
            }
            let part = try await scene.get("/a", "Range: bytes=0-99999")
            #expect(part.text == PartScenarios.octets(0...99_999, of: Self.content))
            #expect(Self.isHit(part))
            #expect(scene.origin.seen.count == 3)
        }
    }

    @Test func `an export tells what could not be read from what is damaged`() async throws {
        let archives = ArchiveScenarios()
        try await archives.run { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: Self.content) }
            _ = try await scene.get("/a")
            try await scene.restart()
            func left() async throws -> JSONValue { try archives.summary(try await archives.exported(scene)) }
            try await Self.withoutFiles(in: scene) {
                let summary = try await left()
                #expect(summary["entities"]?.int == 0)
                #expect(summary["leftOut"]?["unreadable"]?.int == 1)
                #expect(summary["leftOut"]?["damaged"]?.int == 0)
            }
            #expect(try await left()["entities"]?.int == 1)
            // Nobody knows how much of a list is missing.
            let store = try #require(scene.proxy.diskTier).store
            try await store.refusingReads { () async throws in
                let client = try await scene.client("the operator")
                try await client.write(
                    Array(
                        "GET /-/export?match=** HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer token\r\n\r\n".utf8
                    ))
                let cut = try await client.response().cut
                #expect(cut != nil)
            }
        }
    }

    @Test func `a response that the disk does not take makes the older one out of date`() async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: "old") }
            _ = try await scene.get("/a")
            await scene.proxy.diskTier?.store.flush()
            let spool = try #require(scene.directory).path + "/spool"
            #expect(rename(spool, spool + ".away") == 0)
            #expect(FileManager.default.createFile(atPath: spool, contents: nil))
            scene.origin.answer { _ in .ok(Self.fresh, content: Self.content) }
            #expect(try await scene.get("/a", "Cache-Control: no-cache").text == Self.content)
            unlink(spool)
            #expect(rename(spool + ".away", spool) == 0)
            try await scene.restart()
            #expect(try await scene.get("/a").text == Self.content)
        }
    }

    @Test func `an invalidation of what cannot be read says so`() async throws {
        try await Scenario.run(onDisk: true) { settings, _ in
            settings.admin.token = Secret("token")
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: "a") }
            _ = try await scene.get("/a")
            try await scene.restart()
            let store = try #require(scene.proxy.diskTier).store
            for target in ["/-/invalidate?match=**", "/-/resource/invalidate?url=\(scene.url("/a"))"] {
                try await store.refusingReads { () async throws in
                    let answer = try await scene.change("POST", target)
                    #expect(answer.status == 503 && answer.text.contains("cannot read at the moment"), "\(answer.text)")
                }
                #expect(try await scene.change("POST", target).status == 200)
            }
        }
    }
}
