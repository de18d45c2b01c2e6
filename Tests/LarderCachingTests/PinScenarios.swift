// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderSettings
import LarderTesting
import Testing

/// Resources that operators keep from eviction.
@Suite("Scenarios: pins")
struct PinScenarios {
    static let fresh = "Cache-Control: max-age=600"

    private func run(disk: ByteCount = .mebibytes(64), _ body: (Scenario) async throws -> Void) async throws {
        try await Scenario.run(
            onDisk: true,
            { settings, _ in
                settings.admin.token = Secret("token")
                settings.cache.disk = disk
            }, body)
    }

    private func send(_ scene: Scenario, _ method: String, _ path: String) async throws -> (Int, JSONValue) {
        let client = try await scene.client("the operator")
        try await client.send(
            "\(method) \(path) HTTP/1.1", "Host: localhost", "Authorization: Bearer token", "Content-Length: 0",
            "Accept: application/problem+json, application/json")
        let answer = try await client.response()
        await client.close()
        return (answer.status, try JSONValue(parsing: answer.content))
    }

    @Test func `pins are listed, outlive a restart and end`() async throws {
        try await run { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, content: "content of \($0.target)") }
            for path in ["/train/a", "/train/b", "/other"] { _ = try await scene.get(path) }
            let (status, pinned) = try await send(scene, "POST", "/-/pins?match=/train/*")
            #expect(status == 200 && pinned["pinned"]?.int == 2, "\(pinned)")
            #expect(pinned["limitBytes"]?.int == 32 << 20)
            for _ in 0..<2 {
                let (_, list) = try await send(scene, "GET", "/-/pins")
                #expect(
                    list["pins"]?.array?.compactMap { $0["url"]?.string } == [
                        scene.url("/train/a"), scene.url("/train/b"),
                    ])
                let (_, resources) = try await send(scene, "GET", "/-/resources")
                let marked = resources["resources"]?.array?.filter { $0["pinned"] == true }.count
                #expect(marked == 2)
                let (_, shown) = try await send(scene, "GET", "/-/resources?url=\(scene.url("/train/a"))")
                #expect(shown["pinned"] == true)
                let (_, state) = try await send(scene, "GET", "/-/status")
                #expect(state["store"]?["pinned"]?.int == 2, "\(state)")
                let (_, explained) = try await send(scene, "GET", "/-/explain?url=\(scene.url("/train/a"))")
                #expect(explained.description.contains("larder unpin"))
                try await scene.restart()
            }
            #expect(try await send(scene, "DELETE", "/-/pins?match=/train/a").1["unpinned"]?.int == 1)
            #expect(try await send(scene, "GET", "/-/pins").1["total"]?.int == 1)
            #expect(try await send(scene, "POST", "/-/pins?match=/nothing/*").1["pinned"]?.int == 0)
        }
    }

    @Test func `a wipe leaves what is pinned, says so, and takes it when it is told to`() async throws {
        try await run { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, content: "content of \($0.target)") }
            for path in ["/train/a", "/train/b", "/other"] { _ = try await scene.get(path) }
            _ = try await send(scene, "POST", "/-/pins?match=/train/*")
            let (_, trial) = try await send(scene, "POST", "/-/wipe?match=**&dryRun=true")
            #expect(trial["wouldWipe"]?["disk"]?.int == 1 && trial["wouldWipe"]?["pinned"]?.int == 2, "\(trial)")
            let (_, wiped) = try await send(scene, "POST", "/-/wipe?match=**")
            #expect(wiped["wiped"]?["disk"]?.int == 1 && wiped["wiped"]?["pinned"]?.int == 2, "\(wiped)")
            let one = "/-/resource/wipe?url=\(scene.url("/train/a"))"
            let (status, refused) = try await send(scene, "POST", one)
            #expect(status == 409 && refused["title"]?.string == "Pinned")
            scene.origin.answer { _ in .ok(Self.fresh, content: "new") }
            #expect(try await scene.get("/train/a").text == "content of /train/a")
            #expect(try await scene.get("/other").text == "new")
            #expect(try await send(scene, "POST", one + "&pinned=true").1["wiped"]?.int == 1)
            #expect(try await scene.get("/train/a").text == "new")
            #expect(try await send(scene, "GET", "/-/pins").1["total"]?.int == 1)
            let (_, all) = try await send(scene, "POST", "/-/wipe?match=**&pinned=true")
            #expect(all["wiped"]?["disk"]?.int == 3 && all["wiped"]?["pinned"] == nil, "\(all)")
            #expect(try await send(scene, "GET", "/-/pins").1["total"]?.int == 0)
        }
    }

    @Test func `more than half of the disk is not pinned, and the figures are said`() async throws {
        try await run(disk: .mebibytes(16)) { (scene) async throws in
            let content = String(repeating: "x", count: 1_900_000)
            scene.origin.answer { .ok(Self.fresh, content: content + $0.target) }
            for number in 0..<5 {
                _ = try await scene.get("/train/\(number)")
                // One after another: a slow store lets go of what comes too fast.
                while try await send(scene, "GET", "/-/status").1["storedResponses"]?.int != number + 1 {}
            }
            for number in 0..<3 {
                #expect(try await send(scene, "POST", "/-/pins?match=/train/\(number)").0 == 200)
            }
            let (status, refused) = try await send(scene, "POST", "/-/pins?match=**")
            #expect(status == 409)
            #expect(refused["detail"]?.string?.contains("8388608") == true, "\(refused)")
            #expect(try await send(scene, "GET", "/-/pins").1["total"]?.int == 3)
        }
    }
}
