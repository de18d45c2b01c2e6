// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Larder
import LarderHTTP
import LarderIO
import LarderTesting
import Testing

@testable import LarderProxy

/// A resource of a program's own service is the one that its daemon's clients are served from.
@Suite("Scenarios: one state for a program and its clients")
struct HostedStateScenarios {
    static let fresh = "Cache-Control: max-age=600"
    static let json = "Content-Type: application/json"

    /// An observer that records event by event, with the state right after.
    private final class Ear: Sendable {
        let heard: Recorder<(event: ResourceEvent, state: ResourceState)>
        private let token: ObservationToken

        init(_ resource: Resource) {
            let heard = Recorder<(event: ResourceEvent, state: ResourceState)>()
            self.heard = heard
            token = resource.observe { state, event in heard.add((event: event, state: state)) }
        }

        var events: [String] { heard.values.map(\.event.description) }
    }

    /// One that also records how far loads are.
    private final class ProgressEar: ResourceObserver {
        let told = Recorder<String>()

        func resourceChanged(_ resource: Resource, _ event: ResourceEvent, _ state: ResourceState) {
            told.add("\(event)")
        }
        func resourceRequestProgress(for resource: Resource, progress: Double) { told.add("\(progress)") }
    }

    private func run(
        onDisk: Bool = false,
        configuring configure: @escaping @Sendable (Service) -> Void = {
            $0.configure { $0.pipeline.add(.json) }
        },
        _ body: (Scenario, Service) async throws -> Void
    ) async throws {
        try await HostedConfigurationScenarios.run(onDisk: onDisk, configuring: configure, body)
    }

    private func expect(
        _ ear: Ear, _ events: String..., sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await eventually("\(events) are heard instead of \(ear.events)") { ear.events.count >= events.count }
        #expect(ear.events == events, sourceLocation: sourceLocation)
    }

    // MARK: Clients' loads

    @Test func `OB-05 RS-02 observers hear of a client's load and see its content as the pipeline made it`()
        async throws
    {
        try await run { (scene, service) async throws in
            let resource = service.resource("/a")
            #expect(service.resource("/a") === resource && resource.service === service)
            let ear = Ear(resource)
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            #expect(resource.isLoading)
            try await request.reply(Self.fresh, Self.json, "ETag: \"1\"", content: "{ \"n\": 1 }")
            #expect(try await client.response().text == "{\"n\":1}")
            try await expect(ear, "observerAdded", "requested", "newData(network)")
            let state = try #require(ear.heard.values.last).state
            #expect(state.latestData?.json == ["n": 1] && state.latestData?.eTag == "\"1\"")
            #expect(!resource.isLoading && resource.isUpToDate && resource.latestError == nil)
            #expect(resource.timestamp == scene.proxy.now)
            #expect(resource.loadIfNeeded() == nil)
            // A hit changes nothing.
            _ = try await scene.getStored("/a")
            #expect(ear.events.count == 3)
        }
    }

    @Test(arguments: [false, true])
    func `ST-04 an older load that comes later changes nothing, for clients as for the program`(
        onDisk: Bool
    ) async throws {
        try await run(onDisk: onDisk) { (scene, service) async throws in
            let resource = service.resource("/a")
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let older = try await scene.origin.request()
            scene.advance(.seconds(1))
            let load = resource.load()
            let later = try await scene.origin.request()
            try await later.reply(Self.fresh, Self.json, content: "[2]")
            #expect(try await load.entity().json == [2])
            try await older.reply(Self.fresh, Self.json, content: "[1]")
            #expect(try await client.response().text == "[1]")
            try await eventually("it has ended") { !resource.isLoading }
            #expect(resource.latestData?.json == [2] && resource.isUpToDate)
            #expect(try await scene.get("/a").text == "[2]")
            if onDisk {
                try await scene.restart()
                #expect(try await scene.get("/a").text == "[2]")
            }
        }
    }

    @Test func `OB-05 what nothing transforms, and what is not kept, is data all the same`() async throws {
        try await run(configuring: { _ in }) { (scene, service) async throws in
            scene.origin.answer { head in
                head.target == "/kept" ? .ok(Self.fresh, content: "apples") : .ok(content: "pears")
            }
            for (path, text) in [("/kept", "apples"), ("/passed", "pears")] {
                let ear = Ear(service.resource(path))
                #expect(try await scene.getStored(path).text == text)
                try await expect(ear, "observerAdded", "requested", "newData(network)")
                #expect(service.resource(path).latestData?.content as? [UInt8] == Array(text.utf8))
            }
        }
    }

    @Test func `OB-05 PG-03 observers hear how far a client's load is, and 1 before its end`() async throws {
        try await run(configuring: { _ in }) { (scene, service) async throws in
            let ear = ProgressEar()
            let told = ear.told
            service.resource("/a").addObserver(ear)
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let load = try await scene.origin.request()
            try await load.send("HTTP/1.1 200 OK", Self.fresh, "Content-Length: 10", content: "apple")
            var received = 5
            for letter in ["p", "e", "a", "r", "s"] {
                try await client.hasReceived(received)
                scene.advance(LoadTicker.programInterval)
                await scene.proxy.settle()
                try await load.write(letter)
                received += 1
            }
            load.finish()
            _ = try await client.response()
            try await eventually("the end is heard") { told.values.last == "newData(network)" }
            let progress = told.values.compactMap(Double.init)
            #expect(progress == progress.sorted() && progress.last == 1 && progress.count > 1, "\(told.values)")
            #expect(told.values.suffix(2) == ["1.0", "newData(network)"], "\(told.values)")
            withExtendedLifetime(ear) {}
        }
    }

    @Test func `RS-03 RS-12 a client's load that fails is the resource's error, and the data stays`() async throws {
        try await run { (scene, service) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=1", Self.json, content: "[1]") }
            let resource = service.resource("/a")
            let ear = Ear(resource)
            _ = try await scene.getStored("/a")
            scene.advance(.seconds(2))
            scene.origin.answer { _ in .response(404, Self.json, content: "{\"why\":\"gone\"}") }
            #expect(try await scene.getStored("/a").status == 404)
            try await expect(ear, "observerAdded", "requested", "newData(network)", "requested", "error")
            #expect(resource.latestError?.status == 404)
            #expect(resource.latestError?.entity?.json == ["why": "gone"])
            #expect(resource.latestData?.json == [1])
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, content: "no JSON") }
            scene.advance(.seconds(2))
            _ = try await scene.getStored("/a")
            try await eventually("the pipeline's error is heard") { ear.events.count == 7 }
            #expect(resource.latestError?.stage == .parsing && resource.latestData?.json == [1])
        }
    }

    @Test func `RS-11 PL-12 a client's 304 confirms the data, which is not transformed again`() async throws {
        let parsed = Lock(0)
        try await run { service in
            service.configure { $0.pipeline.add(.json) }
            service.configureTransformer("**", action: .appendToExisting) { (entity: Entity<JSONValue>) in
                parsed.withLock { $0 += 1 }
                return entity.content
            }
        } _: { (scene, service) async throws in
            scene.origin.answer { head in
                head["If-None-Match"] == "\"1\""
                    ? .response(304, Self.fresh, "ETag: \"1\"", "X-Round: 2")
                    : .ok("Cache-Control: max-age=1", Self.json, "ETag: \"1\"", content: "[1]")
            }
            let resource = service.resource("/a")
            let ear = Ear(resource)
            _ = try await scene.getStored("/a")
            scene.advance(.seconds(5))
            #expect(!resource.isUpToDate)
            _ = try await scene.getStored("/a")
            try await expect(
                ear, "observerAdded", "requested", "newData(network)", "requested", "notModified")
            #expect(resource.latestData?.fields["X-Round"] == "2" && resource.latestData?.timestamp == scene.proxy.now)
            #expect(resource.isUpToDate && parsed.withLock { $0 } == 1)
        }
    }

    @Test(arguments: ["Set-Cookie: sid=ann", "X-User: ann", "Cache-Control: private"])
    func `HT-16 RS-11 what a 304 says to one client alone is nobody's data`(field: String) async throws {
        try await run { (scene, service) async throws in
            scene.origin.answer { head in
                head["If-None-Match"] == "\"1\""
                    ? .response(304, "ETag: \"1\"", field)
                    : .ok("Cache-Control: max-age=1", Self.json, "ETag: \"1\"", "X-User: all", content: "[1]")
            }
            let resource = service.resource("/a")
            let ear = Ear(resource)
            _ = try await scene.getStored("/a")
            scene.advance(.seconds(5))
            #expect(try await scene.getStored("/a", "Authorization: ann").text == "[1]")
            #expect(scene.origin.seen.count == 2)
            try await eventually("the load has ended") { !resource.isLoading && ear.events.count == 5 }
            let data = try #require(resource.latestData)
            #expect(data.fields["Set-Cookie"] == nil && data.fields["X-User"] == "all")
            #expect(data.fields["Cache-Control"] == "max-age=1")
        }
    }

    @Test(arguments: [false, true])
    func `RS-16 observers that load again after a wipe get their response`(isOfService: Bool) async throws {
        try await run(onDisk: true) { (scene, service) async throws in
            let count = Lock(0)
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, content: "[1]") }
            let resource = service.resource("/a")
            _ = try await resource.load().entity()
            let loads = Recorder<Request>()
            let observation = resource.observe { _, event in
                guard event == .newData(.wipe) else { return }
                count.withLock { $0 += 1 }
                loads(resource.load())
            }
            if isOfService { service.wipeResources(.memoryAndCaches) } else { resource.wipe(.memoryAndCaches) }
            // One that begins while the store is being emptied may be wiped once more, of which it is told.
            try await eventually("it is loaded again") { loads.values.last?.state == .completed }
            await service.finishCacheWork()
            try await eventually("it is there") { resource.latestData?.json == [1] && !resource.isLoading }
            #expect(count.withLock { $0 } <= 2)
            _ = consume observation
        }
    }

    @Test func `HT-16 what is for one client alone is nobody's data`() async throws {
        try await run { (scene, service) async throws in
            scene.origin.answer { head in .ok(Self.fresh, Self.json, content: "[\"\(head["Authorization"] ?? "")\"]") }
            let resource = service.resource("/a")
            let ear = Ear(resource)
            #expect(try await scene.getStored("/a", "Authorization: ann").text == "[\"ann\"]")
            try await expect(ear, "observerAdded", "requested", "requestCancelled")
            #expect(resource.latestData == nil && !resource.isLoading)
        }
    }

    @Test func `HT-03 what belongs to one user is in that user's partition only`() async throws {
        try await run { service in
            service.configure {
                $0.privacy = .partitioned
                $0.pipeline.add(.json)
            }
        } _: { (scene, service) async throws in
            scene.origin.answer { head in .ok(Self.fresh, Self.json, content: "[\"\(head["Authorization"] ?? "")\"]") }
            let shared = service.resource("/a")
            let ear = Ear(shared)
            _ = try await scene.getStored("/a", "Authorization: ann")
            let own = try #require(scene.proxy.partition(of: "/a", "Authorization: ann"))
            let ann = service.resource("/a", in: own)
            #expect(ann !== shared)
            let ears = Ear(ann)
            scene.advance(.seconds(601))
            _ = try await scene.getStored("/a", "Authorization: bob")
            _ = try await scene.getStored("/a", "Authorization: ann")
            try await eventually("hers is heard") { ears.events.last == "newData(network)" }
            #expect(ann.latestData?.json == ["ann"])
            #expect(ear.events == ["observerAdded"] && shared.latestData == nil)
            // A write by anyone is about all of them.
            #expect(ann.isUpToDate)
            let client = try await scene.client()
            try await client.send("PUT \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 0")
            _ = try await client.response()
            #expect(!ann.isUpToDate && ann.latestData?.json == ["ann"])
        }
    }

    @Test func `RS-16 loadIfNeeded waits for the load of a client, and a client for that of the program`() async throws
    {
        try await run { (scene, service) async throws in
            let resource = service.resource("/a")
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            let load = try #require(resource.loadIfNeeded())
            try await request.reply(Self.fresh, Self.json, content: "[1]")
            #expect(try await load.entity().json == [1])
            _ = try await client.response()
            let own = service.resource("/b").load()
            let second = try await scene.origin.request()
            let other = try await scene.client()
            try await other.get(scene.url("/b"))
            try await eventually("the client waits too") {
                scene.proxy.registry.reading(service.resource("/b")) == 2
            }
            try await second.reply(Self.fresh, Self.json, content: "[2]")
            #expect(try await own.entity().json == [2])
            #expect(try await other.response().text == "[2]")
            #expect(scene.origin.seen.map(\.target) == ["/a", "/b"])
        }
    }

    // MARK: The program's loads

    @Test func `RS-09 what the program loads is what clients get`() async throws {
        try await run { (scene, service) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, "ETag: \"1\"", content: "[ 1 ]") }
            let resource = service.resource("/a")
            let ear = Ear(resource)
            #expect(try await resource.load().entity().json == [1])
            try await expect(ear, "observerAdded", "requested", "newData(network)")
            let hit = try await scene.getStored("/a")
            #expect(hit.text == "[1]" && hit["Cache-Status"] == "Larder; hit; ttl=600")
            scene.origin.answer { head in
                head["If-None-Match"] == "\"1\"" ? .response(304, Self.fresh, "ETag: \"1\"") : .response(500)
            }
            scene.advance(.seconds(100))
            let confirmed = await resource.load().response()
            #expect(!confirmed.isNew && confirmed.response.entity?.json == [1])
            try await expect(
                ear, "observerAdded", "requested", "newData(network)", "requested", "notModified")
            #expect(try await scene.getStored("/a")["Cache-Status"] == "Larder; hit; ttl=600")
            #expect(scene.origin.count(of: "/a") == 2)
        }
    }

    @Test func `RS-03 RS-10 the program's load fails, or is cancelled, as clients' would`() async throws {
        try await run { (scene, service) async throws in
            let resource = service.resource("/a")
            let ear = Ear(resource)
            let load = resource.load()
            let request = try await scene.origin.request()
            load.cancel()
            try await expect(ear, "observerAdded", "requested", "requestCancelled")
            _ = try await request.wire.end()
            #expect(!resource.isLoading && resource.latestData == nil && resource.latestError == nil)
            scene.origin.answer { _ in .response(503, Self.json, content: "{\"busy\":true}") }
            let failed = await resource.load().response()
            guard case .failure(let error) = failed.response else { return #expect(Bool(false)) }
            #expect(error.status == 503 && error.entity?.json == ["busy": true])
            #expect(resource.latestError?.status == 503)
        }
    }

    @Test func `RS-20 RQ-01 what is adopted has clients ask again, and what is not kept is loaded all the same`()
        async throws
    {
        try await run { service in
            service.configure { $0.pipeline.add(.json) }
            service.configure("/never") { $0.mutateRequests { $0.fields["X-Mutated"] = "yes" } }
        } _: { (scene, service) async throws in
            scene.origin.answer { head in
                head.method == "POST" || head.target == "/never"
                    ? .ok("Cache-Control: no-store", Self.json, content: "[2]")
                    : .ok(Self.fresh, Self.json, content: "[1]")
            }
            let resource = service.resource("/a")
            _ = try await scene.getStored("/a")
            _ = try await resource.load(using: resource.request(.post)).entity()
            #expect(resource.latestData?.json == [2])
            _ = try await scene.getStored("/a")
            #expect(scene.origin.count(of: "/a") == 3)
            #expect(try await service.resource("/never").load().entity().json == [2])
            #expect(scene.origin.seen.last?["X-Mutated"] == "yes")
        }
    }

    // MARK: Changes by either

    @Test func `RS-28 RS-29 a wipe by either side leaves nothing on the other`() async throws {
        try await run { (scene, service) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, content: "[1]") }
            let resource = service.resource("/a")
            let ear = Ear(resource)
            _ = try await scene.getStored("/a")
            try await expect(ear, "observerAdded", "requested", "newData(network)")
            resource.wipe(.memoryAndCaches)
            #expect(resource.latestData == nil)
            _ = try await scene.getStored("/a")
            #expect(scene.origin.count(of: "/a") == 2)
            try await expect(
                ear, "observerAdded", "requested", "newData(network)", "newData(wipe)", "requested",
                "newData(network)")
            await scene.wipe("/a")
            try await eventually("the wipe is heard") { ear.events.last == "newData(wipe)" }
            #expect(resource.latestData == nil && ear.events.count == 7)
        }
    }

    @Test func `RS-26 HT-04 what either declares out of date is so for both, and the data stays`() async throws {
        try await run { (scene, service) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, content: "[1]") }
            let resource = service.resource("/a")
            _ = try await scene.getStored("/a")
            resource.invalidate()
            await service.finishCacheWork()
            #expect(!resource.isUpToDate)
            _ = try await scene.getStored("/a")
            #expect(scene.origin.count(of: "/a") == 2 && resource.isUpToDate)
            let client = try await scene.client()
            try await client.send("PUT \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 0")
            _ = try await client.response()
            #expect(!resource.isUpToDate && resource.latestData?.json == [1])
            _ = try await resource.loadIfNeeded()?.entity()
            #expect(resource.isUpToDate)
            #expect(try await scene.getStored("/a")["Cache-Status"]?.contains("hit") == true)
        }
    }

    @Test func `RS-07 RS-18 RS-26 an invalidation ends the wait after a failure, for both`() async throws {
        try await run { (scene, service) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, content: "no JSON") }
            let resource = service.resource("/a")
            for isFirst in [true, false] {
                #expect(try await scene.get("/a").status == 502)
                #expect(resource.isUpToDate && resource.loadIfNeeded() == nil)
                #expect(try await scene.get("/a").status == 502)
                #expect(scene.origin.count(of: "/a") == (isFirst ? 1 : 2))
                resource.invalidate()
                #expect(!resource.isUpToDate)
            }
            _ = await resource.loadIfNeeded()?.response()
            #expect(resource.latestError?.stage == .parsing && scene.origin.count(of: "/a") == 3)
        }
    }

    @Test func `B-29 HT-04 a client's write puts the resources out of date that the program names`() async throws {
        try await run { service in
            service.configure("/widgets/*") { $0.afterWrite = .init(.invalidate, also: ["/widgets"]) }
        } _: { (scene, service) async throws in
            scene.origin.answer { head in
                head.method == "PUT" && head.target == "/widgets/2"
                    ? .response(409) : .ok(Self.fresh, Self.json, content: "[1]")
            }
            let paths = ["/widgets/1", "/widgets", "/widgets/2", "/others"]
            let resources = paths.map { service.resource($0) }
            for path in paths { _ = try await scene.getStored(path) }
            for (path, status) in [("/widgets/2", 409), ("/widgets/1", 200)] {
                #expect(resources.allSatisfy { $0.isUpToDate })
                let client = try await scene.client()
                try await client.send("PUT \(scene.url(path)) HTTP/1.1", "Host: x", "Content-Length: 0")
                #expect(try await client.response().status == status)
            }
            #expect(resources.map(\.isUpToDate) == [false, false, true, true])
            for path in paths { _ = try await scene.getStored(path) }
            let loads = paths.map { path in scene.origin.seen.count { $0.method == "GET" && $0.target == path } }
            #expect(loads == [2, 2, 1, 1])
        }
    }

    @Test func `RS-23 clients get what the typed accessors returned and the program changed`() async throws {
        try await run { (scene, service) async throws in
            let resource = service.resource("/a")
            resource.overrideLocalContent(with: ["a": 1] as JSONValue)
            var object = resource.jsonObject
            object["b"] = 2.5
            resource.overrideLocalContent(with: object)
            #expect(resource.json == ["a": 1, "b": 2.5])
            #expect(try await scene.getStored("/a").text == #"{"a":1,"b":2.5}"#)
            resource.overrideLocalContent(with: [1, 2] as JSONValue)
            resource.overrideLocalContent(with: resource.jsonArray + [3])
            #expect(try await scene.getStored("/a").text == "[1,2,3]")
            resource.overrideLocalContent(with: [JSONValue]())
            #expect(try await scene.getStored("/a").text == "[]")
            #expect(scene.origin.seen.isEmpty)
        }
    }

    @Test func `RS-23 RS-24 RS-25 an override by either is what both have`() async throws {
        try await run { (scene, service) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, "ETag: \"1\"", content: "[1]") }
            let resource = service.resource("/a")
            let ear = Ear(resource)
            _ = try await scene.getStored("/a")
            resource.overrideLocalContent(with: JSONValue.array([0]))
            #expect(resource.latestData?.json == [0])
            let overridden = try await scene.getStored("/a")
            #expect(overridden.text == "[0]" && overridden["Cache-Status"]?.contains("override") == true)
            #expect(overridden["ETag"] != "\"1\"")
            #expect(try await scene.override("/a", "[5]", Self.json).status == 200)
            try await expect(
                ear, "observerAdded", "requested", "newData(network)", "newData(localOverride)",
                "newData(localOverride)")
            #expect(resource.latestData?.content as? [UInt8] == Array("[5]".utf8))
            // The origin's next response ends it.
            #expect(try await resource.load().entity().json == [1])
            #expect(scene.origin.seen.last?["If-None-Match"] == nil)
            #expect(try await scene.getStored("/a").text == "[1]")
        }
    }

    @Test func `B-04 the program's load is superseded like a client's, and both have the same at any moment`()
        async throws
    {
        try await run { (scene, service) async throws in
            let resource = service.resource("/a")
            let ear = Ear(resource)
            let load = resource.load()
            let request = try await scene.origin.request()
            #expect(try await scene.override("/a", "[5]", Self.json).status == 200)
            #expect(!resource.isLoading && resource.loadRequests.isEmpty && load.state == .inProgress)
            try await request.reply(Self.fresh, Self.json, content: "[1]")
            #expect(try await load.entity().json == [1])
            #expect(resource.latestData?.content as? [UInt8] == Array("[5]".utf8))
            try await expect(ear, "observerAdded", "requested", "requestCancelled", "newData(localOverride)")
            let next = resource.load()
            let second = try await scene.origin.request()
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            try await second.reply(Self.fresh, Self.json, content: "[2]")
            #expect(try await next.entity().json == [2])
            #expect(resource.latestData?.json == [2] && !resource.isLoading)
            _ = try await client.response()
        }
    }

    @Test func `RS-23 an override stays while what a client's load brought is still being made for the program`()
        async throws
    {
        let calls = Recorder<Void>()
        let gate = DispatchSemaphore(value: 0)
        try await run(
            onDisk: true,
            configuring: { service in
                service.configure {
                    $0.pipeline.add(.json)
                    $0.pipeline[.model].add(
                        ResponseContentTransformer { (entity: Entity<JSONValue>) in
                            calls(())
                            if calls.count == 2 { gate.wait() }
                            return entity.content
                        })
                }
            }
        ) { (scene, service) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            // The load began before the program looked: what it brings is made once more, for the program.
            let resource = service.resource("/a")
            let ear = Ear(resource)
            try await request.reply(Self.fresh, Self.json, content: "[ 1 ]")
            #expect(try await client.response().text == "[1]")
            try await eventually("it is made for the program") { calls.count == 2 }
            resource.overrideLocalContent(with: JSONValue.array([0]))
            gate.signal()
            try await eventually("the load ends") { !resource.isLoading }
            #expect(resource.latestData?.json == [0] && resource.latestData?.isLocalOverride == true)
            #expect(try await scene.getStored("/a").text == "[0]")
            #expect(!ear.events.contains("newData(network)"))
        }
    }

    @Test func `RS-28 a load that is cancelled before it asks leaves nothing on either side`() async throws {
        try await run { (scene, service) async throws in
            let resource = service.resource("/a")
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, content: "[1]") }
            for _ in 0..<20 {
                let load = resource.load()
                load.cancel()
                #expect(load.state == .completed)
            }
            resource.wipe()
            try await eventually("no load is left") { resource.memory.loads.isEmpty }
            #expect(resource.latestData == nil && resource.memory.snapshot.variants.isEmpty)
        }
    }

    @Test(arguments: [false, true]) func `RQ-20 a load that is repeated changes nothing, and is not decorated`(
        onlyIfNeeded: Bool
    ) async throws {
        let decorated = Recorder<Void>()
        try await run(configuring: { service in
            service.configure {
                $0.decorateRequests { _, request in
                    decorated(())
                    return request
                }
            }
        }) { (scene, service) async throws in
            scene.origin.answer { .ok(Self.fresh, content: "\(scene.origin.count(of: $0.target))") }
            let resource = service.resource("/a")
            let load = try #require(onlyIfNeeded ? resource.loadIfNeeded() : resource.load())
            #expect(try await load.entity().content as? [UInt8] == Array("1".utf8))
            let again = load.repeated()
            #expect(again.state == .notStarted)
            #expect(try await again.start().entity().content as? [UInt8] == Array("2".utf8))
            #expect(resource.latestData?.content as? [UInt8] == Array("1".utf8) && decorated.count == 1)
            #expect(try await scene.getStored("/a").text == "1")
        }
    }

    // MARK: At the start

    @Test func `what a program removes while it configures its service is not there`() async throws {
        try await run(
            onDisk: true,
            configuring: { service in
                service.configure { $0.expirationTime = .seconds(60) }
                service.wipeResources(matching: "/gone", .memoryAndCaches)
                service.resource("/gone/too").wipe(.memoryAndCaches)
                service.invalidateResources(matching: "/old")
            }
        ) { (scene, _) async throws in
            scene.origin.answer { .ok(content: "\($0.target) \(scene.origin.count(of: $0.target))") }
            let paths = ["/gone", "/gone/too", "/old", "/kept"]
            for path in paths { #expect(try await scene.getStored(path).text == "\(path) 1") }
            try await scene.restart()
            for path in paths {
                let text = try await scene.get(path).text
                #expect(text == "\(path) \(path == "/kept" ? 1 : 2)")
            }
        }
    }

    @Test func `what a program does while it configures its service is done once the daemon is there`() async throws {
        let loads = Recorder<Request>()
        try await run(
            onDisk: true,
            configuring: { service in
                service.configure { $0.expirationTime = .seconds(60) }
                service.resource("/mine").overrideLocalContent(with: "mine")
                loads(service.resource("/load").load())
                loads(service.resource("/request").request(.get))
            }
        ) { (scene, service) async throws in
            for _ in loads.values { try await scene.origin.request().reply(Self.fresh, content: "apples") }
            #expect(try await scene.get("/mine").text == "mine" && service.resource("/mine").text == "mine")
            for load in loads.values { _ = try await load.entity() }
            #expect(try await scene.getStored("/load").text == "apples")
        }
    }

    // MARK: What was there before

    @Test(arguments: [true, false])
    func `RS-02 EC-15 what clients have got before the program asks is its data`(isOnDisk: Bool) async throws {
        try await run(
            onDisk: isOnDisk,
            configuring: { service in
                if isOnDisk { service.configure { $0.pipeline.add(.json) } }
            }
        ) { (scene, service) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, content: "[1]") }
            _ = try await scene.getStored("/a")
            let resource = service.resource("/a")
            let ear = Ear(resource)
            try await expect(ear, "observerAdded", "newData(cache)")
            if isOnDisk {
                #expect(resource.latestData?.json == [1])
            } else {
                #expect(resource.latestData?.content as? [UInt8] == Array("[1]".utf8))
            }
            #expect(resource.loadIfNeeded() == nil)
            #expect(scene.origin.count(of: "/a") == 1)
        }
    }

    @Test func `OB-10 SV-07 what the program holds or observes is not evicted`() async throws {
        try await run(configuring: { _ in }) { (scene, service) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, content: String(repeating: "x", count: 1 << 16)) }
            let held = service.resource("/held")
            let owner = Ear(service.resource("/observed"))
            for path in ["/held", "/observed", "/other"] { _ = try await scene.getStored(path) }
            scene.proxy.registry.limit = 1
            for number in 0..<40 { _ = try await scene.getStored("/\(number)") }
            for path in ["/held", "/observed"] {
                #expect(try await scene.getStored(path)["Cache-Status"]?.contains("hit") == true, "\(path)")
            }
            #expect(service.resource("/held") === held && held.latestData != nil)
            _ = try await scene.getStored("/other")
            #expect(scene.origin.count(of: "/other") == 2)
            withExtendedLifetime(owner) {}
        }
    }

    @Test func `CF-13 configuration that is added later counts for clients, and outlives a reload`() async throws {
        try await run { (scene, service) async throws in
            scene.origin.answer { head in .ok(content: head["X-Later"] ?? "none") }
            #expect(try await scene.getStored("/a").text == "none")
            service.configure { $0.fields["X-Later"] = "yes" }
            #expect(try await scene.getStored("/a").text == "yes")
            service.invalidateConfiguration()
            #expect(try await scene.getStored("/a").text == "yes")
        }
    }
}

extension Registry {
    /// How many read the loads of a resource.
    fileprivate func reading(_ resource: Resource) -> Int { resource.memory.loads.reduce(0) { $0 + $1.interest } }
}

extension Proxy {
    /// The partition of a request to the first service.
    fileprivate func partition(of path: String, _ line: String) -> Larder.Partition? {
        guard let service = configuration.router.table.services.first, let base = service.base,
            let uri = ResourceURL(base.origin + path).target
        else { return nil }
        var fields = Fields()
        let parts = line.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let name = FieldName(String(parts[0])) else { return nil }
        fields[name] = parts[1].trimmingPrefix(" ").description
        return service.partition(of: fields, for: uri, from: .machine)
    }
}
