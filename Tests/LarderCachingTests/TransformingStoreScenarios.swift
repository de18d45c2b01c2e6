// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderIO
import LarderSettings
import LarderStores
import LarderTesting
import Testing

@testable import Larder
@testable import LarderHTTP
@testable import LarderProxy

/// Transformed responses that are kept, made again and refused.
@Suite("Scenarios: transformed responses in the store")
struct TransformingStoreScenarios {
    typealias Base = TransformingScenarios
    static let fresh = Base.fresh
    static let json = Base.json

    @Test func `EC-06 EC-13 after a restart nothing is asked and nothing is transformed`() async throws {
        let runs = Recorder<String>()
        try await Base.run(Base.entry(Base.Counting(runs: runs)), onDisk: true) { (scene) async throws in
            scene.origin.answer {
                $0["If-None-Match"] == nil
                    ? .ok(Self.fresh, Self.json, "ETag: \"origin\"", content: "a") : .response(304, Self.fresh)
            }
            let tag = try await scene.get("/a")["ETag"]
            try await scene.restart()
            let again = try await scene.get("/a")
            #expect(again.text == Base.made("a"))
            #expect(again["ETag"] == tag)
            #expect(again["Cache-Status"] == "Larder; hit; ttl=60")
            #expect(scene.origin.seen.count == 1)
            scene.advance(.seconds(100))
            #expect(try await scene.get("/a").text == Base.made("a"))
            #expect(scene.origin.seen.last?["If-None-Match"] == "\"origin\"")
            try await scene.restart()
            let freshened = try await scene.get("/a")
            #expect(freshened.text == Base.made("a"))
            #expect(freshened["Cache-Status"] == "Larder; hit; ttl=60")
            #expect(scene.origin.seen.count == 2)
            #expect(runs.count == 1)
        }
    }

    @Test(arguments: [1000, 300_000]) func `another pipeline is applied to what the origin sent, which is not asked`(
        size: Int
    ) async throws {
        let runs = Recorder<String>()
        let (one, two) = (Base.Counting(runs: runs, word: "one"), Base.Counting(runs: runs, word: "two"))
        let content = String(repeating: "x", count: size)
        try await Base.run(Base.entry(one), onDisk: true) { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, "ETag: \"origin\"", content: content) }
            let first = try await scene.get("/a")
            #expect(first.text == Base.made(content, "one"))
            try await scene.reload { $0.services[0].declare = { $0.add(Base.entry(two)) } }
            let second = try await scene.get("/a")
            #expect(second.text == Base.made(content, "two"))
            #expect(second["ETag"] != first["ETag"])
            #expect(second["Cache-Status"] == "Larder; hit; ttl=60")
            try await scene.restart()
            #expect(try await scene.get("/a").text == Base.made(content, "two"))
            try await scene.reload { $0.services[0].declare = nil }
            let plain = try await scene.get("/a")
            #expect(plain.text == content)
            #expect(plain["ETag"] == "\"origin\"")
            try await scene.reload { $0.services[0].declare = { $0.add(Base.entry(one)) } }
            #expect(try await scene.get("/a").text == Base.made(content, "one"))
            #expect(runs.values == ["one", "two", "one"])
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test(arguments: ["another configuration", "another base", "no service"])
    func `nothing is left of a configuration after a reload, though its resources are`(what: String) async throws {
        final class Tool: Sendable {}
        struct Watch { weak var tool: Tool? }
        let watch = Lock(Watch())
        let service = Lock<Service?>(nil)
        try await Scenario.run { settings, origin in
            settings.add("s", at: origin.url("/s/")) {
                $0.declare = { declared in
                    service.withLock { $0 = declared }
                    // Nothing of the test's own has it.
                    let tool = Tool()
                    watch.withLock { $0.tool = tool }
                    declared.add(Base.closure("with a tool") { response in withExtendedLifetime(tool) { response } })
                }
            }
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: "a") }
            let resource = try #require(service.withLock { $0 }?.resource("a"))
            _ = await resource.load().response()
            _ = try await scene.get("/s/a")
            #expect(watch.withLock { $0.tool != nil })
            let other = scene.url("/other/")
            try await scene.reload { settings in
                settings.services = []
                if what != "no service" {
                    settings.add("s", at: what == "another base" ? other : scene.url("/s/"))
                }
            }
            try await eventually("the tool is let go of") { watch.withLock { $0.tool == nil } }
            #expect(resource.latestData != nil)
        }
    }

    @Test func `who asks after a reload does not wait for a load of the configuration before`() async throws {
        let runs = Recorder<String>()
        try await Base.run(Base.entry(Base.Counting(runs: runs, word: "one"))) { (scene) async throws in
            let before = try await scene.client("before")
            try await before.get(scene.url("/a"))
            let old = try await scene.origin.request()
            let other = Base.entry(Base.Counting(runs: runs, word: "two"))
            try await scene.reload { $0.services[0].declare = { $0.add(other) } }
            let after = try await scene.client("after")
            try await after.get(scene.url("/a"))
            let new = try await scene.origin.request()
            for request in [new, old] {
                try await request.send("HTTP/1.1 200 OK", "Content-Length: 1", Self.fresh, Self.json, content: "a")
                request.finish()
            }
            #expect(try await after.response().text == Base.made("a", "two"))
            #expect(try await before.response().text == Base.made("a", "one"))
        }
    }

    @Test func `a thousand clients after a reload cause one transformation and no request`() async throws {
        let runs = Recorder<String>()
        try await Base.run(Base.entry(Base.Counting(runs: runs, word: "one")), onDisk: true) { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, content: "a") }
            _ = try await scene.get("/a")
            let other = Base.entry(Base.Counting(runs: runs, word: "two"))
            try await scene.reload { $0.services[0].declare = { $0.add(other) } }
            var clients: [Wire] = []
            for number in 0..<1000 { clients.append(try await scene.client("client \(number)")) }
            for client in clients { try await client.get(scene.url("/a")) }
            for client in clients { #expect(try await client.response().text == Base.made("a", "two")) }
            #expect(runs.values == ["one", "two"])
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `EC-07 PL-07 wiping removes what was made as well`() async throws {
        let runs = Recorder<String>()
        try await Base.run(Base.entry(Base.Counting(runs: runs)), onDisk: true) { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, content: "a") }
            _ = try await scene.get("/a")
            let subject = try scene.proxy.subject(of: scene.url("/a"))
            #expect(await scene.proxy.wipe(subject, keepsStored: false) == 1)
            await scene.proxy.diskTier?.store.flush()
            #expect(scene.proxy.diskTier?.store.statistics.entries == 0)
            _ = try await scene.get("/a")
            #expect(runs.count == 2)
        }
    }

    @Test func `EC-05 what a POST brings is neither kept nor transformed`() async throws {
        let runs = Recorder<String>()
        try await Base.run(Base.entry(Base.Counting(runs: runs)), onDisk: true) { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, Self.json, content: $0.method) }
            #expect(try await scene.get("/a").text == Base.made("GET"))
            let client = try await scene.client()
            let lines = ["POST \(scene.url("/a")) HTTP/1.1", "Host: 127.0.0.1", "Content-Length: 0"]
            try await client.write(lines.map { $0 + "\r\n" }.joined() + "\r\n")
            #expect(try await client.response(to: "POST").text == "POST")
            #expect(try await scene.get("/a").text == Base.made("GET"))
            #expect(runs.count == 2)
        }
    }

    @Test func `EC-12 hits and restarts do not keep what was made alive`() async throws {
        try await Base.run(Base.entry(Base.Counting(runs: Recorder())), onDisk: true) { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, content: "a") }
            _ = try await scene.get("/a")
            for left in [35, 10] {
                scene.advance(.seconds(25))
                try await scene.restart()
                #expect(try await scene.get("/a")["Cache-Status"] == "Larder; hit; ttl=\(left)")
            }
            scene.advance(.seconds(25))
            _ = try await scene.get("/a")
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test func `EC-14 what was made for one identity is never another's, after a restart neither`() async throws {
        try await Base.run(Base.entry(Base.Counting(runs: Recorder())), onDisk: true) {
            $0.services[0].privacy = .partitioned
        } _: { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, Self.json, content: $0["Authorization"] ?? "nobody") }
            for isRestarted in [false, true] {
                if isRestarted { try await scene.restart() }
                for identity in ["Ann", "Ben"] {
                    #expect(try await scene.get("/a", "Authorization: \(identity)").text == Base.made(identity))
                }
                #expect(try await scene.get("/a").text == Base.made("nobody"))
            }
            #expect(scene.origin.seen.count == 3)
        }
    }

    // MARK: Failures

    struct Broken: Error, CustomStringConvertible {
        let description = "cannot make sense of it"
    }

    static func refusing(_ how: String, _ runs: Recorder<String>) -> ConfigurationEntry {
        switch how {
        case "throws":
            Base.entry(
                ResponseContentTransformer("picky") { (_: Entity<[UInt8]>) throws -> [UInt8]? in throw Broken() })
        case "nil": Base.entry(ResponseContentTransformer("picky") { (_: Entity<[UInt8]>) -> [UInt8]? in nil })
        case "explodes":
            Base.entry(
                ResponseContentTransformer("picky") { (_: Entity<[UInt8]>) -> [UInt8]? in
                    [UInt8](repeating: 0, count: 5000)
                })
        default:
            Base.entry(
                ResponseContentTransformer("picky") { (entity: Entity<[UInt8]>) -> Int? in entity.content.count })
        }
    }

    @Test(arguments: ["throws", "nil", "explodes", "cannot be sent"])
    func `EC-04 a transformer that fails is an error that names it, and what was there stays`(
        how: String
    ) async throws {
        let runs = Recorder<String>()
        try await Base.run(Base.entry(Base.Counting(runs: runs)), onDisk: true) {
            $0.limits.transformedContent = .kibibytes(1)
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, content: "a") }
            _ = try await scene.get("/a")
            try await scene.reload { $0.services[0].declare = { $0.add(Self.refusing(how, runs)) } }
            let failed = try await scene.get("/b")
            #expect(failed.status == 502)
            #expect(failed["Content-Type"] == "application/problem+json")
            if how != "cannot be sent" {
                #expect(failed.text.contains("in stage ‘model’ by ‘picky’"))
            }
            #expect(scene.proxy.transforming.used == 0)
            try await scene.reload { $0.services[0].declare = { $0.add(Base.entry(Base.Counting(runs: runs))) } }
            scene.advance(.seconds(10))
            #expect(try await scene.get("/a").text == Base.made("a"))
            #expect(runs.count == 1)
            #expect(try await scene.get("/b").text == Base.made("a"))
            #expect(scene.origin.count(of: "/b") == 2)
        }
    }

    @Test func `a failing transformer leaves old data to be served where staleness is allowed`() async throws {
        let runs = Recorder<String>()
        let entry = Base.closure("moody") { response in
            response.flatMap { entity in
                runs("")
                guard entity.content as? [UInt8] == Array("good".utf8) else {
                    return .failure(RequestError(cause: Broken(), timestamp: entity.timestamp))
                }
                return .success(entity.withContent("fine" as any Sendable))
            }
        }
        try await Base.run(entry) { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=10, stale-if-error=100", content: "good") }
            #expect(try await scene.get("/a").text == "fine")
            scene.origin.answer { _ in .ok("Cache-Control: max-age=10, stale-if-error=100", content: "bad") }
            scene.advance(.seconds(20))
            let stale = try await scene.get("/a")
            #expect(stale.text == "fine")
            #expect(stale["Age"] == "20")
            scene.advance(.seconds(200))
            #expect(try await scene.get("/a").status == 502)
        }
    }

    @Test func `a transformer that hangs costs its clients the time allowed, and an error`() async throws {
        let (started, release) = (Recorder<Int>(), Recorder<Int>())
        let entry = ConfigurationEntry(description: "slow") {
            $0.transformTimeout = .seconds(5)
            $0.pipeline[.model].add(
                ClosureTransformer("sleeper") { response in
                    started(1)
                    while release.count == 0 { _ = sched_yield() }
                    return response
                })
        }
        try await Base.run(entry) { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: "a") }
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            try await eventually("the transformer runs") { started.count == 1 }
            let response = try await scene.lettingTimePass(reaching: .seconds(5)) { try await client.response() }
            #expect(response.status == 502)
            #expect(response.text.contains("by ‘sleeper’"))
            release(1)
            try await eventually("the room is free again") { scene.proxy.transforming.used == 0 }
        }
    }

    @Test func `transformers that hang take nothing from others`() async throws {
        let (started, release) = (Recorder<Int>(), Recorder<Int>())
        let hanging = 12
        let entry = ConfigurationEntry(description: "slow") {
            $0.transformTimeout = .seconds(5)
            $0.pipeline[.model].add(
                ClosureTransformer("sleeper") { response in
                    guard case .success(let entity) = response, entity.content as? [UInt8] == Array("hang".utf8) else {
                        return response
                    }
                    started(1)
                    while release.count == 0 { usleep(1000) }
                    return response
                })
        }
        try await Base.run(entry) { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, content: $0.target.hasPrefix("/hang") ? "hang" : "well") }
            var begun = 0
            while begun < hanging {
                let client = try await scene.client()
                try await client.get(scene.url("/hang\(begun)"))
                begun += 1
                try await eventually("it has a thread") { started.count == begun }
                let response = try await scene.lettingTimePass(reaching: .seconds(5)) { try await client.response() }
                #expect(response.status == 502)
            }
            #expect(try await scene.get("/a").text == "well")
            release(1)
            try await eventually("the room is free again") { scene.proxy.transforming.used == 0 }
            #expect(try await scene.get("/b").text == "well")
        }
    }

    @Test func `content for which there is no room is refused, and there is room again`() async throws {
        try await Base.run(Base.entry(Base.Counting(runs: Recorder()))) {
            $0.limits.transforming = .mebibytes(1)
        } _: { (scene) async throws in
            let content = String(repeating: "x", count: 3 << 19)
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, content: content) }
            let refused = try await scene.get("/a")
            #expect(refused.status == 503)
            #expect(refused["Retry-After"] == "1")
            #expect(scene.proxy.transforming.used == 0)
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, content: "a") }
            #expect(try await scene.get("/a").text == Base.made("a"))
        }
    }

    // MARK: Success and failure

    @Test func `PL-11 what the pipeline makes data of is kept as data is`() async throws {
        let entry = Base.closure("404 is data") { response in
            guard case .failure(let error) = response, error.status == 403, let entity = error.entity else {
                return response
            }
            return .success(entity.withContent("nothing" as any Sendable))
        }
        try await Base.run(entry, onDisk: true) {
            $0.services[0].configure { $0.expirationTime = Expiration(time: .seconds(600)) }
        } _: { (scene) async throws in
            scene.origin.answer { _ in .response(403, content: "Not here") }
            let first = try await scene.get("/a")
            #expect(first.status == 403)
            #expect(first.text == "nothing")
            scene.advance(.seconds(100))
            for isRestarted in [false, true] {
                if isRestarted { try await scene.restart() }
                let hit = try await scene.get("/a")
                #expect(hit.status == 403)
                #expect(hit.text == "nothing")
                #expect(hit["Cache-Status"] == "Larder; hit; ttl=500")
            }
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `PL-11 what the pipeline makes an error of is one to clients, and is not kept`() async throws {
        let entry = Base.closure("empty is an error") { response in
            response.flatMap { entity in
                var refused = entity.withContent("there is nothing in it" as any Sendable)
                refused.fields[.contentType] = "text/plain"
                return .failure(RequestError(status: 410, entity: refused, timestamp: entity.timestamp))
            }
        }
        try await Base.run(entry, onDisk: true) { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: "{}") }
            for _ in 0..<2 {
                let response = try await scene.get("/a")
                #expect(response.status == 410)
                #expect(response.text == "there is nothing in it")
                #expect(response["Cache-Status"]?.hasSuffix("; fwd-status=200") == true)
                #expect(response["Proxy-Status"]?.contains("received-status=200") == true)
            }
            #expect(scene.origin.seen.count == 2)
            await scene.proxy.diskTier?.store.flush()
            #expect(scene.proxy.diskTier?.store.statistics.entries == 0)
        }
    }

    @Test func `TR-13 the content of an origin's error can be transformed, and its status stays`() async throws {
        let entry = Base.closure("message") { response in
            response.mapError { error in
                var error = error
                error.entity = error.entity?.withContent("sorry" as any Sendable)
                return error
            }
        }
        try await Base.run(entry) { (scene) async throws in
            scene.origin.answer { _ in .response(404, Self.fresh, content: "{}") }
            #expect(try await scene.get("/a").status == 404)
            let hit = try await scene.get("/a")
            #expect(hit.status == 404)
            #expect(hit.text == "sorry")
            #expect(scene.origin.seen.count == 1)
        }
    }
}
