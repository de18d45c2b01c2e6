// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import LarderStores
import Testing

@testable import LarderAdmin

@Suite("Showing and changing resources")
struct AdminResourcesTests {
    /// The paths of a listing, in its order.
    private func paths(_ answer: Answer, _ daemon: AdminFixture) throws -> [String] {
        let resources = try #require(try answer.json["resources"]?.array, "\(answer.content)")
        return resources.compactMap { $0["url"]?.string?.replacing(daemon.url(""), with: "") }
    }

    @Test func `a list has every resource with its state, whatever wrote it`() async throws {
        try await AdminFixture.run { daemon throws in
            for path in ["/api/users/a", "/api/users/b", "/api/x?q=1", "/http/127.0.0.1:\(daemon.origin.port)/other"] {
                #expect(try daemon.get(path).status == 200)
            }
            let all = try daemon.get("/-/resources")
            #expect(try paths(all, daemon) == ["/other", "/api/users/a", "/api/users/b", "/api/x?q=1"])
            #expect(try all.json["total"]?.int == 4)
            let first = try #require(try all.json["resources"]?[1])
            #expect(first["state"]?.string == "fresh")
            #expect(first["status"]?.int == 200)
            #expect(first["bytes"]?.int == "hello from /api/users/a".utf8.count)
            #expect(first["service"]?.string == "api")
            #expect(first["where"]?.string == "memory and disk")
            #expect((98...100).contains(try #require(first["ttl"]?.int)))
            #expect(try paths(daemon.get("/-/resources?match=/users/*"), daemon) == ["/api/users/a", "/api/users/b"])
            #expect(try paths(daemon.get("/-/resources?match=**"), daemon).count == 4)
            #expect(try paths(daemon.get("/-/resources?service=-"), daemon) == ["/other"])
            #expect(
                try paths(daemon.get("/-/resources?match=http://127.0.0.1:\(daemon.origin.port)/o*"), daemon) == [
                    "/other"
                ])
        }
    }

    @Test func `brackets are no pattern, but those of an address`() async throws {
        try await AdminFixture.run { daemon throws in
            for text in ["%5B", "/users/%5Ba-z%5D", "/%7Bid%7D", "https://a.test/%5B"] {
                let answer = try daemon.get("/-/resources?match=\(text)")
                #expect(answer.status == 400)
                #expect(answer.content.contains("is no pattern"), "\(answer.content)")
            }
            #expect(try daemon.get("/-/resources?match=http://%5B::1%5D:8080/**").status == 200)
        }
    }

    @Test func `pages go through memory and disk without gap or repetition`() async throws {
        try await AdminFixture.run { daemon throws in
            let names = (0..<20).map { "/api/r\($0)" }
            for name in names { #expect(try daemon.get(name).status == 200) }
            // Half of them only on disk.
            for name in names.prefix(10) {
                _ = try daemon.command("POST", "/-/resource/wipe?caches=keep&url=\(name)")
            }
            await daemon.daemon.proxy.diskTier?.store.flush()
            for limit in [1, 3, 10, 20, 50] {
                var seen: [String] = []
                var after = ""
                while true {
                    let page = try daemon.get("/-/resources?limit=\(limit)\(after)")
                    seen += try paths(page, daemon)
                    #expect(try paths(page, daemon).count <= limit)
                    guard let next = try page.json["next"]?.string else { break }
                    after = "&after=\(next)"
                }
                #expect(seen.sorted() == names.sorted(), "limit \(limit)")
            }
        }
    }

    @Test func `one resource is shown in full, without secrets`() async throws {
        try await AdminFixture.run { daemon throws in
            #expect(try daemon.get("/api/vary/cookie", "Accept-Language: de").status == 200)
            #expect(try daemon.get("/api/vary/cookie").status == 200)
            for name in [
                "/api/vary/cookie", daemon.url("/api/vary/cookie"), "http://localhost:\(daemon.port)/api/vary/cookie",
            ] {
                let shown = try daemon.get("/-/resources?url=\(name)")
                let json = try shown.json
                #expect(json["url"]?.string == daemon.url("/api/vary/cookie"), "\(name)")
                #expect(json["variants"]?.array?.count == 2)
                let newest = try #require(json["variants"]?[0])
                #expect(newest["selectedBy"]?[0]?.string == "Accept-Language: (absent)")
                #expect(newest["lifetime"]?["seconds"]?.int == 100)
                #expect(newest["lifetime"]?["from"]?.string == "max-age")
                #expect(newest["validators"]?[0]?.string == "ETag")
                #expect(!shown.content.contains("topsecret"))
            }
            let unknown = try daemon.get("/-/resources?url=/api/never")
            #expect(unknown.status == 404)
            #expect(daemon.origin.requests.count == 2)
        }
    }

    @Test func `RS-26 invalidating keeps what is stored and has it validated`() async throws {
        try await AdminFixture.run { daemon throws in
            _ = try daemon.get("/api/a")
            let answer = try daemon.command("POST", "/-/resource/invalidate?url=/api/a")
            #expect(try answer.json["invalidated"]?.int == 1)
            #expect(try daemon.get("/-/resources").json["resources"]?[0]?["state"]?.string == "invalidated")
            let next = try daemon.get("/api/a")
            #expect(next["Cache-Status"] == "Larder; fwd=stale; fwd-status=304")
            #expect(next.content == "hello from /api/a")
            #expect(try daemon.get("/api/a")["Cache-Status"]?.hasPrefix("Larder; hit") == true)
        }
    }

    @Test func `what is invalidated on disk alone is validated too`() async throws {
        try await AdminFixture.run { daemon throws in
            for path in ["/api/a", "/api/b"] { _ = try daemon.get(path) }
            _ = try daemon.command("POST", "/-/wipe?match=**&caches=keep")
            let answer = try daemon.command("POST", "/-/invalidate?match=/a")
            #expect(try answer.json["invalidated"]?["disk"]?.int == 1)
            #expect(try answer.json["unchanged"] == nil)
            for (path, unchanged) in [("/-/invalidate?match=/a", 1), ("/-/invalidate?match=/never", 0)] {
                let again = try daemon.command("POST", path).json
                #expect(again["invalidated"]?["disk"]?.int == 0 && again["unchanged"]?.int == unchanged, "\(again)")
            }
            #expect(try daemon.command("POST", "/-/resource/invalidate?url=/api/a").json["unchanged"]?.int == 1)
            #expect(try daemon.get("/api/a")["Cache-Status"] == "Larder; fwd=stale; fwd-status=304")
            #expect(try daemon.get("/api/b")["Cache-Status"]?.hasPrefix("Larder; hit") == true)
        }
    }

    @Test func `SV-11 RS-29 B-11 wiping forgets memory, and the disk unless told otherwise`() async throws {
        try await AdminFixture.run { daemon throws in
            for path in ["/api/a", "/api/b", "/api/users/c"] { _ = try daemon.get(path) }
            #expect(try daemon.command("POST", "/-/resource/wipe?caches=keep&url=/api/a").json["wiped"]?.int == 1)
            #expect(try daemon.get("/api/a")["Cache-Status"]?.hasPrefix("Larder; hit") == true)
            #expect(try daemon.command("POST", "/-/resource/wipe?url=/api/a").json["wiped"]?.int == 1)
            #expect(try daemon.get("/api/a")["Cache-Status"]?.hasPrefix("Larder; fwd=uri-miss") == true)
            let many = try daemon.command("POST", "/-/wipe?match=/users/**").json
            #expect(many["wiped"]?["memory"]?.int == 1)
            #expect(many["wiped"]?["disk"]?.int == 1)
            #expect(try paths(daemon.get("/-/resources"), daemon) == ["/api/a", "/api/b"])
            _ = try daemon.command("POST", "/-/wipe?match=**")
            #expect(try paths(daemon.get("/-/resources"), daemon).isEmpty)
            #expect(try daemon.command("POST", "/-/wipe").status == 400)
            #expect(try daemon.command("POST", "/-/wipe?match=**&caches=all").status == 400)
        }
    }

    @Test func `loading asks the origin, or not where nothing is needed`() async throws {
        try await AdminFixture.run { daemon throws in
            let first = try daemon.command("POST", "/-/resource/load?url=/api/a").json
            #expect(first["result"]?.string == "loaded and stored")
            #expect(first["bytes"]?.int == "hello from /api/a".utf8.count)
            #expect(try daemon.get("/api/a")["Cache-Status"]?.hasPrefix("Larder; hit") == true)
            let again = try daemon.command("POST", "/-/resource/load?url=/api/a").json
            #expect(again["result"]?.string?.hasPrefix("validated") == true)
            #expect(daemon.origin.requests.count == 2)
            let idle = try daemon.command("POST", "/-/resource/load-if-needed?url=/api/a").json
            #expect(idle["result"]?.string?.hasPrefix("up to date") == true)
            #expect(daemon.origin.requests.count == 2)
            _ = try daemon.command("POST", "/-/resource/invalidate?url=/api/a")
            _ = try daemon.command("POST", "/-/resource/load-if-needed?url=/api/a")
            #expect(daemon.origin.requests.count == 3)
            let unstored = try daemon.command("POST", "/-/resource/load?url=/api/no-store").json
            #expect(unstored["result"]?.string?.hasPrefix("loaded, but not stored") == true)
        }
    }

    @Test func `a load that cannot be made says why`() async throws {
        var block = ConfigureBlock()
        block.pattern.match = "/private/**"
        block.caching = Configuration.Caching.none
        try await AdminFixture.run(configure: [block]) { daemon throws in
            #expect(try daemon.command("POST", "/-/resource/load?url=/api/private/a").status == 409)
            let unreachable = try daemon.command("POST", "/-/resource/load?url=http://127.0.0.1:1/x")
            #expect(unreachable.status == 502)
            #expect(daemon.origin.requests.isEmpty)
        }
    }

    @Test func `what is on disk alone is listed with its state`() async throws {
        try await AdminFixture.run { daemon throws in
            _ = try daemon.get("/api/a")
            await daemon.daemon.proxy.diskTier?.store.flush()
            #expect(daemon.daemon.proxy.diskTier?.store.statistics.entries == 1)
            _ = try daemon.command("POST", "/-/wipe?match=**&caches=keep")
            let list = try daemon.get("/-/resources").json
            let line = try #require(list["resources"]?[0])
            #expect(line["where"]?.string == "disk")
            #expect(line["status"]?.int == 200)
            #expect(line["state"]?.string == "fresh")
        }
    }

    @Test(arguments: [false, true]) func `what a former service has left is listed as that`(
        isRestarted: Bool
    ) async throws {
        try await Scenario.run(onDisk: true) { settings, origin in
            settings.add("shop", at: origin.url("/")) { _ in }
            settings.add("other", at: origin.url("/other/")) { _ in }
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=60", content: "x") }
            _ = try await scene.get("/a")
            try await eventually("it is stored") { scene.proxy.diskTier?.store.statistics.pendingBytes == 0 }
            #expect(try await scene.ask("/-/resources")["resources"]?[0]?["leftover"] == nil)
            try await scene.reload { $0.services.removeFirst() }
            if isRestarted { try await scene.restart() }
            let line = try await scene.ask("/-/resources")["resources"]?[0]
            #expect(line?["service"]?.string == "shop" && line?["leftover"]?.bool == true)
        }
    }
}
