// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// Connections that have nothing to do for a while.
@Suite("Scenarios: idle connections")
struct RestingScenarios {
    /// Lets time pass until another connection than that of `busy`, which has always something to do, rests.
    private func rest(_ scene: Scenario, beside busy: Wire) async throws {
        let before = scene.count(.connectionsRested)
        for _ in 0..<100 where scene.count(.connectionsRested) == before {
            scene.advance(.milliseconds(40))
            try await busy.get(scene.url("/busy"))
            _ = try await busy.response()
        }
        #expect(scene.count(.connectionsRested) > before)
    }

    @Test func `a connection that rested goes on as if it had not`() async throws {
        try await Scenario.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            scene.origin.answer { .ok("Cache-Control: max-age=60000", content: "this is \($0.target)") }
            let (client, busy) = (try await scene.client(), try await scene.client("the busy client"))
            for round in 0..<6 {
                // A repeated request is answered at once, and the connection rests on.
                try await client.get(scene.url("/a"))
                #expect(try await client.response().text == "this is /a")
                try await client.get(scene.url("/\(round)"))
                #expect(try await client.response().text == "this is /\(round)")
                try await rest(scene, beside: busy)
            }
            #expect(scene.origin.seen.count == 8)
        }
    }

    @Test func `a client that leaves while its connection rests is noticed`() async throws {
        try await Scenario.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            scene.origin.answer { _ in .ok(content: "apples") }
            let (client, busy) = (try await scene.client(), try await scene.client("the busy client"))
            try await client.get(scene.url("/a"))
            #expect(try await client.response().text == "apples")
            try await rest(scene, beside: busy)
            await client.close()
            while scene.proxy.openConnections > 1 { await Task.yield() }
        }
    }

    @Test func `a resting connection ends when it was idle for too long`() async throws {
        try await Scenario.run({ settings, _ in
            settings.threads = 1
            settings.timeouts.idle = .seconds(30)
        }) { (scene) async throws in
            scene.origin.answer { _ in .ok(content: "apples") }
            let (client, busy) = (try await scene.client(), try await scene.client("the busy client"))
            try await client.get(scene.url("/a"))
            #expect(try await client.response().text == "apples")
            try await rest(scene, beside: busy)
            scene.advance(.seconds(30))
            // The other one may have begun to be idle only now.
            #expect(try await client.end() == .closed)
        }
    }
}
