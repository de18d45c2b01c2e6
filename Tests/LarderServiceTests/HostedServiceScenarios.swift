// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import LarderStores
import LarderTesting
import Testing

/// Calls of a program to a service of its own about all of its resources, while a daemon serves it.
@Suite("Scenarios: services of a program's own")
struct HostedServiceScenarios {
    static let fresh = "Cache-Control: max-age=600"

    /// The program's values: the service it was given to configure, and a value that its configuration reads.
    private final class Program: Sendable {
        private let given = Lock<Service?>(nil)
        let word = Lock("one")
        let configured = Lock(0)

        func configure(_ service: Service) {
            given.withLock { $0 = service }
            configured.withLock { $0 += 1 }
            service.configure("**") { configuration in
                configuration.fields["X-Word"] = self.word.withLock { $0 }
            }
        }

        var service: Service {
            get throws { try #require(given.withLock { $0 }) }
        }
    }

    private func run(answering: Bool = true, _ body: (Scenario, Program) async throws -> Void) async throws {
        let program = Program()
        try await Scenario.run(onDisk: true) { settings, origin in
            settings.add("shop", at: origin.url("/")) { $0.declare = { program.configure($0) } }
            settings.add("other", at: "http://other.example/") { _ in }
        } _: { (scene) async throws in
            let answer: ScriptedOrigin.Script = { request in
                request["If-None-Match"] != nil
                    ? .response(304, Self.fresh, "ETag: \"1\"")
                    : .ok(Self.fresh, "ETag: \"1\"", content: request["X-Word"] ?? "none")
            }
            if answering { scene.origin.answer(answer) }
            try await body(scene, program)
        }
    }

    /// A client has its response a moment before the load ends, and a load that is wiped before its end keeps nothing.
    private func listed(in scene: Scenario, _ paths: String...) async throws {
        try await eventually("the responses are kept") {
            let list = try await scene.ask("/-/resources").description
            return paths.allSatisfy { list.contains(scene.url($0)) }
        }
    }

    @Test(arguments: [Resource.WipeScope.memory, .memoryAndCaches])
    func `SV-11 RS-29 wiping a service's resources reaches what its clients get`(scope: Resource.WipeScope) async throws
    {
        try await run { scene, program in
            for path in ["/a", "/b"] { _ = try await scene.getStored(path) }
            try await listed(in: scene, "/a", "/b")
            let service = try program.service
            service.wipeResources(scope) { $0.url.string.hasSuffix("/a") }
            await service.finishCacheWork()
            let before = scene.origin.seen.count
            for path in ["/a", "/b"] { _ = try await scene.getStored(path) }
            // A response that only memory forgot is read from the disk again.
            #expect(scene.origin.seen.count - before == (scope == .memory ? 0 : 1))
            try await scene.restart()
            _ = try await scene.getStored("/b")
            #expect(scene.origin.seen.count - before == (scope == .memory ? 0 : 1))
        }
    }

    @Test func `SV-11 a condition on a Resource's state decides about what is on disk too`() async throws {
        try await run { scene, program in
            for path in ["/a", "/b"] { _ = try await scene.getStored(path) }
            try await listed(in: scene, "/a", "/b")
            await scene.proxy.diskTier?.store.flush()
            let service = try program.service
            let failing = service.resource("/a")
            scene.origin.answer { $0.target == "/a" ? .response(404) : .ok(content: "b") }
            _ = await failing.load().response()
            #expect(failing.latestError != nil)
            service.wipeResources(.memoryAndCaches) { $0.latestError != nil }
            await service.finishCacheWork()
            await scene.proxy.diskTier?.store.flush()
            let listed = try await scene.ask("/-/resources").description
            #expect(!listed.contains(scene.url("/a")) && listed.contains(scene.url("/b")))
        }
    }

    @Test(arguments: [Resource.WipeScope.memory, .memoryAndCaches])
    func `RS-29 a resource's own wipe reaches what the daemon has, on the disk too`(
        scope: Resource.WipeScope
    ) async throws {
        try await run { scene, program in
            for path in ["/a", "/b"] { _ = try await scene.getStored(path) }
            try await listed(in: scene, "/a", "/b")
            let service = try program.service
            service.resource("/a").wipe(scope)
            await service.finishCacheWork()
            await scene.proxy.diskTier?.store.flush()
            let listed = try await scene.ask("/-/resources").description
            #expect(listed.contains(scene.url("/a")) == (scope == .memory))
            #expect(listed.contains(scene.url("/b")))
            try await scene.restart()
            for path in ["/a", "/b"] { _ = try await scene.getStored(path) }
            #expect(scene.origin.count(of: "/a") == (scope == .memory ? 1 : 2))
            #expect(scene.origin.count(of: "/b") == 1)
        }
    }

    /// A wipe of memory has the service's Resource read from the disk again, while the list goes from memory to disk.
    @Test func `a resource that comes into memory while all are listed is listed once`() async throws {
        try await run { scene, program in
            _ = try await scene.getStored("/a")
            try await listed(in: scene, "/a")
            let resource = try program.service.resource("/a")
            for _ in 0..<50 {
                for query in ["", "?sort=url"] {
                    resource.wipe(.memory)
                    // It may be stored anew meanwhile.
                    async let answer = scene.getStored("/a")
                    let lines = try await scene.ask("/-/resources\(query)")["resources"]?.array ?? []
                    #expect(lines.count { $0["url"]?.string == scene.url("/a") } == 1)
                    #expect(try await answer.status == 200)
                }
            }
        }
    }

    @Test func `RS-28 what is loaded while it is wiped is not kept`() async throws {
        try await run(answering: false) { scene, program in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let load = try await scene.origin.request()
            let service = try program.service
            service.wipeResources(matching: "/a", .memoryAndCaches)
            await service.finishCacheWork()
            try await load.reply(Self.fresh, content: "old")
            #expect(try await client.response().text == "old")
            scene.origin.answer { _ in .ok(content: "new") }
            #expect(try await scene.getStored("/a").text == "new")
        }
    }

    @Test func `SV-11 RS-28 what begins after all of a service's resources were wiped is not touched by it`()
        async throws
    {
        try await run { scene, program in
            let service = try program.service
            for number in 0..<20 {
                let path = "/\(number)"
                _ = try await scene.getStored(path)
                let resource = service.resource(path)
                service.wipeResources(.memoryAndCaches)
                if number % 2 == 0 {
                    #expect(await resource.load().response().response.entity != nil)
                } else {
                    resource.overrideLocalContent(with: "mine")
                }
                await service.finishCacheWork()
                await scene.proxy.diskTier?.store.flush()
                let before = scene.origin.count(of: path)
                #expect(try await scene.getStored(path).text == (number % 2 == 0 ? "one" : "mine"))
                #expect(scene.origin.count(of: path) == before)
            }
        }
    }

    @Test func `RS-26 what begins after all were invalidated is up to date`() async throws {
        try await run { scene, program in
            let service = try program.service
            for number in 0..<20 {
                let path = "/\(number)"
                _ = try await scene.getStored(path)
                await scene.proxy.diskTier?.store.flush()
                service.invalidateResources(matching: "/**")
                scene.advance(.milliseconds(1))
                #expect(await service.resource(path).load().response().response.entity != nil)
                await service.finishCacheWork()
                let before = scene.origin.count(of: path)
                #expect(try await scene.getStored(path)["Cache-Status"]?.contains("; hit") == true)
                #expect(scene.origin.count(of: path) == before)
            }
        }
    }

    @Test func `RS-16 a load that was not needed changes nothing for clients`() async throws {
        try await run { scene, program in
            for number in 0..<20 {
                let path = "/\(number)"
                _ = try await scene.getStored(path)
                let resource = try program.service.resource(path)
                let observer = EventRecorder()
                resource.addObserver(observer)
                if let info = await resource.loadIfNeeded()?.response() { #expect(info.response.entity != nil) }
                #expect(try await scene.getStored(path)["Cache-Status"]?.contains("; hit") == true)
                #expect(scene.origin.count(of: path) == 1)
            }
            try await scene.restart()
            for number in 0..<20 { _ = await (try program.service.resource("/\(number)").loadIfNeeded())?.response() }
            for number in 0..<20 {
                #expect(try await scene.getStored("/\(number)")["Cache-Status"]?.contains("; hit") == true)
                #expect(scene.origin.count(of: "/\(number)") == 1)
            }
        }
    }

    @Test func `OB-05 the whole that an origin sends for a client's part is the program's data too`() async throws {
        try await run { scene, program in
            let resource = try program.service.resource("/a")
            let observer = EventRecorder()
            resource.addObserver(observer)
            try await eventually("nothing is found") { resource.state.latestData == nil }
            _ = try await scene.getStored("/a", "Range: bytes=0-1")
            try await eventually("it is the program's data") {
                resource.latestData?.content as? [UInt8] == Array("one".utf8)
            }
            #expect(resource.isUpToDate)
            #expect(scene.origin.count(of: "/a") == 1)
        }
    }

    @Test func `SV-07 a resource is the same when its service has been elsewhere and comes back`() async throws {
        try await run { scene, program in
            let held = try program.service.resource("/a")
            _ = await held.load().response()
            let home = scene.url("/")
            for base in [scene.url("/elsewhere/"), home] {
                try await scene.reload { settings in
                    settings.services.removeAll { $0.name == "shop" }
                    settings.add("shop", at: base) { $0.declare = { program.configure($0) } }
                }
            }
            #expect(try program.service.resource("/a") === held)
            #expect(try await scene.getStored("/a")["Cache-Status"]?.contains("; hit") == true)
        }
    }

    @Test func `RS-26 invalidating a service's resources has what its clients get validated, from the disk too`()
        async throws
    {
        try await run { scene, program in
            for path in ["/a", "/b", "/c"] { _ = try await scene.getStored(path) }
            try await scene.restart()
            _ = try await scene.getStored("/a")
            let service = try program.service
            service.invalidateResources(matching: "/a")
            service.invalidateResources(matching: "/b")
            await service.finishCacheWork()
            for (path, isAsked) in [("/a", true), ("/b", true), ("/c", false)] {
                let answer = try await scene.getStored(path)
                #expect(answer["Cache-Status"]?.contains("fwd-status=304") == isAsked, "\(path)")
            }
        }
    }

    @Test func `CF-01 CF-12 invalidating its configuration has it computed anew, and counts at once`() async throws {
        try await run { scene, program in
            #expect(try await scene.getStored("/a").text == "one")
            program.word.withLock { $0 = "two" }
            let service = try program.service
            let before = program.configured.withLock { $0 }
            service.invalidateConfiguration()
            #expect(try await scene.getStored("/b").text == "two")
            // What the program has made while it configured the service lasts.
            #expect(program.configured.withLock { $0 } == before)
            // The stored responses stay.
            #expect(try await scene.getStored("/a").text == "one")
            #expect(try await scene.getStored("/c").text == "two")
            // The service it was given before means the same one.
            service.wipeResources(.memoryAndCaches)
            await service.finishCacheWork()
            #expect(try await scene.getStored("/a").text == "two")
        }
    }

    @Test func `B-28 after a recovery what is watched and failed is loaded again`() async throws {
        try await run { scene, program in
            scene.origin.answer { _ in .response(503, "Cache-Control: no-store") }
            let events = try await scene.events(about: "/a")
            _ = try await events.next()
            _ = try await scene.getStored("/a")
            _ = try await scene.getStored("/b")
            #expect(try await events.next().name == "requested")
            #expect(try await events.next().name == "error")
            scene.origin.answer { _ in .ok(Self.fresh, content: "apples") }
            scene.advance(.seconds(60))
            let service = try program.service
            service.reloadAfterRecovery()
            await service.finishCacheWork()
            #expect(try await events.next().name == "requested")
            #expect(try await events.next().name == "newData")
            #expect(scene.origin.count(of: "/a") == 2)
            #expect(scene.origin.count(of: "/b") == 1)
        }
    }
}
