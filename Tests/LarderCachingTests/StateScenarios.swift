// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderIO
import LarderSettings
import LarderTesting
import Testing

/// The reported state of one resource, and loads that an operator ends.
@Suite("Scenarios: the state of one resource")
struct StateScenarios {
    @Test func `data, error and being up to date are told of each other independently`() async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=60", "Content-Type: text/plain", content: "apples") }
            _ = try await scene.get("/a")
            var state = try await scene.state("/a")
            #expect(state["isUpToDate"]?.bool == true)
            #expect(state["latestError"] == .null)
            #expect(state["latestData"]?["bytes"]?.int == 6)
            #expect(state["latestData"]?["contentType"]?.string == "text/plain")
            #expect(state["isLoading"]?.bool == false)

            scene.advance(.seconds(100))
            state = try await scene.state("/a")
            #expect(state["isUpToDate"]?.bool == false)
            scene.origin.answer { _ in .response(404, "Cache-Control: no-store") }
            _ = try await scene.get("/a")
            state = try await scene.state("/a")
            #expect(state["latestError"]?["status"]?.int == 404)
            #expect(state["latestData"]?["bytes"]?.int == 6)
            #expect(state["isUpToDate"]?.bool == false)

            // A response that only the store has is told of too.
            try await scene.restart()
            state = try await scene.state("/a")
            #expect(state["latestData"]?["bytes"]?.int == 6)
            #expect(state["latestError"] == .null)
            #expect(state["where"]?.string == "disk")
        }
    }

    @Test func `cancelling ends the loads of every partition`() async throws {
        try await Scenario.run {
            $0.admin.token = Secret("token")
            $0.add("api", at: $1.url("/")) { $0.privacy = .partitioned }
        } _: { (scene) async throws in
            var clients: [Wire] = []
            var requests: [OriginRequest] = []
            for user in ["a", "b", nil] {
                let client = try await scene.client()
                try await client.get(scene.url("/a"), user.map { ["Authorization: \($0)"] } ?? [])
                requests.append(try await scene.origin.request())
                clients.append(client)
            }
            let answer = try await scene.change("POST", "/-/resource/cancel?url=\(scene.url("/a"))")
            #expect(answer.text.contains("\"cancelled\": 3"), "\(answer.text)")
            for client in clients { #expect(try await client.response().status == 503) }
            #expect(requests.count == 3)
        }
    }
}
