// SPDX-License-Identifier: Apache-2.0
import Foundation
import Larder
import LarderTesting
import Testing

@Suite("Services")
struct ServiceTests {
    private func service(_ base: String?) -> Service { Service(baseURL: base, transport: StubTransport()) }

    @Test(arguments: [
        ("http://foo.bar", "http://foo.bar/"), ("http://foo.bar/", "http://foo.bar/"),
        ("http://foo.bar/baz", "http://foo.bar/baz/"), ("http://foo.bar/baz/", "http://foo.bar/baz/"),
        ("http://foo.bar?you=mysunshine", "http://foo.bar/?you=mysunshine"),
        ("http://foo.bar/?you=m", "http://foo.bar/?you=m"), ("http://foo.bar/baz?you=m", "http://foo.bar/baz/?you=m"),
        ("http://foo.bar/baz/?you=m", "http://foo.bar/baz/?you=m"),
    ])
    func `SV-01 a base URL gets its slash and keeps its query`(_ base: String, _ expected: String) {
        #expect(service(base).baseURL?.string == expected)
    }

    @Test(arguments: [nil, "", "not a URL", "http://[URL syntax error]"])
    func `SV-02 without a base URL paths fail and absolute URLs load`(_ base: String?) async {
        let transport = StubTransport()
        transport.reply(.get, "https://h/x", .text("ok"))
        let service = Service(baseURL: base, transport: transport)
        #expect(service.baseURL == nil)
        let failed = await service.resource("foo").load().response()
        #expect(failed.response.cause is InvalidURL)
        #expect(transport.sent.isEmpty)
        let loaded = await service.resource(absoluteURL: "https://h/x").load().response()
        #expect(loaded.response.entity?.text == "ok")
    }

    @Test(arguments: [
        ("https://foo.bar", "", "https://foo.bar/"), ("https://foo.bar", "baz", "https://foo.bar/baz"),
        ("https://foo.bar", "baz/fez", "https://foo.bar/baz/fez"),
        ("https://foo.bar", "baz/fez/", "https://foo.bar/baz/fez/"),
        ("https://foo.bar/v1", "baz/fez", "https://foo.bar/v1/baz/fez"),
        ("https://foo.bar/v1", "./baz", "https://foo.bar/v1/./baz"),
        ("https://foo.bar/v1", "../baz", "https://foo.bar/v1/../baz"),
        ("https://foo.bar/v1", "baz/.", "https://foo.bar/v1/baz/."),
        ("https://foo.bar/v1", "baz/..", "https://foo.bar/v1/baz/.."),
        ("https://foo.bar/v1", "http://other.host", "https://foo.bar/v1/http://other.host"),
        ("https://foo.bar/v1", "?foo=bar", "https://foo.bar/v1/%3Ffoo=bar"),
        ("https://foo.bar/v1", "%3F", "https://foo.bar/v1/%253F"),
        ("https://foo.bar/v1", "𝄞", "https://foo.bar/v1/%F0%9D%84%9E"),
        ("https://foo.bar/?a=b&x=y", "baz/fez/", "https://foo.bar/baz/fez/?a=b&x=y"),
        ("https://foo.bar/v1?a=b&x=y", "baz", "https://foo.bar/v1/baz?a=b&x=y"),
    ])
    func `SV-03 a path is appended and escaped`(_ base: String, _ path: String, _ expected: String) {
        #expect(service(base).resource(path).url.string == expected)
        #expect(service(base).resource("/" + path).url.string == expected)
    }

    @Test func `SV-03 a path that looks like a host is a path`() {
        #expect(service("https://foo.bar/v1").resource("//other.host").url.string == "https://foo.bar/v1//other.host")
    }

    @Test(arguments: [
        ("http://fraz.bot/", "/bar", "http://fraz.bot/bar"), ("http://fraz.bot", "bar", "http://fraz.bot/bar"),
        ("http://alpha.beta/gamma", "../delta?upsilon&omega", "http://alpha.beta/gamma/../delta%3Fupsilon&omega"),
    ])
    func `SV-04 another base URL can be given`(_ base: String, _ path: String, _ expected: String) {
        #expect(service("https://foo.bar").resource(baseURL: base, path: path).url.string == expected)
    }

    @Test(arguments: [nil, "", "http://[URL syntax error]", "\0", "./foo"])
    func `SV-05 an invalid URL gives a resource whose requests fail`(_ url: String?) async {
        let fixture = Fixture()
        let decorated = Recorder<Int>()
        fixture.service.configure {
            $0.decorateRequests { _, request in
                decorated(1)
                return request
            }
        }
        let resource = fixture.service.resource(absoluteURL: url)
        for request in [resource.load(), resource.request(.post), resource.loadIfNeeded()].compactMap(\.self) {
            let info = await request.response()
            #expect(info.response.cause is InvalidURL)
        }
        #expect(fixture.transport.sent.isEmpty)
        #expect(decorated.count == 0)
    }

    @Test func `SV-06 one URL is one resource however it is reached`() {
        let service = service("https://api.example/v1")
        let resource = service.resource("foo/bar")
        #expect(service.resource("/foo/bar") === resource)
        #expect(service.resource("foo").child("bar") === resource)
        #expect(service.resource("foo/baz").relative("bar") === resource)
        #expect(service.resource("foo/baz").optionalRelative("bar") === resource)
        #expect(service.resource(absoluteURL: "HTTPS://API.example:443/v1/foo/bar") === resource)
        #expect(service.resource(baseURL: "https://api.example/v1/foo", path: "bar") === resource)
        #expect(resource.withParam("a", "b").withParam("a", nil) === resource)
        #expect(service.resource("/foo").child("oogle").child("baz").relative("../bar") === resource)
        #expect(service.resource(absoluteURL: nil) === service.resource(absoluteURL: nil))
        #expect(service.resource("foo/bar", in: Partition("someone")) !== resource)
        #expect(self.service("https://api.example/v1").resource("foo/bar") !== resource)
    }

    @Test func `SV-06 eight threads get the same resource`() async {
        let service = service("https://api.example")
        let found = await withTaskGroup(of: [ObjectIdentifier].self) { group in
            for _ in 0..<8 {
                group.addTask { (0..<200).map { ObjectIdentifier(service.resource("r\($0)")) } }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(found).count == 1)
        #expect(service.resourceCount == 200)
    }

    @Test(arguments: ["api.example", "", "ftp://api.example", "https://"])
    func `SV-02 a base URL that is none is said at once and by each request`(_ base: String) async {
        let lines = Recorder<String>()
        let service = Service(
            "shop", baseURL: base, transport: StubTransport(), log: ModelLog { _, line in lines(line) })
        #expect(lines.values.count == 1)
        #expect(lines.values.first?.contains("'shop'") == true && lines.values.first?.contains("'\(base)'") == true)
        let error = await service.resource("a").load().response().response.error
        #expect(error?.cause is InvalidURL)
        #expect(error?.userMessage.contains("the base URL of the service 'shop'") == true)
    }

    @Test func `PL-03 stages that do not run and stages named twice are said once`() {
        let lines = Recorder<String>()
        let fixture = Fixture(log: ModelLog { _, line in lines(line) })
        fixture.service.configure {
            $0.pipeline[PipelineStageKey("munging")].add(ClosureTransformer("x") { $0 })
            try? $0.pipeline.setOrder([.model, .parsing, .model])
        }
        for path in ["a", "b"] { _ = fixture.service.resource(path).configuration }
        #expect(lines.values.count == 2)
        #expect(lines.values.contains { $0.contains("'model' stands twice") })
        #expect(lines.values.contains { $0.contains("'munging' holds transformers") })
    }

    @Test func `SV-07 unused resources go when there are too many`() {
        let service = service("https://api.example")
        #expect(service.cachedResourceCountLimit == 2_048)
        service.cachedResourceCountLimit = 100
        for number in 0..<100 { _ = service.resource("r\(number)") }
        #expect(service.resourceCount == 100)
        _ = service.resource("one more")
        #expect(service.resourceCount == 1)
    }

    @Test func `SV-07 by default there are two thousand and forty-eight`() {
        let service = service("https://api.example")
        for number in 0..<2_048 { _ = service.resource("r\(number)") }
        #expect(service.resourceCount == 2_048)
        _ = service.resource("one more")
        #expect(service.resourceCount == 1)
    }

    @Test func `SV-07 used resources stay and the limit can be lowered`() {
        let service = service("https://api.example")
        service.cachedResourceCountLimit = 100
        let kept = service.resource("kept")
        for number in 0..<101 { _ = service.resource("r\(number)") }
        #expect(service.resource("kept") === kept)
        #expect(service.resourceCount == 3)
        service.flushUnusedResources()
        for number in 0..<89 { _ = service.resource("s\(number)") }
        #expect(service.resourceCount == 90)
        withExtendedLifetime(kept) { service.cachedResourceCountLimit = 80 }
        #expect(service.resourceCount == 1)
    }

    @Test func `SV-07 B-10 resources whose observers' owners are gone go as well`() {
        let service = service("https://api.example")
        service.cachedResourceCountLimit = 100
        for number in 0..<3_000 {
            let owner = EventRecorder()
            service.resource("r\(number)").addObserver(owner: owner) { _, _ in }
        }
        #expect(service.resourceCount <= 101)
        service.flushUnusedResources()
        #expect(service.resourceCount == 0)
    }

    @Test func `SV-07 where all are in use new ones are not made slow by looking for others`() {
        let service = service("https://api.example")
        service.cachedResourceCountLimit = 10
        let kept = (0..<100).map { service.resource("r\($0)") }
        #expect(service.resourceCount == 100)
        withExtendedLifetime(kept) { service.flushUnusedResources() }
        #expect(service.resourceCount == 100 || service.resourceCount == 0)
    }

    @Test func `SV-07 a resource that was let go begins anew`() async {
        let fixture = Fixture()
        fixture.reply("a", .text("data"))
        _ = await fixture.service.resource("a").load().response()
        #expect(fixture.service.resource("a").latestData != nil)
        fixture.service.flushUnusedResources()
        #expect(fixture.service.resource("a").latestData == nil)
    }

    @Test func `SV-07 a resource with a running request stays`() async {
        let fixture = Fixture()
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let request = fixture.service.resource("a").load()
        await held.sent()
        fixture.service.flushUnusedResources()
        #expect(fixture.service.resource("a").isLoading)
        held.release(.text("data"))
        _ = await request.response()
        #expect(fixture.service.resource("a").text == "data")
    }

    private struct Shop: Sendable {
        let service: Service
        var cart: Resource { service.resource("cart") }
        func item(_ id: Int) -> TypedResource<String> { service.resource("items").child(String(id)).typed() }
    }

    @Test func `SV-08 a type of one's own names the resources`() async throws {
        let fixture = Fixture()
        fixture.reply("items/7", .text("a pear"))
        let shop = Shop(service: fixture.service)
        #expect(shop.cart === shop.cart)
        #expect(try await shop.item(7).load().content == "a pear")
    }

    @Test(arguments: ["application/json", "text/plain; charset=utf-8", "image/png"])
    func `SV-09 the standard transformers can be chosen`(_ type: String) async {
        let malformed = StubReply(200, [.contentType: type], octets: [0xFF, 0xFE, 0x00])
        let all = Fixture()
        all.reply("a", malformed)
        let info = await all.service.resource("a").load().response()
        #expect(info.response.isFailure)
        let none = Fixture(standardTransformers: [])
        none.reply("a", malformed)
        let untouched = await none.service.resource("a").load().response()
        #expect(untouched.response.entity?.typedContent() == [UInt8]([0xFF, 0xFE, 0x00]))
    }

    @Test func `SV-10 a transport of one's own or a session carries requests`() async {
        let transport = ClosureTransport { request, _ in
            IncomingResponse(
                response: ResponseHead(status: 200, fields: [.contentType: "text/plain"]),
                body: Array(request.url.path.utf8))
        }
        let direct = Service(baseURL: "https://api.example", transport: transport)
        let first = await direct.resource("x").load().response()
        #expect(first.response.entity?.text == "/x")
        let session = transport.session.transform { message in
            IncomingResponse(response: message.response, body: message.body + message.body)
        }
        let indirect = Service(baseURL: "https://api.example", session: session)
        let second = await indirect.resource("x").load().response()
        #expect(second.response.entity?.text == "/x/x")
    }

    @Test func `SV-11 resources are wiped by predicate pattern or all`() {
        let service = service("https://api.example")
        let names = ["a/1", "a/2", "b/1"]
        let resources = names.map { service.resource($0) }
        func fill() { for resource in resources { resource.overrideLocalData(with: .text("x")) } }
        func left() -> [String] { zip(names, resources).filter { $0.1.latestData != nil }.map(\.0) }
        fill()
        service.wipeResources(matching: "/a/*")
        #expect(left() == ["b/1"])
        fill()
        service.wipeResources { $0.url.string.hasSuffix("1") }
        #expect(left() == ["a/2"])
        fill()
        service.wipeResources(matching: resources[1].url)
        #expect(left() == ["a/1", "b/1"])
        fill()
        resources[0].wipe()
        #expect(left() == ["a/2", "b/1"])
        service.wipeResources()
        #expect(left().isEmpty)
    }

    @Test func `B-11 wiping some resources does not let others go`() {
        let service = service("https://api.example")
        for number in 0..<10 { service.resource("r\(number)").overrideLocalData(with: .text("x")) }
        service.wipeResources(matching: "/r3")
        #expect(service.resourceCount == 10)
        #expect(service.resource("r4").latestData != nil)
        #expect(service.resource("r3").latestData == nil)
    }

    @Test func `SV-12 the base URL is no fence and a decorator can be one`() async {
        let fixture = Fixture()
        fixture.transport.reply(.get, "https://other/x", .text("elsewhere"))
        let elsewhere = fixture.service.resource("a").relative("//other/x")
        let info = await elsewhere.load().response()
        #expect(info.response.entity?.text == "elsewhere")
        let pattern = PredicatePattern("foreign hosts") { $0.target?.host != "api.example" }
        fixture.service.configure(pattern) {
            $0.decorateRequests { resource, _ in
                resource.failedRequest(
                    returning: RequestError(userMessage: "forbidden", timestamp: resource.service.clock.now))
            }
        }
        let blocked = await elsewhere.load().response()
        #expect(blocked.response.error?.userMessage == "forbidden")
        #expect(fixture.transport.sent.count == 1)
    }

    @Test(arguments: [Method.post, .put, .patch, .delete], [200, 409] as [Status])
    func `B-29 HT-04 a write that succeeds puts the resources out of date that it names`(
        method: Method, status: Status
    ) async {
        let fixture = Fixture()
        fixture.service.configure("/widgets/*") {
            $0.afterWrite = Configuration.AfterWrite(.invalidate, also: ["/widgets", "/lists/**"])
        }
        // Nothing is related because its path is alike.
        let paths = ["widgets/1", "widgets", "lists/a/b", "widgets/2", "widgets/1/parts", "others"]
        let resources = paths.map { fixture.service.resource($0) }
        for resource in resources { resource.overrideLocalData(with: .text("x")) }
        fixture.transport.reply(method, Fixture.url("widgets/1"), StubReply(status))
        await resources[0].request(method, text: "new").response()
        let stale = zip(paths, resources).filter { !$1.isUpToDate }.map(\.0)
        #expect(stale == (status == 200 ? ["widgets/1", "widgets", "lists/a/b"] : []))
        #expect(resources.allSatisfy { $0.text == "x" })
    }

    @Test(arguments: [
        Configuration.AfterWrite.Action.none, .invalidate, .reload, .override, .promote, .wipe,
    ])
    func `B-29 what is to happen after a write happens after a request of the library`(
        _ action: Configuration.AfterWrite.Action
    ) async {
        let fixture = Fixture()
        let list = fixture.service.resource("widgets")
        let item = fixture.service.resource("widgets/1")
        fixture.reply("widgets/1", .text("loaded"))
        fixture.transport.reply(.put, Fixture.url("widgets/1"), .text("replied"))
        fixture.service.configure("/widgets/*") { $0.afterWrite = .init(action, also: ["/widgets"]) }
        for resource in [item, list] { resource.overrideLocalData(with: .text("before")) }
        await item.request(.put, text: "sent").response()
        for load in item.loadRequests { await load.response() }
        #expect(!list.isUpToDate)
        switch action {
        case .none: #expect(item.text == "before" && item.isUpToDate)
        case .invalidate: #expect(item.text == "before" && !item.isUpToDate)
        case .reload: #expect(item.text == "loaded" && item.isUpToDate)
        case .override: #expect(item.text == "sent" && item.isUpToDate)
        case .promote: #expect(item.text == "replied" && item.isUpToDate)
        case .wipe: #expect(item.latestData == nil)
        }
    }

    @Test func `B-29 what an error status refused has not happened and what was cut off may have`() async {
        let fixture = Fixture()
        fixture.service.configure { $0.afterWrite = .init(.override) }
        let item = fixture.service.resource("a")
        item.overrideLocalData(with: .text("before"))
        fixture.transport.reply(.post, Fixture.url("a"), StubReply(409), .failure(Disconnected()))
        await item.request(.post, text: "sent").response()
        #expect(item.text == "before" && item.isUpToDate)
        await item.request(.post, text: "sent").response()
        #expect(item.text == "before" && !item.isUpToDate)
    }

    @Test(arguments: [Configuration.AfterWrite.Action.override, .promote])
    func `B-12 EC-14 what a write brings is not there again after a wipe`(
        _ action: Configuration.AfterWrite.Action
    ) async {
        let fixture = Fixture()
        let resource = fixture.service.resource("a")
        fixture.service.configure { $0.afterWrite = .init(action) }
        fixture.transport.reply(.put, Fixture.url("a"), .text("ann's"))
        // A turn that takes its time, after which those behind it are called.
        let (released, done) = (Recorder<Bool>(), Recorder<Bool>())
        let observation = resource.observe { _, event in
            guard event == .newData(.localOverride) else { return }
            while released.values.isEmpty { _ = sched_yield() }
            done(true)
        }
        // Not one of the threads that tasks share.
        Thread.detachNewThread { resource.overrideLocalData(with: .text("x")) }
        while resource.latestData == nil { await Task.yield() }
        let write = resource.request(.put, text: "ann's")
        while write.state != .completed { await Task.yield() }
        resource.wipe(.memoryAndCaches)
        released(true)
        await write.response()
        while done.values.isEmpty { await Task.yield() }
        #expect(resource.latestData == nil)
        _ = consume observation
    }

    @Test func `RS-08 B-29 nothing happens after a write unless it was said`() async {
        let fixture = Fixture()
        let item = fixture.service.resource("a")
        item.overrideLocalData(with: .text("before"))
        fixture.transport.reply(.post, Fixture.url("a"), .text("x"))
        await item.request(.post, text: "sent").response()
        #expect(item.text == "before" && item.isUpToDate)
    }

    @Test func `B-28 what is observed and in error is loaded when the network is back`() async {
        let fixture = Fixture()
        fixture.reply("seen", .failure(Disconnected()), .text("back"))
        fixture.reply("unseen", .failure(Disconnected()), .text("back"))
        let (seen, recorder) = fixture.observed("seen")
        let unseen = fixture.service.resource("unseen")
        _ = await seen.load().response()
        _ = await unseen.load().response()
        fixture.clock.advance(by: .seconds(5))
        fixture.service.reloadAfterRecovery()
        #expect(unseen.loadRequests.isEmpty)
        _ = await seen.loadRequests.first?.response()
        #expect(seen.text == "back")
        #expect(seen.latestError == nil)
        #expect(recorder.events.last == "newData(network)")
    }

    @Test(arguments: [Configuration.AfterWrite.Action.none, .reload, .promote, .override])
    func `B-29 what was sent goes through the pipeline only to become the resource's data`(
        _ action: Configuration.AfterWrite.Action
    ) async {
        let fixture = Fixture()
        let seen = Recorder<String>()
        fixture.service.configure {
            $0.afterWrite = .init(action)
            $0.pipeline[.cleanup].add(
                ClosureTransformer("seen") { response in
                    if case .success(let entity) = response { seen(entity.content as? String ?? "") }
                    return response
                })
        }
        fixture.reply("a", .text("loaded"))
        fixture.transport.reply(.put, Fixture.url("a"), .text("replied"))
        let item = fixture.service.resource("a")
        await item.request(.put, text: "sent").response()
        for load in item.loadRequests { await load.response() }
        #expect(seen.values.contains("sent") == (action == .override))
        #expect(item.text == "sent" || action != .override)
    }
}

extension Result where Success == AnyEntity, Failure == RequestError {
    var error: RequestError? { if case .failure(let error) = self { error } else { nil } }
    var cause: (any Error)? { error?.cause }
    var isFailure: Bool { error != nil }
}
