// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import LarderSettings
import LarderStores
import LarderTesting
import Testing

/// Responses that leave one Larder as a file and come into another.
@Suite("Scenarios: export and import")
struct ArchiveScenarios {
    static let fresh = "Cache-Control: max-age=600"

    func run(_ body: (Scenario) async throws -> Void) async throws {
        try await Scenario.run(onDisk: true, { settings, _ in settings.admin.token = Secret("token") }, body)
    }

    func send(
        _ scene: Scenario, _ method: String, _ path: String, _ content: [UInt8] = [], token: String? = "token"
    ) async throws -> WireMessage {
        let client = try await scene.client("the operator")
        let lines =
            ["\(method) \(path) HTTP/1.1", "Host: localhost", "Content-Length: \(content.count)"]
            + (token.map { ["Authorization: Bearer \($0)"] } ?? [])
        try await client.write(Array((lines.map { $0 + "\r\n" }.joined() + "\r\n").utf8) + content)
        let answer = try await client.response()
        await client.close()
        return answer
    }

    func exported(_ scene: Scenario, _ more: String = "") async throws -> [UInt8] {
        let answer = try await send(scene, "GET", "/-/export?match=**\(more)")
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer["Content-Type"] == "application/x-tar")
        return answer.content
    }

    func imported(_ scene: Scenario, _ archive: [UInt8], _ more: String = "") async throws -> JSONValue {
        let answer = try await send(scene, "POST", "/-/import\(more)", archive)
        #expect(answer.status == 200, "\(answer.text)")
        return try JSONValue(parsing: answer.content)
    }

    func wipe(_ scene: Scenario) async throws {
        #expect(try await send(scene, "POST", "/-/wipe?match=**").status == 200)
    }

    /// The summary of an archive, which is plain text in it.
    func summary(_ archive: [UInt8]) throws -> JSONValue {
        let name = try #require(archive.firstRange(of: Array("summary.json".utf8)))
        let start = name.lowerBound + 512
        return try JSONValue(parsing: Array(archive[start...].prefix { $0 != 0 }))
    }

    @Test func `what is exported is served where it is imported, every variant of it, and no origin is asked`()
        async throws
    {
        try await run { (scene) async throws in
            let long = String(repeating: "long ", count: 100_000)
            scene.origin.answer { request in
                switch request.target {
                case "/long": .ok(Self.fresh, "ETag: \"l\"", content: long)
                case "/empty": .ok(Self.fresh, content: "")
                case "/gone": .response(404, Self.fresh, content: "gone")
                default:
                    .ok(
                        Self.fresh, "Vary: Accept-Language", "X-Words: caf\u{E9}",
                        content: "in \(request["Accept-Language"] ?? "none")")
                }
            }
            let asked: [(path: String, lines: [String])] = [
                ("/a", ["Accept-Language: de"]), ("/a", ["Accept-Language: fr"]), ("/long", []), ("/empty", []),
                ("/gone", []),
            ]
            var before: [WireMessage] = []
            for one in asked { before.append(try await scene.get(one.path, one.lines)) }
            let archive = try await exported(scene)
            #expect(try summary(archive)["entities"]?.int == 5)
            #expect(try summary(archive)["leftOut"]?["private"]?.int == 0)
            try await wipe(scene)
            let report = try await imported(scene, archive)
            #expect(report["imported"]?.int == 5, "\(report)")
            #expect(report["isComplete"]?.bool == true && report["refused"]?.int == 0)
            scene.origin.answer { _ in .ok(content: "asked again") }
            func check() async throws {
                for (one, old) in zip(asked, before) {
                    let now = try await scene.get(one.path, one.lines)
                    #expect(now.status == old.status && now.content == old.content)
                    #expect(now["Cache-Status"]?.contains("hit") == true, "\(one)")
                    #expect(now["X-Words"] == old["X-Words"] && now["ETag"] == old["ETag"])
                }
            }
            try await check()
            try await scene.restart()
            try await check()
            // Again, as after an import that broke off.
            let again = try await imported(scene, archive)
            #expect(again["imported"]?.int == 0 && again["kept"]?.int == 5)
        }
    }

    @Test func `what may be one user's alone is left out, and counted, unless it is asked for`() async throws {
        try await run { (scene) async throws in
            scene.origin.answer { request in
                request.target == "/all"
                    ? .ok("Cache-Control: public, max-age=600", content: "all")
                    : .ok("Cache-Control: max-age=600, must-revalidate", content: "own")
            }
            _ = try await scene.get("/all", "Authorization: Bearer a")
            _ = try await scene.get("/own", "Authorization: Bearer a")
            _ = try await scene.get("/all?api_key=secret")
            let archive = try await exported(scene)
            #expect(try summary(archive)["entities"]?.int == 1)
            #expect(try summary(archive)["leftOut"]?["private"]?.int == 2)
            #expect(archive.firstRange(of: Array("own".utf8)) == nil)
            #expect(archive.firstRange(of: Array("secret".utf8)) == nil)
            #expect(try summary(try await exported(scene, "&private=true"))["entities"]?.int == 3)
        }
    }

    @Test func `what was everybody's where it was exported is one user's where it is imported, if that says so`()
        async throws
    {
        try await Scenario.run(onDisk: true) { settings, origin in
            settings.admin.token = Secret("token")
            settings.add("shop", at: origin.url("/")) {
                $0.configure {
                    $0.everyone = true
                    $0.expirationTime = Expiration(time: .seconds(3_600), mode: .override)
                }
            }
        } _: { (scene) async throws in
            scene.origin.answer { request in .ok("Cache-Control: max-age=0", content: request["Cookie"] ?? "nobody") }
            #expect(try await scene.getStored("/a", "Cookie: s=ann").text == "s=ann")
            let archive = try await exported(scene)
            #expect(try summary(archive)["entities"]?.int == 1)
            try await wipe(scene)
            for isEveryone in [true, false] {
                try await scene.reload { $0.services[0].configure[0].everyone = isEveryone }
                _ = try await imported(scene, archive)
                #expect(try await scene.get("/a", "Cookie: s=ben").text == (isEveryone ? "s=ann" : "s=ben"))
                try await wipe(scene)
            }
        }
    }

    /// How an origin comes to see credentials, apart from what a client sends to a shared service.
    enum Source: CaseIterable { case privateService, configured, configuredOnce, denied }

    @Test(arguments: Source.allCases)
    func `what an origin sent to any credentials, or clients no longer get, is left out`(_ source: Source) async throws
    {
        try await Scenario.run(onDisk: true) { settings, origin in
            settings.admin.token = Secret("token")
            settings.add("api", at: origin.url("/")) { service in
                if source == .privateService { service.privacy = .private }
                if source == .configured || source == .configuredOnce {
                    service.configure { $0.headers = [HeaderEdit(name: "X-JWT", value: Secret("one"))] }
                }
            }
        } _: { (scene) async throws in
            scene.origin.answer { request in
                request.target == "/all"
                    ? .ok("Cache-Control: public, max-age=600", content: "all") : .ok(Self.fresh, content: "own")
            }
            let lines = source == .privateService ? ["X-Tenant: t"] : []
            for path in ["/all", "/own"] { _ = try await scene.get(path, lines) }
            if source == .configuredOnce { try await scene.reload { $0.services[0].configure[0].headers = [] } }
            if source == .denied {
                try await scene.reload { $0.services[0].configure { $0.decorate.deny = .set(DenyRule()) } }
            }
            let isDenied = source == .denied
            let summary = try summary(try await exported(scene))
            #expect(summary["entities"]?.int == (isDenied ? 0 : 1), "\(summary)")
            #expect(summary["leftOut"]?["private"]?.int == (isDenied ? 2 : 1))
            #expect(try self.summary(try await exported(scene, "&private=true"))["entities"]?.int == 2)
        }
    }

    @Test func `what came with a cookie is left out for that, not for credentials that nobody sent`() async throws {
        try await Scenario.run(onDisk: true) { settings, _ in
            settings.admin.token = Secret("token")
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok("ETag: \"1\"", "Cache-Control: max-age=0", "Set-Cookie: a=b", content: "a") }
            _ = try await scene.get("/a")
            let summary = try summary(try await exported(scene))
            #expect(summary["leftOut"]?["privateBecause"] == ["origin": 1], "\(summary)")
        }
    }

    @Test func `a variable in a field of one block leaves out what gets that field, and nothing else`() async throws {
        try await Scenario.run(onDisk: true) { settings, origin in
            settings.admin.token = Secret("token")
            var tenant = VariableSettings()
            tenant.name = "tenant"
            tenant.value = Secret("anna")
            tenant.initial = tenant.value
            settings.variables = [tenant]
            settings.add("api", at: origin.url("/")) { service in
                service.configure {
                    $0.pattern.match = "/own/**"
                    $0.headers = [HeaderEdit(name: "X-Tenant", value: Secret([.variable("tenant")]))]
                }
                service.configure {
                    $0.pattern.match = "/moved/**"
                    $0.followRedirects = true
                }
            }
        } _: { (scene) async throws in
            scene.origin.answer { request in
                request.target.hasPrefix("/moved")
                    ? .response(301, Self.fresh, "Location: /own/b")
                    : .ok(Self.fresh, content: "for \(request["X-Tenant"] ?? "all")")
            }
            for path in ["/a", "/own/a", "/moved/a"] { _ = try await scene.get(path) }
            let archive = try await exported(scene)
            let summary = try summary(archive)
            #expect(summary["entities"]?.int == 1, "\(summary)")
            #expect(summary["leftOut"]?["privateBecause"] == ["credentials": 2])
            #expect(archive.firstRange(of: Array("for all".utf8)) != nil)
            #expect(archive.firstRange(of: Array("anna".utf8)) == nil)
            try await scene.reload { $0.services[0].configure[0].pattern.match = "/**" }
            #expect(try self.summary(try await exported(scene))["leftOut"]?["privateBecause"]?["configured"]?.int == 1)
        }
    }

    @Test func `users' partitions come back where they were exported, to themselves`() async throws {
        try await Scenario.run(onDisk: true) { settings, origin in
            settings.admin.token = Secret("token")
            settings.add("api", at: origin.url("/")) {
                $0.privacy = .partitioned
                $0.identity = [.field(.authorization)]
            }
        } _: { (scene) async throws in
            scene.origin.answer { .ok("Cache-Control: private, max-age=600", content: $0["Authorization"] ?? "nobody") }
            for name in ["a", "b"] { _ = try await scene.get("/own", "Authorization: \(name)") }
            #expect(try summary(try await exported(scene))["leftOut"]?["private"]?.int == 2)
            let archive = try await exported(scene, "&private=true")
            try await wipe(scene)
            #expect(try await imported(scene, archive)["private"]?.int == 2)
            #expect(try await imported(scene, archive, "?private=true")["imported"]?.int == 2)
            scene.origin.answer { _ in .ok(content: "asked again") }
            for name in ["a", "b"] { #expect(try await scene.get("/own", "Authorization: \(name)").text == name) }
            #expect(try await scene.get("/own").text == "asked again")
        }
    }

    /// A service of one user, whom its credentials name.
    private func runAsUser(_ body: (Scenario) async throws -> Void) async throws {
        try await Scenario.run(
            onDisk: true,
            { settings, origin in
                settings.admin.token = Secret("token")
                settings.add("api", at: origin.url("/")) { service in
                    service.privacy = .private
                    service.configure { $0.headers = [HeaderEdit(name: "X-JWT", value: Secret("one"))] }
                }
            },
            { (scene) async throws in
                scene.origin.answer { .ok(Self.fresh, content: "of \($0["X-JWT"] ?? "nobody")") }
                #expect(try await scene.get("/own").text == "of one")
                try await body(scene)
            })
    }

    private func haveUser(_ name: String, _ scene: Scenario) async throws {
        let header = HeaderEdit(name: "X-JWT", value: Secret(name))
        try await scene.reload { $0.services[0].configure[0].headers = [header] }
    }

    /// The one that is stored.
    private func entity(_ scene: Scenario) async throws -> ArchivedEntity {
        let store = try #require(scene.proxy.diskTier?.store)
        await store.flush()
        let lines = try await store.list(after: nil, limit: 1, where: EntityMatch())
        let line = await scene.proxy.archived(try #require(lines.first), includesPrivate: true)
        guard case .entity(let entity, _) = line else { throw Unarchived() }
        return entity
    }

    private struct Unarchived: Error {}

    @Test func `what one user of a service had is not taken in for the next one`() async throws {
        try await runAsUser { (scene) async throws in
            let archive = try await exported(scene, "&private=true")
            try await haveUser("two", scene)
            let report = try await imported(scene, archive, "?private=true")
            #expect(report["imported"]?.int == 0 && report["refused"]?.int == 1, "\(report)")
            #expect(report["refusals"]?[0]?["why"]?.string?.contains("former user") == true)
            #expect(try await scene.get("/own").text == "of two")

            try await haveUser("one", scene)
            #expect(try await imported(scene, archive, "?private=true")["imported"]?.int == 1)
            scene.origin.answer { _ in .ok(content: "asked again") }
            #expect(try await scene.get("/own").text == "of one")
        }
    }

    @Test func `what a client gets while an older response is being taken in stays`() async throws {
        try await runAsUser { (scene) async throws in
            let entity = try await entity(scene)
            try await wipe(scene)
            let importing = try #require(try await scene.proxy.beginImport(entity, isFromHere: true))
            #expect(await importing.append(ContentChunk(Array("of one".utf8))))
            scene.origin.answer { _ in .ok(Self.fresh, content: "newer") }
            #expect(try await scene.get("/own").text == "newer")
            #expect(try await importing.finish() == nil)
            #expect(try await scene.get("/own").text == "newer")
            try await scene.restart()
            #expect(try await scene.get("/own").text == "newer")
        }
    }

    @Test func `what is being taken in when a service gets another user is not stored`() async throws {
        try await runAsUser { (scene) async throws in
            let entity = try await entity(scene)
            try await wipe(scene)
            let importing = try await scene.proxy.beginImport(entity, isFromHere: true)
            #expect(await importing?.append(ContentChunk(Array("of one".utf8))) == true)
            try await haveUser("two", scene)
            await #expect(throws: ImportRefusal.self) { try await importing?.finish() }
            #expect(importing?.obstacle?.contains("former user") == true)
            #expect(try await scene.get("/own").text == "of two")
        }
    }

    @Test func `content that is not what its digest says is refused, alone`() async throws {
        try await run { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, content: "content of \($0.target)") }
            for path in ["/a", "/b", "/c"] { _ = try await scene.get(path) }
            var archive = try await exported(scene)
            let place = try #require(archive.firstRange(of: Array("content of /b".utf8)))
            archive[place.lowerBound] ^= 1
            try await wipe(scene)
            let report = try await imported(scene, archive)
            #expect(report["imported"]?.int == 2 && report["refused"]?.int == 1, "\(report)")
            #expect(report["refusals"]?[0]?["url"]?.string == scene.url("/b"))
            scene.origin.answer { _ in .ok(Self.fresh, content: "new") }
            #expect(try await scene.get("/a").text == "content of /a")
            #expect(try await scene.get("/b").text == "new")
            #expect(try await scene.get("/c").text == "content of /c")
        }
    }

    @Test func `an archive that breaks off is taken as far as it goes, and that is said`() async throws {
        try await run { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, content: "content of \($0.target)") }
            for path in ["/a", "/b", "/c"] { _ = try await scene.get(path) }
            let archive = try await exported(scene)
            let place = try #require(archive.firstRange(of: Array("content of /c".utf8)))
            try await wipe(scene)
            let report = try await imported(scene, Array(archive[..<(place.lowerBound + 3)]))
            #expect(report["imported"]?.int == 2 && report["isComplete"]?.bool == false, "\(report)")
            #expect(report["problem"]?.string?.isEmpty == false)
            scene.origin.answer { _ in .ok(Self.fresh, content: "new") }
            #expect(try await scene.get("/b").text == "content of /b")
            #expect(try await scene.get("/c").text == "new")
            #expect(try await imported(scene, archive)["kept"]?.int == 3)
        }
    }

    @Test func `what is stored here and newer stays, also while it is in memory alone`() async throws {
        try await run { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: "old") }
            _ = try await scene.get("/a")
            let archive = try await exported(scene)
            scene.advance(.seconds(700))
            scene.origin.answer { _ in .ok(Self.fresh, content: "new") }
            #expect(try await scene.get("/a").text == "new")
            #expect(try await imported(scene, archive)["kept"]?.int == 1)
            #expect(try await scene.get("/a").text == "new")
        }
    }

    @Test func `what is in the archive and newer replaces what is stored here`() async throws {
        try await run { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: "old") }
            _ = try await scene.get("/a")
            let old = try await exported(scene)
            scene.advance(.seconds(700))
            scene.origin.answer { _ in .ok(Self.fresh, content: "new") }
            _ = try await scene.get("/a")
            let new = try await exported(scene)
            try await wipe(scene)
            #expect(try await imported(scene, old)["imported"]?.int == 1)
            #expect(try await send(scene, "POST", "/-/offline?mode=on").status == 200)
            #expect(try await scene.get("/a").text == "old")
            #expect(try await imported(scene, new)["imported"]?.int == 1)
            #expect(try await scene.get("/a").text == "new")
            #expect(try await imported(scene, old)["kept"]?.int == 1)
            #expect(try await scene.get("/a").text == "new")
        }
    }

    @Test(arguments: ["", "nonsense", String(repeating: "nonsense", count: 200)])
    func `what is no export is refused`(content: String) async throws {
        try await run { (scene) async throws in
            let answer = try await send(scene, "POST", "/-/import", Array(content.utf8))
            #expect(answer.status == 422, "\(answer.text)")
        }
    }

    @Test func `what is compressed is told of`() async throws {
        try await run { (scene) async throws in
            let answer = try await send(scene, "POST", "/-/import", [0x1F, 0x8B, 8, 0, 0])
            #expect(answer.status == 422 && answer.text.contains("compressed with gzip"), "\(answer.text)")
        }
    }

    @Test func `both need the permission for changes`() async throws {
        try await run { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: "a") }
            _ = try await scene.get("/a")
            let archive = try await exported(scene)
            try await wipe(scene)
            for (method, path) in [("GET", "/-/export?match=**"), ("POST", "/-/import")] {
                let answer = try await send(scene, method, path, method == "GET" ? [] : archive, token: nil)
                #expect(answer.status == 403)
            }
            scene.origin.answer { _ in .ok(Self.fresh, content: "new") }
            #expect(try await scene.get("/a").text == "new")
        }
    }
}
