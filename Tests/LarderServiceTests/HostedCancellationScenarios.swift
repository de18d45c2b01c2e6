// SPDX-License-Identifier: Apache-2.0
import Dispatch
import LarderHTTP
import LarderIO
import LarderProxy
import LarderTesting
import Testing

@testable import Larder

/// What a program cancels, and the clients that wait for the same.
@Suite("Scenarios: a program cancels its loads")
struct HostedCancellationScenarios {
    private static let fresh = "Cache-Control: max-age=600"

    private func run(
        configuring configure: @escaping @Sendable (Service) -> Void = { _ in },
        _ body: (Scenario, Service) async throws -> Void
    ) async throws {
        try await HostedConfigurationScenarios.run(configuring: configure, body)
    }

    @Test func `RQ-17 T-16 who comes when the program has cancelled its load needs another one`() async throws {
        try await run { (scene, service) async throws in
            for round in 0..<20 {
                let resource = service.resource("/\(round)")
                let load = resource.load()
                let request = try await scene.origin.request()
                load.cancel()
                // Its loop may not have heard of that yet.
                #expect(resource.memory.loads.allSatisfy { !$0.isJoinable && !$0.retain() })
                _ = try await request.wire.end()
            }
        }
    }

    @Test func `RQ-17 T-16 clients that join while the program cancels get their response`() async throws {
        try await run { (scene, service) async throws in
            let origin = scene.origin
            origin.answer { origin.count(of: $0.target) > 1 ? .ok(Self.fresh, content: "apples") : nil }
            for round in 0..<40 {
                let path = "/\(round)"
                let resource = service.resource(path)
                let load = resource.load()
                let first = try await scene.origin.request()
                async let cancelling: Void = Task.detached {
                    switch round % 4 {
                    case 0: load.cancel()
                    case 1: resource.wipe()
                    case 2: resource.cancelLoadIfUnobserved()
                    default: service.wipeResources()
                    }
                }.value
                let client = try await scene.client()
                try await client.get(scene.url(path))
                await cancelling
                // The first request is the client's now, or is over.
                try? await first.reply(Self.fresh, content: "apples")
                let response = try await client.response()
                #expect(response.status == 200 && response.text == "apples", "\(round): \(response.text)")
                await client.close()
            }
        }
    }

    @Test func `RS-21 observers of an owner that is gone keep no load alive`() async throws {
        try await run { (scene, service) async throws in
            let resource = service.resource("/a")
            var owner: Owner? = Owner()
            resource.addObserver(owner: try #require(owner)) { _, _ in }
            let load = resource.load()
            let request = try await scene.origin.request()
            resource.cancelLoadIfUnobserved()
            #expect(load.state == .inProgress)
            owner = nil
            resource.cancelLoadIfUnobserved()
            #expect(load.state == .completed)
            _ = try await request.wire.end()
        }
    }

    @Test func `RS-21 resources whose observers' owners are gone are not kept for ever`() async throws {
        try await run { (scene, service) async throws in
            let registry = scene.proxy.registry
            for number in 0..<6_000 {
                let owner = Owner()
                service.resource("/\(number)").addObserver(owner: owner) { _, _ in }
            }
            var kept = 0
            registry.forEach { if $0.memory.hasInterest { kept += 1 } }
            #expect(kept < 4_200)
        }
    }

    @Test func `RS-17 who waits for a client's load does not get what a cache has meanwhile`() async throws {
        try await run { (scene, service) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=1", content: "old") }
            _ = try await scene.getStored("/a")
            scene.advance(.seconds(100))
            scene.origin.answer { _ in nil }
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            let load = try #require(service.resource("/a").loadIfNeeded())
            try await eventually("the old data is there") { service.resource("/a").latestData != nil }
            try await request.reply(Self.fresh, content: "new")
            #expect(try await client.response().text == "new")
            #expect(try await load.entity().content as? [UInt8] == Array("new".utf8))
        }
    }

    private final class Owner: Sendable {}

    @Test func `RS-17 a client's load that brings nothing for a program is followed by its own`() async throws {
        try await run { (scene, service) async throws in
            let resource = service.resource("/a")
            scene.origin.answer { _ in .ok("Cache-Control: max-age=60", content: "old") }
            _ = try await resource.load().entity()
            scene.advance(.seconds(100))
            scene.origin.answer { _ in nil }
            let client = try await scene.client()
            try await client.get(scene.url("/a"), "Authorization: Basic QTpC", "Cache-Control: no-cache")
            let theirs = try await scene.origin.request()
            try await eventually("it is loaded") { resource.isLoading }
            let load = try #require(resource.loadIfNeeded())
            try await theirs.reply("Cache-Control: private, max-age=60", content: "theirs")
            #expect(try await client.response().text == "theirs")
            try await scene.origin.request().reply("Cache-Control: max-age=60", content: "new")
            let info = await load.response()
            #expect(info.isNew)
            #expect(try info.response.get().content as? [UInt8] == Array("new".utf8))
        }
    }

    @Test(arguments: ["private", "no-store", "max-age=60"])
    func `RS-17 so it is where the program looked only after that load had begun`(control: String) async throws {
        try await run { (scene, service) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"), "Authorization: Basic QTpC")
            let theirs = try await scene.origin.request()
            let resource = service.resource("/a")
            #expect(resource.isLoading)
            let load = try #require(resource.loadIfNeeded())
            try await theirs.reply("Cache-Control: \(control)", content: "theirs")
            #expect(try await client.response().text == "theirs")
            try await scene.origin.request().reply("Cache-Control: max-age=60", content: "own")
            #expect(try await load.entity().content as? [UInt8] == Array("own".utf8))
        }
    }

    @Test(arguments: [false, true]) func `RS-17 an error of the program's own is waited out in a daemon as elsewhere`(
        isClosed: Bool
    ) async throws {
        try await HostedConfigurationScenarios.run { service in
            service.configure { $0.retryTime = .seconds(4) }
        } _: { (scene, service) async throws in
            let resource = service.resource("/a")
            scene.origin.answer { _ in isClosed ? "\r\n" : .response(503, content: "down") }
            _ = await resource.load().response()
            let count = scene.origin.seen.count
            #expect(resource.latestError != nil && resource.isUpToDate)
            #expect(resource.loadIfNeeded() == nil)
            scene.advance(.seconds(5))
            scene.origin.answer { _ in .ok("Cache-Control: max-age=60", content: "apples") }
            #expect(try await resource.loadIfNeeded()?.entity().content as? [UInt8] == Array("apples".utf8))
            #expect(scene.origin.seen.count == count + 1)
        }
    }

    @Test func `RQ-17 a load that an operator cancels is a cancelled one for the program`() async throws {
        try await run { (scene, service) async throws in
            let load = service.resource("/a").load()
            _ = try await scene.origin.request()
            try await eventually("it is listed") { scene.resource("/a")?.memory.loads.isEmpty == false }
            #expect(try await scene.change("POST", "/-/resource/cancel?url=\(scene.url("/a"))").status == 200)
            #expect(await load.response().response.isCancellation)
            #expect(service.resource("/a").latestError == nil)
        }
    }

    @Test(arguments: ["client", "operator", "program"])
    func `RQ-17 a decorator's chain is cancelled with its request`(by who: String) async throws {
        let chains = Recorder<Request>()
        try await run { service in
            service.configure("/a") {
                $0.decorateRequests { resource, request in
                    let chain = request.chained { _ in .passTo(resource.service.resource("/b").load()) }
                    chains(chain)
                    return chain
                }
            }
        } _: { (scene, service) async throws in
            let load = who == "program" ? service.resource("/a").load() : nil
            let client = try await scene.client()
            if load == nil { try await client.get(scene.url("/a")) }
            try await scene.origin.request().reply(content: "apples")
            let next = try await scene.origin.request()
            #expect(next.head.target == "/b")
            switch who {
            case "client":
                await client.close()
                await scene.proxy.settle()
                scene.advance(.seconds(10))
            case "operator":
                let answer = try await scene.change("POST", "/-/resource/cancel?url=\(scene.url("/a"))")
                #expect(answer.text.filter { !$0.isWhitespace }.contains("\"cancelled\":1"), "\(answer.text)")
            default: load?.cancel()
            }
            let chain = try #require(chains.values.first)
            #expect(await chain.response().response.isCancellation)
            service.resource("/b").cancelLoadIfUnobserved()
            try await eventually("no load of /a is left") { scene.resource("/a")?.memory.loads.isEmpty != false }
            #expect(scene.origin.count(of: "/a") == 1)
        }
    }

    /// A transformer that has begun when the test hears of it, and ends when the test says so.
    private func gated(_ begun: Recorder<Void>, _ gate: DispatchSemaphore) -> @Sendable (Service) -> Void {
        { service in
            service.configure {
                $0.pipeline[.model].add(
                    ResponseContentTransformer { (entity: Entity<[UInt8]>) in
                        begun(())
                        gate.wait()
                        return entity.content + Array("!".utf8)
                    })
            }
        }
    }

    @Test(arguments: ["program", "operator"])
    func `RS-10 a load that is cancelled while its content is transformed changes nothing`(by who: String) async throws
    {
        let (begun, gate) = (Recorder<Void>(), DispatchSemaphore(value: 0))
        try await run(configuring: gated(begun, gate)) { (scene, service) async throws in
            let resource = service.resource("/a")
            let load = resource.load()
            try await scene.origin.request().reply(Self.fresh, content: "apples")
            try await eventually("it is transformed") { begun.count == 1 }
            if who == "program" {
                load.cancel()
            } else {
                #expect(try await scene.change("POST", "/-/resource/cancel?url=\(scene.url("/a"))").status == 200)
            }
            // The loop has heard of it.
            await scene.proxy.settle()
            gate.signal()
            #expect(await load.response().response.isCancellation)
            try await eventually("no load is left") { resource.memory.loads.isEmpty }
            #expect(resource.latestData == nil && resource.latestError == nil && !resource.isLoading)
            #expect(resource.memory.snapshot.variants.isEmpty)
        }
    }

    @Test func `RQ-17 T-16 clients that wait get what the program has cancelled while it was transformed`() async throws
    {
        let (begun, gate) = (Recorder<Void>(), DispatchSemaphore(value: 0))
        try await run(configuring: gated(begun, gate)) { (scene, service) async throws in
            let resource = service.resource("/a")
            let load = resource.load()
            let request = try await scene.origin.request()
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            try await eventually("the client waits") { resource.memory.loads.first?.interest == 2 }
            try await request.reply(Self.fresh, content: "apples")
            try await eventually("it is transformed") { begun.count == 1 }
            load.cancel()
            await scene.proxy.settle()
            gate.signal()
            #expect(try await client.response().text == "apples!")
            #expect(await load.response().response.isCancellation)
            try await eventually("the program has it too") { resource.latestData != nil && !resource.isLoading }
            #expect(scene.origin.count(of: "/a") == 1)
        }
    }
}
