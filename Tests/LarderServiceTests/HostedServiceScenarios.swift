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

    @Test func `CF-01 CF-12 invalidating its configuration has it said again, and counts at once`() async throws {
        try await run { scene, program in
            #expect(try await scene.getStored("/a").text == "one")
            program.word.withLock { $0 = "two" }
            let service = try program.service
            let before = program.configured.withLock { $0 }
            service.invalidateConfiguration()
            await service.finishCacheWork()
            #expect(program.configured.withLock { $0 } == before + 1)
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
