// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import LarderStores
import LarderTesting
import Testing

/// A program's configuration of its own service has the effect for a daemon's clients that it has in a program.
@Suite("Scenarios: configuration in Swift")
struct HostedConfigurationScenarios {
    /// A daemon with a service that is configured so, and the service as the program holds it.
    static func run(
        onDisk: Bool = false, configuring configure: @escaping @Sendable (Service) -> Void,
        _ body: (Scenario, Service) async throws -> Void
    ) async throws {
        let given = Lock<Service?>(nil)
        try await Scenario.run(onDisk: onDisk) { settings, origin in
            settings.admin.token = Secret("token")
            settings.timeouts.abandon = .seconds(10)
            settings.add("shop", at: origin.url("/")) {
                $0.declare = { service in
                    given.withLock { $0 = service }
                    configure(service)
                }
            }
        } _: { (scene) async throws in
            try await body(scene, try #require(given.withLock { $0 }))
        }
    }

    // MARK: Denials

    @Test(arguments: [false, true]) func `a program's load gets no further than clients`(keeps: Bool) async throws {
        try await Self.run {
            if !keeps { $0.configure { $0.caching = .none } }
        } _: { (scene, service) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=600", content: "apples") }
            try await scene.reload { settings in
                settings.services[0].configure {
                    $0.pattern.match = "/a"
                    $0.decorate.deny = .set(DenyRule())
                }
                settings.services[0].configure {
                    $0.pattern.match = "/b"
                    $0.decorate.respond = .set(RespondRule())
                }
            }
            for path in ["/a", "/b"] {
                let response = await service.resource(path).load().response().response
                guard case .failure(let error) = response else {
                    Issue.record("\(path) is not loaded")
                    continue
                }
                #expect("\(error.cause.map { "\($0)" } ?? "")".contains("configuration"))
            }
            #expect(scene.origin.seen.isEmpty)
            _ = try await service.resource("/c").load().entity()
            #expect(scene.origin.count(of: "/c") == 1)
        }
    }

    // MARK: Times

    @Test func `RS-17 CF-02 an expiration time counts where the origin says nothing, with or without a mode`()
        async throws
    {
        try await Self.run {
            $0.configure("/a") { $0.expirationTime = .seconds(600) }
        } _: { (scene, _) async throws in
            scene.origin.answer { _ in .ok(content: "apples") }
            _ = try await scene.getStored("/a")
            scene.advance(.seconds(599))
            #expect(try await scene.getStored("/a")["Cache-Status"] == "Larder; hit; ttl=1")
            scene.advance(.seconds(2))
            _ = try await scene.getStored("/a")
            #expect(scene.origin.count(of: "/a") == 2)
            // Of another path nothing was said: what has no validator and no lifetime is asked for each time.
            _ = try await scene.getStored("/b")
            _ = try await scene.getStored("/b")
            #expect(scene.origin.count(of: "/b") == 2)
        }
    }

    @Test(arguments: [Configuration.ExpirationMode.fallback, .cap, .floor, .override])
    func `RS-17 an expiration time with a mode`(mode: Configuration.ExpirationMode) async throws {
        try await Self.run {
            $0.configure {
                $0.expirationTime = .seconds(60)
                $0.expirationMode = mode
            }
        } _: { (scene, _) async throws in
            scene.origin.answer { head in .ok("Cache-Control: max-age=\(head.target == "/long" ? 600 : 6)") }
            let expected: (String, String) =
                switch mode {
                case .fallback, .heuristic: ("600", "6")
                case .cap: ("60", "6")
                case .floor: ("600", "60")
                case .override: ("60", "60")
                }
            for (path, ttl) in [("/long", expected.0), ("/short", expected.1)] {
                _ = try await scene.getStored(path)
                #expect(try await scene.getStored(path)["Cache-Status"] == "Larder; hit; ttl=\(ttl)", "\(path)")
            }
        }
    }

    @Test func `RS-22 a load that nobody waits for is cancelled as soon as the program says, or never`() async throws {
        try await Self.run { service in
            service.configure("/cancel") { $0.onAbandon = .cancel(after: .seconds(2)) }
            service.configure("/finish") { $0.onAbandon = .finish }
        } _: { (scene, _) async throws in
            let (first, second) = (try await scene.client(), try await scene.client())
            try await first.get(scene.url("/cancel"))
            let cancelled = try await scene.origin.request()
            await first.close()
            try await second.get(scene.url("/finish"))
            let finished = try await scene.origin.request()
            await second.close()
            // Both have been left for as long; the daemon's own grace is ten seconds.
            try await scene.lettingTimePass(reaching: .seconds(2)) {
                _ = try await cancelled.wire.end()
            }
            scene.advance(.seconds(20))
            let third = try await scene.client()
            try await third.get(scene.url("/finish"))
            try await finished.reply("Cache-Control: max-age=60", content: "all")
            #expect(try await third.response().text == "all")
            #expect(scene.origin.count(of: "/finish") == 1)
        }
    }

    // MARK: Requests

    @Test func `PG-03 an interval of progress without end is one that is never over`() async throws {
        try await Self.run { service in
            service.configure { $0.progressReportingInterval = .seconds(Int64.max) }
        } _: { (scene, service) async throws in
            let resource = service.resource("/a")
            let token = resource.observe { _, _ in }
            let load = resource.load()
            let request = try await scene.origin.request()
            for _ in 0..<5 {
                scene.advance(.seconds(1))
                await scene.proxy.settle()
            }
            try await request.reply(content: "apples")
            #expect(try await load.entity().content as? [UInt8] == Array("apples".utf8))
            withExtendedLifetime(token) {}
        }
    }

    @Test func `RQ-05 mutators change fields and URL of what goes to the origin, each time`() async throws {
        let count = Lock(0)
        try await Self.run { service in
            service.configure("/signed") {
                $0.expirationTime = .seconds(60)
                $0.mutateRequests { request in
                    let number = count.withLock { count in
                        count += 1
                        return count
                    }
                    request.fields["X-Nonce"] = "\(number)"
                    request.url = ResourceURL(request.url).withParam("key", "secret").target ?? request.url
                }
            }
        } _: { (scene, _) async throws in
            scene.origin.answer { head in
                .ok(content: "\(head.method) \(head.target) \(head["X-Nonce"] ?? "none")")
            }
            #expect(try await scene.getStored("/signed").text == "GET /signed?key=secret 1")
            // The response is stored under the URL that clients ask for.
            #expect(try await scene.getStored("/signed").text == "GET /signed?key=secret 1")
            scene.advance(.seconds(61))
            #expect(try await scene.getStored("/signed").text == "GET /signed?key=secret 2")
        }
    }

    @Test(arguments: ["POST", "GET"])
    func `RQ-05 mutators sign each request with a nonce and the digest of the content that is sent`(
        method: String
    ) async throws {
        let count = Lock(0)
        try await Self.run {
            $0.configure("/signed") {
                $0.mutateRequests { request in
                    let number = count.withLock { count in
                        count += 1
                        return count
                    }
                    request.fields["X-Nonce"] = "\(number)"
                    request.body = Array("<".utf8) + (request.body ?? []) + Array(">".utf8)
                }
                $0.mutateRequests { request in
                    request.fields["X-Digest"] = ContentDigest(of: request.body ?? []).hexadecimal
                }
            }
        } _: { (scene, _) async throws in
            for round in 1...2 {
                let client = try await scene.client()
                let content = method == "POST" ? "hello \(round)" : ""
                try await client.send(
                    "\(method) \(scene.url("/signed")) HTTP/1.1", "Host: x", "X-Digest: forged",
                    "Content-Length: \(content.utf8.count)", content: content)
                let request = try await scene.origin.request()
                let arrived = try await request.content().text
                #expect(arrived == "<\(content)>")
                #expect(request["X-Nonce"] == "\(round)")
                #expect(request["X-Digest"] == ContentDigest(of: Array(arrived.utf8)).hexadecimal)
                try await request.reply(content: "written")
                #expect(try await client.response().text == "written")
            }
        }
    }

    @Test(arguments: ["POST", "GET"])
    func `RQ-05 RQ-07 mutators change method and content of what clients send`(method: String) async throws {
        try await Self.run {
            $0.configure("/write") {
                $0.mutateRequests { request in
                    request.method = .put
                    request.body = (request.body ?? []) + Array("!".utf8)
                }
            }
        } _: { (scene, _) async throws in
            let client = try await scene.client()
            let content = method == "POST" ? "hello" : ""
            try await client.send(
                "\(method) \(scene.url("/write")) HTTP/1.1", "Host: x", "Content-Length: \(content.utf8.count)",
                content: content)
            let request = try await scene.origin.request()
            #expect(request.head.method == "PUT")
            #expect(try await request.content().text == content + "!")
            try await request.reply(content: "written")
            #expect(try await client.response().text == "written")
        }
    }

    @Test func `RQ-12 RQ-14 RQ-16 a decorator sees and repeats, and what it makes of it is what clients get`()
        async throws
    {
        let seen = Recorder<String>()
        try await Self.run { service in
            service.configure("/a") { configuration in
                configuration.expirationTime = .seconds(60)
                configuration.pipeline.add(.json)
                configuration.decorateRequests { resource, request in
                    request.chained { info in
                        seen.add("\(resource.url.string.suffix(2)) \(info.response.entity?.status ?? 0)")
                        guard case .failure(let error) = info.response, error.status == 418 else {
                            return .useThisResponse
                        }
                        return .passTo(request.repeated())
                    }
                }
            }
            service.configure("/mine") {
                $0.decorateRequests { resource, _ in
                    var entity = Entity(
                        content: "mine" as any Sendable, contentType: "text/plain",
                        timestamp: resource.service.clock.now)
                    entity.fields["Cache-Control"] = "max-age=60"
                    return resource.hardWiredRequest(returning: ResponseInfo(.success(entity)))
                }
            }
            service.configure("/refused") {
                $0.decorateRequests { resource, _ in
                    resource.failedRequest(
                        returning: RequestError(userMessage: "not today", timestamp: resource.service.clock.now))
                }
            }
        } _: { (scene, _) async throws in
            let calls = Lock(0)
            scene.origin.answer { _ in
                let number = calls.withLock { calls in
                    calls += 1
                    return calls
                }
                return number == 1
                    ? .response(418, content: "short and stout") : .ok("Content-Type: application/json", content: "[1]")
            }
            #expect(try await scene.getStored("/a").text == "[1]")
            #expect(try await scene.getStored("/a")["Cache-Status"] == "Larder; hit; ttl=60")
            #expect(seen.values == ["/a 418"])
            #expect(scene.origin.count(of: "/a") == 2)
            let mine = try await scene.getStored("/mine")
            #expect(mine.text == "mine" && mine["Content-Type"]?.hasPrefix("text/plain") == true)
            #expect(try await scene.getStored("/mine")["Cache-Status"]?.contains("hit") == true)
            #expect(scene.origin.count(of: "/mine") == 0)
            let refused = try await scene.getStored("/refused")
            #expect(refused.status == 502 && refused.text.contains("not today"))
        }
    }

    // MARK: Privacy

    @Test func `HT-03 what another token got is gone where the program says that there is one user`() async throws {
        try await Self.run { service in
            service.configure("/own/**") { $0.privacy = .private }
        } _: { (scene, _) async throws in
            scene.origin.answer { .ok("Cache-Control: private, max-age=60", content: $0["Authorization"] ?? "nobody") }
            for user in ["ann", "bob"] {
                try await scene.reload { settings in
                    settings.services[0].configure = []
                    settings.services[0].configure {
                        $0.headers = [HeaderEdit(name: .authorization, value: Secret(user))]
                    }
                }
                #expect(try await scene.get("/own/a").text == user)
                #expect(try await scene.getStored("/own/a").text == user)
            }
        }
    }

    @Test(arguments: [Larder.Configuration.Privacy.private, .partitioned], ["reload", "restart", "invalidate"])
    func `HT-03 what a program's former credentials got is not given to the next user`(
        privacy: Larder.Configuration.Privacy, way: String
    ) async throws {
        let user = Lock("ann")
        try await Self.run(onDisk: true) { service in
            service.configure {
                $0.privacy = privacy
                $0.fields[.authorization] = "Bearer \(user.withLock { $0 })"
            }
        } _: { (scene, service) async throws in
            scene.origin.answer {
                .ok("Cache-Control: max-age=60, public", content: $0["Authorization"] ?? "nobody")
            }
            #expect(try await scene.getStored("/a").text == "Bearer ann")
            user.withLock { $0 = "bob" }
            switch way {
            case "reload": try await scene.reload { _ in }
            case "restart": try await scene.restart()
            default:
                service.invalidateConfiguration()
                await scene.proxy.settle()
            }
            #expect(try await scene.getStored("/a").text == "Bearer bob")
            // Nothing has changed.
            try await scene.reload { _ in }
            _ = try await scene.get("/a")
            #expect(scene.origin.count(of: "/a") == 2)
        }
    }

    @Test func `HT-03 a token that was renewed is the same user's`() async throws {
        let login = TokenRefresh(
            makeRequest: { $0.resource("/login").request(.post, text: "") },
            readToken: { ($0.content as? [UInt8]).map { String(decoding: $0, as: UTF8.self) } })
        try await Self.run(onDisk: true) { service in
            service.configure { $0.privacy = .private }
            service.configure("/users/**") {
                $0.fields[.authorization] = login.token.map { "Bearer \($0)" }
                $0.decorateRequests(login.decorate)
            }
        } _: { (scene, _) async throws in
            scene.origin.answer { request in
                if request.target == "/login" { return .ok(content: "t1") }
                guard request["Authorization"] != nil || request.target == "/plain" else { return .response(401) }
                return .ok("Cache-Control: max-age=60", content: "apples")
            }
            _ = try await scene.getStored("/plain")
            #expect(try await scene.getStored("/users/a").text == "apples")
            #expect(try await scene.getStored("/users/a").text == "apples")
            try await scene.reload { _ in }
            for path in ["/users/a", "/plain"] {
                let hit = try await scene.get(path)
                #expect(hit["Cache-Status"]?.hasPrefix("Larder; hit") == true, "\(path) \(hit["Cache-Status"] ?? "")")
            }
        }
    }

    @Test func `a program's credentials are for none of the paths that an origin may read otherwise`() async throws {
        try await Self.run {
            $0.configure("/a/**") { $0.fields[.authorization] = "Bearer ann" }
        } _: { (scene, _) async throws in
            scene.origin.answer { .ok("Cache-Control: no-store", content: $0["Authorization"] ?? "nobody") }
            for path in ["/a/..%2fother", "/a/..%5cother", "/a/..;/other"] {
                #expect(try await scene.get(path).status == 400, "\(path)")
            }
            #expect(try await scene.get("/a/b").text == "Bearer ann")
        }
    }

    @Test func `EC-14 privacy is what the program says for a URL`() async throws {
        try await Self.run { service in
            service.configure("/users/**") { $0.privacy = .partitioned }
            service.configure("/own/**") { $0.privacy = .private }
        } _: { (scene, _) async throws in
            scene.origin.answer { head in
                .ok(
                    head.target.hasPrefix("/own") ? "Cache-Control: private, max-age=60" : "Cache-Control: max-age=60",
                    content: head["Authorization"] ?? "nobody")
            }
            for user in ["ann", "bob", "ann"] {
                #expect(try await scene.getStored("/users/me", "Authorization: \(user)").text == user)
            }
            #expect(scene.origin.count(of: "/users/me") == 2)
            // One cache for one user, who may keep what is private; elsewhere that is not kept.
            for _ in 0..<2 { _ = try await scene.getStored("/own/a") }
            #expect(scene.origin.count(of: "/own/a") == 1)
            for _ in 0..<2 { _ = try await scene.getStored("/shared", "Authorization: ann") }
            #expect(scene.origin.count(of: "/shared") == 2)
        }
    }
}
