// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderProxy
import LarderSettings
import LarderTesting
import LarderUpstream
import Testing

/// The load that runs in the task of the client that came first, and what becomes of the others.
@Suite("Scenarios: the client that came first")
struct LeadingScenarios {
    static let fresh = "Cache-Control: max-age=60"

    @Test func `when it leaves before there is an answer, the others get it, and it is done with at once`()
        async throws
    {
        try await Scenario.run({ settings, _ in settings.log.access = true }) { (scene) async throws in
            let (leader, follower, request) = try await scene.twoClients()
            await leader.close()
            try await eventually("its line is there") { scene.log.values.contains { $0.contains("outcome=aborted") } }
            #expect(scene.interest(in: "/a") == 1)
            scene.advance(.seconds(5))
            try await request.reply(Self.fresh, content: "apples")
            #expect(try await follower.response().text == "apples")
            #expect(try await scene.get("/a")["Cache-Status"]?.hasPrefix("Larder; hit") == true)
            #expect(scene.origin.seen.count == 1)
            #expect(scene.log.values.count { $0.contains("outcome=aborted") } == 1)
        }
    }

    @Test func `when it alone waited and leaves, the load is cancelled after its grace`() async throws {
        try await Scenario.run({ settings, _ in settings.timeouts.abandon = .seconds(4) }) { (scene) async throws in
            let leader = try await scene.client("the leader")
            try await leader.get(scene.url("/a"))
            let request = try await scene.origin.request()
            await leader.close()
            _ = try await scene.lettingTimePass(reaching: .seconds(4)) { try await request.wire.end() }
            try await eventually("the load is over") { scene.resource("/a")?.memory.loads.isEmpty == true }
            #expect(scene.count(.aborted) == 1)
            scene.origin.answer { _ in .ok(Self.fresh, content: "pears") }
            #expect(try await scene.get("/a").text == "pears")
        }
    }

    @Test(arguments: ["GET", "HEAD", "POST"])
    func `clients that ask and break off at once are noticed, and their requests end`(method: String) async throws {
        try await Scenario.run({ settings, _ in settings.timeouts.abandon = .seconds(4) }) { (scene) async throws in
            // Not all arrive: some break off before their request is read.
            for number in 0..<20 {
                let client = try await scene.client("client \(number)")
                try await client.write(
                    "\(method) \(scene.url("/\(number)")) HTTP/1.1\r\nHost: \(scene.origin.authority)\r\n"
                        + (method == "POST" ? "Content-Length: 0\r\n\r\n" : "\r\n"))
                await client.reset()
            }
            await scene.proxy.settle()
            // Not as long as an origin may be silent.
            _ = try await scene.lettingTimePass(within: .zero ... .seconds(20)) {
                try await eventually("all of them end") {
                    await scene.proxy.upstreamStatistics().allSatisfy { $0.active + $0.waiting == 0 }
                }
            }
        }
    }

    @Test func `the client that came first hears interim responses once, whoever runs the load`() async throws {
        try await Scenario.run { (scene) async throws in
            let (leader, follower, request) = try await scene.twoClients()
            try await request.write("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n")
            try await leader.hasReceived(10)
            try await request.write("HTTP/1.1 103 Early Hints\r\nLink: </b.css>\r\n\r\n")
            // Content that is not all there: the load goes on in a task of its own.
            try await request.send("HTTP/1.1 200 OK", "Content-Length: 10", Self.fresh, content: "01234")
            try await request.write("56789")
            #expect(try await leader.response()["Link"] == "</a.css>")
            #expect(try await leader.response()["Link"] == "</b.css>")
            #expect(try await leader.response().text == "0123456789")
            #expect(try await follower.response().text == "0123456789")
        }
    }

    @Test func `when it reads nothing, the others are not held up, and it gets what there was room for`() async throws {
        try await Scenario.run { (scene) async throws in
            let (leader, follower, request) = try await scene.twoClients(isFirstHeld: true)
            // More than the kernel holds for one who does not read.
            let filling = String(repeating: "x", count: 30_000)
            let count = 31
            for number in 0..<count {
                try await request.write("HTTP/1.1 103 Early Hints\r\nLink: </\(number)>\r\nFilling: \(filling)\r\n\r\n")
            }
            try await request.reply(Self.fresh, content: "apples")
            #expect(try await follower.response().text == "apples")
            leader.release()
            // Interim responses are left out where they find no room, whole and in order.
            let sent = (0..<count).map { "</\($0)>" }
            var heard: [String] = []
            var response = try await leader.response()
            while response.status == 103 {
                heard.append(response["Link"] ?? "")
                response = try await leader.response()
            }
            #expect(heard.first == sent.first && heard.count > 1)
            #expect(heard == sent.filter(heard.contains))
            #expect(response.text == "apples")
        }
    }

    @Test(arguments: ["Cache-Control: no-store", "Cache-Control: max-age=60"])
    func `chunked content that comes with its head has a length, unless trailers follow it`(line: String) async throws {
        try await Scenario.run { (scene) async throws in
            let head = "HTTP/1.1 200 OK\r\n\(line)\r\nTransfer-Encoding: chunked\r\n\r\n"
            for (path, end, trailers) in [("/a", "0\r\n\r\n", []), ("/b", "0\r\nX-Sum: 8\r\n\r\n", ["X-Sum"])] {
                let client = try await scene.client()
                try await client.get(scene.url(path))
                let request = try await scene.origin.request()
                try await request.write(head + "6\r\napples\r\n" + end)
                request.finish()
                let response = try await client.response()
                #expect(response.text == "apples")
                #expect(response["Content-Length"] == (trailers.isEmpty ? "6" : nil))
                #expect(response.trailers.map(\.name) == trailers)
            }
        }
    }

    @Test func `content that is malformed behind its head is an error that says so, and nothing is kept`() async throws
    {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            try await scene.origin.request().write(
                "HTTP/1.1 200 OK\r\n\(Self.fresh)\r\nTransfer-Encoding: chunked\r\n\r\n6\r\napplesX\r\n")
            let response = try await client.response()
            #expect(response.status == 502)
            #expect(scene.resource("/a")?.memory.snapshot.variants.isEmpty == true)
        }
    }
}
