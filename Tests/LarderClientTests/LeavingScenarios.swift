// SPDX-License-Identifier: Apache-2.0
import LarderProxy
import LarderSettings
import LarderTesting
import LarderUpstream
import Testing

/// Clients that leave, or seem to.
@Suite("Scenarios: clients that leave")
struct LeavingScenarios {
    @Test(arguments: ["GET", "DELETE"], [false, true])
    func `a client that ends only its own side gets its answer`(method: String, atOnce: Bool) async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.send("\(method) \(scene.url("/a")) HTTP/1.1", "Host: x")
            if atOnce { await client.shutdownWrite() }
            let request = try await scene.origin.request()
            if !atOnce { await client.shutdownWrite() }
            #expect(try await client.head().startLine.hasPrefix("HTTP/1.1 100"))
            try await request.reply("Cache-Control: max-age=60", content: "apples")
            #expect(try await client.response().text == "apples")
            #expect(try await client.end() == .closed)
            #expect(scene.count(.aborted) == 0)
        }
    }

    @Test func `a client that is gone ends what is done for it, whatever the clock says`() async throws {
        try await Scenario.run {
            $0.timeouts.abandon = .zero; _ = $1
        } _: { (scene) async throws in
            for method in ["GET", "DELETE"] {
                let client = try await scene.client()
                try await client.send("\(method) \(scene.url("/a")) HTTP/1.1", "Host: x")
                let request = try await scene.origin.request()
                await client.close()
                _ = try await request.wire.end()
                request.finish()
            }
            try await eventually("both are counted") { scene.count(.aborted) == 2 }
            #expect(scene.count(.pass) == 0)
            #expect(scene.count(.miss) == 0)
        }
    }

    @Test func `a client that has had the last octet when it leaves has had all`() async throws {
        try await Scenario.run { (scene) async throws in
            for number in 0..<10 {
                let client = try await scene.client()
                try await client.send("GET \(scene.url("/\(number)")) HTTP/1.1", "Host: x")
                let request = try await scene.origin.request()
                try await request.write("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 6\r\n\r\n")
                _ = try await client.head()
                try await request.write("apples")
                #expect(try await client.text(6) == "apples")
                await client.close()
                request.finish()
            }
            try await eventually("all are counted") { scene.count(.miss) + scene.count(.aborted) == 10 }
            #expect(scene.count(.aborted) == 0)
        }
    }

    @Test func `an HTTP/1.0 client that ends its side counts as gone`() async throws {
        try await Scenario.run {
            $0.timeouts.abandon = .zero; _ = $1
        } _: { (scene) async throws in
            let client = try await scene.client()
            try await client.send("GET \(scene.url("/a")) HTTP/1.0", "Host: x")
            let request = try await scene.origin.request()
            await client.shutdownWrite()
            _ = try await client.end()
            _ = try await request.wire.end()
            request.finish()
            #expect(scene.count(.aborted) == 1)
        }
    }

    @Test func `a client that is gone keeps no place, whoever its load goes on for`() async throws {
        try await Scenario.run({ settings, _ in settings.limits.clientConnections = 2 }) { (scene) async throws in
            let (leader, follower, request) = try await scene.twoClients()
            await leader.close()
            try await eventually("the place is free") { scene.proxy.openConnections == 1 }
            #expect(scene.interest(in: "/a") == 1)
            let third = try await scene.client("the third")
            try await third.get(scene.url("/a"))
            try await eventually("it waits, too") { scene.interest(in: "/a") == 2 }
            try await request.reply("Cache-Control: max-age=60", content: "apples")
            for client in [follower, third] {
                #expect(try await client.response().text == "apples")
                await client.close()
            }
            // The end of its task does not count again.
            try await eventually("nobody is there") { scene.proxy.openConnections == 0 }
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `T-15 the grace period begins anew with each client that leaves last`() async throws {
        try await Scenario.run({ settings, _ in settings.timeouts.abandon = .seconds(5) }) { (scene) async throws in
            let first = try await scene.client()
            try await first.get(scene.url("/a"))
            let request = try await scene.origin.request()
            await first.close()
            try await eventually("nobody waits") { scene.interest(in: "/a") == 0 }
            scene.advance(.seconds(4))
            let second = try await scene.client()
            try await second.get(scene.url("/a"))
            try await eventually("another client waits") { scene.interest(in: "/a") == 1 }
            await second.close()
            try await eventually("nobody waits again") { scene.interest(in: "/a") == 0 }
            // Eight seconds after the first has left, four after the second.
            scene.advance(.seconds(4))
            await scene.proxy.settle()
            let third = try await scene.client()
            try await third.get(scene.url("/a"))
            try await eventually("a third client waits") { scene.interest(in: "/a") == 1 }
            try await request.reply("Cache-Control: max-age=60", content: "apples")
            #expect(try await third.response().text == "apples")
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test(arguments: ["GET", "DELETE", "POST"])
    func `a client that is gone keeps no place while its request lasts`(method: String) async throws {
        try await Scenario.run {
            $0.timeouts.abandon = .seconds(3_600); _ = $1
        } _: { (scene) async throws in
            let client = try await scene.client()
            try await client.send("\(method) \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 0")
            let request = try await scene.origin.request()
            await client.close()
            try await eventually("the place is free") { scene.proxy.openConnections == 0 }
            if method == "GET" { try await request.reply(content: "apples") } else { request.finish() }
        }
    }

    @Test(arguments: ["GET", "DELETE"])
    func `a client that leaves in the middle of a response is no error of the origin's`(method: String) async throws {
        try await Scenario.run {
            $0.timeouts.abandon = .zero; _ = $1
        } _: { (scene) async throws in
            let client = try await scene.client()
            try await client.send("\(method) \(scene.url("/a")) HTTP/1.1", "Host: x")
            let request = try await scene.origin.request()
            try await request.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            _ = try await client.head()
            await client.close()
            _ = try await request.wire.end()
            request.finish()
            try await eventually("it is counted") { scene.proxy.openConnections == 0 }
            #expect(scene.count(.error) == 0)
        }
    }

    @Test func `a client that breaks off a stored response is no hit`() async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            let content = String(repeating: "octets; ", count: 2 << 20)
            scene.origin.answer { _ in .ok("Cache-Control: max-age=60", content: content) }
            // The load gives a busy disk a moment now and then, which passes by the scenario's clock.
            let stored = try await scene.lettingTimePass(.milliseconds(1)) { try await scene.getStored("/a") }
            #expect(stored.content.count == content.utf8.count)
            // Takes the beginning, and no more than that.
            let client = try await scene.client(isHeld: true)
            try await client.get(scene.url("/a"))
            try await eventually("the answer has begun") {
                client.release()
                client.hold()
                return client.received > 0
            }
            await client.reset()
            try await eventually("it is counted") { scene.count(.aborted) + scene.count(.hit) == 1 }
            #expect(scene.count(.aborted) == 1)
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `a client of CONNECT that is gone keeps no place, however soon it went`() async throws {
        try await Scenario.run({ settings, origin in
            settings.upstream.parent = .proxy(ParentAddress(host: "127.0.0.1", port: origin.port))
        }) { (scene) async throws in
            for _ in 0..<4 {
                let client = try await scene.client()
                try await client.send("CONNECT x.test:443 HTTP/1.1", "Host: x.test:443")
                await client.close()
            }
            try await eventually("the places are free") {
                scene.count(.aborted) == 4 && scene.proxy.openConnections == 0 && scene.proxy.openTunnels == 0
            }
        }
    }

    @Test(arguments: [false, true])
    func `a client of CONNECT that ends only its own side gets its tunnel`(atOnce: Bool) async throws {
        try await Scenario.run({ settings, origin in
            settings.upstream.parent = .proxy(ParentAddress(host: "127.0.0.1", port: origin.port))
        }) { (scene) async throws in
            let client = try await scene.client()
            try await client.send("CONNECT x.test:443 HTTP/1.1", "Host: x.test:443", content: "hello")
            if atOnce { await client.shutdownWrite() }
            let request = try await scene.origin.request()
            if !atOnce { await client.shutdownWrite() }
            #expect(try await client.head().startLine.hasPrefix("HTTP/1.1 100"))
            try await request.write("HTTP/1.1 200 OK\r\n\r\nwelcome")
            #expect(try await client.head().status == 200)
            #expect(try await client.text(7) == "welcome")
            #expect(try await request.wire.text(5) == "hello")
            await request.close()
            #expect(try await client.end() == .closed)
        }
    }

    @Test(arguments: ["GET", "POST"])
    func `a client that is gone keeps no place while its request is held back`(method: String) async throws {
        try await Scenario.run({ settings, origin in
            settings.timeouts.abandon = .zero
            settings.add("api", at: origin.url("/")) { $0.configure { $0.decorate.delay = .seconds(30) } }
        }) { (scene) async throws in
            let client = try await scene.client()
            try await client.send("\(method) \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 0")
            try await eventually("it is being served") { scene.proxy.openConnections == 1 }
            await client.close()
            try await eventually("the place is free") {
                scene.count(.aborted) == 1 && scene.proxy.openConnections == 0
            }
            #expect(scene.origin.seen.isEmpty)
        }
    }

    @Test func `a response without a length does not look whole when its client was too slow`() async throws {
        try await Scenario.run { settings, _ in
            settings.timeouts.write = .seconds(5)
        } _: { (scene) async throws in
            let client = try await scene.client(isHeld: true)
            try await client.send("POST \(scene.url("/a")) HTTP/1.0", "Host: x", "Content-Length: 0")
            let request = try await scene.origin.request()
            try await request.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            let sending = Task {
                let piece = String(repeating: "octets; ", count: 8_192)
                for _ in 0..<200 { try? await request.write("10000\r\n\(piece)\r\n") }
            }
            _ = try await scene.lettingTimePass(within: .seconds(5)...(.seconds(30))) { try await request.wire.end() }
            await sending.value
            client.release()
            #expect(try await client.response().cut == .reset)
            request.finish()
        }
    }

    @Test func `a response without a length does not look whole to a client that ended its own side`() async throws {
        try await Scenario.run {
            $0.timeouts.abandon = .zero; _ = $1
        } _: { (scene) async throws in
            let client = try await scene.client()
            try await client.send("DELETE \(scene.url("/a")) HTTP/1.0", "Host: x")
            let request = try await scene.origin.request()
            try await request.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
            _ = try await client.head()
            await client.shutdownWrite()
            #expect(try await client.end() == .reset)
            request.finish()
        }
    }
}
