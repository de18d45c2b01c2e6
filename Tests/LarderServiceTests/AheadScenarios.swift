// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// Stored responses that are validated before a client asks.
@Suite("Scenarios: refreshing ahead")
struct AheadScenarios {
    static let lines = ["Cache-Control: max-age=100", "ETag: \"1\""]

    static func run(
        _ ahead: RefreshAhead, onDisk: Bool = false, startingAt start: Int64? = nil,
        _ change: @escaping (inout ServiceSettings) -> Void = { _ in }, _ body: (Scenario) async throws -> Void
    ) async throws {
        try await Scenario.run(onDisk: onDisk, startingAt: start) { settings, origin in
            settings.upstream.retryAfterLimit = .seconds(3_600)
            settings.add("api", at: "http://127.0.0.1:\(origin.port)/") { service in
                service.configure { $0.refreshAhead = ahead }
                change(&service)
            }
        } _: {
            try await body($0)
        }
    }

    /// The first response, for a client that sends these fields.
    static func load(
        _ scene: Scenario, _ path: String = "/a", asking: [String] = [], answer: [String] = lines
    ) async throws {
        async let response = scene.get(path, asking)
        let request = try await scene.origin.request()
        try await request.wire.write(OriginRequest.response(200, answer, content: "data"))
        request.finish()
        #expect(try await response.text == "data")
    }

    /// The next request of Larder's own, which must not come before `limit`.
    static func validation(_ scene: Scenario, reaching limit: Duration) async throws -> OriginRequest {
        let request = try await scene.lettingTimePass(reaching: limit) { try await scene.origin.request() }
        #expect(request["If-None-Match"] == "\"1\"")
        #expect(request["User-Agent"]?.hasPrefix("larder/") == true)
        return request
    }

    @Test func `what is asked for often is validated before it is out of date`() async throws {
        try await Self.run(.popular) { (scene) async throws in
            try await Self.load(scene)
            for _ in 0..<5 {
                #expect(try await scene.get("/a").text == "data")
                scene.advance(.seconds(1))
            }
            let request = try await Self.validation(scene, reaching: .seconds(70))
            try await request.reply(304, "Cache-Control: max-age=100", "ETag: \"1\"")
            try await eventually("it is counted") { scene.proxy.ahead.counts.validated == 1 }
            #expect(try await scene.get("/a")["Cache-Status"]?.contains("hit") == true)
            // Nobody has asked three times since.
            scene.advance(.seconds(99))
            await scene.proxy.settle()
            try await eventually("it is decided") { scene.proxy.ahead.counts.waiting == 0 }
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test func `what nobody asks for is not`() async throws {
        try await Self.run(.popular) { (scene) async throws in
            try await Self.load(scene)
            #expect(scene.proxy.ahead.counts.waiting == 1)
            scene.advance(.seconds(95))
            try await eventually("it is decided") { scene.proxy.ahead.counts.waiting == 0 }
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `many that nobody asks for do not delay what is asked for`() async throws {
        try await Self.run(.popular) { (scene) async throws in
            scene.origin.answer { $0["If-None-Match"] == nil ? .ok("Cache-Control: max-age=100") : nil }
            for number in 0..<60 { _ = try await scene.get("/\(number)") }
            scene.origin.answer { _ in nil }
            try await Self.load(scene)
            for _ in 0..<5 {
                _ = try await scene.get("/a")
                scene.advance(.seconds(1))
            }
            scene.advance(.seconds(86))
            let request = try await scene.origin.request()
            #expect(request.target == "/a")
            try await request.reply(304, "Cache-Control: max-age=100", "ETag: \"1\"")
            try await eventually("it is decided") { scene.proxy.ahead.counts.waiting == 1 }
        }
    }

    @Test(arguments: ["url=", "match="]) func `what is observed stays fresh`(by: String) async throws {
        try await Self.run(.watched) { (scene) async throws in
            try await Self.load(scene)
            let observer = try await scene.client("the observer")
            let subject = by == "url=" ? scene.url("/a") : "/*"
            let service = by == "url=" ? "" : "&service=api"
            try await observer.send("GET /-/events?\(by)\(subject)\(service) HTTP/1.1", "Host: localhost")
            #expect(try await observer.head().status == 200)
            for _ in 0..<3 {
                let request = try await Self.validation(scene, reaching: .seconds(70))
                try await request.reply(304, "Cache-Control: max-age=100", "ETag: \"1\"")
            }
            try await eventually("it is counted") { scene.proxy.ahead.counts.validated == 3 }
        }
    }

    @Test func `an observer of everything observes nothing in particular`() async throws {
        try await Self.run(.watched) { (scene) async throws in
            let observer = try await scene.client("the dashboard")
            try await observer.send("GET /-/events HTTP/1.1", "Host: localhost")
            #expect(try await observer.head().status == 200)
            try await Self.load(scene)
            scene.advance(.seconds(95))
            try await eventually("it is decided") { scene.proxy.ahead.counts.waiting == 0 }
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `a schedule holds for what is on disk, with the fields it varies by`() async throws {
        try await Self.run(.every(.seconds(600)), onDisk: true) { (scene) async throws in
            try await Self.load(scene, asking: ["Accept-Language: de"], answer: Self.lines + ["Vary: Accept-Language"])
            try await scene.restart()
            let request = try await Self.validation(scene, reaching: .seconds(500))
            #expect(request["Accept-Language"] == "de")
            try await request.reply(
                200, "Cache-Control: max-age=100", "ETag: \"2\"", "Vary: Accept-Language", content: "new")
            try await eventually("it is counted") { scene.proxy.ahead.counts.replaced == 1 }
            let again = try await scene.get("/a", "Accept-Language: de")
            #expect(again.text == "new")
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test(arguments: ["Authorization: Bearer mine", "Cookie: session=mine", "X-Api-Key: mine"], ["shared", "private"])
    func `a client's credentials are never sent again`(field: String, privacy: String) async throws {
        try await Self.run(.every(.seconds(600)), { $0.privacy = .init(rawValue: privacy) ?? .shared }) {
            (scene) async throws in
            try await Self.load(
                scene, asking: [field], answer: ["Cache-Control: public, max-age=100", "ETag: \"1\""])
            #expect(scene.proxy.ahead.counts.waiting == 0)
            scene.advance(.seconds(1_000))
            await scene.proxy.settle()
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test(arguments: [false, true]) func `nor are those in its URL`(restarts: Bool) async throws {
        try await Self.run(.every(.seconds(600)), onDisk: true) { (scene) async throws in
            try await Self.load(scene, "/a?access_token=mine")
            if restarts { try await scene.restart() }
            scene.advance(.seconds(1_000))
            await scene.proxy.settle()
            try await eventually("it is decided") { scene.proxy.ahead.counts.waiting == 0 }
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `the service's own credentials are`() async throws {
        try await Self.run(
            .every(.seconds(600)),
            { service in
                service.privacy = .private
                service.configure { $0.headers = [HeaderEdit(name: .authorization, value: Secret("Bearer own"))] }
            }
        ) { (scene) async throws in
            try await Self.load(scene, asking: ["Authorization: Bearer mine"])
            let request = try await Self.validation(scene, reaching: .seconds(500))
            #expect(request["Authorization"] == "Bearer own")
            try await request.reply(304, "ETag: \"1\"")
        }
    }

    @Test func `offline and after failures the origin is left alone`() async throws {
        try await Self.run(.every(.seconds(600))) { (scene) async throws in
            try await Self.load(scene)
            scene.proxy.goOffline(.on, service: nil)
            scene.advance(.seconds(700))
            try await eventually("it is counted") { scene.proxy.ahead.counts.held == 1 }
            #expect(scene.origin.seen.count == 1)
            scene.proxy.goOffline(nil, service: nil)
            let request = try await Self.validation(scene, reaching: .seconds(55))
            try await request.reply(500)
            try await eventually("it is counted") { scene.proxy.ahead.counts.failed == 1 }
            let next = try await Self.validation(scene, reaching: .seconds(55))
            try await next.reply(304, "ETag: \"1\"")
            try await eventually("it is counted") { scene.proxy.ahead.counts.validated == 1 }
        }
    }

    @Test(arguments: [false, true], ["/a", "/**"] as [GlobPattern])
    func `what the configuration denies is not asked for`(restarts: Bool, denied: GlobPattern) async throws {
        try await Self.run(.every(.seconds(600)), onDisk: restarts) { (scene) async throws in
            try await Self.load(scene)
            #expect(scene.proxy.ahead.counts.waiting == 1)
            try await scene.reload { settings in
                settings.services[0].configure {
                    $0.pattern.match = denied
                    $0.decorate.deny = .set(DenyRule())
                }
            }
            if restarts { try await scene.restart() }
            #expect(try await scene.get("/a").status == 403)
            scene.advance(.seconds(700))
            await scene.proxy.settle()
            try await eventually("it is decided") { scene.proxy.ahead.counts.waiting == 0 }
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `what the configuration answers itself is not asked for`() async throws {
        try await Self.run(.every(.seconds(600))) { (scene) async throws in
            try await Self.load(scene)
            try await scene.reload { settings in
                settings.services[0].configure { $0.decorate.respond = .set(RespondRule()) }
            }
            scene.advance(.seconds(700))
            try await eventually("it is decided") { scene.proxy.ahead.counts.waiting == 0 }
            await scene.proxy.settle()
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `responses that do not end keep nobody else waiting for long`() async throws {
        try await Self.run(.every(.seconds(60))) { (scene) async throws in
            for path in ["/a", "/b", "/c"] { try await Self.load(scene, path) }
            scene.advance(.seconds(61))
            var waiting: Set<String> = ["/a", "/b", "/c"]
            for _ in 0..<2 {
                let request = try await scene.origin.request()
                waiting.remove(request.target)
                try await request.wire.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx")
            }
            await scene.proxy.settle()
            #expect(scene.origin.seen.count == 5)
            let request = try await scene.lettingTimePass(reaching: .seconds(25)) { try await scene.origin.request() }
            #expect(waiting == [request.target])
            try await request.reply(304, "ETag: \"1\"")
            try await eventually("it is counted") { scene.proxy.ahead.counts.validated == 1 }
        }
    }

    @Test func `the reserve of a quota is left`() async throws {
        try await Self.run(.every(.seconds(60)), { $0.quotaReserve = 10 }) { (scene) async throws in
            let quota = ["X-RateLimit-Remaining: 10", "X-RateLimit-Limit: 100", "X-RateLimit-Reset: 3000"]
            try await Self.load(scene, answer: Self.lines + quota)
            scene.advance(.seconds(61))
            try await eventually("it is counted") { scene.proxy.ahead.counts.held == 1 }
            #expect(scene.origin.seen.count == 1)
        }
    }
}
