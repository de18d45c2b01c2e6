// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// A configuration that changes while something is being loaded.
@Suite("Scenarios: reloads in the middle")
struct ReloadScenarios {
    /// Begins a load of `/a`, changes the configuration, has somebody ask for `/a` by it, and ends the load.
    func load(
        _ scene: Scenario, _ lines: String..., reload: (inout Settings) -> Void
    ) async throws {
        let reader = try await scene.client("the reader")
        try await reader.get(scene.url("/a"))
        let request = try await scene.origin.request()
        try await request.write(
            (["HTTP/1.1 200 OK", "Content-Length: 6"] + lines).map { $0 + "\r\n" }.joined() + "\r\napple")
        try await reader.hasReceived(20)
        try await scene.reload(reload)
        // The configuration is looked at for a client that asks now.
        let other = try await scene.client("the other")
        try await other.get(scene.url("/a"), "Cache-Control: only-if-cached")
        #expect(try await other.response().status == 504)
        try await request.write("s")
        request.finish()
        #expect(try await reader.response().text == "apples")
    }

    @Test(arguments: [false, true]) func `what lands is judged by the configuration of now`(
        onDisk: Bool
    ) async throws {
        try await Scenario.run(onDisk: onDisk) {
            $0.add("api", at: $1.url("/")) { $0.configure { $0.expirationTime = Expiration(time: .seconds(600)) } }
        } _: { (scene) async throws in
            try await load(scene, "ETag: \"1\"") {
                $0.services[0].configure[0].expirationTime = Expiration(time: .seconds(60), mode: .override)
            }
            #expect(try await scene.get("/a")["Cache-Status"] == "Larder; hit; ttl=60")
            guard onDisk else { return }
            try await scene.restart()
            #expect(try await scene.get("/a")["Cache-Status"] == "Larder; hit; ttl=60")
        }
    }

    @Test(arguments: [false, true]) func `what is not kept any more does not land`(onDisk: Bool) async throws {
        try await Scenario.run(onDisk: onDisk) {
            $0.add("api", at: $1.url("/")) { $0.privacy = .private }
        } _: { (scene) async throws in
            try await load(scene, "Cache-Control: private, max-age=600") { $0.services[0].privacy = .shared }
            scene.origin.answer { _ in .ok("Cache-Control: no-store", content: "anew") }
            #expect(try await scene.get("/a").text == "anew")
            guard onDisk else { return }
            try await scene.restart()
            #expect(try await scene.get("/a").text == "anew")
        }
    }
}
