// SPDX-License-Identifier: Apache-2.0
import Glibc
import Larder
import LarderHTTP
@testable import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// Starting again, stopping, and changing the configuration while serving.
@Suite("Scenarios: the daemon's life")
struct LifeScenarios {
    static let fresh = "Cache-Control: max-age=6000"

    @Test func `what was stored is there after a restart`() async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            let large = String(repeating: "large ", count: 50_000)
            scene.origin.answer { request in
                request.target == "/large"
                    ? .ok(Self.fresh, content: large)
                    : .ok(
                        Self.fresh, "Vary: Accept-Language", "ETag: \"1\"",
                        content: "small \(request["Accept-Language"] ?? "")")
            }
            for language in ["de", "fr"] { _ = try await scene.get("/small", "Accept-Language: \(language)") }
            _ = try await scene.get("/large")
            try await scene.restart()
            scene.advance(.seconds(60))
            for language in ["de", "fr"] {
                let hit = try await scene.get("/small", "Accept-Language: \(language)")
                #expect(hit.text == "small \(language)")
                #expect(hit["Age"] == "60")
                #expect(hit["ETag"] == "\"1\"")
                #expect(hit["Cache-Status"] == "Larder; hit; ttl=5940")
            }
            #expect(try await scene.get("/large").text == large)
            #expect(scene.origin.seen.count == 3)
            #expect(try await scene.get("/small", "Accept-Language: it").text == "small it")
        }
    }

    @Test func `a validation after a restart freshens what is on disk`() async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            scene.origin.answer {
                $0["If-None-Match"] == nil
                    ? .ok("Cache-Control: max-age=10", "ETag: \"1\"", content: "apples")
                    : .response(304, "ETag: \"1\"", Self.fresh)
            }
            _ = try await scene.get("/a")
            try await scene.restart()
            scene.advance(.seconds(60))
            #expect(try await scene.get("/a")["Cache-Status"] == "Larder; fwd=stale; fwd-status=304")
            try await scene.restart()
            let hit = try await scene.get("/a")
            #expect(hit["Cache-Status"] == "Larder; hit; ttl=6000")
            #expect(hit.text == "apples")
        }
    }

    @Test func `what a write made unusable stays so after a restart`() async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, content: $0.method) }
            _ = try await scene.get("/a")
            try await scene.restart()
            // Nothing of it is in memory when the write comes.
            let client = try await scene.client()
            try await client.send("DELETE \(scene.url("/a")) HTTP/1.1", "Host: x")
            #expect(try await client.response().text == "DELETE")
            try await scene.restart()
            _ = try await scene.get("/a")
            #expect(scene.origin.seen.map(\.method) == ["GET", "DELETE", "GET"])
        }
    }

    // MARK: Stopping

    @Test func `on stopping, idle connections close and a running exchange ends in its own time`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { $0.target == "/idle" ? .ok(content: "idle") : nil }
            let idle = try await scene.client("the idle client")
            try await idle.get(scene.url("/idle"))
            _ = try await idle.response()
            let busy = try await scene.client("the busy client")
            try await busy.get(scene.url("/a"))
            let request = try await scene.origin.request()
            let proxy = scene.proxy
            async let drained: Void = proxy.drain()
            #expect(try await idle.end() == .closed)
            try await request.reply(content: "apples")
            let answer = try await busy.response()
            #expect(answer.text == "apples")
            #expect(answer["Connection"] == "close")
            #expect(try await busy.end() == .closed)
            await drained
            await #expect(throws: (any Error).self) { try await scene.client("who comes too late").head() }
        }
    }

    @Test func `on stopping, a request that has arrived unnoticed is answered first`() async throws {
        try await Scenario.run({ settings, _ in settings.threads = 1 }) { (scene) async throws in
            scene.origin.answer { .ok(content: $0.target) }
            let client = try RawClient(port: scene.port)
            client.get(scene.url("/first"))
            #expect(client.received().hasSuffix("/first"))
            // The loop does not poll between the arrival of the request and the drain.
            let url = scene.url("/second")
            try await #require(scene.proxy.contexts.first).perform { context in
                client.get(url)
                context.drain()
            }
            let answer = client.received()
            #expect(answer.hasSuffix("/second") && answer.lowercased().contains("connection: close"), "\(answer)")
        }
    }

    @Test(arguments: [.milliseconds(50), .seconds(3600)] as [Duration])
    func `an exchange that does not end is ended when its time is up`(abandon: Duration) async throws {
        try await Scenario.run({ settings, _ in
            settings.timeouts.abandon = abandon
            settings.timeouts.drain = .seconds(4)
        }) { (scene) async throws in
            let busy = try await scene.client()
            try await busy.get(scene.url("/a"))
            let request = try await scene.origin.request()
            let proxy = scene.proxy
            try await scene.lettingTimePass(reaching: .seconds(4)) { await proxy.drain() }
            _ = try await busy.end()
            request.finish()
        }
    }

    // MARK: Reloading

    @Test func `a new configuration counts for the next request on the same connection`() async throws {
        try await Scenario.run {
            $0.add("api", at: $1.url("/")) {
                $0.configure { $0.headers = [HeaderEdit(name: "X-Version", value: Secret("one"))] }
            }
        } _: { (scene) async throws in
            scene.origin.answer { .ok("Cache-Control: no-store", content: $0["X-Version"] ?? "none") }
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            #expect(try await client.response().text == "one")
            try await scene.reload {
                $0.services[0].configure[0].headers = [HeaderEdit(name: "X-Version", value: Secret("two"))]
            }
            try await client.get(scene.url("/a"))
            #expect(try await client.response().text == "two")
            try await scene.reload { $0.services = [] }
            try await client.get(scene.url("/a"))
            #expect(try await client.response().text == "none")
        }
    }

    @Test func `LG-01 lines of exchanges come and go with the configuration, to where one wants`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: "x") }
            // The maker of the daemon chooses what takes the lines: here it is the scenario's recorder.
            func lines() -> [String] { scene.log.values.filter { $0.hasPrefix("exchange") } }
            _ = try await scene.get("/silent")
            try await scene.reload { $0.log.access = true }
            _ = try await scene.get("/told")
            try await eventually("it is told") { lines().contains { $0.contains("/told") } }
            try await scene.reload { $0.log.access = false }
            _ = try await scene.get("/silent/again")
            await scene.proxy.drain()
            #expect(lines().count == 1, "\(lines())")
        }
    }

    @Test(arguments: [false, true]) func `a new lifetime counts for what is stored already`(
        afterRestart: Bool
    ) async throws {
        try await Scenario.run(onDisk: true) {
            $0.add("api", at: $1.url("/")) { $0.configure { $0.expirationTime = Expiration(time: .seconds(600)) } }
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok(content: "apples") }
            _ = try await scene.get("/a")
            scene.advance(.seconds(100))
            #expect(try await scene.get("/a")["Cache-Status"] == "Larder; hit; ttl=500")
            try await scene.reload { $0.services[0].configure[0].expirationTime = Expiration(time: .seconds(60)) }
            if afterRestart { try await scene.restart() }
            #expect(try await scene.get("/a")["Cache-Status"]?.hasPrefix("Larder; fwd=stale") == true)
            try await scene.reload { $0.services[0].configure[0].expirationTime = Expiration(time: .seconds(1000)) }
            scene.advance(.seconds(100))
            #expect(try await scene.get("/a")["Cache-Status"] == "Larder; hit; ttl=900")
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test func `a smaller memory is kept to from the next load on`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: String(repeating: "x", count: 10_000)) }
            for number in 0..<150 { _ = try await scene.get("/\(number)") }
            #expect(scene.proxy.registry.bytes > 1 << 20)
            try await scene.reload { $0.cache.memory = .mebibytes(1) }
            _ = try await scene.get("/next")
            #expect(scene.proxy.registry.bytes <= 1 << 20)
        }
    }

    @Test func `going offline serves what there is, whatever its age, and nothing else`() async throws {
        try await Scenario.run {
            $0.add("api", at: $1.url("/"))
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=10", content: "apples") }
            _ = try await scene.get("/a")
            try await scene.reload { $0.services[0].offline = .on }
            scene.advance(.seconds(10_000))
            let old = try await scene.get("/a")
            #expect(old.text == "apples")
            #expect(old["Age"] == "10000")
            #expect(try await scene.get("/b").status == 504)
            #expect(scene.origin.seen.count == 1)
        }
    }
}

/// A client with a blocking socket, which sends from whatever thread calls it.
private final class RawClient: Sendable {
    private let descriptor: Int32

    init(port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        let outcome = withUnsafeBytes(of: &address) { bytes in
            connect(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        try #require(outcome == 0)
    }

    deinit { close(descriptor) }

    func get(_ url: String) {
        let head = "GET \(url) HTTP/1.1\r\nHost: a\r\n\r\n"
        #expect(send(descriptor, head, head.utf8.count, 0) == head.utf8.count)
    }

    /// The next bytes, at most 4 KiB; empty at the end.
    func received() -> String {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
