// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderIO
import LarderTesting
import Testing

@Suite("Entity caches")
struct EntityCacheTests {
    private let fixture = Fixture(standardTransformers: [])
    private let cache = RecordingCache<String>()
    private let raw = RecordingCache<[UInt8]>()
    private let key = "/v1/a"

    /// Stages that append the first three letters of their names, to see what ran.
    private func appendAtEachStage(failing: PipelineStageKey? = nil, on input: String? = nil) {
        fixture.service.configure {
            for stage in [PipelineStageKey.decoding, .parsing, .model, .cleanup] {
                $0.pipeline[stage].add(
                    ClosureTransformer(stage.name) { response in
                        guard case .success(let entity) = response else { return response }
                        let text =
                            entity.typedContent() ?? String(decoding: entity.typedContent() ?? [UInt8](), as: UTF8.self)
                        if stage == failing, input == nil || text.hasPrefix(input!) {
                            return .failure(
                                RequestError(userMessage: "failed at \(stage)", timestamp: entity.timestamp))
                        }
                        return .success(entity.withContent((text + stage.name.prefix(3)) as any Sendable))
                    })
            }
        }
    }

    private func cache(at stages: PipelineStageKey...) {
        fixture.service.configure { [cache, stages] in for stage in stages { $0.pipeline[stage].cacheUsing(cache) } }
    }

    private func stored(_ text: String, seconds: Int64 = 1_000) -> Entity<String> {
        Entity(content: text, contentType: "text/x", timestamp: Timestamp(seconds: seconds))
    }

    private func settled(_ resource: Resource) async -> String {
        await resource.loadIfNeeded()?.response()
        return resource.text
    }

    @Test func `EC-02 EC-04 each cache keeps what came out of its stage`() async {
        appendAtEachStage()
        let late = RecordingCache<String>()
        cache(at: .parsing)
        fixture.service.configure {
            $0.pipeline[.model].cacheUsing(late)
            $0.pipeline[.rawData].cacheUsing(raw)
        }
        fixture.reply("a", StubReply(200, ["X-A": "1"], body: "raw"))
        _ = await fixture.service.resource("a").load().response()
        await fixture.service.finishCacheWork()
        #expect(raw[key]?.content == Array("raw".utf8))
        #expect(cache[key]?.content == "rawdecpar")
        #expect(late[key]?.content == "rawdecparmod")
        #expect(late[key]?.field("x-a") == "1")
        #expect(late[key]?.timestamp == Timestamp(seconds: 1_000))
    }

    @Test(arguments: [true, false])
    func `EC-05 what must not be stored is not and what was stays no longer`(_ isOfResponse: Bool) async {
        appendAtEachStage()
        cache(at: .parsing)
        let forbidding: Fields = isOfResponse ? [.cacheControl: "private, no-store"] : [:]
        fixture.reply("a", StubReply(200, body: "one"), StubReply(200, forbidding, body: "two"))
        let resource = fixture.service.resource("a")
        _ = await resource.load().response()
        await fixture.service.finishCacheWork()
        #expect(cache[key]?.content == "onedecpar")
        if !isOfResponse { fixture.service.configure { $0.fields[.cacheControl] = "no-store" } }
        _ = await resource.load().response()
        await fixture.service.finishCacheWork()
        #expect(resource.text == "twodecparmodcle")
        #expect(cache[key] == nil)
    }

    @Test func `EC-04 nothing is written from the stage that fails on`() async {
        appendAtEachStage(failing: .parsing)
        let late = RecordingCache<String>()
        cache(at: .parsing)
        fixture.service.configure {
            $0.pipeline[.model].cacheUsing(late)
            $0.pipeline[.rawData].cacheUsing(raw)
        }
        fixture.reply("a", StubReply(200, body: "raw"))
        _ = await fixture.service.resource("a").load().response()
        await fixture.service.finishCacheWork()
        #expect(cache[key] == nil && late[key] == nil)
        // The load failed, so nothing of it became the state of the resource, and nothing is kept.
        #expect(raw[key] == nil)
    }

    @Test func `EC-03 the last stage is read first and later stages are applied`() async {
        appendAtEachStage()
        cache[key] = stored("cache0")
        cache(at: .cleanup)
        #expect(await settled(fixture.service.resource("a")) == "cache0")
    }

    @Test func `EC-03 a later stage wins over an earlier one`() async {
        appendAtEachStage()
        let earlier = RecordingCache<String>()
        earlier[key] = stored("cache0")
        cache[key] = stored("cache1")
        cache(at: .cleanup)
        fixture.service.configure { $0.pipeline[.model].cacheUsing(earlier) }
        #expect(await settled(fixture.service.resource("a")) == "cache1")
    }

    @Test func `EC-03 what the first stage holds goes through all later ones`() async {
        appendAtEachStage()
        raw[key] = Entity(content: Array("cache0".utf8), timestamp: Timestamp(seconds: 1_000))
        fixture.service.configure { $0.pipeline[.rawData].cacheUsing(raw) }
        #expect(await settled(fixture.service.resource("a")) == "cache0decparmodcle")
    }

    @Test func `EC-03 an entry that later stages refuse is skipped`() async {
        appendAtEachStage(failing: .cleanup, on: "bad")
        let earlier = RecordingCache<String>()
        earlier[key] = stored("cache0")
        cache[key] = stored("bad")
        cache(at: .parsing)
        fixture.service.configure { $0.pipeline[.decoding].cacheUsing(earlier) }
        #expect(await settled(fixture.service.resource("a")) == "cache0parmodcle")
        await fixture.service.finishCacheWork()
        #expect(cache[key]?.content == "cache0par")
        #expect(cache[key]?.timestamp == Timestamp(seconds: 1_000))
    }

    @Test func `EC-05 B-02 only loads of the resource's own GET write`() async {
        cache(at: .rawData)
        fixture.service.configure { $0.pipeline[.rawData].cacheUsing(raw) }
        let resource = fixture.service.resource("a")
        for method in [Method.get, .post, .delete] {
            fixture.transport.reply(method, Fixture.url("a"), StubReply(200, body: "plain"))
            _ = await resource.request(method).response()
        }
        _ = await resource.load(using: resource.request(.post)).response()
        fixture.transport.reply(.get, Fixture.url("b"), StubReply(200, body: "other"))
        _ = await resource.load(using: fixture.service.resource("b").request(.get)).response()
        await fixture.service.finishCacheWork()
        #expect(!raw.log.contains { $0.hasPrefix("write") })
        _ = await resource.load().response()
        await fixture.service.finishCacheWork()
        #expect(raw[key]?.content == Array("plain".utf8))
    }

    @Test func `EC-06 a 304 renews what is stored`() async {
        fixture.service.configure { $0.pipeline[.rawData].cacheUsing(raw) }
        fixture.reply("a", StubReply(200, [.eTag: "\"1\"", "X-A": "old"], body: "x"), StubReply(304, ["X-A": "new"]))
        let resource = fixture.service.resource("a")
        _ = await resource.load().response()
        fixture.clock.advance(by: .seconds(50))
        _ = await resource.load().response()
        await fixture.service.finishCacheWork()
        #expect(raw.log == ["write /v1/a", "update /v1/a"])
        #expect(raw[key]?.timestamp == Timestamp(seconds: 1_050))
        #expect(raw[key]?.field("x-a") == "new")
        #expect(raw[key]?.content == Array("x".utf8))
    }

    @Test func `EC-07 RS-25 an override removes what is stored and is not stored itself`() async {
        fixture.service.configure { $0.pipeline[.rawData].cacheUsing(raw) }
        fixture.reply("a", StubReply(200, body: "x"))
        let resource = fixture.service.resource("a")
        _ = await resource.load().response()
        resource.overrideLocalData(with: .text("local"))
        await fixture.service.finishCacheWork()
        #expect(raw[key] == nil)
        #expect(raw.log == ["write /v1/a", "remove /v1/a"])
    }

    @Test func `EC-08 a cache that has no key keeps nothing`() async {
        let picky = RecordingCache<[UInt8]> { $0.url.path.hasSuffix("secret") ? nil : $0.url.path }
        fixture.service.configure { $0.pipeline[.rawData].cacheUsing(picky) }
        fixture.reply("secret", StubReply(200, body: "x"))
        fixture.reply("a", StubReply(200, body: "x"))
        _ = await fixture.service.resource("secret").loadIfNeeded()?.response()
        _ = await fixture.service.resource("a").loadIfNeeded()?.response()
        await fixture.service.finishCacheWork()
        #expect(picky.log == ["read /v1/a", "write /v1/a"])
    }

    /// A cache whose reads wait until they are let go on.
    private actor HeldCache: EntityCache {
        private let kept: RecordingCache<String>
        private var isHeld = true
        private var waiting: [CheckedContinuation<Void, Never>] = []

        init(_ kept: RecordingCache<String>) { self.kept = kept }

        nonisolated func key(for subject: CacheSubject) -> String? { kept.key(for: subject) }

        var isWaiting: Bool { !waiting.isEmpty }

        func release() {
            isHeld = false
            for reader in waiting { reader.resume() }
            waiting = []
        }

        func readEntity(for key: String) async throws -> Entity<String>? {
            if isHeld { await withCheckedContinuation { waiting.append($0) } }
            return try kept.readEntity(for: key)
        }

        func writeEntity(_ entity: Entity<String>, for key: String) throws { try kept.writeEntity(entity, for: key) }
        func removeEntity(for key: String) throws { try kept.removeEntity(for: key) }
    }

    /// A cache whose first write does not end until it is told to.
    private actor LateCache: EntityCache {
        private let kept: RecordingCache<String>
        private var first: CheckedContinuation<Void, Never>?
        private var writes = 0
        private(set) var isDone = false

        init(_ kept: RecordingCache<String>) { self.kept = kept }

        nonisolated func key(for subject: CacheSubject) -> String? { kept.key(for: subject) }

        var isWaiting: Bool { first != nil }
        func release() { first?.resume() }

        func readEntity(for key: String) throws -> Entity<String>? { try kept.readEntity(for: key) }
        func removeEntity(for key: String) throws { try kept.removeEntity(for: key) }
        func writeEntity(_ entity: Entity<String>, for key: String) async throws {
            writes += 1
            if writes == 1 {
                await withCheckedContinuation { first = $0 }
                isDone = true
            }
            try kept.writeEntity(entity, for: key)
        }
    }

    @Test(arguments: [false, true])
    func `EC-14 EC-17 a write that ends after a wipe leaves nothing`(isWipedBefore: Bool) async throws {
        let late = LateCache(cache)
        appendAtEachStage()
        fixture.service.configure { $0.pipeline[.parsing].cacheUsing(late) }
        fixture.reply("a", StubReply(200, body: "ann's"), StubReply(200, body: "ben's"))
        let resource = fixture.service.resource("a")
        await resource.load().response()
        while await !late.isWaiting { await Task.yield() }
        if isWipedBefore { resource.wipe(.memoryAndCaches) }
        fixture.clock.advance(by: .seconds(5))
        if !isWipedBefore {
            await fixture.service.finishCacheWork()
            resource.wipe(.memoryAndCaches)
        }
        await fixture.service.finishCacheWork()
        // Nobody gets it meanwhile either.
        let load = resource.loadIfNeeded()
        await late.release()
        while await !late.isDone { await Task.yield() }
        await load?.response()
        #expect(resource.text == "ben'sdecparmodcle")
        for _ in 0..<3 { await fixture.service.finishCacheWork() }
        #expect(cache[key]?.content != "ann'sdecpar")
    }

    @Test func `EC-17 a write that takes long and has none after it stays`() async {
        let late = LateCache(cache)
        appendAtEachStage()
        fixture.service.configure { $0.pipeline[.parsing].cacheUsing(late) }
        fixture.reply("a", StubReply(200, body: "raw"))
        await fixture.service.resource("a").load().response()
        while await !late.isWaiting { await Task.yield() }
        fixture.clock.advance(by: .seconds(5))
        await fixture.service.finishCacheWork()
        await late.release()
        await fixture.service.finishCacheWork()
        while cache[key] == nil { await Task.yield() }
        await fixture.service.finishCacheWork()
        #expect(cache[key]?.content == "rawdecpar")
    }

    /// A cache whose writes fail while it is full.
    private final class FullCache: EntityCache {
        let kept = RecordingCache<String>()
        let isFull = Lock(false)

        private struct Full: Error {}

        func key(for subject: CacheSubject) -> String? { kept.key(for: subject) }
        func readEntity(for key: String) throws -> Entity<String>? { try kept.readEntity(for: key) }
        func writeEntity(_ entity: Entity<String>, for key: String) throws {
            if isFull.withLock({ $0 }) { throw Full() }
            try kept.writeEntity(entity, for: key)
        }
        func removeEntity(for key: String) throws { try kept.removeEntity(for: key) }
    }

    @Test func `EC-03 what a write that fails was to replace is removed`() async {
        let full = FullCache()
        appendAtEachStage()
        fixture.service.configure { $0.pipeline[.parsing].cacheUsing(full) }
        fixture.reply("a", StubReply(200, body: "1"), StubReply(200, body: "2"))
        let resource = fixture.service.resource("a")
        await resource.load().response()
        await fixture.service.finishCacheWork()
        #expect(full.kept[key]?.content == "1decpar")
        full.isFull.withLock { $0 = true }
        await resource.load().response()
        await fixture.service.finishCacheWork()
        #expect(full.kept[key] == nil)
        #expect(resource.text == "2decparmodcle")
    }

    @Test func `EC-03 a cache that does not answer is a miss, and those who come later do not wait for it`() async {
        let held = HeldCache(cache)
        appendAtEachStage()
        fixture.service.configure { $0.pipeline[.parsing].cacheUsing(held) }
        fixture.reply("a", StubReply(200, body: "raw"))
        let resource = fixture.service.resource("a")
        let load = resource.loadIfNeeded()
        #expect(load != nil && fixture.transport.sent.isEmpty)
        while await !held.isWaiting { await Task.yield() }
        fixture.clock.advance(by: .seconds(5))
        await load?.response()
        #expect(resource.text == "rawdecparmodcle")
        await fixture.service.finishCacheWork()
        #expect(cache[key]?.content == "rawdecpar")
        await held.release()
    }

    /// A cache that is an actor: all it does happens on its own executor, with time to be overtaken.
    private actor SlowCache: EntityCache {
        private var entities: [String: Entity<[UInt8]>] = [:]
        private(set) var log: [String] = []

        nonisolated func key(for subject: CacheSubject) -> String? { subject.url.path }

        func readEntity(for key: String) async throws -> Entity<[UInt8]>? {
            assertIsolated()
            await dawdle()
            log.append("read")
            return entities[key]
        }

        func writeEntity(_ entity: Entity<[UInt8]>, for key: String) async throws {
            assertIsolated()
            await dawdle()
            log.append("write \(String(decoding: entity.content, as: UTF8.self))")
            entities[key] = entity
        }

        func removeEntity(for key: String) async throws {
            log.append("remove")
            entities[key] = nil
        }

        private func dawdle() async { for _ in 0..<100 { await Task.yield() } }
    }

    @Test func `EC-09 EC-17 a cache has its own executor and operations on a key keep their order`() async {
        let slow = SlowCache()
        fixture.service.configure { $0.pipeline[.rawData].cacheUsing(slow) }
        let resource = fixture.service.resource("a")
        for number in 1...3 {
            fixture.reply("a", StubReply(200, body: "\(number)"))
            _ = await resource.load().response()
        }
        resource.overrideLocalData(with: .text("local"))
        fixture.reply("a", StubReply(200, body: "last"))
        _ = await resource.load().response()
        await fixture.service.finishCacheWork()
        #expect(await slow.log == ["write 1", "write 2", "write 3", "remove", "write last"])
    }

    @Test func `EC-10 B-08 data that came while caches were read stays`() async {
        cache[key] = stored("cached")
        let held = HeldCache(cache)
        fixture.service.configure { $0.pipeline[.model].cacheUsing(held) }
        let (resource, recorder) = fixture.observed("a")
        let waiting = resource.loadIfNeeded()
        resource.overrideLocalData(with: .text("newer"))
        await held.release()
        let info = await waiting?.response()
        #expect(info?.response.entity?.text == "newer")
        #expect(resource.text == "newer")
        #expect(!recorder.events.contains { $0.hasPrefix("newData(cache)") })
        #expect(resource.loadIfNeeded() == nil)
        #expect(fixture.transport.sent.isEmpty)
    }

    @Test func `B-16 what a cache holds does not clear a newer error`() async {
        cache[key] = stored("cached")
        let held = HeldCache(cache)
        fixture.service.configure { $0.pipeline[.model].cacheUsing(held) }
        let (resource, recorder) = fixture.observed("a")
        fixture.reply("a", .failure(Disconnected()))
        let load = resource.load()
        resource.invalidate()
        _ = await load.response()
        await held.release()
        while !recorder.events.contains(where: { $0.hasPrefix("newData(cache)") }) { await Task.yield() }
        #expect(resource.latestError?.cause is Disconnected)
        #expect(!resource.isUpToDate)
        #expect(recorder.events.contains { $0.hasPrefix("newData(cache)") })
    }

    @Test(arguments: [1, 3])
    func `EC-11 B-25 a fresh hit is all that loadIfNeeded needs`(_ calls: Int) async {
        cache[key] = stored("cached")
        let held = HeldCache(cache)
        let decorated = Recorder<Int>()
        fixture.service.configure {
            $0.pipeline[.model].cacheUsing(held)
            $0.decorateRequests { _, request in
                decorated(1)
                return request
            }
        }
        let (resource, recorder) = fixture.observed("a")
        recorder.reset()
        let requests = (0..<calls).map { _ in resource.loadIfNeeded() }
        await held.release()
        for request in requests {
            let info = await request?.response()
            #expect(info?.response.entity?.text == "cached")
            #expect(info?.isNew == true)
        }
        #expect(recorder.events == ["newData(cache) loading", "notModified"])
        #expect(decorated.count == 0)
        #expect(Set(requests.compactMap { $0.map(ObjectIdentifier.init) }).count == 1)
    }

    @Test(arguments: [1, 3])
    func `EC-11 B-25 after a miss the origin is asked`(_ calls: Int) async {
        cache(at: .model)
        let (resource, recorder) = fixture.observed("a")
        recorder.reset()
        fixture.reply("a", StubReply(200, body: "x"))
        for request in (0..<calls).map({ _ in resource.loadIfNeeded() }) { await request?.response() }
        #expect(recorder.events == ["requested loading", "newData(network)"])
    }

    @Test(arguments: [1, 3])
    func `EC-11 B-25 a stale hit is shown and the origin asked`(_ calls: Int) async {
        cache[key] = stored("cached", seconds: 900)
        let held = HeldCache(cache)
        fixture.service.configure { $0.pipeline[.model].cacheUsing(held) }
        let (resource, recorder) = fixture.observed("a")
        recorder.reset()
        fixture.reply("a", StubReply(200, body: "x"))
        let requests = (0..<calls).map { _ in resource.loadIfNeeded() }
        await held.release()
        for request in requests { await request?.response() }
        #expect(recorder.events == ["newData(cache) loading", "requested loading", "newData(network)"])
    }

    @Test func `EC-11 a load that waits for caches can be cancelled`() async {
        let held = HeldCache(cache)
        fixture.service.configure { $0.pipeline[.model].cacheUsing(held) }
        let (resource, recorder) = fixture.observed("a")
        recorder.reset()
        let request = resource.loadIfNeeded()
        request?.cancel()
        await held.release()
        _ = await request?.response()
        await fixture.service.finishCacheWork()
        #expect(recorder.events == ["requestCancelled"])
        #expect(!resource.isLoading)
        #expect(fixture.transport.sent.isEmpty)
    }

    @Test func `EC-12 B-01 a fresh hit does not renew anything`() async {
        cache[key] = stored("cached", seconds: 980)
        cache(at: .model)
        for _ in 0..<3 {
            let resource = fixture.service.resource("a")
            await resource.loadIfNeeded()?.response()
            #expect(resource.timestamp == Timestamp(seconds: 980))
            fixture.service.flushUnusedResources()
        }
        await fixture.service.finishCacheWork()
        #expect(cache[key]?.timestamp == Timestamp(seconds: 980))
        #expect(!cache.log.contains { !$0.hasPrefix("read") })
        fixture.clock.advance(by: .seconds(11))
        #expect(!fixture.service.resource("a").isUpToDate)
    }

    @Test func `EC-13 stale data is shown while the origin cannot be reached`() async {
        cache[key] = stored("old", seconds: 10)
        cache(at: .model)
        fixture.reply("a", .failure(Disconnected()))
        let resource = fixture.service.resource("a")
        await resource.loadIfNeeded()?.response()
        #expect(resource.text == "old")
        #expect(resource.latestError?.cause is Disconnected)
    }

    @Test func `EC-14 B-24 partitions never meet in a cache`() async {
        let shared = RecordingCache<[UInt8]> { "\($0.partition.name) \($0.url.path)" }
        fixture.service.configure { $0.pipeline[.rawData].cacheUsing(shared) }
        let (ann, bob) = (Partition("ann"), Partition("bob"))
        fixture.reply("a", StubReply(200, body: "for ann"), StubReply(200, body: "for bob"))
        await fixture.service.resource("a", in: ann).loadIfNeeded()?.response()
        await fixture.service.resource("a", in: bob).loadIfNeeded()?.response()
        await fixture.service.finishCacheWork()
        #expect(shared["ann /v1/a"]?.content == Array("for ann".utf8))
        #expect(shared["bob /v1/a"]?.content == Array("for bob".utf8))
    }

    @Test func `B-09 EC-14 a reply is filed under who asked for it`() async {
        let user = Recorder<String>()
        user("ann")
        let shared = RecordingCache<[UInt8]> { _ in user.values.last }
        fixture.service.configure { $0.pipeline[.rawData].cacheUsing(shared) }
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let request = fixture.service.resource("a").load()
        await held.sent()
        user("bob")
        held.release(StubReply(200, body: "for ann"))
        _ = await request.response()
        await fixture.service.finishCacheWork()
        #expect(shared["ann"]?.content == Array("for ann".utf8))
        #expect(shared["bob"] == nil)
    }

    @Test func `EC-15 B-35 caches are read when a resource is used and not before`() async {
        cache(at: .model)
        let resource = fixture.service.resource("x").relative("a").child("b").withParam("c", "d")
        _ = resource.configuration
        _ = resource.isLoading
        await fixture.service.finishCacheWork()
        #expect(cache.log.isEmpty)
        _ = resource.latestData
        while cache.log.isEmpty { await Task.yield() }
        #expect(cache.log == ["read /v1/a/b?c=d"])
    }

    @Test func `B-35 without caches nothing is waited for`() {
        let (resource, recorder) = fixture.observed("a")
        recorder.reset()
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        resource.loadIfNeeded()
        #expect(recorder.events == ["requested loading"])
        resource.wipe()
        held.release()
    }

    @Test func `EC-16 B-23 a cache that fails is a miss and fails nobody`() async {
        let lines = Recorder<String>()
        let fixture = Fixture(
            standardTransformers: [], log: ModelLog(categories: .cache) { _, line in lines(line) })
        let cache = RecordingCache<[UInt8]>()
        cache.breakDown()
        fixture.service.configure { $0.pipeline[.rawData].cacheUsing(cache) }
        fixture.reply("a", StubReply(200, body: "x"))
        let resource = fixture.service.resource("a")
        await resource.loadIfNeeded()?.response()
        await fixture.service.finishCacheWork()
        #expect(resource.typedContent() == Array("x".utf8))
        #expect(lines.values.contains { $0.hasPrefix("reading at rawData failed") })
        #expect(lines.values.contains { $0.hasPrefix("writing at rawData failed") })
    }

    @Test(arguments: [Resource.WipeScope.memory, .memoryAndCaches])
    func `RS-29 B-10 a wipe keeps or removes what is stored`(_ scope: Resource.WipeScope) async {
        cache[key] = stored("cached")
        let held = HeldCache(cache)
        fixture.service.configure { $0.pipeline[.model].cacheUsing(held) }
        let (resource, recorder) = fixture.observed("a")
        await held.release()
        while !recorder.events.contains(where: { $0.hasPrefix("newData(cache)") }) { await Task.yield() }
        recorder.reset()
        resource.wipe(scope)
        await fixture.service.finishCacheWork()
        if scope == .memory {
            while recorder.events.count < 2 { await Task.yield() }
            #expect(recorder.events == ["newData(wipe)", "newData(cache)"])
            #expect(cache[key] != nil)
        } else {
            while !cache.log.suffix(1).contains("read /v1/a") || recorder.events.isEmpty { await Task.yield() }
            #expect(resource.latestData == nil)
            #expect(recorder.events == ["newData(wipe)"])
            #expect(cache[key] == nil)
        }
    }

    @Test func `B-12 what was begun before a wipe lands nowhere`() async {
        cache[key] = stored("cached")
        let slow = HeldCache(cache)
        fixture.service.configure { $0.pipeline[.model].cacheUsing(slow) }
        let (resource, recorder) = fixture.observed("a")
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let request = resource.load()
        await held.sent()
        resource.wipe(.memoryAndCaches)
        await slow.release()
        held.release(StubReply(200, body: "late"))
        _ = await request.response()
        for _ in 0..<3 { await fixture.service.finishCacheWork() }
        #expect(resource.latestData == nil)
        #expect(!recorder.events.contains { $0.hasPrefix("newData(cache)") || $0.hasPrefix("newData(network)") })
        #expect(!cache.log.contains { $0.hasPrefix("write") })
    }

    @Test func `B-12 a response asked for before a wipe and taken over after it is not stored`() async {
        fixture.service.configure { $0.pipeline[.rawData].cacheUsing(raw) }
        fixture.reply("a", StubReply(200, body: "x"))
        let resource = fixture.service.resource("a")
        let early = resource.request(.get)
        await early.response()
        resource.wipe(.memoryAndCaches)
        await resource.load(using: early).response()
        await fixture.service.finishCacheWork()
        #expect(raw[key] == nil)
        #expect(!raw.log.contains("write /v1/a"))
    }

    @Test func `B-12 wipes and loads from many threads never leave a row behind the last wipe`() async {
        fixture.service.configure { $0.pipeline[.rawData].cacheUsing(raw) }
        fixture.reply("a", StubReply(200, body: "x"))
        let resource = fixture.service.resource("a")
        for _ in 0..<30 {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { await resource.load().response() } }
                group.addTask { resource.wipe(.memoryAndCaches) }
            }
            resource.wipe(.memoryAndCaches)
            await fixture.service.finishCacheWork()
            #expect(raw[key] == nil)
        }
    }

    @Test func `EC-01 nothing is kept unless configured`() async {
        fixture.reply("a", StubReply(200, body: "x"))
        let resource = fixture.service.resource("a")
        _ = await resource.load().response()
        #expect(resource.configuration.pipeline.order.allSatisfy { resource.configuration.pipeline[$0].cache == nil })
    }

    /// A cache whose keys depend on the state of the resource.
    private final class Looking: EntityCache {
        let look: @Sendable (CacheSubject) -> Void
        init(_ look: @escaping @Sendable (CacheSubject) -> Void) { self.look = look }

        func key(for subject: CacheSubject) -> String? {
            look(subject)
            return subject.url.string
        }
        func readEntity(for key: String) async -> Entity<String>? {
            Entity(content: "kept", contentType: "text/x", timestamp: Timestamp(seconds: 1_000))
        }
        func writeEntity(_ entity: Entity<String>, for key: String) async {}
        func removeEntity(for key: String) async {}
    }

    @Test func `EC-15 a cache may look at its resource to make a key`() async {
        let cache = Looking { [weak service = fixture.service] subject in
            guard let resource = service?.resource(absoluteURL: subject.url.string) else { return }
            _ = (resource.latestData, resource.isUpToDate, resource.state)
            resource.loadIfNeeded()
        }
        fixture.service.configure { $0.pipeline[.model].cacheUsing(cache) }
        let resource = fixture.service.resource("a")
        #expect(await settled(resource) == "kept")
        #expect(fixture.transport.sent.isEmpty)
    }
}
